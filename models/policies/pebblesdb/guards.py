"""Guards: keys, chosen by their hash, at which the levels of a fragmented LSM-tree are divided.

See (background/pebblesdb.md, What it changes).

Raju et al.: PebblesDB. SOSP 2017; numbers from its released code (WriteBatchInternal::SetGuards, VersionSet::Finalize).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from lsmlab.models.tree.files import NO_KEYS, KeyArray, SortedFile
from lsmlab.models.tree.merge import unique_sorted
from lsmlab.models.tree.tree import Tree
from numpy.typing import NDArray

_MIX: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
"""Multipliers of SplitMix64's finaliser; PebblesDB uses MurmurHash3. Any hash that mixes all bits does."""


def hash_fractions(keys: KeyArray) -> NDArray[np.float64]:
    """A number in [0, 1) for each key, as good as drawn by chance and the same every time."""
    bits = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * _MIX[0]
    bits = (bits ^ (bits >> np.uint64(27))) * _MIX[1]
    bits ^= bits >> np.uint64(31)
    return bits / 2.0**64


@dataclass(frozen=True, eq=False)
class GuardedLevel:
    """The files of a level by guard. Number 0 is the sentinel: everything below the first guard."""

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
    """Per guard: whether a file reaches over a guard that was inserted since it was written. Until the next compaction
    that touches the level rewrites it, the guards on both sides count as one."""

    @cached_property
    def _by_guard(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for index, guard in enumerate(self.guard.tolist()):
            found.setdefault(guard, []).append(index)
        return found

    def of(self, guard: int) -> list[SortedFile]:
        """Files of one guard, newest first."""
        return [self.files[i] for i in self._by_guard.get(guard, ())]

    def by_run(self, chosen: set[int]) -> list[tuple[SortedFile, ...]]:
        """The files whose `id` is chosen, one tuple per run, newest run first."""
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
class _Known:
    """What is known of one tree."""

    newest_file: int = 0
    """Highest number of a file that was looked at."""
    guards: list[KeyArray] = field(default_factory=list)
    """Per level, ascending."""
    stamps: list[tuple[int, ...]] = field(default_factory=list)
    """State of each level when it was divided last."""
    levels: list[GuardedLevel] = field(default_factory=list)
    version: int = -1


@dataclass
class Guards:
    """Which keys are guards, and how the levels of a tree lie between them. A memo: it depends on the tree alone.

    A key is a guard of level i and of all deeper ones if its hash has 27 - 2i low bits set; it becomes one when it is
    written. Keys stay in the tree, so its files tell all guards. (PebblesDB never takes a guard away; here one whose key
    is deleted for good goes when the store is opened anew or tuned.)
    """

    top_level_bits: int
    bits_per_level: int
    _known: WeakKeyDictionary[Tree, _Known] = field(init=False, repr=False, default_factory=WeakKeyDictionary)

    def levels(self, tree: Tree) -> Sequence[GuardedLevel]:
        """The levels of a tree by guard; index 0 is an empty placeholder: L0 has no guards."""
        return self._look(tree).levels

    def keys(self, tree: Tree, level: int) -> KeyArray:
        """All guards of a level that are known by now, ascending."""
        return self._look(tree).guards[level]

    def probability(self, level: int, keys: float) -> float:
        """Chance that at least one of `keys` adjacent keys, carried as one, is a guard of the level."""
        bits = max(0, self.top_level_bits - self.bits_per_level * level)
        return 1.0 if bits == 0 else -float(np.expm1(keys * np.log1p(-(0.5**bits))))

    def among(self, keys: KeyArray, weight: float, level: int) -> KeyArray:
        """Which of `keys`, each carried for `weight` keys, are guards of a level."""
        return keys[hash_fractions(keys) < self.probability(level, weight)]

    def _look(self, tree: Tree) -> _Known:
        known = self._known.get(tree)
        if known is None:
            known = self._known[tree] = _Known()
            known.guards = [NO_KEYS] * tree.num_levels
            known.stamps = [(-1,)] * tree.num_levels
            known.levels = [guarded_level(Tree(2), 1, NO_KEYS)] * tree.num_levels
        if known.version != tree.version:
            self._find_guards(tree, known)
            for level in range(1, tree.num_levels):
                stamps = (len(known.guards[level]), *(x for run in tree.runs(level) for x in (id(run), run.stamp)))
                if stamps != known.stamps[level]:
                    known.stamps[level] = stamps
                    known.levels[level] = guarded_level(tree, level, known.guards[level])
            known.version = tree.version
        return known

    def _find_guards(self, tree: Tree, known: _Known) -> None:
        """Look for guards in files that were not there before."""
        new = [f for f in tree.files() if f.number > known.newest_file]
        known.newest_file = max((f.number for f in new), default=known.newest_file)
        found = [[guards] for guards in known.guards]
        for file in new:
            if not len(file.keys):
                continue
            weight = file.entries / len(file.keys)
            deepest = self.probability(tree.num_levels - 1, weight)
            fraction = hash_fractions(file.keys)
            at = np.flatnonzero(fraction < deepest)
            for level in range(1, tree.num_levels) if len(at) else ():
                found[level].append(file.keys[at[fraction[at] < self.probability(level, weight)]])
        for level, keys in enumerate(found):
            if len(keys) > 1:
                known.guards[level] = unique_sorted(np.concatenate(keys))
