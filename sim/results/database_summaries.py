"""Numbers of each database of a run of several, and their range over alike databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final

import numpy as np
from lsmlab.sim.results.job_sums import JobSums, write_amplification
from lsmlab.sim.results.stores import Store
from lsmlab.sim.store.records import CAUSES

RANKED: Final = (
    "stall_fraction", "longest_stall_s", "write_ops_per_s", "read_ops_per_s", "write_amplification", "live_bytes",
    "flush_count", "mean_flush_bytes", "compaction_count", "slot_wait_s",
)  # fmt: skip
"""Numbers of a database of which alike databases have a smallest, a median and a largest value."""


def database_summaries(stores: Sequence[Store], jobs: JobSums, duration_s: float) -> dict[str, dict[str, Any]]:
    """Return, by entry of `databases`, the numbers of each of its databases, and their range."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for store in stores:
        groups.setdefault(store.group, []).append(_database(store, jobs, duration_s))
    return {name: {"count": len(each), "range": _range(each), "each": each} for name, each in groups.items()}


def _range(each: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    known = {name: [one[name] for one in each if one[name] is not None] for name in RANKED}
    return {
        name: {"min": min(found, default=None), "median": median(found) if found else None, "max": max(found, default=None)}
        for name, found in known.items()
    }


def _database(store: Store, jobs: JobSums, duration_s: float) -> dict[str, Any]:
    own = jobs.where("shard", *(database.number for database in store.databases))
    flushes, compactions = own.where("kind", "flush"), own.where("kind", "compaction")
    flush_bytes, compaction_bytes = flushes.moved("write"), compactions.moved("write")
    traffic, waits = store.clients.totals(), store.clients.waits.table()
    waited = (waits[:, 1] - waits[:, 0]) * waits[:, 3]
    stalled = {CAUSES[int(i)].value: float(waited[waits[:, 2] == i].sum()) for i in np.unique(waits[:, 2])}
    return {
        "name": store.name,
        "number": store.databases[0].number,
        "operations": sum(group.served for group in store.clients.groups if not group.spec.background),
        "write_ops_per_s": traffic.writes / duration_s,
        "read_ops_per_s": traffic.reads / duration_s,
        "user_bytes_written": traffic.writes * store.clients.shape.user_bytes,
        "stall_fraction": sum(stalled.values()) / duration_s,
        "stall_seconds": stalled,
        "longest_stall_s": min(store.clients.waits.longest_s, duration_s),
        "write_amplification": write_amplification(
            flush_bytes, compaction_bytes, sum(f.ingested_bytes for f in store.families)
        ),
        "flush_count": len(flushes),
        "flush_bytes": flush_bytes,
        "mean_flush_bytes": flush_bytes / len(flushes) if len(flushes) else 0.0,
        "flush_reasons": dict(sorted(flushes.count("reason").items())),
        "compaction_count": len(compactions),
        "compaction_write_bytes": compaction_bytes,
        "slot_wait_s": own.real("slot_wait_s"),
        "live_bytes": sum(f.tree.total_bytes() + f.tree.blobs.size_bytes for f in store.families),
    }
