"""Jobs of a LOG in seconds, for fits of constants.

- jobs: CPU time, time in system calls and files of each job.
- job_records: costs of compactions, flushes, fsyncs and file deletions, from these jobs.
- cache_phases: fast and slow phases of a drive with an SLC cache, from the fsyncs of these jobs.
"""
