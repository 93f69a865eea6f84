"""The end of a run: no job is left, and every entry is accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pytest
from lsmlab.sim.phase import Phase

DRAINED_WITHIN_S: Final = 600.0
"""Simulated time in s within which all jobs must end after the last write."""


def drain(phase: Phase) -> Mapping[str, np.ndarray]:
    """Run a phase until it is idle, and check the first column family. Return the columns of its jobs.

    Asserts that no writer stays blocked, no file stays busy and no entry is lost: flushed entries are live, merged away or
    dropped.
    """
    phase.run_until_idle(DRAINED_WITHIN_S)
    store = phase.families[0]
    assert store.database.idle, "jobs do not end"
    assert not store.database.blocked, "writers stay blocked"
    assert [] == [f for f in store.files() if f.busy], "a file stays busy"
    jobs, recorder = store.recorder.jobs.columns(), store.recorder
    flushed, merged_away = entry_totals(jobs, np.asarray(jobs["kind"]))
    written = flushed + recorder.entries_preloaded
    accounted = store.tree.live_entries() + merged_away + recorder.entries_dropped_by_drop
    assert flushed > 1000, f"only {flushed} entries were flushed"
    assert written == pytest.approx(accounted, rel=1e-9), f"{written} entries written, {accounted} accounted for"
    return jobs


def entry_totals(jobs: Mapping[str, np.ndarray], kind: np.ndarray) -> tuple[float, float]:
    """Return the entries that flushes wrote and those that compactions merged away; `kind`: kind of each job, shape (jobs,)."""
    flushed = float(jobs["entries_out"][kind == "flush"].sum())
    return flushed, float((jobs["entries_in"] - jobs["entries_out"])[kind == "compaction"].sum())
