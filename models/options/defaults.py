"""Defaults of RocksDB's options by version, db_bench's different defaults, and the releases that have an option.

Source: (behaviour/versions.md, Defaults; Options), (behaviour/options.md, Defaults of db_bench).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lsmlab.models import since
from lsmlab.models.options.fields import CompactionPri, Compression
from lsmlab.models.version import Version

_MIB: Final = 1 << 20
_GIB: Final = 1 << 30

DERIVE: Final = 0
"""RocksDB's value for "derive when the store is opened"."""
AUTO_SECONDS: Final = 2**64 - 2
"""RocksDB's kDefaultTtl and kDefaultPeriodicCompSecs: "decide when the store is opened"."""

_OLDEST: Final[Mapping[str, Any]] = {
    "arena_block_size": DERIVE,
    "max_compaction_bytes": DERIVE,
    "delayed_write_rate": DERIVE,
    "compaction_pri": CompactionPri.BY_COMPENSATED_SIZE,
    "ttl": 0,
    "periodic_compaction_seconds": 0,
    "level_compaction_dynamic_file_size": False,
    "ignore_max_compaction_bytes_for_input": False,
    "format_version": 2,
}
"""Defaults of 5.7 that differ from those of `RocksDbOptions` (7.8) or are derived."""

CHANGES: Final[tuple[tuple[Version, Mapping[str, Any]], ...]] = (
    (Version(6, 0), {"compaction_pri": CompactionPri.MIN_OVERLAPPING_RATIO}),
    (Version(6, 6), {"ttl": AUTO_SECONDS, "periodic_compaction_seconds": AUTO_SECONDS}),
    (Version(6, 9), {"format_version": 4}),
    (Version(6, 19), {"format_version": 5}),
    (Version(7, 8), {"level_compaction_dynamic_file_size": True, "ignore_max_compaction_bytes_for_input": True}),
    (Version(8, 2), {"cache_size": 32 * _MIB}),
    (Version(8, 4), {"level_compaction_dynamic_level_bytes": True}),
    (Version(8, 6), {"compaction_readahead_size": 2 * _MIB}),
    (Version(9, 0), {"format_version": 6}),
    (Version(10, 11), {"format_version": 7}),
    (Version(11, 5), {"compression": Compression.LZ4}),
)

_DB_BENCH: Final[Mapping[str, Any]] = {
    "delayed_write_rate": 8 * _MIB,
    "hard_pending_compaction_bytes_limit": 128 * _GIB,
    "compression": Compression.SNAPPY,
    "level_compaction_dynamic_level_bytes": False,
    "compaction_options_fifo.allow_compaction": True,
    "compaction_options_fifo.max_table_files_size": 0,
}

_LAST: Final = Version(2**31, 0)
RELEASES: Final[Mapping[str, tuple[Version, Version]]] = {
    "level_compaction_dynamic_file_size": (Version(7, 8), Version(8, 11)),
    "ignore_max_compaction_bytes_for_input": (Version(7, 8), Version(8, 11)),
    "max_write_buffer_number_to_maintain": (Version(5, 7), Version(10, 1)),
    "max_write_buffer_size_to_maintain": (Version(6, 5), _LAST),
    "rate_limiter_auto_tuned": (Version(5, 9), _LAST),
    "periodic_compaction_seconds": (Version(6, 2), _LAST),
    "cf_paths": (Version(5, 14), _LAST),
    "last_level_temperature": (Version(6, 21), _LAST),
    "preclude_last_level_data_seconds": (Version(7, 5), _LAST),
    "enable_blob_files": (Version(6, 18), _LAST),
    "min_blob_size": (Version(6, 18), _LAST),
    "blob_file_size": (Version(6, 18), _LAST),
    "blob_compression_type": (Version(6, 18), _LAST),
    "enable_blob_garbage_collection": (Version(6, 18), _LAST),
    "blob_garbage_collection_age_cutoff": (Version(6, 18), _LAST),
    "blob_garbage_collection_force_threshold": (Version(6, 26), _LAST),
    "blob_compaction_readahead_size": (Version(6, 27), _LAST),
    "blob_file_starting_level": (Version(7, 4), _LAST),
    "use_blob_cache": (Version(7, 4), _LAST),
    "blob_cache_size": (Version(7, 4), _LAST),
    "bottommost_file_compaction_delay": (Version(8, 6), _LAST),
    "compaction_options_universal.max_read_amp": (Version(9, 4), _LAST),
    "compaction_options_fifo.file_temperature_age_thresholds": (Version(8, 3), _LAST),
    "compaction_options_fifo.max_data_files_size": (Version(11, 0), _LAST),
    "compaction_options_fifo.use_kv_ratio_compaction": (Version(11, 0), _LAST),
}


def default_values(version: Version, preset: str) -> dict[str, Any]:
    """Typed defaults by flat name, as far as they differ from those of `RocksDbOptions`; before any sanitising."""
    values = dict(_OLDEST)
    for first, changes in CHANGES:
        if version >= first:
            values |= changes
    if preset == "db_bench":
        values |= _DB_BENCH
        if version < since.DB_BENCH_KEEPS_TTL:
            values["ttl"] = 0  # from its FIFO flag
        if version < since.DB_BENCH_READS_AHEAD:
            values["compaction_readahead_size"] = 0
    return values


def releases_of(version: Version, name: str) -> str | None:
    """Return in words the releases that have option `name`, if `version` does not; None if `version` has it."""
    first, last = RELEASES.get(name, (Version(0, 0), _LAST))
    if first <= version <= last:
        return None
    return f"{first} and later have it" if last == _LAST else f"{first} to {last} have it"
