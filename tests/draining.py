"""Rules of every run: jobs end, every entry is accounted for, and no number of the summary contradicts another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pytest
from lsmlab.sim.phase import Phase
from lsmlab.sim.results.results import Result

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


def check_entries(result: Result) -> None:
    """Check that, with unfinished jobs, the tables account for every flushed entry: live, merged away or dropped."""
    jobs, summary = result.jobs, result.summary
    flushed, merged_away = entry_totals(jobs, np.where(jobs["unfinished"], "unfinished", np.asarray(jobs["kind"])))
    written = flushed + summary["preloaded_entries"]
    assert merged_away >= -1e-6
    assert written == pytest.approx(summary["live_entries"] + merged_away + summary["dropped_entries"], rel=1e-9, abs=1e-6)


def contradictions(summary: Mapping[str, Any]) -> list[str]:
    """Return the statements about a summary that must hold and do not."""
    duration_s, almost = summary["duration_s"], 1.0 + 1e-9
    longest_s = summary["longest_stall_s"]
    latencies = [summary[key] for key in ("write_latency_s", "read_latency_s", "scan_latency_s") if summary[key] is not None]
    ordered = [[latency[p] for p in ("p50", "p90", "p95", "p99", "p999", "p9999", "max")] for latency in latencies]
    facts = {
        "longest stall <= duration": 0.0 <= longest_s <= duration_s * almost,
        "space amplification >= 1": summary["space_amplification"] >= 1.0,
        "stalled share <= 1": 0.0 <= summary["stall_fraction"] <= almost,
        "seconds of each cause <= duration": all(0.0 <= s <= duration_s * almost for s in summary["stall_seconds"].values()),
        "mean <= max": all(latency["mean"] <= latency["max"] * almost for latency in latencies),
        "max <= duration": all(latency["max"] <= duration_s * almost for latency in latencies),
        "percentiles are ordered": all(values == sorted(values) and values[0] >= 0.0 for values in ordered),
        "utilisation <= 1": 0.0 <= summary["device"]["utilisation"] <= almost,
        "numbers are finite and not negative": all(
            math.isfinite(value) and value >= 0.0
            for value in summary.values()
            if isinstance(value, int | float) and not isinstance(value, bool)
        ),
    }
    return [fact for fact, holds in facts.items() if not holds]
