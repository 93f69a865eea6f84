"""One LSM-tree in time: its memtables, its background jobs, its files, and the moments at which writers are held back.

- The store and what writers fill: store, memtables, write_shape.
- Its jobs: flushing, compacting, jobs; what they do: work; what they see of the store: job_context.
- Its events and their observers: store_events, recorder; what they record: records, job_records.
- Its files: manifest, options_file, purge.
"""
