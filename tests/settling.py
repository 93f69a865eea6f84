"""The end of a run: the clients stop, all memtables are flushed, and all jobs end."""

from __future__ import annotations

from typing import Final

import pytest
from lsmlab.sim.phase import Phase
from lsmlab.sim.store.column_family import ColumnFamily

SETTLES_WITHIN_S: Final = 600.0
"""Simulated time in s within which all jobs must end after the last write."""


def settle(phase: Phase) -> ColumnFamily:
    """Let the jobs of a run end, and return its store.

    Asserts that no writer stays blocked, no file stays busy, and no entry is lost: flushed entries are live or were dropped.
    """
    store = phase.families[0]
    phase.clients.stop()
    store.flush_all(phase.clients.unflushed()[0])
    end_s = phase.env.now + SETTLES_WITHIN_S
    while not store.database.idle and phase.env.now < end_s:
        phase.env.step()
    assert store.database.idle, "jobs do not end"
    assert not store.database.blocked, "writers stay blocked"
    assert [] == [f for f in store.files() if f.busy], "a file stays busy"
    written, accounted = entries(store)
    assert written == pytest.approx(accounted, rel=1e-9)
    return store


def entries(store: ColumnFamily) -> tuple[float, float]:
    """Return (entries that the store began with or flushed, entries that are live, merged away or dropped)."""
    jobs, recorder = store.recorder.jobs.recent(), store.recorder
    flushed = sum(j.entries_out for j in jobs if j.kind == "flush")
    merged_away = sum(j.entries_in - j.entries_out for j in jobs if j.kind == "compaction")
    assert flushed > 1000
    return (
        flushed + recorder.entries_preloaded,
        store.tree.live_entries() + merged_away + recorder.entries_dropped_by_drop,
    )
