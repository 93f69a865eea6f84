"""The end of a run: the clients stop, all memtables are flushed, and all jobs end."""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest
from lsmlab.sim.phase import Phase
from lsmlab.sim.store.column_family import ColumnFamily

DRAINED_WITHIN_S: Final = 600.0
"""Simulated time in s within which all jobs must end after the last write."""


def drain(phase: Phase) -> None:
    """Stop the clients, flush all memtables, and run until all jobs of the first column family's database have ended.

    Asserts that no writer stays blocked, no file stays busy and no entry is lost: flushed entries are live, merged away or
    dropped.
    """
    store = phase.families[0]
    phase.clients.stop()
    store.flush_all(phase.clients.unflushed()[0])
    end_s = phase.env.now + DRAINED_WITHIN_S
    while not store.database.idle and phase.env.now < end_s:
        phase.env.step()
    assert store.database.idle, "jobs do not end"
    assert not store.database.blocked, "writers stay blocked"
    assert [] == [f for f in store.files() if f.busy], "a file stays busy"
    written, accounted = _entries(store)
    assert written == pytest.approx(accounted, rel=1e-9), f"{written} entries written, {accounted} accounted for"


def _entries(store: ColumnFamily) -> tuple[float, float]:
    """Return (entries that the store began with or flushed, entries that are live, merged away or dropped)."""
    jobs, recorder = store.recorder.jobs.columns(), store.recorder
    kind = np.asarray(jobs["kind"])
    flushed = float(jobs["entries_out"][kind == "flush"].sum())
    merged_away = float((jobs["entries_in"] - jobs["entries_out"])[kind == "compaction"].sum())
    assert flushed > 1000, f"only {flushed} entries were flushed"
    accounted = store.tree.live_entries() + merged_away + recorder.entries_dropped_by_drop
    return flushed + recorder.entries_preloaded, accounted
