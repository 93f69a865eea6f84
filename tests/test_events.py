"""events.parquet; tests/test_references.py replays the version edits of the reference runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lsmlab.sim.results.tree_replay import tree_at
from running import SMALL, configuration, run, simulate


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
    assert kept.summary == left_out.summary


def test_events_of_a_switch_and_a_flush() -> None:
    """Each memtable switch has a row, and the files of each flush have the bytes and end time of its job."""
    result = run(configuration(*SMALL, "workload.duration=1s"))
    events, jobs = pd.DataFrame(result.events), pd.DataFrame(result.jobs)
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
