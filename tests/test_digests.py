"""Reference runs give the same summary, jobs and series as before, to the last bit, and keep the rules of every run.

`make digests` (LSMLAB_REWRITE=1) writes the digests of the present code; say in the commit which changed and why.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from digests import FOLDER, RUNS_FILE, differences, digests_of, reference_runs
from draining import entry_totals
from goldens import REWRITE
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.phase import Phase
from lsmlab.sim.results.results import Result
from lsmlab.sim.results.tree_replay import FileState, tree_at
from running import configuration, run

ROOT = Path(__file__).parents[1]
RUNS = reference_runs()


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference run, which all tests of this file ask."""

    name: str
    result: Result
    phase: Phase
    """Its stores as they were at the end."""


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.xdist_group(f"digests of {name}")) for name in RUNS]
)
def reference(request: pytest.FixtureRequest) -> Reference:
    """Simulate each reference run once."""
    phases: list[Phase] = []
    settle = Phase.settle

    def watched(phase: Phase) -> None:
        settle(phase)
        phases.append(phase)

    config = configuration(*RUNS[request.param])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Phase, "settle", watched)
        result = run(config)
    return Reference(request.param, result, phases[-1])  # the phase of a prefill ends first


def test_results_are_those_on_file(reference: Reference, tmp_path: Path) -> None:
    """No key of summary.json and no column of jobs.parquet or series.parquet has changed."""
    file = FOLDER / f"{reference.name}.json"
    actual = digests_of(reference.result, tmp_path)
    if os.environ.get(REWRITE):
        file.write_text(json.dumps(actual, indent=1) + "\n", encoding="utf-8")

    assert file.exists(), f"{file.name}: not written yet; run make digests"
    assert [] == differences(json.loads(file.read_text(encoding="utf-8")), actual)


def test_every_digest_belongs_to_a_run() -> None:
    """Every digest file belongs to a reference run, and every run has one."""
    assert sorted(RUNS) == sorted(p.stem for p in FOLDER.glob("*.json")), f"compare with {RUNS_FILE}"


def test_results_conserve_entries(reference: Reference) -> None:
    """With unfinished jobs, the tables of the results account for every flushed entry: live, merged away or dropped."""
    jobs, summary = reference.result.jobs, reference.result.summary
    flushed, merged_away = entry_totals(jobs, np.where(jobs["unfinished"], "unfinished", np.asarray(jobs["kind"])))
    written = flushed + summary["preloaded_entries"]

    assert written > 0
    assert written == pytest.approx(summary["live_entries"] + merged_away + summary["dropped_entries"], rel=1e-9)


def test_edits_give_the_final_tree(reference: Reference) -> None:
    """Replayed events give every level, frozen file and slice at the end of the run, and the order of L0."""
    result, phase = reference.result, reference.phase
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


def as_rows(files: Iterable[SortedFile], keys: float) -> list[tuple[float, ...]]:
    """Return number, key range, bytes and entries of files, rounded as in events.parquet."""
    return [
        (f.number, float(np.float32(f.lo / keys)), float(np.float32(f.hi / keys)), f.size_bytes, round(f.entries))
        for f in files
    ]


def as_states(files: Iterable[FileState]) -> list[tuple[float, ...]]:
    """Return the same columns of replayed files."""
    return [(f.number, f.smallest, f.largest, f.size_bytes, f.entries) for f in files]
