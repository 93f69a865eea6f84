"""Background jobs of a column family: flushes and compactions from their start to their commit.

- Flushes: flushing. Compactions: compacting. State and rows of a compaction: job.
- Outputs and steps of a job: work; entries of the outputs: merging; its blob files: blobs; its range tombstones: ranges.
- Protocols for the members of a database and a column family that jobs use: context.
"""
