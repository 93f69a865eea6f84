"""Results per phase of a workload with phases, and per action beside clients: operations, jobs, stalls, the tree at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from lsmlab.sim.clients.group import READ, SCAN, WRITE, ClientGroup
from lsmlab.sim.results.job_sums import finished, write_amplification
from lsmlab.sim.results.phase_records import PhaseRecord, TreeState
from lsmlab.sim.results.series import Table
from lsmlab.sim.results.stores import Store
from lsmlab.sim.results.summary import latency_of
from lsmlab.sim.store.records import CAUSES


def phase_rows(stores: Sequence[Store], jobs: Table) -> list[dict[str, Any]]:
    """Return one row per phase for summary.json, by entry of `databases`. A job belongs to the phase in which it ends."""
    return [_row(parts, jobs) for parts in _alike(stores, lambda store: store.phases)]


def action_rows(stores: Sequence[Store], jobs: Table) -> list[dict[str, Any]]:
    """Return one row per action beside clients for summary.json, by entry of `databases` and start."""
    rows = [_action_row(parts, jobs) for parts in _alike(stores, lambda store: store.actions)]
    return sorted(rows, key=lambda row: float(row["start_s"]))


Parts = Sequence[tuple[Store, PhaseRecord]]
"""The same phase or action of alike databases."""


def _alike(stores: Sequence[Store], records: Callable[[Store], Sequence[PhaseRecord]]) -> Iterator[Parts]:
    """Yield what alike databases have in common: the first phase of a name of each, the second one, and so on."""
    found: dict[tuple[str, str, int], list[tuple[Store, PhaseRecord]]] = {}
    for store in stores:
        seen: Counter[str] = Counter()
        for record in records(store):
            found.setdefault((store.group, record.name, seen[record.name]), []).append((store, record))
            seen[record.name] += 1
    yield from found.values()


def _row(parts: Parts, jobs: Table) -> dict[str, Any]:
    start_s, end_s = min(step.start_s for _, step in parts), max(step.end_s for _, step in parts)
    groups = [group for _, step in parts for group in step.groups]
    length_s = max(end_s - start_s, 1e-9)
    operations = sum(g.served for g in groups if not g.spec.background)
    writes = sum(g.served * g.write_share for g in groups)
    reads = sum(g.served * (g.read_share + g.scan_share) for g in groups)
    written = _written_bytes(parts, jobs)
    stalled_s = sum(_stall_seconds(parts).values())
    return {
        **_names(parts, "phase"),
        "start_s": start_s,
        "duration_s": end_s - start_s,
        "operations": operations,
        "ops_per_s": operations / length_s,
        "write_ops_per_s": writes / length_s,
        "read_ops_per_s": reads / length_s,
        "write_latency_s": _latency(groups, start_s, end_s, (WRITE,)),
        "read_latency_s": _latency(groups, start_s, end_s, (READ, SCAN)),
        "stall_s": stalled_s,
        "stall_fraction": stalled_s / length_s,
        "flush_bytes": written["flush"],
        "compaction_write_bytes": written["compaction"],
        "write_amplification": write_amplification(written["flush"], written["compaction"]) if writes > 0.0 else None,
        **_tree(parts),
    }


def _action_row(parts: Parts, jobs: Table) -> dict[str, Any]:
    start_s, written = min(step.start_s for _, step in parts), _written_bytes(parts, jobs)
    return {
        **_names(parts, "action"),
        "start_s": start_s,
        "duration_s": max(step.end_s for _, step in parts) - start_s,
        "stall_seconds": _stall_seconds(parts),
        "flush_bytes": written["flush"],
        "compaction_write_bytes": written["compaction"],
        **_tree(parts),
        "unfinished": any(step.unfinished for _, step in parts),
    }


def _names(parts: Parts, kind: str) -> dict[str, str]:
    store, step = parts[0]
    return {kind: step.name, **({"database": store.group} if store.group else {})}


def _tree(parts: Parts) -> dict[str, Any]:
    tree = TreeState.sum([step.tree for _, step in parts])
    return {
        "live_bytes": sum(tree.level_bytes) + tree.blob_bytes, "files_per_level": tree.level_files,
        "bytes_per_level": tree.level_bytes,
    }  # fmt: skip


def _written_bytes(parts: Parts, jobs: Table) -> dict[str, int]:
    """Return the bytes that flushes and compactions wrote which ended in it."""
    done = finished(jobs, "kind", "shard", "end_s", "write_bytes")
    ended = np.zeros(len(done["end_s"]), dtype=np.bool_)
    for store, step in parts:
        own = np.isin(done["shard"], [database.number for database in store.databases])
        ended |= own & (done["end_s"] > step.start_s) & (done["end_s"] <= step.end_s)
    return {kind: int(done["write_bytes"][ended & (done["kind"] == kind)].sum()) for kind in ("flush", "compaction")}


def _latency(
    groups: Sequence[ClientGroup], start_s: float, end_s: float, kinds: Sequence[int]
) -> dict[str, float] | None:  # fmt: skip
    seconds = np.arange(np.floor(start_s), np.ceil(end_s) + 1.0)
    if not groups or len(seconds) < 2:
        return None
    found, _ = latency_of(groups, kinds, seconds)
    return found.summary(max(end_s - start_s, 1e-9)) if found else None


def _stall_seconds(parts: Parts) -> dict[str, float]:
    """Return the time in s by cause that writers waited for stalls in it, mean over its databases."""
    found: dict[str, float] = {}
    for store, step in parts:
        waits = store.clients.waits.table()
        overlap = np.minimum(waits[:, 1], step.end_s) - np.maximum(waits[:, 0], step.start_s)
        waited_s = np.maximum(overlap, 0.0) * waits[:, 3] / len(parts)
        for cause in np.unique(waits[waited_s > 0.0, 2]).tolist():
            name = CAUSES[int(cause)].value
            found[name] = found.get(name, 0.0) + float(waited_s[waits[:, 2] == cause].sum())
    return found
