"""Policies: the five decisions of an engine, contracts first, then one package per lineage.

- decisions: contracts of picker, cutter and throttle; scheduling: contract of schedulers; tuning: contract of tuners;
  optional: answers beside the contracts; flush_rules: what a flush writes.
- parts: five policies that go together; rate_limiter: RocksDB's GenericRateLimiter.
- rocksdb, leveldb, pebblesdb, vlsm, silk, adoc, ldc, triad, lazy_leveling: the policies of each store or paper.
"""
