"""Policies of an engine. Contracts first, then one package per lineage.

- decisions: contracts of pickers, cutters, throttles and filter policies; scheduling: of schedulers; tuning: of tuners.
- parts: settings of the policies, and the test that they are compatible; rate_limiter: RocksDB's rate limiter, one or two.
- rocksdb, leveldb, pebblesdb, vlsm, silk, adoc: packages with the policies of a system or paper.
- ldc: links instead of compactions; triad: deferred L0 compactions, hot keys in memory, the WAL as L0; lazy_leveling: tiering
  above a levelled last level.
"""
