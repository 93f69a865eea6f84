"""Background jobs of a column family: flushes and compactions from their start to their commit.

- Flushes: flushing. Compactions: compacting; a running one: job.
- Outputs and steps of a job: work. Rows of the job table: rows. Protocols of database and family for jobs: context.
"""
