"""Scope of options: of a whole database (`DBOptions`), or of one column family (`ColumnFamilyOptions`, table options)."""

from __future__ import annotations

from typing import Final

DATABASE_OPTIONS: Final = frozenset(
    {
        "db_write_buffer_size", "max_total_wal_size", "atomic_flush", "max_background_jobs", "max_background_compactions",
        "max_background_flushes", "max_subcompactions", "delayed_write_rate", "compaction_readahead_size",
        "writable_file_max_buffer_size", "bytes_per_sync", "wal_bytes_per_sync", "strict_bytes_per_sync",
        "use_direct_reads", "use_direct_io_for_flush_and_compaction", "rate_limiter_bytes_per_sec",
        "rate_limiter_auto_tuned", "rate_limiter_refill_period_us", "rate_limiter_fairness", "rate_limiter_mode",
        "max_open_files", "max_write_batch_group_size_bytes", "enable_pipelined_write",
        "allow_concurrent_memtable_write", "unordered_write", "two_write_queues", "manual_wal_flush", "disable_wal",
        "sync", "statistics", "stats_dump_period_sec", "cache_size",
    }
)  # fmt: skip
"""Options that all column families of a database share. `disable_wal` and `sync` belong to RocksDB's WriteOptions, which
here are the same for all writes; `cache_size` is one block cache for all families."""
