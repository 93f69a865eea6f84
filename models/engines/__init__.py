"""Engines: combinations of the five policies over one set of options.

- engine: the contract between an engine and the simulation; make: engines from configurations; families: the engines of a
  database's column families.
- codecs: CPU costs of compression types.
- rocksdb: RocksDB, and engines with some other policies; leveldb: LevelDB; table_reads: reads of an engine's tables.
"""
