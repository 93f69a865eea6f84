"""Databases in time: column families with memtables and trees, background jobs, files, and write stalls.

- Database: database; its stall conditions: write_controller; its queues and job slots: background.
- Column family: column_family, memtables, write_shape.
- Flushes and compactions: jobs.
- Events and their observers: store_events, recorder, event_log; rows that they record: records.
- Memory of all memtables: write_buffer_manager; files of a database: wal_files, manifest, version_edits, options_file, purge.
"""
