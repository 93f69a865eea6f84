"""Section of an imported LOG's page on what the store counted itself: latencies of calls, block cache and filters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lsmlab.reports import numbers
from lsmlab.reports.parts import Part, Section, Table, paragraph

_CALLS: Final = {"write": "write", "get": "get", "multiget": "multiget, whole call", "seek": "seek of an iterator"}
_BLOCKS: Final = {"all": "all blocks", "data": "data blocks", "index": "index blocks", "filter": "filter blocks"}


def store_counts(imported: Mapping[str, Any]) -> list[Section]:
    """Return the section on the statistics in a LOG; none for a LOG without them."""
    found = imported["statistics"]
    if not found:
        return []
    content: list[Part] = [_latencies(found), *_block_cache(found), *_filter(found)]
    return [Section("statistics", "What the store counted", content, _caption(found))]


def _caption(found: Mapping[str, Any]) -> str:
    covered = f" over {numbers.duration(found['covered_s'])}" if found["covered_s"] else ""
    several = " Percentiles are those of the open with most calls: they cannot be summed." if found["opens"] > 1 else ""
    return (
        f"RocksDB's own statistics in the LOG, from each open to the last dump{covered}. A call's time includes write stalls."
        f"{several} What happened after the last dump is not in them."
    )


def _latencies(found: Mapping[str, Any]) -> Part:
    times = ("mean_s", "p50_s", "p95_s", "p99_s", "max_s")
    rows = [
        (
            _CALLS[row["call"]], f"{row['calls']:,.0f}" if row["calls"] else "unknown",
            numbers.per_second(row["per_s"]) if row["per_s"] else "unknown",
            *("unknown" if row[key] is None else numbers.seconds(row[key]) for key in times),
        )
        for row in found["latencies"]
    ]  # fmt: skip
    if not rows:
        return paragraph("The statistics have no latencies (the store has StatsLevel kExceptTimers or lower).", "caption")
    return Table(["call", "calls", "rate", "mean", "P50", "P95", "P99", "slowest"], rows)


def _block_cache(found: Mapping[str, Any]) -> list[Part]:
    cache = found["block_cache"]
    if not cache:
        return []
    rows = [
        (_BLOCKS[name], f"{row['hits']:,.0f}", f"{row['misses']:,.0f}", numbers.percent(row["hit_share"]))
        for name, row in cache.items()
    ]
    return [Table(["block cache", "hits", "misses", "hit rate"], rows)]


def _filter(found: Mapping[str, Any]) -> list[Part]:
    filters = found["filter"]
    if not filters:
        return []
    useful, share = f"{filters['useful']:,.0f}", filters["false_positive_share"]
    wrong = "" if share is None else f"; of the files without the key they let {numbers.percent(share)} pass"
    return [paragraph(f"Filters spared {useful} reads of a file{wrong}.", "caption")]
