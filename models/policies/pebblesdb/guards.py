"""Guards: keys, selected by their hash, that divide the levels of a fragmented LSM-tree.

See (background/pebblesdb.md, What it changes).

Raju et al.: PebblesDB. SOSP 2017; numbers from its released code (WriteBatchInternal::SetGuards, VersionSet::Finalize).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from lsmlab.models.tree.files import NO_KEYS, KeyArray, SortedFile
from lsmlab.models.tree.merge import unique_sorted
from lsmlab.models.tree.tree import Tree
from lsmlab.models.workloads.hashes import splitmix_64
from numpy.typing import NDArray


def hash_fractions(keys: KeyArray) -> NDArray[np.float64]:
    """Hash each key to a pseudo-random number in [0, 1), always the same for the same key.

    PebblesDB uses MurmurHash3; any hash that mixes all bits serves.
    """
    return splitmix_64(keys) / 2.0**64


@dataclass(frozen=True, eq=False)
class GuardedLevel:
    """Files of a level by guard. Number 0 is the sentinel: all keys below the first guard."""

    files: tuple[SortedFile, ...]
    """All files, newest run first."""
    runs: tuple[int, ...]
    """Number of files of each run."""
    guard: NDArray[np.int64]
    """Guard of each file."""
    file_count: NDArray[np.int64]
    """Files per guard."""
    size_bytes: NDArray[np.int64]
    """Bytes per guard."""
    straddled: NDArray[np.bool_]
    """Per guard: whether a file spans a guard inserted since the file was written. The guards on both sides count as one
    until a compaction into the level rewrites the file."""

    @cached_property
    def _by_guard(self) -> dict[int, list[int]]:
        indices: dict[int, list[int]] = {}
        for index, guard in enumerate(self.guard.tolist()):
            indices.setdefault(guard, []).append(index)
        return indices

    def of(self, guard: int) -> list[SortedFile]:
        """Files of one guard, newest first."""
        return [self.files[i] for i in self._by_guard.get(guard, ())]

    def by_run(self, chosen: set[int]) -> list[tuple[SortedFile, ...]]:
        """Files whose `id` is in `chosen`, one tuple per run, newest run first."""
        groups, start = [], 0
        for count in self.runs:
            group = tuple(f for f in self.files[start : start + count] if id(f) in chosen)
            start += count
            if group:
                groups.append(group)
        return groups


def guarded_level(tree: Tree, level: int, guards: KeyArray) -> GuardedLevel:
    """Divide a level >= 1 at `guards`, ascending."""
    runs = tree.runs(level)
    if not runs:
        none = np.empty(0, dtype=np.int64)
        return GuardedLevel((), (), none, none, none, np.empty(0, dtype=np.bool_))
    first = guards.searchsorted(np.concatenate([run.lo for run in runs]), side="right")
    last = guards.searchsorted(np.concatenate([run.hi for run in runs]), side="right")
    reaching = np.zeros(len(guards) + 2, dtype=np.int64)
    np.add.at(reaching, first, 1)
    np.add.at(reaching, last, -1)
    number = np.concatenate(([0], np.cumsum(np.cumsum(reaching)[: len(guards)] == 0)))
    guard = number[first]
    count = int(number[-1]) + 1
    size = np.concatenate([run.size for run in runs])
    return GuardedLevel(
        tuple(f for run in runs for f in run), tuple(len(run) for run in runs), guard, np.bincount(guard, minlength=count),
        np.bincount(guard, weights=size, minlength=count).astype(np.int64),
        np.bincount(guard, weights=last > first, minlength=count) > 0,
    )  # fmt: skip


@dataclass
class _Divided:
    """Cached guards and divided levels of one tree."""

    newest_file: int = 0
    """Highest file number searched for guards."""
    guards: list[KeyArray] = field(default_factory=list)
    """Guards per level, ascending."""
    stamps: list[tuple[int, ...]] = field(default_factory=list)
    """State of each level at its last division."""
    levels: list[GuardedLevel] = field(default_factory=list)
    version: int = -1


@dataclass
class Guards:
    """Guards of trees, and levels divided by them. A cache: its content is a function of the tree alone.

    A key is a guard of level i and of all deeper levels if its hash has 27 - 2i low bits set; it becomes a guard when it
    is written. Keys stay in the tree, so the files of the tree contain all guards. (PebblesDB never removes a guard; here
    a guard without entries in the tree disappears when the store is reopened or tuned.)
    """

    top_level_bits: int
    bits_per_level: int
    _divided: WeakKeyDictionary[Tree, _Divided] = field(init=False, repr=False, default_factory=WeakKeyDictionary)

    def levels(self, tree: Tree) -> Sequence[GuardedLevel]:
        """Levels of a tree by guard; index 0 is an empty placeholder: L0 has no guards."""
        return self._divide(tree).levels

    def keys(self, tree: Tree, level: int) -> KeyArray:
        """All guards of a level, ascending."""
        return self._divide(tree).guards[level]

    def probability(self, level: int, keys: float) -> float:
        """Probability that at least one of `keys` adjacent keys with one code is a guard of the level."""
        bits = max(0, self.top_level_bits - self.bits_per_level * level)
        return 1.0 if bits == 0 else -float(np.expm1(keys * np.log1p(-(0.5**bits))))

    def _divide(self, tree: Tree) -> _Divided:
        divided = self._divided.get(tree)
        if divided is None:
            divided = self._divided[tree] = _Divided()
            divided.guards = [NO_KEYS] * tree.num_levels
            divided.stamps = [(-1,)] * tree.num_levels
            divided.levels = [guarded_level(Tree(2), 1, NO_KEYS)] * tree.num_levels
        if divided.version != tree.version:
            self._find_guards(tree, divided)
            for level in range(1, tree.num_levels):
                stamps = (len(divided.guards[level]), *(x for run in tree.runs(level) for x in (id(run), run.stamp)))
                if stamps != divided.stamps[level]:
                    divided.stamps[level] = stamps
                    divided.levels[level] = guarded_level(tree, level, divided.guards[level])
            divided.version = tree.version
        return divided

    def _find_guards(self, tree: Tree, divided: _Divided) -> None:
        """Add the guards of files written since the last call."""
        new = [f for f in tree.files() if f.number > divided.newest_file]
        divided.newest_file = max((f.number for f in new), default=divided.newest_file)
        guards_by_level = [[guards] for guards in divided.guards]
        for file in new:
            if not len(file.keys):
                continue
            weight = file.entries / len(file.keys)
            deepest = self.probability(tree.num_levels - 1, weight)
            fraction = hash_fractions(file.keys)
            at = np.flatnonzero(fraction < deepest)
            for level in range(1, tree.num_levels) if len(at) else ():
                guards_by_level[level].append(file.keys[at[fraction[at] < self.probability(level, weight)]])
        for level, keys in enumerate(guards_by_level):
            if len(keys) > 1:
                divided.guards[level] = unique_sorted(np.concatenate(keys))
