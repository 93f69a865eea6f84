"""SILK's mechanism: order and pace of jobs, not less work; scaled to a fifth of the paper's bandwidth.

Source: (background/silk.md, Where latency spikes come from).

T is 40 MB/s and memtables have 4 MB instead of 128. The device caps writes alone, so the limit counts them alone too, and
clients' keys and values (background/silk.md, Assumptions). The limiter refills every 10 ms, as often as SILK measures: with
RocksDB's 100 ms a flush of 0.13 s would mostly wait for refills.
"""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.sim.results.results import Result
from running import simulate

pytestmark = pytest.mark.xdist_group("silk")  # one process computes the runs that these tests share

PEAK_S = 20
"""Length of valleys and of peaks in s; the first one is a valley."""
COMMON = (
    "engine=silk", "device=nvme", "device.write_cap=40MB/s", "workload=peaks_valleys", "host.cores=16",
    "engine.options.write_buffer_size=4MiB", "engine.options.target_file_size_base=4MiB",
    "engine.options.max_bytes_for_level_base=16MiB", "engine.options.use_direct_reads=true",
    "engine.options.use_direct_io_for_flush_and_compaction=true",
    "engine.options.rate_limiter_refill_period_us=10000", "workload.value_size=1000", "workload.num=1M",
    "workload.duration=120s", "workload.peak_rate=8000", "workload.valley_rate=500", f"workload.peak={PEAK_S}s",
    f"workload.valley={PEAK_S}s",
)  # fmt: skip
SCALED = (
    "engine.scheduler.total_bandwidth=40MB/s", "engine.scheduler.least_bandwidth=10MB/s",
    "engine.scheduler.slack=1MB/s", "engine.scheduler.hysteresis=2MB/s", "engine.scheduler.chunk=1MiB",
    "engine.scheduler.measures=user", "engine.scheduler.limit_reads=false",
)  # fmt: skip


def result(scheduler: str) -> Result:
    """Return the run with a scheduler, on the same store and load."""
    return simulate(*COMMON, f"engine/scheduler={scheduler}", *(() if scheduler == "rocksdb" else SCALED))


def flush_s(scheduler: str) -> np.ndarray:
    """Return the durations of the flushes in s, from start to commit."""
    jobs = result(scheduler).jobs
    flush = np.asarray(jobs["kind"]) == "flush"
    return np.asarray((jobs["end_s"] - jobs["start_s"])[flush])


def test_flush_duration_does_not_depend_on_other_jobs() -> None:
    """With SILK, the deviation of flush durations is below a fifth of the mean; without it they vary threefold."""
    silk, plain = flush_s("silk"), flush_s("rocksdb")

    assert silk.std() < 0.2 * silk.mean()
    assert silk.max() < 2.0 * silk.min()
    assert plain.max() > 3.0 * plain.min()
    assert silk.max() < 0.6 * plain.max()


def test_a_flush_has_priority_within_the_limit() -> None:
    """A memtable of 4 MiB at I = 40 - 8 - 1 = 31 MB/s needs 0.135 s; no flush takes twice as long."""
    expected_s = 4 * 2**20 / 31e6

    assert expected_s < flush_s("silk").max() < 2.0 * expected_s


def test_deep_compactions_move_into_valleys() -> None:
    """Pending bytes are higher at the end of each peak than at the end of the valleys before and after it."""
    pending = np.asarray(result("silk").series["pending_bytes"], dtype=np.float64)
    ends = pending[PEAK_S - 1 :: PEAK_S]
    peaks, valleys = ends[1::2], ends[0::2]

    assert len(peaks) == len(valleys) == 3
    assert (peaks > 1.5 * valleys).all()
    assert (peaks[:-1] > 1.5 * valleys[1:]).all()
    assert peaks.min() > 400e6


def test_l0_stays_low_and_halted_jobs_resume() -> None:
    """L0 stays near its trigger; deep jobs are halted and resumed, or discarded if they lose their inputs."""
    silk = result("silk")
    kind = np.asarray(silk.jobs["kind"])

    assert np.asarray(silk.series["l0_files"]).max() <= 8
    halted = np.asarray(silk.jobs["halted_s"]) > 0.0
    assert {"compaction"} == set(kind[halted]), "halted jobs that were not discarded ended"
    assert int((kind == "discarded").sum()) > 0
    assert silk.summary["stall_fraction"] == 0.0


def test_reads_of_compactions_count_against_the_limit() -> None:
    """By default flushes and compactions read and write no more than I = T - C - slack, C being the clients' traffic.

    Source: (background/silk.md, What SILK does).
    """
    scaled = [key for key in SCALED if "measures" not in key and "limit_reads" not in key]
    silk = simulate(
        *COMMON, *scaled, "workload.peak_rate=4000", "device.write_cap=null", "engine.options.bloom_bits=10",
        f"workload.duration={2 * PEAK_S}s",
    )  # fmt: skip
    jobs = sum(
        np.asarray(silk.series[f"{way}_bytes_{name}_per_s"]) for name in ("flush", "l0", "deeper") for way in ("read", "write")
    )
    clients = np.asarray(silk.series["read_bytes_client_per_s"])
    peak = slice(PEAK_S + 5, 2 * PEAK_S)

    assert clients[peak].mean() > 6e6, "clients read from the device"
    assert 0.8 * (39e6 - clients[peak].mean()) < jobs[peak].mean() < 1.05 * (39e6 - clients[peak].mean())


def test_divided_bandwidth_keeps_flushes_and_compactions_apart() -> None:
    """In settings D, P and O compactions never write more than their quarter, even if flushes use less than theirs."""
    divided = simulate(
        *COMMON, "engine/scheduler=silk_split", "engine.scheduler.total_bandwidth=40MB/s", "engine.scheduler.chunk=1MiB",
        f"workload.duration={3 * PEAK_S}s",
    )  # fmt: skip
    compacted = sum(np.asarray(divided.series[f"write_bytes_{name}_per_s"]) for name in ("l0", "deeper"))

    assert compacted[5:].mean() < 10.2e6
    assert np.convolve(compacted, np.ones(5) / 5, "valid").max() < 11.5e6


def test_each_worker_has_its_own_queue() -> None:
    """A write waits behind reads in its worker's queue, so its P99 is about a read's duration, unlike with one queue.

    Source: (behaviour/evaluations.md, SILK's evaluation).
    """
    common = (
        "experiment=silk_motivation", "engine.options.disable_auto_compactions=true", "initial_tree=null", "workload.num=1M",
        "engine.options.cache_size=8MiB", "workload.duration=3s",
    )  # fmt: skip
    own, shared = (
        simulate(*common, f"workload.queue_per_thread={own}").summary["write_latency_s"]
        for own in ("true", "false")
    )
    read_s = 120e-6

    assert own["p50"] == pytest.approx(shared["p50"], rel=0.2)
    assert shared["p99"] < 0.1 * read_s
    assert 0.5 * read_s < own["p99"] < 5.0 * read_s
