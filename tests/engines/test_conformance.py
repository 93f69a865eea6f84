"""Requirements on every engine of configs/engine: no entry is lost, and no job waits for ever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from draining import drain
from lsmlab.models.policies.decisions import DoNothing, Scope
from lsmlab.models.policies.scheduling import JobState
from lsmlab.sim.store.column_family import ColumnFamily
from running import phase_of
from shadow import Shadow, shadowed

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
        "workload=fillrandom", "workload.num=100000", "workload.value_size=1000", "workload.duration=12s",
        "workload.benchmark_write_rate_limit=4MB/s", "engine.options.max_background_jobs=3", "keys=exact",
    ),
    "peaks": (
        "workload=peaks_valleys", "workload.num=20000", "workload.value_size=1000", "workload.duration=12s",
        "workload.valley=2s", "workload.valley_rate=1000", "workload.peak=2s", "workload.peak_rate=8000",
        "workload.read=0", "workload.update=0.6", "workload.delete=0.4", "engine.options.max_background_jobs=4",
        "engine.options.write_buffer_size=256KiB", "keys=exact",
    ),
}  # fmt: skip
"""A rate that an empty store sustains, and peaks of puts and deletes that a full store does not sustain; keys are exact."""
SMALL_VLSM = ("engine.picker.overflow_limit=1MiB", "engine.picker.phi=8", "engine.options.level0_stop_writes_trigger=4")
"""Φ = f² / 2 with f = 4, and an L0 queue so short that flushes wait."""
OWN = {
    "silk": ("engine.scheduler.total_bandwidth=20MB/s", "engine.scheduler.least_bandwidth=5MB/s",
             "engine.scheduler.slack=0", "engine.scheduler.hysteresis=1MB/s", "engine.scheduler.chunk=256KiB",
             "engine.scheduler.measures=user"),  # these loads hardly touch the device, so no traffic would halt a job
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
    **dict.fromkeys(
        ("silk_d", "silk_p", "silk_o"),
        ("engine.scheduler.total_bandwidth=20MB/s", "engine.scheduler.pause_bandwidth=1GB/s",
         "engine.scheduler.least_bandwidth=5MB/s", "engine.scheduler.hysteresis=1MB/s"),
    ),
    "triad_silk": ("engine.scheduler.total_bandwidth=20MB/s", "engine.scheduler.least_bandwidth=5MB/s",
                   "engine.scheduler.slack=0", "engine.scheduler.hysteresis=1MB/s", "engine.scheduler.chunk=256KiB"),
}  # fmt: skip
"""Settings of an engine that depend on the size of its device or store."""
LOOKUPS = 2000
"""Keys looked up at the end."""


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("engine", ENGINES)
def test_no_store_idles_while_work_is_due_and_no_entry_is_lost(engine: str, load: str) -> None:
    """At sampled times, a store without running jobs has nothing to pick and no blocked writers.

    Every written key is found in its newest version, also after halted and discarded jobs: no compaction, move or link
    drops a tombstone that hides an older version in a deeper level or older run. After the last write, all memtables are
    flushed and all jobs end: no file stays busy, no job stays paused, and flushed entries are live or dropped.
    """
    phase = phase_of(f"engine={engine}", *SMALL, *OWN.get(engine, ()), *LOADS[load], seed=7)
    phase.preload()
    store = phase.families[0]
    idle: list[str] = []

    def watch() -> None:
        if any(job.state is not JobState.HALTED for job in store.database.background.view.jobs):
            return
        scope = Scope.L0 if getattr(store.database.background.scheduler, "paused", False) else Scope.ANY
        due = store.picker.pick(store.tree, [], phase.env.now, scope)
        if not isinstance(due, DoNothing) or store.database.blocked:
            idle.append(f"{phase.env.now:.3f} s: {due}, blocked={store.database.blocked}")

    def sample() -> object:
        while True:
            yield phase.env.timeout(0.0137)
            watch()

    phase.env.process(sample())  # type: ignore[arg-type]
    with shadowed(store) as shadow:
        phase.run()

    assert [] == idle
    check_lookups(store, shadow, deletes=load == "peaks")

    jobs = drain(phase)

    if (engine, load) == ("silk", "peaks"):
        assert float(jobs["halted_s"].sum()) > 0, "no run has a halted job"
        assert "discarded" in list(jobs["kind"]), "no run has a job that was discarded because it lost its inputs"


def check_lookups(store: ColumnFamily, shadow: Shadow, deletes: bool) -> None:
    """Look up some keys, and all that were deleted: a deleted key is found as its tombstone or not at all."""
    dropped = store.recorder.entries_dropped_by_drop > 0  # FIFO deletes old versions
    keys = np.random.default_rng(1).choice(sorted(shadow.latest), size=LOOKUPS, replace=False).tolist()
    wrong = {}
    for key in {*keys, *sorted(shadow.deleted)[::5]}:
        version = shadow.find(store, key)
        if version != shadow.latest[key] and not (version is None and (dropped or key in shadow.deleted)):
            wrong[key] = version, shadow.latest[key]

    assert len(shadow.latest) > 10_000
    assert {} == wrong
    if deletes:
        assert len(shadow.deleted) > 2500
        assert sum(f.deletions for f in store.files()) > 0
