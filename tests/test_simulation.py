"""Whole runs: invariants of every run, and the public runs that do not depend on the device model."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
from lsmlab.sim import simulation
from lsmlab.sim.results import results
from lsmlab.sim.results.results import Result
from lsmlab.sim.setting import Setting
from running import SMALL, configuration, run, simulate

RATE_LIMITED = (
    "engine.version=6.11", "engine.preset=db_bench", "engine.options.max_background_jobs=1", "host.cores=40",
    "workload.key_size=16", "workload.value_size=1000", "workload.num=48318382", "workload.duration=600s",
    "workload.benchmark_write_rate_limit=5MB/s", "workload.threads=1",
)  # fmt: skip


@pytest.mark.parametrize("device", ["nvme", "sata", "hdd", "pmem"])
def test_rate_limited_run_of_611_is_reproduced_on_every_device(device: str) -> None:
    """With db_bench's own keys there are 47 flushes, 43 compactions, 9 moves, W-Amp 5.294 and files 3/4/40."""
    summary = simulate(*RATE_LIMITED, "keys=exact", f"device={device}").summary

    assert (47, 43, 9) == (summary["flush_count"], summary["compaction_count"], summary["trivial_move_count"])
    assert summary["write_amplification"] == pytest.approx(5.294, abs=0.01)
    assert [3, 4, 40, 0, 0, 0, 0] == summary["files_per_level"]  # three flushes after the last L0 compaction
    assert 0.0 == summary["stall_fraction"]


@pytest.mark.parametrize(
    ("device", "slept"),
    [(("device=nvme",), True), (("device=pmem",), False), (("device=pmem", "device.write_cap=400MiB/s"), True)],
)
def test_compactions_pay_cold_start_after_sleeping_fsyncs(device: tuple[str, ...], slept: bool) -> None:
    """cold_start costs 10 ms of CPU per output file after a sleeping fsync, but not if the compaction itself copies.

    Behind a cap a kernel thread copies (blk-throttle's worker), so the compaction sleeps also on persistent memory.
    """
    jobs = [
        simulate(*RATE_LIMITED, *device, "device.page_cache=100GiB", f"host.cold_start={cold}").jobs
        for cold in ("0ms", "10ms")
    ]
    merge = int(np.flatnonzero(jobs[0]["kind"] == "compaction")[0])

    extra_s = jobs[1]["cpu_s"][merge] - jobs[0]["cpu_s"][merge]
    assert extra_s == pytest.approx(0.01 * jobs[0]["output_files"][merge] * slept, abs=1e-9)


def test_sampled_keys_agree_with_exact_ones() -> None:
    """Over seeds, the sampled run has the counts of the exact one within the noise between key sequences."""
    runs = [run(configuration(*RATE_LIMITED, f"seed={seed}")).summary for seed in range(1, 9)]

    assert {47} == {s["flush_count"] for s in runs}
    assert np.mean([s["compaction_count"] for s in runs]) == pytest.approx(42.4, abs=1.0)
    assert np.mean([s["trivial_move_count"] for s in runs]) == pytest.approx(9.5, abs=0.7)
    assert np.mean([s["write_amplification"] for s in runs]) == pytest.approx(5.3, abs=0.06)


def test_sampled_keys_keep_the_alignment_of_outputs() -> None:
    """7.8 ends outputs at boundaries of the files below; a sample keeps that alignment, with W-Amp within 2 %."""
    common = (
        "engine.version=7.8", "workload.value_size=1000", "workload.num=4M", "workload.duration=150s",
        "workload.benchmark_write_rate_limit=25MB/s", "keys.samples_per_file=400",
    )  # fmt: skip
    exact = [run(configuration(*common, "keys=exact", f"workload.seed={seed}")).summary for seed in (1, 2)]
    sampled = [run(configuration(*common, f"seed={seed}")).summary for seed in (1, 2, 3, 4)]

    expected = np.mean([s["write_amplification"] for s in exact])
    assert np.mean([s["write_amplification"] for s in sampled]) == pytest.approx(expected, rel=0.02)


def capped() -> Result:
    """Return a run of the small store whose device limits it."""
    return simulate(*SMALL, "workload.duration=20s", "device.write_cap=40MiB/s")


def test_a_cap_is_kept_and_used() -> None:
    """A saturated device transfers its cap, within a slice, and never more."""
    result = capped()

    assert result.summary["device"]["write_bytes_per_s"] <= 40 * 2**20 * 1.02
    assert result.summary["device"]["write_bytes_per_s"] >= 40 * 2**20 * 0.85
    assert result.summary["stall_fraction"] > 0.5


def test_stall_chains_name_existing_jobs() -> None:
    """A stall's chain names jobs in time order, and its last job ends during the stall."""
    result = capped()
    ends = dict(zip(result.jobs["job"].tolist(), result.jobs["end_s"].tolist(), strict=True))
    chained = [s for s in result.stalls if s["chain_jobs"]]

    assert chained
    for stall in chained:
        times = [ends[j] for j in stall["chain_jobs"]]
        assert sorted(times) == times
        assert times[-1] <= stall["end_s"] + 1e-6
        assert times[-1] >= stall["start_s"]


def test_the_backlog_is_arrivals_minus_served_operations() -> None:
    """The backlog of an open loop is arrivals minus served operations; a closed loop has no backlog."""
    held_back = simulate(*SMALL, "workload=constant", "workload.rate=50000", "workload.duration=5s", "device.write_cap=4MiB/s")
    closed = simulate(*SMALL, "workload.duration=2s")
    served = np.cumsum(held_back.series["write_ops"] + held_back.series["read_ops"])
    arrived = 50_000 * held_back.series["t_s"][:5]

    assert held_back.series["backlog_ops"][4] > 10_000
    assert held_back.series["backlog_ops"][:5] == pytest.approx(arrived - served[:5], abs=1.0)
    assert 0.0 == closed.series["backlog_ops"].max()


def test_series_add_up_to_the_summary() -> None:
    """Operations, stalled seconds and device bytes per second sum to the run's totals."""
    result = capped()
    series, summary = result.series, result.summary

    assert series["write_ops"].sum() == pytest.approx(summary["operations"], rel=1e-6)
    stalled = sum(series[f"stall_{cause}_s"].sum() for cause in summary["stall_seconds"])
    assert stalled == pytest.approx(sum(summary["stall_seconds"].values()), rel=1e-6)
    written = sum(series[f"write_bytes_{c}_per_s"].sum() for c in ("client", "flush", "l0", "deeper"))
    assert written == pytest.approx(summary["device_bytes_written"], rel=0.02)  # transfers in progress at the end


def test_percentiles_of_each_second_are_ordered() -> None:
    """In each second P50 <= P90 <= ... <= P99.99 <= maximum, and the slowest second has the run's maximum."""
    result = capped()
    columns = [result.series[f"write_{p}_s"] for p in ("p50", "p90", "p95", "p99", "p999", "p9999", "max")]

    for lower, upper in itertools.pairwise(columns):
        assert (lower <= upper + 1e-12).all()
    assert columns[-1].max() == pytest.approx(result.summary["write_latency_s"]["max"], rel=0.05)


def test_same_configuration_and_seed_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs write equal files, byte for byte, also if one frees memory as a large run does; another seed differs."""
    config = configuration(*SMALL, "workload.duration=3s")
    first = run(config)
    first.save(tmp_path / "a")
    for module in (simulation, results):
        monkeypatch.setattr(module, "LARGE_RUN_JOBS", 1)
    run(config).save(tmp_path / "b")
    other = run({**config, "seed": 2})

    for file in sorted((tmp_path / "a").iterdir()):
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name
    assert other.jobs["end_s"].tolist() != first.jobs["end_s"].tolist()


@pytest.mark.parametrize("engine", ["rocksdb", "adoc", "silk", "pebblesdb", "triad"])
def test_a_setting_holds_no_state(engine: str) -> None:
    """A setting gives the same result each time, and after a journey to another process."""
    setting = Setting.of(configuration(*SMALL, f"engine={engine}", "workload.duration=2s"))
    first, again, sent = (simulation.simulate(one) for one in (setting, setting, pickle.loads(pickle.dumps(setting))))

    assert first.summary == again.summary == sent.summary


def test_progress_does_not_change_results() -> None:
    """A progress callback does not change the results."""
    config = configuration(*SMALL, "workload.duration=3s")
    seen: list[tuple[float, float]] = []

    watched = run(config, progress=lambda now, end: seen.append((now, end)))

    assert seen
    assert seen[-1][0] <= seen[-1][1]
    assert watched.summary == run(config).summary


def test_round_robin_jobs_split_within_the_slots() -> None:
    """Jobs of kRoundRobin below L0 run in parts, and all parts together hold no more than the compaction slots."""
    work = ("workload=overwrite", "workload.num=600000", "workload.duration=6s", "device.write_cap=60MiB/s")
    jobs = simulate(
        *SMALL, *work, "engine.options.compaction_pri=kRoundRobin", "engine.options.max_background_jobs=8"
    ).jobs
    mine = jobs["kind"] == "compaction"
    start, end, parts = (np.asarray(jobs[name])[mine] for name in ("start_s", "merged_s", "subcompactions"))
    held = [parts[(start <= now) & (end > now)].sum() for now in start]
    assert parts[np.asarray(jobs["start_level"])[mine] > 0].max() > 1
    assert max(held) <= 6
