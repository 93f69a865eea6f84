"""Jobs of a LOG in seconds, for fits of constants.

- jobs: CPU time, system calls and files of each job.
- job_records: costs of compactions and flushes, fsyncs and deletions from these jobs.
"""
