"""ADOC's mechanism: one pool of threads serves three queues in series, so the overflow moves between them.

Source: (background/adoc.md, Three queues and one pool of servers).

Scaled down: memtables of 4 MiB instead of 64, limits on pending bytes in proportion.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lsmlab.reports.figures.over_time import tuned_options
from lsmlab.reports.run_data import load_run
from lsmlab.reports.timeline import Timeline
from lsmlab.sim.results.results import Result
from running import phase_of, simulate

pytestmark = pytest.mark.xdist_group("adoc")  # one process computes the runs that these tests share

MIB = 1 << 20
JOBS = (2, 6, 20)
"""max_background_jobs of the sweep."""
COMMON_OPTIONS = (
    "workload.key_size=16", "engine.options.disable_wal=true", "engine.options.use_direct_reads=true",
    "engine.options.use_direct_io_for_flush_and_compaction=true",
)  # fmt: skip
COMMON = (
    "device=nvme", "device.write_cap=200MB/s", "device.read_cap=200MB/s", "host.cores=16", "workload.num=4M",
    "workload.value_size=1000", *COMMON_OPTIONS, "engine.options.write_buffer_size=4MiB",
    "engine.options.target_file_size_base=4MiB", "engine.options.max_bytes_for_level_base=16MiB",
    "engine.options.soft_pending_compaction_bytes_limit=512MiB",
    "engine.options.hard_pending_compaction_bytes_limit=1GiB", "keys.samples_per_file=64",
)  # fmt: skip
TUNED = ("engine.tuner.least_batch=4MiB", "engine.tuner.most_batch=32MiB", "engine.tuner.step_batch=4MiB")


def sweep(jobs: int) -> Result:
    """Return 40 s of closed-loop writes on RocksDB without a tuner."""
    return simulate(*COMMON, "engine=adoc", "engine/tuner=none", "workload.duration=40s",
                    f"engine.options.max_background_jobs={jobs}")  # fmt: skip


def tuned(engine: str) -> Result:
    """Return the same run with a tuner."""
    return simulate(*COMMON, f"engine={engine}", "workload.duration=40s", *TUNED)


def job_speed(result: Result, kind: str, deep: bool = False) -> float:
    """Return the I/O of all jobs of a kind by their duration in MB/s, as in RocksDB's statistics."""
    jobs = result.jobs
    mine = np.asarray(jobs["kind"]) == kind
    if kind == "compaction":
        mine &= (np.asarray(jobs["start_level"]) > 0) == deep
    moved = jobs["read_bytes"] + jobs["write_bytes"]
    return float(moved[mine].sum() / (jobs["merged_s"] - jobs["start_s"])[mine].sum()) / 1e6


def stall_share(result: Result, *causes: str) -> float:
    """Return the share of the stalled time with one of these causes."""
    seconds = result.summary["stall_seconds"]
    return float(sum(seconds[c] for c in causes) / sum(seconds.values()))


def test_flushes_slow_down_as_threads_are_added() -> None:
    """Threads share the device: a flush beside many compactions gets less bandwidth and is the slowest kind of job."""
    speeds = [job_speed(sweep(jobs), "flush") for jobs in JOBS]

    assert speeds == sorted(speeds, reverse=True)
    assert speeds[-1] < 0.7 * speeds[0]
    for jobs in JOBS[:2]:
        assert job_speed(sweep(jobs), "flush") < job_speed(sweep(jobs), "compaction")
        assert job_speed(sweep(jobs), "flush") < job_speed(sweep(jobs), "compaction", deep=True)


def test_more_threads_move_stalls_from_l0_to_memtables() -> None:
    """With more threads, L0 is compacted sooner and flushes get less bandwidth: memtable stalls replace L0 stalls."""
    l0 = [stall_share(sweep(jobs), "l0_slowdown", "l0_stop") for jobs in JOBS]
    memory = [stall_share(sweep(jobs), "memtable_stop") for jobs in JOBS]

    assert l0[0] > l0[-1]
    assert memory[-1] > memory[0]


def test_halving_the_batch_raises_pending_bytes_at_once() -> None:
    """Level targets shrink with the batch, so more bytes are above them: the main effect of `scale_l1`."""
    before, unscaled, scaled = pending_around_a_halving()

    assert scaled > 1.2 * before
    assert unscaled == before


def pending_around_a_halving() -> tuple[int, int, int]:
    """Return pending bytes of a filled store before its batch of 32 MiB is halved, after it, and then with L1 scaled."""
    phase = phase_of(*COMMON, "engine=adoc", "workload.duration=40s", "engine/tuner=none",
                     "engine.options.write_buffer_size=32MiB", "engine.options.target_file_size_base=32MiB",
                     "engine.options.max_bytes_for_level_base=128MiB")  # fmt: skip
    phase.run()
    store = phase.families[0]
    found = []
    for changes in (
        {"write_buffer_size": 32 * MIB},  # computes pending bytes with the options in force
        {"write_buffer_size": 16 * MIB, "target_file_size_base": 16 * MIB},
        {"max_bytes_for_level_base": 64 * MIB},
    ):
        store.database.retune(changes)
        found.append(store.database.background.view.pending_bytes)
    return found[0], found[1], found[2]


def test_a_change_of_the_batch_applies_to_the_active_memtable() -> None:
    """RocksDB resizes the active memtable: a smaller size may make it full at once, a larger one delays its switch."""
    phase = phase_of(*COMMON, "engine=adoc", "engine/tuner=none", "workload.duration=5s")
    store = phase.families[0]

    def retune() -> object:
        yield phase.env.timeout(0.002)
        store.database.retune({"write_buffer_size": 16 * MIB})

    phase.env.process(retune())  # type: ignore[arg-type]
    phase.run()
    entries = [job.entries_in for job in store.recorder.jobs.recent() if job.kind == "flush"]

    assert entries[0] == pytest.approx(entries[1], rel=0.01)
    assert 16 * MIB / 1016 == pytest.approx(entries[0], rel=0.05)


@pytest.mark.parametrize(("version", "reverts"), [("7.7", True), ("9.11", False)])
def test_jobs_restore_their_options(version: str, reverts: bool) -> None:
    """Before 9.11 a job installs its version with the options at its start, which also restores the memtable size."""
    phase = phase_of(*COMMON, "engine=adoc", "engine/tuner=none", f'engine.version="{version}"', "workload.duration=10s")
    store = phase.families[0]
    seen: list[int] = []

    def retune() -> object:
        while not any(job.kind.value != "flush" for job in store.database.background.view.jobs) or phase.env.now < 1.0:
            yield phase.env.timeout(0.01)
        running = {job.job for job in store.database.background.view.jobs}
        store.database.retune({"write_buffer_size": 2 * MIB})
        while not any(job.job in running for job in store.recorder.jobs.recent()):
            before = len(store.recorder.jobs.recent())
            yield phase.env.timeout(1e-4)
            if len(store.recorder.jobs.recent()) > before and store.recorder.jobs.recent()[-1].job in running:
                break
        seen.append(store.memtable_options.options.write_buffer_size)

    phase.env.process(retune())  # type: ignore[arg-type]
    phase.run()

    assert [4 * MIB if reverts else 2 * MIB] == seen
    assert 2 * MIB == store.options.write_buffer_size


def test_threads_and_batch_are_recorded_over_time() -> None:
    """The series contain both tuned options over time, within their bounds, and no option that is not tuned."""
    both, threads = tuned("adoc").series, tuned("adoc_t").series
    jobs, batch = both["option_max_background_jobs"], both["option_write_buffer_size"]

    assert 2 <= jobs.min()
    assert jobs.max() <= 20
    assert len(set(jobs.tolist())) > 2
    assert 4 * MIB <= batch.min()
    assert batch.max() <= 32 * MIB
    assert len(set(batch.tolist())) > 2
    assert np.array_equal(batch * 4, both["option_max_bytes_for_level_base"])
    assert "option_write_buffer_size" not in threads
    assert "option_max_background_jobs" in threads


def test_the_page_shows_tuned_options(tmp_path: Path) -> None:
    """The figure has sizes above and threads below, by RocksDB's names; a run without a tuner has no such figure."""
    tuned("adoc").save(tmp_path / "tuned")
    sweep(2).save(tmp_path / "plain")
    runs = [load_run(tmp_path / name) for name in ("tuned", "plain")]
    found = [tuned_options(r, Timeline.of(r.times_s)) for r in runs]
    assert found[0] is not None
    axes = {trace["name"]: trace["yaxis"] for trace in found[0].traces}

    assert found[1] is None
    assert "y2" == axes.pop("max_background_jobs")
    assert {"write_buffer_size": "y", "target_file_size_base": "y", "max_bytes_for_level_base": "y"} == axes


def test_a_change_of_threads_resets_the_delayed_rate() -> None:
    """SetDBOptions with a change sets the delayed write rate to its maximum; SetOptions lowers it."""
    phase = phase_of(*COMMON, "engine=adoc", "engine/tuner=none", "workload.duration=15s",
                     "engine.options.level0_slowdown_writes_trigger=4")  # fmt: skip
    store = phase.families[0]
    rates: list[int] = []

    def retune() -> object:
        while not store.throttle.delayed or store.throttle.rate_bytes_per_s == 8 * MIB or phase.env.now < 5.0:
            yield phase.env.timeout(0.001)
        for changes in ({"max_background_jobs": 2}, {"write_buffer_size": 4 * MIB}, {"max_background_jobs": 4}):
            rates.append(store.throttle.rate_bytes_per_s)
            store.database.retune(changes)
        rates.append(store.throttle.rate_bytes_per_s)

    phase.env.process(retune())  # type: ignore[arg-type]
    phase.run()

    assert rates[0] == rates[1]
    assert int(0.8 * rates[1]) == rates[2]
    assert 8 * MIB == rates[3]


def test_both_tuned_options_raise_throughput() -> None:
    """With both options tuned, throughput exceeds that of two threads and small memtables."""
    assert tuned("adoc").summary["ops_per_s"] > 1.1 * sweep(2).summary["ops_per_s"]
