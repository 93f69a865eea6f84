"""Merges of files: tombstones, and the live keys of many files."""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.merge import live_keys, merge_files, merge_runs, without_dead_tombstones
from lsmlab.models.tree.tree import Placement, Tree
from running import SMALL, simulate


@pytest.mark.parametrize("placement", [Placement.NEW_RUN, Placement.SETTLE])
def test_a_tombstone_stays_while_an_older_run_has_its_key(placement: Placement) -> None:
    """A tombstone in a newer run of a level stays while an older run has its key, and is dropped with that key."""
    old, deletes = _file(1, [10, 20]), _file(2, [20, 30], deleted=True)
    tree = Tree(num_levels=3)
    tree.install(added=[(1, [old]), (0, [deletes])])

    keys, tombstones = without_dead_tombstones(deletes.keys, deletes.tombstones, tree, 1, [deletes])
    assert [20] == keys.tolist()
    tree.install([(0, [deletes])], [(1, [_file(3, keys.tolist(), deleted=True)])], placement)
    assert [[3], [1]] == [[f.number for f in run] for run in tree.runs(1)]

    inputs = [(1, tuple(run)) for run in tree.runs(1)]
    keys, tombstones = merge_files(inputs)
    keys, tombstones = without_dead_tombstones(keys, tombstones, tree, 1, [f for _, files in inputs for f in files])
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


def test_a_single_delete_goes_with_its_put() -> None:
    """A SingleDelete that meets a put leaves nothing; of those that meet none, or only tombstones, one stays."""
    newest = np.array([1, 2, 3, 4, 7]), np.array([True, True, True, True, False])
    older = np.array([1, 3, 4, 5, 7]), np.array([False, True, True, False, False])
    runs = [newest, older, (np.array([1, 3]), None)]
    plain, single = merge_runs(runs), merge_runs(runs, single_deletes=True)

    assert ([1, 2, 3, 4, 5, 7], [2, 4, 5, 7]) == (plain[0].tolist(), single[0].tolist())
    assert single[1] is not None
    assert [True, True, False, False] == single[1].tolist()


def test_single_deletes_spare_compactions() -> None:
    """Where every key is put once, single deletes of young keys write less; other engines have none."""
    load = (*SMALL, "workload=constant", "workload.read=0", "workload.insert=0.5", "workload.update=0", "workload.delete=0.5",
            "workload.num=100000", "workload.preload=0", "workload.rate=20000", "workload.duration=30s",
            "workload.distribution=latest")  # fmt: skip
    plain, single = simulate(*load).summary, simulate(*load, "engine.single_deletes=true").summary

    assert single["compaction_write_bytes"] < 0.98 * plain["compaction_write_bytes"]
    assert any("SingleDelete" in note or "single deletes" in note for note in single["notes"])
    with pytest.raises(InputError, match=r"engine\.single_deletes"):
        simulate("engine=leveldb", "engine.single_deletes=true")
