"""Mechanisms of the store for engines, tested with minimal policies: runs, slices, halted jobs, changed options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.merge import drop_dead_tombstones, live_keys, merge_files
from lsmlab.models.tree.tree import Placement, Tree
from lsmlab.sim.phase import SEEDS, Phase
from lsmlab.sim.results.results import Result
from lsmlab.sim.setting import Setting
from running import configuration, run
from shadow import Shadow, shadowed

ALLOWED = ("policy_fixture",)
SMALL = (
    "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=1MiB",
    "engine.options.max_bytes_for_level_base=4MiB", "engine.options.level_compaction_dynamic_level_bytes=false",
    "engine.options.max_background_jobs=4", "device=samsung_970_pro", "device.write_cap=40MiB/s",
    "workload.value_size=1000", "workload.num=100000", "workload.duration=20s",
    "workload.benchmark_write_rate_limit=5MB/s",
)  # fmt: skip


def config(group: str, target: str, *more: str, **settings: Any) -> dict[str, Any]:
    """Return a small run with one policy of `policy_fixture`."""
    configured = configuration(*SMALL, *more)
    configured["engine"][group] = {"_target_": f"policy_fixture.{target}", **settings}
    return configured


def check_conserved(result: Result) -> None:
    """Check that flushed entries are live or were dropped by compactions."""
    jobs = result.jobs
    kind = np.where(jobs["unfinished"], "unfinished", np.asarray(jobs["kind"]))
    flushed = float(jobs["entries_out"][kind == "flush"].sum())
    merged_away = float((jobs["entries_in"] - jobs["entries_out"])[kind == "compaction"].sum())
    assert flushed > 0
    assert flushed == pytest.approx(result.summary["live_entries"] + merged_away, rel=1e-6)


def check_lookups(settings: dict[str, Any]) -> Shadow:
    """Check that an exact run finds every key's newest version at its end."""
    settings["keys"] = {**settings["keys"], "mode": "exact"}
    phase = Phase(Setting.of(settings, ALLOWED), np.random.SeedSequence(3).spawn(SEEDS))
    store = phase.families[0]
    with shadowed(store) as shadow:
        phase.run()
    keys = np.random.default_rng(1).choice(sorted(shadow.latest), size=2000, replace=False).tolist()
    wrong = {k: (shadow.find(store, k), shadow.latest[k]) for k in keys if shadow.find(store, k) != shadow.latest[k]}
    assert {} == wrong
    return shadow


def test_levels_may_contain_several_runs() -> None:
    """With tiering below L0, entries are conserved and lookups find the newest version."""
    result = run(config("picker", "Stacking"), allowed=ALLOWED)
    check_conserved(result)
    check_lookups(config("picker", "Stacking"))

    assert "Tiering" in result.jobs["reason"].tolist()
    deep = np.asarray(result.jobs["start_level"]) > 0
    assert deep.any(), "no level below L0 was full at any time"


def test_links_move_no_bytes_and_lose_no_keys() -> None:
    """A link reads and writes no bytes; merges read a file and its slices; lookups search slices before files."""
    result = run(config("picker", "Linking"), allowed=ALLOWED)
    check_conserved(result)
    check_lookups(config("picker", "Linking"))
    kind, jobs = np.asarray(result.jobs["kind"]), result.jobs

    assert int((kind == "link").sum()) > 10
    assert 0 == jobs["write_bytes"][kind == "link"].sum() + jobs["read_bytes"][kind == "link"].sum()
    assert "SliceLinks" in jobs["reason"].tolist()


def test_halted_and_discarded_jobs_lose_no_entries() -> None:
    """If every deep job is halted once and a third of them discarded, no entries are lost; only time and bytes are."""
    result = run(config("scheduler", "Stepping"), allowed=ALLOWED)
    check_conserved(result)
    check_lookups(config("scheduler", "Stepping"))
    kind = np.asarray(result.jobs["kind"])

    assert int((kind == "discarded").sum()) > 3
    assert float(result.jobs["entries_in"][kind == "discarded"].sum()) == 0.0
    assert float(result.jobs["write_bytes"][kind == "discarded"].sum()) > 0.0


def test_a_tuner_changes_the_memtable_at_once() -> None:
    """A smaller memtable size switches the active memtable, a larger one lets it fill: flush sizes follow the tuner."""
    mib = 1 << 20
    sizes = [mib, 4 * mib, 4 * mib, 4 * mib, mib]
    result = run(config("tuner", "Schedule", write_buffer_sizes=sizes), allowed=ALLOWED)
    check_conserved(result)
    flush = np.asarray(result.jobs["kind"]) == "flush"
    start, size = result.jobs["start_s"][flush], result.jobs["entries_in"][flush]

    small, large = size[start < 2.0].max(), size[(start > 2.5) & (start < 5.0)].max()
    assert large == pytest.approx(4 * small, rel=0.1)
    assert size[start > 6.0].max() == pytest.approx(small, rel=0.1)


def test_the_fixture_needs_permission() -> None:
    """The policies of this test are refused unless their package is allowed by name."""
    assert (Path(__file__).parents[1] / "policy_fixture.py").exists()
    with pytest.raises(Exception, match="outside the allowed packages"):
        run(config("tuner", "Schedule", write_buffer_sizes=[1]))


@pytest.mark.parametrize("placement", [Placement.NEW_RUN, Placement.SETTLE])
def test_a_tombstone_stays_while_an_older_run_has_its_key(placement: Placement) -> None:
    """A tombstone in a newer run of a level stays while an older run has its key, and is dropped with that key."""
    old, deletes = _file(1, [10, 20]), _file(2, [20, 30], deleted=True)
    tree = Tree(num_levels=3)
    tree.install(added=[(1, [old]), (0, [deletes])])

    keys, tombstones = drop_dead_tombstones(deletes.keys, deletes.tombstones, tree, 1, [deletes])
    assert [20] == keys.tolist()
    tree.install([(0, [deletes])], [(1, [_file(3, keys.tolist(), deleted=True)])], placement)
    assert [[3], [1]] == [[f.number for f in run] for run in tree.runs(1)]

    inputs = [(1, tuple(run)) for run in tree.runs(1)]
    keys, tombstones = merge_files(inputs)
    keys, tombstones = drop_dead_tombstones(keys, tombstones, tree, 1, [f for _, files in inputs for f in files])
    assert [10] == keys.tolist()
    assert tombstones is None


def test_live_keys_come_in_parts() -> None:
    """The parts of the live keys are disjoint and ascending, and together contain every key that no tombstone hides."""
    files = [_file(4, [5, 40, 41], deleted=True), _file(3, [1, 9, 41]), _file(1, [1, 5, 9]), _file(2, [30, 40, 50])]
    parts = [keys.tolist() for keys in live_keys(files, most_keys=3)]

    assert [1, 9, 30, 50] == [key for part in parts for key in part]
    assert len(parts) > 1
    assert [] == [key for keys in live_keys([]) for key in keys]


def _file(number: int, keys: list[int], deleted: bool = False) -> SortedFile:
    flags = np.ones(len(keys), dtype=np.bool_) if deleted else None
    return SortedFile(number, keys[0], keys[-1], 100, keys=np.array(keys), tombstones=flags)
