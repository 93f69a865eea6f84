"""Reference runs, one per lineage of engines, class of devices and kind of load, keep their numbers and all rules of a run.

`make references` (LSMLAB_REWRITE=1) writes the numbers of the present code.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from draining import check_entries, contradictions
from goldens import REWRITE
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.phase import Phase
from lsmlab.sim.results.results import Result
from lsmlab.sim.results.tree_replay import FileState, tree_at
from references import moved, overrides, rewrite, stored, values_of
from running import configuration, run


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference run, which all tests of this file ask."""

    name: str
    result: Result
    phase: Phase
    """Its stores as they were at the end."""


@pytest.fixture(scope="module", params=list(stored()))
def reference(request: pytest.FixtureRequest) -> Reference:
    """Simulate each reference run once, with the checks of every version edit."""
    phases: list[Phase] = []
    settle = Phase.settle

    def watched(phase: Phase) -> None:
        settle(phase)
        phases.append(phase)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Phase, "settle", watched)
        result = run(configuration(*overrides(request.param)))
    return Reference(request.param, result, phases[-1])  # the phase of a prefill ends first


def test_numbers_are_those_on_file(reference: Reference) -> None:
    """No main number of the run has moved by more than one part in a million."""
    values = values_of(reference.result)
    if os.environ.get(REWRITE):
        rewrite(reference.name, values)

    assert [] == moved(stored()[reference.name].get("values", {}), values)


def test_a_moved_number_is_named() -> None:
    """One line per number says what it was and what it became; what is left out is zero."""
    expected = {"flush_count": 8, "ops_per_s": 1000.0, "stall_fraction": 0.25}

    assert [] == moved(expected, {**expected, "ops_per_s": 1000.0001})
    assert [
        "ops_per_s: 1000.0 became 1010.0 (+0.01)", "stall_fraction: 0.25 became 0.0 (-1)", "drop_count: 0.0 became 3",
    ] == moved(expected, {"flush_count": 8, "ops_per_s": 1010.0, "drop_count": 3})  # fmt: skip


def test_results_keep_the_rules_of_a_run(reference: Reference) -> None:
    """The tables account for every entry, also with unfinished jobs, and the summary contradicts nothing."""
    check_entries(reference.result)
    assert [] == contradictions(reference.result.summary)


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


@pytest.mark.parametrize("name", ["leveled_prefilled_shards", "silk", "triad"])
def test_two_processes_write_the_same_bytes(name: str, tmp_path: Path) -> None:
    """A configuration and its seed determine every byte of the summary and of all tables."""
    for hash_seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-m", "lsmlab", "run", *overrides(name), "--no-report", "--out", tmp_path / hash_seed],
            env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, check=True,
        )  # fmt: skip
    first, second = ({p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in ("1", "2"))

    assert {"summary.json", "jobs.parquet", "series.parquet", "events.parquet", "latency.parquet"} <= first.keys()
    assert first.keys() == second.keys()
    assert [] == [file for file in first if first[file] != second[file]]


def as_rows(files: Iterable[SortedFile], keys: float) -> list[tuple[float, ...]]:
    """Return number, key range, bytes and entries of files, rounded as in events.parquet."""
    return [
        (f.number, float(np.float32(f.lo / keys)), float(np.float32(f.hi / keys)), f.size_bytes, round(f.entries))
        for f in files
    ]


def as_states(files: Iterable[FileState]) -> list[tuple[float, ...]]:
    """Return the same columns of replayed files."""
    return [(f.number, f.smallest, f.largest, f.size_bytes, f.entries) for f in files]
