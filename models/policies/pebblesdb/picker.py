"""PebblesDB: guards divide each level, and a compaction appends to the next level instead of rewriting it.

Raju et al.: PebblesDB. SOSP 2017; (background/pebblesdb.md, What it changes), completed from the released code
(VersionSet::Finalize, PickCompactionLevel, PickCompactionForGuards).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.options.options import CompactionStyle
from lsmlab.models.policies.decisions import NOTHING, Compaction, Pick, RunningJob, Scope
from lsmlab.models.policies.parts import Base, Parts
from lsmlab.models.policies.pebblesdb.guards import GuardedLevel, Guards
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.models.tree.tree import Placement, Tree
from lsmlab.models.units import quantity
from numpy.typing import NDArray

_SMALL: Final = 1.5
"""A file is one of a guard's smaller ones up to this many times bytes / `files_per_guard` (PickCompactionForGuards)."""


@dataclass(frozen=True)
class PebblesDb:
    """`engine/picker=pebblesdb`. File and guard sizes are multiples of the option target_file_size_base."""

    top_level_bits: int = 27
    """A key is a guard of level i if the low top_level_bits - bits_per_level * i bits of its hash are set."""
    bits_per_level: int = 2
    files_per_guard: int = 2
    """Most files of a guard; one more makes it due."""
    file_sizes: list[int] = field(default_factory=lambda: [1, 1, 1, 1, 2, 4, 8])
    """Largest file that a compaction from each level writes, in target files."""
    guard_sizes: list[int] = field(default_factory=lambda: [1, 2, 4, 8, 8, 16, 32])
    """Bytes from which a guard of each level is due, in target files."""
    horizontal_ratio: float = 25.0
    """A level is next to nothing when the one below is more than this many times larger: above the last it is merged within
    itself, and seeks do not drive it down."""
    seek_driven: bool = False
    """Whether whole levels go down while no guard is due, as after many seeks in a row (`engine/tuner=pebblesdb_seeks`)."""
    guard_metadata: int = quantity("bytes", 300)
    """Memory per guard."""

    def __post_init__(self) -> None:
        if min(self.files_per_guard, self.top_level_bits, self.bits_per_level + 1) < 1:
            raise InputError("picker: top_level_bits and files_per_guard must be at least 1, bits_per_level at least 0")
        if not (self.file_sizes and self.guard_sizes and min(*self.file_sizes, *self.guard_sizes, 1) == 1):
            raise InputError("picker.file_sizes and picker.guard_sizes: lists of whole numbers from 1 on, one per level")

    def make(self, base: Base) -> PebblesPicker:
        """The picker of the options."""
        options = base.options
        return PebblesPicker(self, options.target_file_size_base, options.level0_file_num_compaction_trigger)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Guards take the place of RocksDB's compaction styles."""
        options = base.options
        if options.compaction_style is not CompactionStyle.LEVEL:
            return f"guards take the place of {options.compaction_style.value}; choose engine/picker=rocksdb for it"
        return "guards need engine.options.num_levels of 3 or more" if options.num_levels < 3 else None


@dataclass
class PebblesPicker:
    """Implements `decisions.Picker`; remembers only what follows from the tree."""

    settings: PebblesDb
    file_bytes: int
    """target_file_size_base."""
    l0_trigger: int
    guards: Guards = field(init=False, repr=False)
    _scores: WeakKeyDictionary[GuardedLevel, NDArray[np.float64]] = field(
        init=False, repr=False, default_factory=WeakKeyDictionary
    )
    _reduced: WeakKeyDictionary[GuardedLevel, NDArray[np.int64]] = field(
        init=False, repr=False, default_factory=WeakKeyDictionary
    )

    def __post_init__(self) -> None:
        self.guards = Guards(self.settings.top_level_bits, self.settings.bits_per_level)

    # ---- which level ----

    def scores(self, tree: Tree) -> Sequence[float]:
        """Score of the level's most urgent guard; of the last level only of guards that a merge leaves with fewer files."""
        found = [len(tree.l0) / self.l0_trigger]
        last = tree.num_levels - 1
        found += [float(self._guard_scores(tree, level).max(initial=0.0)) for level in range(1, last)]
        return [*found, float(self._guard_scores(tree, last)[self._due_guards(tree, last)].max(initial=0.0))]

    def _guard_scores(self, tree: Tree, level: int) -> NDArray[np.float64]:
        """max(bytes / cap, files / (cap + 1)) per guard (Finalize)."""
        at = self.guards.levels(tree)[level]
        scores = self._scores.get(at)
        if scores is None:
            by_size = at.size_bytes / self._size(self.settings.guard_sizes, level)
            scores = self._scores[at] = np.maximum(by_size, at.file_count / (self.settings.files_per_guard + 1))
        return scores

    def _level(self, tree: Tree, running: Sequence[RunningJob], scope: Scope) -> int | None:
        """The shallowest level that is more urgent than the next; L0, unless L1 is more than due (PickCompactionLevel).

        A compaction locks both of its levels.
        """
        scores = self.scores(tree)
        locked = {level for job in running for level in (job.start_level, job.output_level)}
        last = tree.num_levels - 1
        if scope is not Scope.DEEP and scores[0] >= 1 and scores[1] <= 1 and not locked & {0, 1}:
            return 0
        if scope is Scope.L0:
            return None
        for level in range(1, last):
            if not locked & {level, level + 1} and scores[level] >= max(1.0, scores[level + 1]):
                return level
        if scores[last] >= 1 and last not in locked:
            return last
        return self._ahead_of_time(tree, locked) if self.settings.seek_driven else None

    def _ahead_of_time(self, tree: Tree, locked: set[int]) -> int | None:
        """The deepest level that is worth emptying so that seeks have fewer files to look at; the last has nowhere to go."""
        for level in range(min(tree.last_nonempty_level(), tree.num_levels - 2), -1, -1):
            size = tree.size_bytes(level)
            if size and not locked & {level, level + 1} and tree.size_bytes(level + 1) <= self.settings.horizontal_ratio * size:
                return level
        return None

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:  # noqa: ARG002
        """Whether some level is due."""
        return self._level(tree, (), scope) is not None

    # ---- which files ----

    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:  # noqa: ARG002
        """All guards of a level that are due, in one job."""
        level = self._level(tree, running, scope)
        if level is None:
            return NOTHING
        due = self.scores(tree)[level] >= 1
        if level == 0:
            return self._vertical(tree, 0, [(0, tuple(tree.l0))], "L0Files" if due else "Seeks")
        if not due:
            return self._vertical(tree, level, [(level, tuple(run)) for run in tree.runs(level)], "Seeks")
        inputs = self._inputs(tree, level)
        if not self._is_horizontal(tree, level):
            return self._vertical(tree, level, inputs, "GuardFull")
        return self._compact(tree, level, level, inputs, "GuardFullHorizontal")

    def _vertical(
        self, tree: Tree, level: int, inputs: list[tuple[int, tuple[SortedFile, ...]]], reason: str
    ) -> Compaction:
        """Append to the guards of the next level. Its own files are left alone, but where guards were inserted."""
        below = self.guards.levels(tree)[level + 1]
        moved = {id(f) for guard in below.straddled.nonzero()[0].tolist() for f in below.of(guard)}
        return self._compact(tree, level, level + 1, [*inputs, *((level + 1, r) for r in below.by_run(moved))], reason)

    def _compact(
        self, tree: Tree, level: int, output: int, inputs: Sequence[tuple[int, tuple[SortedFile, ...]]], reason: str
    ) -> Compaction:
        lo = min(f.lo for _, files in inputs for f in files)
        hi = max(f.hi for _, files in inputs for f in files)
        guards = self.guards.keys(tree, output)
        borders = guards[guards.searchsorted(lo, side="right") : guards.searchsorted(hi, side="right")]
        return Compaction(
            level, output, tuple(inputs), reason, self.scores(tree)[level], cut_keys=tuple(borders.tolist()),
            max_output_bytes=self._size(self.settings.file_sizes, level), placement=Placement.SETTLE,
        )  # fmt: skip

    def _is_horizontal(self, tree: Tree, level: int) -> bool:
        """Whether the level is merged within itself: the last, and the one above it when that is next to nothing."""
        last = tree.num_levels - 1
        if level != last - 1:
            return level == last
        small = tree.size_bytes(last) > self.settings.horizontal_ratio * tree.size_bytes(level)
        return small and len(self._reducible(tree, level)) > 0

    def _full_guards(self, tree: Tree, level: int) -> NDArray[np.int64]:
        """Guards with a score of 1, and those whose files a new guard divides."""
        return np.flatnonzero((self._guard_scores(tree, level) >= 1) | self.guards.levels(tree)[level].straddled)

    def _reducible(self, tree: Tree, level: int) -> NDArray[np.int64]:
        """Those of them that a merge within the level helps."""
        at = self.guards.levels(tree)[level]
        found = self._reduced.get(at)
        if found is None:
            full = self._full_guards(tree, level)
            keep = np.array([bool(self._smaller_files(at, guard, level)) for guard in full.tolist()], dtype=np.bool_)
            found = self._reduced[at] = full[keep]
        return found

    def _due_guards(self, tree: Tree, level: int) -> NDArray[np.int64]:
        """Guards that a compaction of the level takes."""
        return (self._reducible if self._is_horizontal(tree, level) else self._full_guards)(tree, level)

    def _inputs(self, tree: Tree, level: int) -> list[tuple[int, tuple[SortedFile, ...]]]:
        at, due = self.guards.levels(tree)[level], self._due_guards(tree, level).tolist()
        horizontal = self._is_horizontal(tree, level)
        chosen = {id(f) for g in due for f in (self._smaller_files(at, g, level) if horizontal else at.of(g))}
        return [(level, files) for files in at.by_run(chosen)]

    def _smaller_files(self, at: GuardedLevel, guard: int, level: int) -> list[SortedFile]:
        """What a merge within the level takes of a guard: the newest files up to the first large one.

        All, if that is less than two or a new guard divides them; none, if as many files would come out.
        """
        files = at.of(guard)
        if at.straddled[guard]:
            return files
        small = int(at.size_bytes[guard]) / self.settings.files_per_guard * _SMALL
        count = next((i for i, f in enumerate(files) if f.size_bytes > small), len(files))
        taken = files[:count] if count >= 2 else files
        outputs = math.ceil(sum(f.size_bytes for f in taken) / self._size(self.settings.file_sizes, level))
        return taken if outputs < len(taken) else []

    # ---- what else the store asks ----

    def _size(self, sizes: Sequence[int], level: int) -> int:
        return sizes[min(level, len(sizes) - 1)] * self.file_bytes

    def pending_bytes(self, tree: Tree) -> int:
        """Bytes of the guards that are due. PebblesDB has no such number; nothing of its own depends on it."""
        due = sum(f.size_bytes for f in tree.l0) if len(tree.l0) >= self.l0_trigger else 0
        for level in range(1, tree.num_levels):
            due += int(self.guards.levels(tree)[level].size_bytes[self._due_guards(tree, level)].sum())
        return due

    def stall_run_count(self, tree: Tree) -> int:
        """Files of L0, busy or not."""
        return len(tree.l0)

    def level_targets(self, tree: Tree) -> Sequence[float]:
        """No level has a target: guards have."""
        return (math.inf,) * tree.num_levels

    def target_file_size(self, tree: Tree, level: int) -> int:  # noqa: ARG002
        """Largest file of a level."""
        return self._size(self.settings.file_sizes, max(0, level - 1))

    def settled_level(self, tree: Tree, size_bytes: float) -> int:  # noqa: ARG002
        """Everything ends in the last level."""
        return tree.num_levels - 1

    def borders(self, keys: KeyArray, weight: float, level: int) -> KeyArray:
        """The guards among them."""
        return self.guards.among(keys, weight, level)

    def metadata_bytes(self, tree: Tree) -> int:
        """Memory of all guards."""
        count = sum(len(self.guards.keys(tree, level)) for level in range(1, tree.num_levels))
        return count * self.settings.guard_metadata
