"""Engines: five policies over one store.

- engine: contract; make: engine of a configuration; families: one engine for each column family.
- rocksdb: RocksDB and all that differ from it in policies; leveldb: LevelDB.
- table_reads: blocks that reads take from device and memory.
"""
