"""events.parquet: replayed from the start, its version edits give the tree of the run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from digests import reference_runs
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.phase import Phase
from lsmlab.sim.results.results import Result
from lsmlab.sim.results.tree_replay import FileState, tree_at
from lsmlab.sim.simulation import run
from running import SMALL, configuration, simulate

RUNS = reference_runs()
ENGINES = [name for name, overrides in RUNS.items() if any(o.startswith("engine=") for o in overrides)]
STORES = [name for name in RUNS if name.startswith(("store_", "load_preload", "load_ycsb"))]


def run_to_end(config: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> tuple[Result, Phase]:
    """Return the result of a run, and its stores as they were at the end."""
    phases: list[Phase] = []
    settle = Phase.settle

    def watched(phase: Phase) -> None:
        settle(phase)
        phases.append(phase)

    monkeypatch.setattr(Phase, "settle", watched)
    return run(config), phases[-1]  # the phase of a prefill ends first


def as_rows(files: Iterable[SortedFile], keys: float) -> list[tuple[float, ...]]:
    """Return number, key range, bytes and entries of files, rounded as in events.parquet."""
    return [
        (f.number, float(np.float32(f.lo / keys)), float(np.float32(f.hi / keys)), f.size_bytes, round(f.entries))
        for f in files
    ]


def as_states(files: Iterable[FileState]) -> list[tuple[float, ...]]:
    """Return the same columns of replayed files."""
    return [(f.number, f.smallest, f.largest, f.size_bytes, f.entries) for f in files]


@pytest.mark.parametrize("name", sorted({*ENGINES, *STORES}))
def test_edits_give_the_final_tree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replayed edits give every level, frozen file and slice at the end of the run, and the order of L0."""
    result, phase = run_to_end(configuration(*RUNS[name]), monkeypatch)
    keys = 2.0 * phase.setup.families[0].sample.population
    assert result.events is not None
    for family in phase.families:
        replayed, tree = tree_at(result.events, shard=family.number), family.tree
        assert as_rows(tree.l0, keys) == as_states(replayed.files_of(0))
        for level in range(1, tree.num_levels):
            expected = sorted(as_rows(tree.files_of(level), keys))
            assert expected == sorted(as_states(replayed.files_of(level))), f"L{level}"
        assert sorted(as_rows(tree.frozen.values(), keys)) == sorted(as_states(replayed.frozen.values()))
        slices = {f.number: [s.source.number for s in f.slices] for f in tree.files() if f.slices}
        assert slices == {number: [s.number for s in parts] for number, parts in replayed.slices.items()}


def test_the_initial_tree_is_in_the_events() -> None:
    """The files of an initial tree exist at time 0 and belong to no job."""
    tree = "initial_tree=[{level:0,size_bytes:1MiB,files:3},{level:2,size_bytes:2MiB,files:4}]"
    result = run(configuration(*SMALL, tree, "workload.duration=1s"))
    assert result.events is not None
    start = tree_at(result.events, 0.0)

    assert [3, 4] == [len(start.files_of(0)), len(start.files_of(2))]
    assert {-1} == {f.created_by for level in start.levels.values() for f in level}


def test_events_can_be_left_out(tmp_path: Path) -> None:
    """With save.events=false there is no events.parquet, and all other results are the same."""
    overrides = (*SMALL, "workload.duration=1s")
    kept, left_out = run(configuration(*overrides)), run(configuration(*overrides, "save.events=false"))
    left_out.save(tmp_path)

    assert not (tmp_path / "events.parquet").exists()
    assert left_out.events is None
    assert list(kept.events_frame().columns) == list(left_out.events_frame().columns)
    assert kept.summary == left_out.summary


def test_events_of_a_switch_and_a_flush() -> None:
    """Each memtable switch has a row, and the files of each flush have the bytes and end time of its job."""
    result = run(configuration(*SMALL, "workload.duration=1s"))
    events, jobs = result.events_frame(), result.jobs_frame()
    flushes = jobs[(jobs.kind == "flush") & (jobs.output_files > 0)]
    created = events[(events.kind == "create") & events.job.isin(flushes.job)]

    assert len(flushes) <= (events.kind == "switch").sum()
    assert flushes.write_bytes.sum() == created.bytes.sum()
    assert sorted(flushes.end_s) == sorted(created.time_s)


def test_events_stay_small(tmp_path: Path) -> None:
    """events.parquet takes at most 200 bytes per job (20 MB for 100,000 jobs) plus 20 kB."""
    result = run(configuration(*SMALL, "workload.duration=10s", "workload.num=2M"))
    result.save(tmp_path)

    assert len(result.jobs["job"]) > 500
    assert (tmp_path / "events.parquet").stat().st_size < 200 * len(result.jobs["job"]) + 20_000


def test_picks_have_the_scores_of_all_levels() -> None:
    """At each pick the level of the job has the score of jobs.parquet, each level with files a row, and targets are known."""
    result = simulate(*SMALL, "workload.duration=3s")
    events, jobs = result.events, result.jobs
    assert events is not None
    picks = events["kind"] == "pick"
    score = {(j, level): s for j, level, s in zip(*(events[c][picks] for c in ("job", "from_level", "score")), strict=True)}
    picked = np.flatnonzero(np.isin(jobs["kind"], ("compaction", "trivial_move")) & (jobs["score"] > 0))

    assert len(picked) > 10
    for row in picked.tolist():
        level = int(jobs["start_level"][row])
        assert pytest.approx(jobs["score"][row], rel=1e-6) == score[int(jobs["job"][row]), level]
    assert set(events["bytes"][picks & (events["from_level"] == 1)].tolist()) == {4 << 20}
    assert np.isnan(events["score"][~picks]).all()
