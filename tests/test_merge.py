"""Merges of files: tombstones, and the live keys of many files."""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.merge import live_keys, merge_files, without_dead_tombstones
from lsmlab.models.tree.tree import Placement, Tree


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
