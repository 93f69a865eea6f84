"""Options that host programs and functions of RocksDB set together, by flat name, as texts of an OPTIONS file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_THREADS: Final = {"max_background_jobs": "4", "max_open_files": "-1"}
_DISK: Final = {**_THREADS, "compaction_style": "level", "level_compaction_dynamic_level_bytes": "true"}
PRESETS: Final[Mapping[str, Mapping[str, str]]] = {
    "DEFAULT": {},
    "SPINNING_DISK_OPTIMIZED": _DISK,
    "FLASH_SSD_OPTIMIZED": _THREADS,
    "SPINNING_DISK_OPTIMIZED_HIGH_MEM": _DISK | {
        "target_file_size_base": "256MiB", "max_bytes_for_level_base": "1GiB", "write_buffer_size": "64MiB",
        "min_write_buffer_number_to_merge": "3", "max_write_buffer_number": "4", "cache_size": "256MiB", "block_size": "128KiB",
        "bloom_bits": "10",
    },
    "KAFKA_STREAMS": {
        "write_buffer_size": "16MiB", "max_write_buffer_number": "3", "compaction_style": "universal", "compression": "no",
        "cache_size": "50MiB", "block_size": "4KiB", "bloom_bits": "10", "disable_wal": "true",
    },
}  # fmt: skip
"""By name: Flink's `predefined-options` (org.apache.flink.state.rocksdb.PredefinedOptions), and what Kafka Streams sets before
it calls a RocksDBConfigSetter (org.apache.kafka.streams.state.internals.RocksDBStore)."""


def flink_memory(total_bytes: float, ratio: float = 0.5) -> dict[str, str]:
    """Return the options by which Flink keeps a slot's databases within a size (RocksDBMemoryControllerUtils).

    `ratio`: part of it for memtables, by default that of state.backend.rocksdb.memory.write-buffer-ratio.

    >>> flink_memory(300e6)["db_write_buffer_size"]
    '100000000'
    """
    return {
        "db_write_buffer_size": f"{2 * total_bytes * ratio / 3:.0f}", "cache_size": f"{(3 - ratio) * total_bytes / 3:.0f}",
        "cache_index_and_filter_blocks": "true",
    }  # fmt: skip


def optimized(style: str, budget_bytes: int) -> dict[str, str]:
    """Return what OptimizeLevelStyleCompaction (`style`: level) or OptimizeUniversalStyleCompaction (universal) sets.

    `budget_bytes`: their argument, the memory for memtables.
    """
    memtables = {
        "write_buffer_size": f"{budget_bytes // 4}", "min_write_buffer_number_to_merge": "2", "max_write_buffer_number": "6",
        "compaction_style": style,
    }  # fmt: skip
    if style == "universal":
        return memtables | {"compaction_options_universal.compression_size_percent": "80"}
    return memtables | {
        "level0_file_num_compaction_trigger": "2", "target_file_size_base": f"{budget_bytes // 8}",
        "max_bytes_for_level_base": f"{budget_bytes}",
        "compression_per_level": ":".join(["kNoCompression"] * 2 + ["kLZ4Compression"] * 5),
    }  # fmt: skip
