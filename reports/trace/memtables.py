"""Memtables of a trace: switches, and the bytes of immutable memtables over time."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

from lsmlab.reports.run_data import RunData

_COLUMNS = ("time_s", "shard", "column_family", "bytes", "entries")


def switches_of(run: RunData) -> dict[str, list[Any]]:
    """Return time_s, shard, column_family, bytes and entries of all memtable switches; lists without elements for a LOG."""
    edits = run.events
    if edits is None:
        return {name: [] for name in _COLUMNS}
    switched = edits["kind"].astype(str) == "switch"
    found = {name: edits[name][switched].tolist() for name in _COLUMNS if name in edits}
    return {"column_family": [""] * int(switched.sum()), **found}


def immutable_bytes(run: RunData, switches: Mapping[str, Sequence[Any]]) -> tuple[list[float], list[float]]:
    """Return times, and the WAL bytes of all immutable memtables after each: a flush removes the oldest ones at its end."""
    changes: list[tuple[float, tuple[int, str], float, int]] = []
    for time_s, shard, family, size, _ in zip(*(switches[name] for name in _COLUMNS), strict=True):
        changes.append((time_s, (shard, family), float(size), 0))
    jobs = run.jobs
    if changes:
        families = jobs["column_family"].tolist() if "column_family" in jobs else [""] * len(jobs["job"])
        columns = (jobs[name].tolist() for name in ("kind", "end_s", "shard", "input_files", "unfinished"))
        for family, kind, end_s, shard, memtables, unfinished in zip(families, *columns, strict=True):
            if kind == "flush" and not unfinished:
                changes.append((end_s, (shard, family), 0.0, memtables))
    waiting: dict[tuple[int, str], deque[float]] = defaultdict(deque)
    times, values, total = [], [], 0.0
    for time_s, place, size, flushed in sorted(changes, key=lambda change: (change[0], change[3])):
        if size:
            waiting[place].append(size)
            total += size
        for _ in range(min(flushed, len(waiting[place]))):
            total -= waiting[place].popleft()
        times.append(time_s)
        values.append(total)
    return times, values
