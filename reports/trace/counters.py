"""Curves of a trace: L0 files, pending compaction bytes, memtables, device bandwidth and throughput."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from lsmlab.reports.palette import CONSUMER_NAMES
from lsmlab.reports.run_data import Column, RunData
from lsmlab.reports.trace.events import Event, counter, track_names
from lsmlab.reports.trace.tracks import COUNTERS, SWITCH

_MB: Final = 1e6
_STATES: Final = {"immutables": ("immutable", "memtables"), "pending_bytes": ("pending compaction", "bytes")}
"""States at the end of each second of the series, with names and units of their curves."""


def counters(run: RunData, switches: Mapping[str, Sequence[Any]]) -> list[Event]:
    """Return all curves; rates hold from the start of their second, states from its end."""
    events = track_names(COUNTERS, "curves", {})
    starts = np.maximum(run.times_s - 1.0, 0.0)
    for column, name in (("write_ops", "writes"), ("read_ops", "reads")):
        if run.column(column).any():
            events += _curve(name, "per s", starts, np.nan_to_num(run.rate(column)))
    for direction in ("write", "read"):
        for consumer, name in CONSUMER_NAMES.items():
            rate = run.column(f"{direction}_bytes_{consumer}_per_s") / _MB
            events += _curve(f"device {direction}s: {name}", "MB/s", starts, rate) if rate.any() else []
    events += _l0_files(run)
    for column, (name, unit) in _STATES.items():
        events += _curve(name, unit, run.times_s, run.column(column))
    times, sizes = immutable_bytes(run, switches)
    return [*events, *_curve("immutable memtables", "bytes", np.array(times), np.array(sizes))]


def _l0_files(run: RunData) -> list[Event]:
    """Return the number of L0 files, at each version edit if events.parquet has them, else at the end of each second."""
    edits = run.events
    if edits is None or not len(edits["time_s"]):
        return list(_curve("L0", "files", run.times_s, run.column("l0_files")))
    times, counts = l0_curve(edits)
    return list(_curve("L0", "files", times, counts))


def l0_curve(edits: dict[str, Column]) -> tuple[Column, Column]:
    """Return the times of version edits that change the number of L0 files, and that number after each."""
    kind = edits["kind"].astype(str)
    change = ((edits["to_level"] == 0) & np.isin(kind, ("create", "move"))).astype(int)
    change -= (edits["from_level"] == 0) & np.isin(kind, ("delete", "move", "freeze"))
    changed = np.flatnonzero(change)
    times, total = edits["time_s"][changed], np.cumsum(change[changed])
    last = np.flatnonzero(np.append(times[1:] != times[:-1], True)) if len(times) else changed
    return times[last], total[last]


def immutable_bytes(run: RunData, switches: Mapping[str, Sequence[Any]]) -> tuple[list[float], list[float]]:
    """Return times, and the WAL bytes of all immutable memtables after each: a flush removes the oldest ones at its end."""
    changes: list[tuple[float, tuple[int, str], float, int]] = []
    for time_s, shard, family, size, _ in zip(*(switches[name] for name in SWITCH), strict=True):
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


def _curve(name: str, unit: str, times_s: Column, values: Column) -> Iterator[Event]:
    """Yield the values of a curve where they change."""
    before: Any = None
    for time_s, value in zip(times_s.tolist(), values.tolist(), strict=True):
        if value != before:
            yield counter(name, unit, COUNTERS, time_s, value)
            before = value
