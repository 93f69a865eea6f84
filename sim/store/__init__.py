"""Simulated databases: column families with memtables and trees, background jobs, files, and write stalls.

- Database: database. Stall conditions: write_controller. Job queues and job slots: background. Threads of all databases of a
  process: thread_pools.
- Column family: column_family, memtables, write_shape.
- Flushes and compactions: jobs. Manual compactions and deletions of files: manual. Files from outside: ingest.
- Open snapshots: snapshots. Those that the conditions of a run name: held_snapshots.
- Failed jobs and the recovery from them: background_errors.
- Events of a column family: store_events. Their observers: recorder, event_log; blocks contains their columns.
  Types of recorded rows: records.
- Memory of all memtables: write_buffer_manager. Files of a database: wal_files, manifest, version_edits, options_file_writer,
  purge.
"""
