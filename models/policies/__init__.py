"""Policies of an engine: picker, cutter, throttle, scheduler and tuner. Contracts first, then one package per lineage.

- decisions: contracts of pickers, cutters and throttles; scheduling: of schedulers; tuning: of tuners.
- parts: settings of the five policies, and the test that they are compatible; rate_limiter: RocksDB's rate limiter.
- rocksdb, leveldb, pebblesdb, vlsm, silk, adoc, ldc, triad, lazy_leveling: the policies of each system or paper.
"""
