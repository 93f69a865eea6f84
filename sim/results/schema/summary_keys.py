"""Top-level keys of summary.json with their units; docs/reference/summary.md defines each key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SummaryKey:
    """A key in the summary.json of a simulated run."""

    name: str
    unit: str
    """s, bytes, count, 1/s, ratio; "" for texts, and for objects whose keys have their own units."""
    since: int = 0
    """First version of the results contract with this key."""
    optional: bool = False
    """Whether a run may omit the key."""


def _keys(unit: str, names: str, since: int = 0, optional: bool = False) -> tuple[SummaryKey, ...]:
    return tuple(SummaryKey(name, unit, since, optional) for name in names.split())


SUMMARY_KEYS: Final = (
    *_keys("s", "duration_s halted_s longest_stall_s stall_seconds write_latency_s read_latency_s"),
    *_keys("1/s", "ops_per_s write_ops_per_s read_ops_per_s"),
    *_keys("count", "operations flush_count compaction_count trivial_move_count drop_count link_count discarded_count"),
    *_keys("count", "job_reasons live_entries preloaded_entries dropped_entries stall_count stalls files_per_level"),
    *_keys("count", "chain_levels shards"),
    *_keys("count", "replications ingested_files", optional=True),
    *_keys("bytes", "user_bytes_written flush_bytes discarded_bytes compaction_read_bytes compaction_write_bytes live_bytes"),
    *_keys("bytes", "ingested_bytes", since=3, optional=True),
    *_keys("bytes", "device_bytes_written device_bytes_read chain_bytes chain_width_bytes"),
    *_keys("ratio", "write_amplification read_amplification space_amplification stall_fraction"),
    *_keys("", "levels compaction_stats device cpu memory keys engine engine_version workload options notes seed version"),
    *_keys("", "block_cache prefill seeds interval not_simulated", optional=True),
    *_keys("", "lost_operations episodes bottleneck", since=1),
    *_keys("s", "scan_latency_s stall_waits_s", since=1),
    *_keys("s", "open_loop_latency_s", since=1, optional=True),
    *_keys("", "column_families conditions", since=1, optional=True),
    *_keys("", "results_format", since=1),
    *_keys("", "settled overload", since=2),
    *_keys("", "blobs databases", since=3, optional=True),
    *_keys("", "phases actions wal devices", since=3, optional=True),
)
