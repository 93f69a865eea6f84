"""Policies of an engine. Contracts first, then one package per lineage.

- decisions: contracts of pickers, cutters, throttles and filter policies; scheduling: of schedulers; tuning: of tuners.
- parts: settings of the policies, and the test that they are compatible; rate_limiter: RocksDB's rate limiter.
- rocksdb, leveldb, pebblesdb, vlsm, silk, adoc, ldc, triad, lazy_leveling: the policies of each system or paper.
"""
