"""Databases in time: column families with memtables and trees, background jobs, files, and the moments of write stalls.

- A database: database; its stall conditions: write_controller; its queues and job slots: background.
- A column family: column_family, memtables, write_shape.
- Jobs: flushing, compacting, jobs; their outputs and steps: work; what jobs use of both: job_context.
- Events and their observers: store_events, recorder, event_log; what they record: records, job_records.
- Memory of all memtables: write_buffer_manager; files of a database: wal_files, manifest, version_edits, options_file, purge.
"""
