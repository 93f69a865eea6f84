"""SILK's released code against recorded runs (`experiment=silk_recorded`), by mechanism.

Source: (background/silk_code.md, What it changes against RocksDB).

A real run was stalled for 41 % of its time with the limiter and 31 % without it; with neither limiter nor thread rules
it had no stall.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from lsmlab.sim.results.results import Result
from running import configuration, run

pytestmark = pytest.mark.xdist_group("silk_code")  # one process computes the runs that these tests share

SCALED = (
    "engine.scheduler.total_bandwidth=40MB/s", "engine.scheduler.least_bandwidth=2MB/s",
    "engine.scheduler.hysteresis=2MB/s",
)  # fmt: skip


def load(peak: float, valley: float) -> tuple[str, ...]:
    """Return the offered op/s of a run: served operations plus growth of the queue per second (LATSEC lines)."""
    return f"workload.peak_rate={peak}", f"workload.valley_rate={valley}"


ARMS = {
    "off": ("engine=rocksdb", *load(9137, 1944)),
    "prio2": (
        "engine=silk_code", "engine/scheduler=silk_code_prio", "engine.options.max_background_flushes=2",
        *load(8826, 1925),
    ),
    "silk2": (
        "engine=silk_code", "engine.options.max_background_flushes=2", "engine.scheduler.pause_bandwidth=30MB/s", *SCALED,
        *load(8530, 1873),
    ),
}  # fmt: skip
"""The recorded arms."""


@lru_cache
def result(arm: str) -> Result:
    """Return the run of an arm on the recorded store and load."""
    config = configuration("experiment=silk_recorded", *ARMS[arm])
    return run({**config, "checks": False})


def compactions(arm: str) -> dict[str, np.ndarray]:
    """Return the columns of the compactions, without trivial moves and discarded jobs."""
    jobs = result(arm).jobs
    chosen = np.asarray(jobs["kind"]) == "compaction"
    return {name: np.asarray(jobs[name])[chosen] for name in ("start_level", "start_s", "end_s", "pool")}


def stalled_time(arm: str) -> tuple[float, float]:
    """Return (seconds stalled, seconds stalled without a running flush), in steps of 10 ms."""
    of = result(arm)
    times = np.arange(0.0, of.summary["duration_s"], 0.01)
    stalled, flushing = np.zeros(len(times), dtype=bool), np.zeros(len(times), dtype=bool)
    for stall in of.stalls:
        stalled |= (times >= stall["start_s"]) & (times < stall["end_s"])
    kind = np.asarray(of.jobs["kind"])
    for start, end in zip(of.jobs["start_s"][kind == "flush"], of.jobs["end_s"][kind == "flush"], strict=True):
        flushing |= (times >= start) & (times < end)
    return 0.01 * float(stalled.sum()), 0.01 * float((stalled & ~flushing).sum())


def test_most_compactions_in_the_flush_pool_are_not_from_l0() -> None:
    """Real runs had 76 compactions on flush threads, 82 % not from L0 (prio2: 69, 78 %), and all of L0's."""
    for arm in ("silk2", "prio2"):
        jobs = compactions(arm)
        high = jobs["pool"] == "high"
        from_l0 = jobs["start_level"] == 0

        assert high.sum() > 40
        assert 0.65 < (high & ~from_l0).sum() / high.sum() < 0.9
        assert (high & from_l0).sum() > 0.8 * from_l0.sum()


def test_in_most_of_the_stalled_time_no_flush_runs() -> None:
    """Both flush threads compact while writes wait for a flush; real runs stall for 31 % and 41 % of the time."""
    pairs = [stalled_time(arm) for arm in ("silk2", "prio2")]

    assert min(stalled for stalled, _ in pairs) > 0.15 * result("silk2").summary["duration_s"]
    assert sum(unflushed for _, unflushed in pairs) > 0.5 * sum(stalled for stalled, _ in pairs)


def test_without_the_thread_rules_the_store_does_not_stall() -> None:
    """As in the real run, one flush thread and three compaction threads of RocksDB cause no stall."""
    assert result("off").summary["stall_fraction"] < 0.02


def test_the_limiter_increases_stalls() -> None:
    """The limiter adds stalls (real runs: from 31 % to 41 %) and lowers writes (from 33.6 to 26.5 MB/s)."""
    limited, free = result("silk2").summary, result("prio2").summary

    assert limited["stall_fraction"] > free["stall_fraction"]
    assert limited["device_bytes_written"] < 0.95 * free["device_bytes_written"]
