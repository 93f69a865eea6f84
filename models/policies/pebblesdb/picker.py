"""PebblesDB's picker: guards divide each level, and a compaction appends to the next level instead of rewriting it.

Raju et al.: PebblesDB. SOSP 2017; (background/pebblesdb.md, What it changes), completed from the released code
(VersionSet::Finalize, PickCompactionLevel, PickCompactionForGuards).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final
from weakref import WeakKeyDictionary

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import NOTHING, Compaction, Pick, Picker, RunningJob, Scope
from lsmlab.models.policies.parts import Base, Parts, PolicySettings
from lsmlab.models.policies.pebblesdb.guards import GuardedLevel, Guards, hash_fractions
from lsmlab.models.policies.rocksdb.inputs import key_range
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.models.tree.tree import Placement, Tree
from lsmlab.models.units import quantity
from numpy.typing import NDArray

_SMALL: Final = 1.5
"""Maximum size of a guard's small files, in units of the guard's bytes / `files_per_guard`
(PickCompactionForGuards)."""


@dataclass(frozen=True)
class PebblesDb(PolicySettings[Picker]):
    """`engine/picker=pebblesdb`. File and guard sizes are multiples of the option target_file_size_base."""

    levels_only: ClassVar[str] = "guards replace {style}; choose engine/picker=rocksdb for this style"
    top_level_bits: int = 27
    """A key is a guard of level i if the low top_level_bits - bits_per_level * i bits of its hash are set."""
    bits_per_level: int = 2
    files_per_guard: int = 2
    """Maximum number of files of a guard; with one more its score is 1."""
    file_sizes: list[int] = field(default_factory=lambda: [1, 1, 1, 1, 2, 4, 8])
    """Largest file that a compaction from each level writes, in target files."""
    guard_sizes: list[int] = field(default_factory=lambda: [1, 2, 4, 8, 8, 16, 32])
    """Bytes at which a guard of each level has a score of 1, in target files."""
    horizontal_ratio: float = 25.0
    """Size ratio to the next level above which a level counts as tiny: the level before the last then compacts within
    itself, and seeks do not move a level down."""
    seek_driven: bool = False
    """Whether whole levels move down while no guard has a score of 1, as after many seeks
    (`engine/tuner=pebblesdb_seeks`)."""
    guard_metadata: int = quantity("bytes", 300)
    """Memory per guard."""

    def __post_init__(self) -> None:
        if min(self.files_per_guard, self.top_level_bits, self.bits_per_level + 1) < 1:
            raise InputError("picker: top_level_bits and files_per_guard must be at least 1, bits_per_level at least 0")
        if not (self.file_sizes and self.guard_sizes and min(*self.file_sizes, *self.guard_sizes, 1) == 1):
            raise InputError("picker.file_sizes and picker.guard_sizes: lists of whole numbers from 1 on, one per level")

    def make(self, base: Base) -> PebblesPicker:
        """Build the picker of the options."""
        return PebblesPicker(base.options, self)

    def refuses(self, parts: Parts, base: Base) -> str | None:
        """Refuse RocksDB's other compaction styles, which guards replace, and fewer than 3 levels."""
        few = "guards need engine.options.num_levels of 3 or more" if base.options.num_levels < 3 else None
        return super().refuses(parts, base) or few


@dataclass
class PebblesPicker(Picker):
    """Implements `decisions.Picker`; its only state are caches of functions of the tree."""

    divides_levels: ClassVar[bool] = True
    options: RocksDbOptions
    settings: PebblesDb
    guards: Guards = field(init=False, repr=False)
    _scores: WeakKeyDictionary[GuardedLevel, NDArray[np.float64]] = field(
        init=False, repr=False, default_factory=WeakKeyDictionary
    )
    _reduced: WeakKeyDictionary[GuardedLevel, NDArray[np.int64]] = field(
        init=False, repr=False, default_factory=WeakKeyDictionary
    )

    def __post_init__(self) -> None:
        self.guards = Guards(self.settings.top_level_bits, self.settings.bits_per_level)

    # ---- choice of the level ----

    def scores(self, tree: Tree) -> Sequence[float]:
        """Highest score of a level's guards; in the last level of guards that a compaction leaves with fewer files."""
        scores = [len(tree.l0) / self.options.level0_file_num_compaction_trigger]
        last = tree.num_levels - 1
        scores += [float(self._guard_scores(tree, level).max(initial=0.0)) for level in range(1, last)]
        return [*scores, float(self._guard_scores(tree, last)[self._due_guards(tree, last)].max(initial=0.0))]

    def _guard_scores(self, tree: Tree, level: int) -> NDArray[np.float64]:
        """Compute max(bytes / cap, files / (cap + 1)) per guard (Finalize)."""
        at = self.guards.levels(tree)[level]
        scores = self._scores.get(at)
        if scores is None:
            by_size = at.size_bytes / self._size(self.settings.guard_sizes, level)
            scores = self._scores[at] = np.maximum(by_size, at.file_count / (self.settings.files_per_guard + 1))
        return scores

    def _level(self, tree: Tree, running: Sequence[RunningJob], scope: Scope) -> int | None:
        """Choose the shallowest level with a higher score than the next; L0 if L1's score is at most 1 (PickCompactionLevel).

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
        """Choose the deepest level but the last that is not tiny, to empty it so that seeks read fewer files."""
        for level in range(min(tree.last_nonempty_level(), tree.num_levels - 2), -1, -1):
            size = tree.size_bytes(level)
            if size and not locked & {level, level + 1} and tree.size_bytes(level + 1) <= self.settings.horizontal_ratio * size:
                return level
        return None

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:  # noqa: ARG002
        """Return whether some level needs compaction."""
        return self._level(tree, (), scope) is not None

    # ---- choice of the files ----

    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:  # noqa: ARG002
        """Pick all guards of a level with a score of 1, in one job."""
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
        """Append to the guards of the next level; rewrite only those of its files that span an inserted guard."""
        below = self.guards.levels(tree)[level + 1]
        moved = {id(f) for guard in below.straddled.nonzero()[0].tolist() for f in below.of(guard)}
        return self._compact(tree, level, level + 1, [*inputs, *((level + 1, r) for r in below.by_run(moved))], reason)

    def _compact(
        self, tree: Tree, level: int, output: int, inputs: Sequence[tuple[int, tuple[SortedFile, ...]]], reason: str
    ) -> Compaction:
        lo, hi = key_range([f for _, files in inputs for f in files])
        guards = self.guards.keys(tree, output)
        borders = guards[guards.searchsorted(lo, side="right") : guards.searchsorted(hi, side="right")]
        return Compaction(
            level, output, tuple(inputs), reason, self.scores(tree)[level], cut_keys=tuple(borders.tolist()),
            max_output_bytes=self._size(self.settings.file_sizes, level), placement=Placement.SETTLE,
        )  # fmt: skip

    def _is_horizontal(self, tree: Tree, level: int) -> bool:
        """Return whether the level compacts within itself: the last level, and a tiny level before the last."""
        last = tree.num_levels - 1
        if level != last - 1:
            return level == last
        small = tree.size_bytes(last) > self.settings.horizontal_ratio * tree.size_bytes(level)
        return small and len(self._reducible(tree, level)) > 0

    def _full_guards(self, tree: Tree, level: int) -> NDArray[np.int64]:
        """Guards with a score of 1, and guards with a file that spans an inserted guard."""
        return np.flatnonzero((self._guard_scores(tree, level) >= 1) | self.guards.levels(tree)[level].straddled)

    def _reducible(self, tree: Tree, level: int) -> NDArray[np.int64]:
        """Full guards that a compaction within the level leaves with fewer files."""
        at = self.guards.levels(tree)[level]
        reducible = self._reduced.get(at)
        if reducible is None:
            full = self._full_guards(tree, level)
            keep = np.array([bool(self._smaller_files(at, guard, level)) for guard in full.tolist()], dtype=np.bool_)
            reducible = self._reduced[at] = full[keep]
        return reducible

    def _due_guards(self, tree: Tree, level: int) -> NDArray[np.int64]:
        """Guards that a compaction of the level includes."""
        return (self._reducible if self._is_horizontal(tree, level) else self._full_guards)(tree, level)

    def _inputs(self, tree: Tree, level: int) -> list[tuple[int, tuple[SortedFile, ...]]]:
        at, due = self.guards.levels(tree)[level], self._due_guards(tree, level).tolist()
        horizontal = self._is_horizontal(tree, level)
        chosen = {id(f) for g in due for f in (self._smaller_files(at, g, level) if horizontal else at.of(g))}
        return [(level, files) for files in at.by_run(chosen)]

    def _smaller_files(self, at: GuardedLevel, guard: int, level: int) -> list[SortedFile]:
        """Inputs of a guard for a compaction within the level: the newest files up to the first large one.

        All files of the guard if these are fewer than two or a file spans an inserted guard; none if the job would not
        reduce the number of files.
        """
        files = at.of(guard)
        if at.straddled[guard]:
            return files
        small = int(at.size_bytes[guard]) / self.settings.files_per_guard * _SMALL
        count = next((i for i, f in enumerate(files) if f.size_bytes > small), len(files))
        taken = files[:count] if count >= 2 else files
        outputs = math.ceil(sum(f.size_bytes for f in taken) / self._size(self.settings.file_sizes, level))
        return taken if outputs < len(taken) else []

    # ---- other queries of the store ----

    def _size(self, sizes: Sequence[int], level: int) -> int:
        return sizes[min(level, len(sizes) - 1)] * self.options.target_file_size_base

    def pending_bytes(self, tree: Tree) -> int:
        """Bytes of the guards with a score of 1. PebblesDB has no estimate of debt, and its policies use none."""
        due = sum(f.size_bytes for f in tree.l0) if len(tree.l0) >= self.options.level0_file_num_compaction_trigger else 0
        for level in range(1, tree.num_levels):
            due += int(self.guards.levels(tree)[level].size_bytes[self._due_guards(tree, level)].sum())
        return due

    def target_file_size(self, tree: Tree, level: int) -> int:  # noqa: ARG002
        """Size in bytes of the largest file of a level."""
        return self._size(self.settings.file_sizes, max(0, level - 1))

    def settled_level(self, tree: Tree, size_bytes: float) -> int:  # noqa: ARG002
        """Return the last level."""
        return tree.num_levels - 1

    def borders(self, keys: KeyArray, weight: float, level: int) -> KeyArray:
        """Select the guards of `level` from `keys`."""
        return keys[hash_fractions(keys) < self.guards.probability(level, weight)]

    def metadata_bytes(self, tree: Tree) -> int:
        """Memory of all guards in bytes."""
        count = sum(len(self.guards.keys(tree, level)) for level in range(1, tree.num_levels))
        return count * self.settings.guard_metadata
