"""Engines: combinations of policies over one set of options.

- engine: RocksDB, and engines with other policies; leveldb: LevelDB; table_reads: reads of an engine's tables.
- make: the engines of a database's column families, from configurations.
"""
