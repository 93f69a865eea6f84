"""Background jobs of a column family: flushes and compactions from their start to their commit.

- Flushes: flushing. Compactions: compacting. State of a running compaction: job.
- Outputs and steps of a job: work. Rows of the job table: rows.
- Protocols for the members of a database and a column family that jobs use: context.
"""
