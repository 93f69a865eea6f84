"""Requirements on every engine of configs/engine: no entry is lost, and no job waits for ever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from draining import drain, entry_totals
from lsmlab.models.policies.decisions import DoNothing, Scope
from lsmlab.models.policies.scheduling import JobState
from lsmlab.sim.phase import SEEDS, Phase
from lsmlab.sim.simulation import run
from lsmlab.sim.store.column_family import ColumnFamily
from running import configuration
from shadow import shadowed

ENGINES = sorted(p.stem for p in (Path(__file__).parents[2] / "configs" / "engine").glob("*.yaml"))
SMALL = (
    "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=1MiB",
    "engine.options.max_bytes_for_level_base=4MiB", "engine.options.max_bytes_for_level_multiplier=4",
    "engine.options.use_direct_reads=true", "engine.options.use_direct_io_for_flush_and_compaction=true",
    "device=samsung_970_pro", "device.write_cap=20MiB/s",
)  # fmt: skip
"""A store so small that four levels fill within seconds, on a device so slow that jobs overlap."""
LOADS = {
    "steady": (
        "workload=fillrandom", "workload.num=100000", "workload.value_size=1000", "workload.duration=20s",
        "workload.benchmark_write_rate_limit=4MB/s", "engine.options.max_background_jobs=3",
    ),
    "peaks": (
        "workload=peaks_valleys", "workload.num=100000", "workload.value_size=1000", "workload.duration=20s",
        "workload.valley=2s", "workload.valley_rate=1000", "workload.peak=2s", "workload.peak_rate=8000",
        "workload.read=0", "workload.update=1", "engine.options.max_background_jobs=4",
    ),
}  # fmt: skip
"""A rate that an empty store sustains, and peaks that a full store does not sustain."""
SMALL_VLSM = ("engine.picker.overflow_limit=1MiB", "engine.picker.phi=8", "engine.options.level0_stop_writes_trigger=4")
"""Φ = f² / 2 with f = 4, and an L0 queue so short that flushes wait."""
OWN = {
    "silk": ("engine.scheduler.total_bandwidth=20MB/s", "engine.scheduler.least_bandwidth=5MB/s",
             "engine.scheduler.slack=0", "engine.scheduler.hysteresis=1MB/s", "engine.scheduler.chunk=256KiB"),
    "vlsm": SMALL_VLSM, "slsm": SMALL_VLSM, "lsmi": ("engine.picker.overflow_limit=1MiB",),
    "pebblesdb": ("engine.picker.top_level_bits=20",),
    **dict.fromkeys(
        ("adoc", "adoc_t", "adoc_b"),
        ("engine.tuner.least_batch=1MiB", "engine.tuner.step_batch=1MiB", "engine.tuner.most_batch=8MiB"),
    ),
    **dict.fromkeys(
        ("adoc_code", "adoc_code_t", "adoc_code_b"), ("engine.tuner.least_batch=1MiB", "engine.tuner.most_batch=8MiB"),
    ),
    "silk_code": ("engine.scheduler.total_bandwidth=20MB/s", "engine.scheduler.pause_bandwidth=1GB/s",
                  "engine.scheduler.least_bandwidth=5MB/s", "engine.scheduler.hysteresis=1MB/s"),
    "silk_d": ("engine.scheduler.total_bandwidth=20MB/s", "engine.scheduler.chunk=256KiB"),
    "silk_o": ("engine.scheduler.total_bandwidth=20MB/s", "engine.scheduler.chunk=256KiB"),
    "silk_p": ("engine.scheduler.total_bandwidth=20MB/s", "engine.scheduler.chunk=256KiB"),
    "triad_silk": ("engine.scheduler.total_bandwidth=20MB/s", "engine.scheduler.least_bandwidth=5MB/s",
                   "engine.scheduler.slack=0", "engine.scheduler.hysteresis=1MB/s", "engine.scheduler.chunk=256KiB"),
}  # fmt: skip
"""Settings of an engine that depend on the size of its device or store."""
LOOKUPS = 2000
"""Keys looked up at the end."""


def config(engine: str, load: str, *more: str) -> dict[str, object]:
    """Return the configuration of a short run, with checks=true: the tree is checked after every install."""
    return configuration(f"engine={engine}", *SMALL, *OWN.get(engine, ()), *LOADS[load], *more)


def phase_of(engine: str, load: str, *more: str) -> Phase:
    """Return the phase of such a run before it starts."""
    phase = Phase(config(engine, load, *more), np.random.SeedSequence(7).spawn(SEEDS), ())
    phase.preload()
    return phase


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("engine", ["fifo", "ldc", "pebblesdb", "silk", "triad", "vlsm"])
def test_results_conserve_entries(engine: str, load: str) -> None:
    """With unfinished jobs, the tables of the results account for every flushed entry: live, merged away or dropped.

    The engines are those with drops, links, guards, halted jobs, hot entries and vSSTs.
    """
    result = run(config(engine, load))
    jobs, summary = result.jobs, result.summary
    flushed, merged_away = entry_totals(jobs, np.where(jobs["unfinished"], "unfinished", np.asarray(jobs["kind"])))
    written = flushed + summary["preloaded_entries"]

    assert written > 0
    assert written == pytest.approx(summary["live_entries"] + merged_away + summary["dropped_entries"], rel=1e-9)


def test_runs_repeat() -> None:
    """The same configuration and seed give the same jobs and summary; tests/test_digests.py compares all engines."""
    first, second = run(config("silk", "peaks")), run(config("silk", "peaks"))

    assert first.summary == second.summary
    assert all(np.array_equal(first.jobs[name], second.jobs[name]) for name in first.jobs)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("engine", ENGINES)
def test_no_store_idles_while_work_is_due_and_no_entry_is_lost(engine: str, load: str) -> None:
    """At sampled times, a store without running jobs has nothing to pick and no blocked writers.

    After the last write, all memtables are flushed and all jobs end: no file stays busy, no job stays paused, and
    flushed entries are live or dropped.
    """
    phase = phase_of(engine, load)
    idle: list[str] = []

    def watch(store: ColumnFamily) -> None:
        if any(job.state is not JobState.HALTED for job in store.database.background.view.jobs):
            return
        scope = Scope.L0 if getattr(store.database.background.scheduler, "paused", False) else Scope.ANY
        due = store.picker.pick(store.tree, [], phase.env.now, scope)
        if not isinstance(due, DoNothing) or store.database.blocked:
            idle.append(f"{phase.env.now:.3f} s: {due}, blocked={store.database.blocked}")

    def sample() -> object:
        while True:
            yield phase.env.timeout(0.0137)
            watch(phase.families[0])

    phase.env.process(sample())  # type: ignore[arg-type]
    phase.run()

    assert [] == idle

    drain(phase)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_newest_version_is_found(engine: str, load: str) -> None:
    """Every written key is found in its newest version, also after halted and discarded jobs."""
    phase = phase_of(engine, load, "keys=exact")
    store = phase.families[0]
    with shadowed(store) as shadow:
        phase.run()
    dropped = store.recorder.entries_dropped_by_drop > 0  # FIFO deletes old versions
    keys = np.random.default_rng(1).choice(sorted(shadow.latest), size=LOOKUPS, replace=False).tolist()
    wrong = {key: (shadow.find(store, key), shadow.latest[key]) for key in keys}
    wrong = {key: pair for key, pair in wrong.items() if pair[0] != pair[1] and not (dropped and pair[0] is None)}

    assert len(shadow.latest) > 10_000
    assert {} == wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_deleted_keys_stay_deleted(engine: str) -> None:
    """No compaction, move or link drops a tombstone that hides an older version in a deeper level or older run."""
    deletes = (
        "workload.num=20000", "workload.duration=12s", "workload.update=0.6", "workload.delete=0.4",
        "engine.options.write_buffer_size=256KiB",
    )  # fmt: skip
    phase = phase_of(engine, "peaks", "keys=exact", *deletes)
    store = phase.families[0]
    with shadowed(store) as shadow:
        phase.run()
        tombstones = sum(f.deletions for f in store.files())
    found = {key: shadow.find(store, key) for key in sorted(shadow.deleted)[::5]}

    assert len(found) > 500
    assert tombstones > 0
    assert {} == {key: v for key, v in found.items() if v not in (None, shadow.latest[key])}


def test_these_runs_halt_and_discard_jobs() -> None:
    """The runs of SILK in these tests contain halted jobs and jobs discarded because they lost their inputs."""
    jobs = [run(config("silk", load)).jobs for load in LOADS]

    assert sum(float(j["halted_s"].sum()) for j in jobs) > 0
    assert any("discarded" in j["kind"].tolist() for j in jobs)
