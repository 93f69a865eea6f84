"""Time span in which each memtable filled: from one memtable switch to the next. Selection of the unstalled ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.history.stalls import Stall, stalls_of
from lsmlab.validation.logs.history.summary import origin_us
from lsmlab.validation.logs.records import RocksDbLog

_NEAR_US: Final = 1000
"""Longest time by which a flush may start before the line of the memtable switch that caused it."""


class Fill(NamedTuple):
    """Entries written between two memtable switches; times are local, or UTC (`unstalled_fills`)."""

    start_us: int
    end_us: int
    entries: float
    """Number of entries, deletes included."""
    column_family: str = "default"

    @property
    def entry_s(self) -> float:
        """Mean seconds per entry; `entries` is not 0."""
        return (self.end_us - self.start_us) / 1e6 / self.entries


def memtable_fills(log: RocksDbLog, flushes: Sequence[LogJob]) -> list[Fill]:
    """Return the fills of all opens and column families. Memtables that one flush takes together count as one fill."""
    switches: dict[tuple[int, str], list[int]] = defaultdict(list)
    for record in log.switches() if log.step_us <= _NEAR_US else ():  # the times of events are more exact then
        switches[record.opening, record.column_family].append(record.time_us)
    by_store: dict[tuple[int, str], list[LogJob]] = defaultdict(list)
    for job in flushes:
        by_store[job.opening, job.column_family].append(job)
    fills = []
    for store, jobs in by_store.items():
        times, used = switches.get(store, []), 0
        opened = log.openings[store[0]]
        since: int | None = max(origin_us(log), opened.ready_us) if opened.version and opened.ready_us else None
        for job in sorted(jobs, key=lambda j: j.start_us):
            used += max(1, job.memtables)
            full = times[used - 1] if used <= len(times) and times[used - 1] <= job.start_us + _NEAR_US else job.start_us
            if since is None:  # the LOG begins after the open: its first memtable was filled since an unknown time
                since = full
            elif full > since:
                fills.append(Fill(since, full, float(job.entries_in), store[1]))
                since = full
    return fills


def until_closes(fills: Sequence[Fill], log: RocksDbLog) -> list[Fill]:
    """Return the fills up to the moment at which a store begins to close; the close may wait for a compaction."""
    closed = [opening.closing_us for opening in log.openings if opening.closing_us is not None]
    closes = np.sort(np.array([*closed, np.iinfo(np.int64).max], dtype=np.int64))
    next_close = closes[np.searchsorted(closes, [fill.start_us for fill in fills], side="right")]
    return [f._replace(end_us=min(f.end_us, int(close))) for f, close in zip(fills, next_close, strict=True)]


def of_all_families(fills: Sequence[Fill]) -> list[Fill]:
    """Fills with the entries that all column families were given in their time; those of one family stay as they are."""
    families = {fill.column_family for fill in fills}
    if len(families) < 2:
        return list(fills)
    start, end = (np.array([getattr(f, name) for f in fills], dtype=np.float64) for name in ("start_us", "end_us"))
    entries = np.zeros(len(fills))
    for family in families:
        own = sorted((f for f in fills if f.column_family == family), key=lambda f: f.start_us)
        times = np.array([time for f in own for time in (f.start_us, f.end_us)], dtype=np.float64)
        written = np.repeat(np.cumsum([0.0, *(f.entries for f in own)]), 2)[1:-1]
        entries += np.interp(end, times, written) - np.interp(start, times, written)
    return [fill._replace(entries=total) for fill, total in zip(fills, entries.tolist(), strict=True)]


def unstalled(fills: Sequence[Fill], stalls: Sequence[Stall]) -> list[Fill]:
    """Return the fills during which no stall slowed or stopped writers."""
    held = np.array([(s.start_us, s.end_us) for s in stalls], dtype=np.int64).reshape(-1, 2)
    return [f for f in fills if f.entries and not ((held[:, 0] < f.end_us) & (held[:, 1] > f.start_us)).any()]


def unstalled_fills(log: RocksDbLog, flushes: Sequence[LogJob]) -> list[Fill]:
    """Return the fills of a LOG's memtables during which no stall slowed or stopped writers; their times are UTC."""
    fills = unstalled(memtable_fills(log, flushes), stalls_of(log).intervals)
    return [fill._replace(start_us=fill.start_us - log.zone_us, end_us=fill.end_us - log.zone_us) for fill in fills]
