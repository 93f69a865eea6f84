"""Jobs of a LOG in seconds, for fits of constants.

- timed_jobs: CPU time, time in system calls and files of each job.
- fsync_periods: periods with an fsync in progress, and the device's bandwidth and latency in them.
- cache_phases: fast and slow phases of a drive with an SLC cache, from the fsyncs of these jobs.
"""
