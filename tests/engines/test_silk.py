"""SILK's mechanism: order and pace, not less work. Scaled to a fifth of the paper's bandwidth.

See (background/silk.md, Where latency spikes come from).

T is 40 MB/s, memtables are 4 MB instead of 128, and the limiter refills as often as SILK measures, every 10 ms: with
RocksDB's 100 ms a flush of 0.13 s would mostly wait for refills.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from lsmlab.sim.results.results import Result
from lsmlab.sim.simulation import run
from running import configuration

pytestmark = pytest.mark.xdist_group("silk")  # one process computes the runs that these tests share

PEAK_S = 20
"""Valleys and peaks are of one length, a valley first."""
COMMON = (
    "engine=silk", "device=nvme", "device.write_cap=40MB/s", "workload=peaks_valleys", "host.cores=16",
    "engine.options.write_buffer_size=4MiB", "engine.options.target_file_size_base=4MiB",
    "engine.options.max_bytes_for_level_base=16MiB", "engine.options.use_direct_reads=true",
    "engine.options.use_direct_io_for_flush_and_compaction=true",
    "engine.options.rate_limiter_refill_period_us=10000", "workload.value_size=1000", "workload.num=1M",
    "workload.duration=160s", "workload.peak_rate=8000", "workload.valley_rate=500", f"workload.peak={PEAK_S}s",
    f"workload.valley={PEAK_S}s",
)  # fmt: skip
SCALED = (
    "engine.scheduler.total_bandwidth=40MB/s", "engine.scheduler.least_bandwidth=10MB/s",
    "engine.scheduler.slack=1MB/s", "engine.scheduler.hysteresis=2MB/s", "engine.scheduler.chunk=1MiB",
)  # fmt: skip


@lru_cache
def result(scheduler: str) -> Result:
    """The run under a scheduler, on the same store and load."""
    scaled = () if scheduler == "rocksdb" else SCALED
    return run(configuration(*COMMON, f"engine/scheduler={scheduler}", *scaled))


def flush_s(scheduler: str) -> np.ndarray:
    """Durations of the flushes, from start to commit."""
    jobs = result(scheduler).jobs
    flush = np.asarray(jobs["kind"]) == "flush"
    return np.asarray((jobs["end_s"] - jobs["start_s"])[flush])


def test_flushes_take_the_same_time_whatever_else_runs() -> None:
    """SILK's flush duration varies by a fifth or less between valley and peak; without SILK it varies fourfold."""
    silk, plain = flush_s("silk"), flush_s("rocksdb")

    assert silk.std() < 0.2 * silk.mean()
    assert silk.max() < 2.0 * silk.min()
    assert plain.max() > 3.0 * plain.min()
    assert silk.max() < 0.6 * plain.max()


def test_a_flush_has_the_first_claim_on_the_limit() -> None:
    """A memtable of 4 MiB at I = 40 - 8 - 1 = 31 MB/s needs 0.135 s; no flush in a peak takes twice as long."""
    expected_s = 4 * 2**20 / 31e6

    assert expected_s < flush_s("silk").max() < 2.0 * expected_s


def test_deep_work_moves_into_valleys() -> None:
    """The backlog is higher at each peak's end than at the end of the valley before it and of the one after it."""
    pending = np.asarray(result("silk").series["pending_bytes"], dtype=np.float64)
    ends = pending[PEAK_S - 1 :: PEAK_S]
    peaks, valleys = ends[1::2], ends[0::2]

    assert len(peaks) == len(valleys) == 4
    assert (peaks > 1.5 * valleys).all()
    assert (peaks[:-1] > 1.5 * valleys[1:]).all()
    assert peaks.min() > 400e6


def test_neither_half_alone_keeps_flushes_short() -> None:
    """Bandwidth control without priorities starves flushes; priorities without it leave them to fight for the device."""
    whole = flush_s("silk").max()

    assert flush_s("silk_bandwidth").max() > 1.7 * whole
    assert flush_s("silk_priorities").max() > 1.7 * whole


def test_l0_stays_low_and_victims_go_on() -> None:
    """L0 is bounded by its trigger and what is flushed meanwhile; deep jobs are halted, and some lose their inputs."""
    silk = result("silk")
    kind = np.asarray(silk.jobs["kind"])

    assert np.asarray(silk.series["l0_files"]).max() <= 8
    halted = np.asarray(silk.jobs["halted_s"]) > 0.0
    assert {"compaction"} == set(kind[halted]), "who was halted, and not discarded at once, went on to its end"
    assert int((kind == "discarded").sum()) > 0
    assert silk.summary["stall_fraction"] == 0.0


def test_spikes_of_the_default_engine_come_from_coincidences() -> None:
    """Without SILK the slowest tenth of the flushes meet more running compactions than the fastest tenth."""
    jobs, kind = result("rocksdb").jobs, np.asarray(result("rocksdb").jobs["kind"])
    compaction, flush = kind == "compaction", kind == "flush"
    starts, ends = np.asarray(jobs["start_s"]), np.asarray(jobs["end_s"])
    beside = np.array([
        np.clip(np.minimum(ends[compaction], b) - np.maximum(starts[compaction], a), 0.0, None).sum() / (b - a)
        for a, b in zip(starts[flush], ends[flush], strict=True)
    ])  # fmt: skip
    order = np.argsort(flush_s("rocksdb"))
    tenth = len(order) // 10

    assert beside[order[-tenth:]].mean() > 2.0
    assert beside[order[-tenth:]].mean() > beside[order[:tenth]].mean() + 1.0


def test_divided_bandwidth_keeps_flushes_and_compactions_apart() -> None:
    """Settings D, P, O: compactions never write more than their quarter, whatever flushes leave unused."""
    divided = run(configuration(
        *COMMON, "engine/scheduler=silk_split", "engine.scheduler.total_bandwidth=40MB/s", "engine.scheduler.chunk=1MiB",
    ))  # fmt: skip
    compacted = sum(np.asarray(divided.series[f"write_bytes_{name}_per_s"]) for name in ("l0", "deeper"))

    assert compacted[5:].mean() < 10.2e6
    assert np.convolve(compacted, np.ones(5) / 5, "valid").max() < 11.5e6
