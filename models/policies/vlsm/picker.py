"""vLSM's picker: one L0 file at a time into a small L1, and good vSSTs out of it (behaviour/vlsm.md, vLSM rules).

There is no public code of vLSM. docs/background/vlsm.md lists the choices where the paper leaves a rule open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.policies.decisions import NOTHING, Compaction, Move, Pick, Picker, RunningJob, Scope, in_scope
from lsmlab.models.policies.parts import Base, Parts, PolicySettings
from lsmlab.models.policies.rocksdb.inputs import Seed, conflicts, key_range, overlapping
from lsmlab.models.policies.rocksdb.levels import LevelRules, Targets, multiply
from lsmlab.models.policies.vlsm.overflow import OverflowPicker, staying_l1_bytes
from lsmlab.models.policies.vlsm.vsst import Overlap, VsstCutting
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import quantity
from numpy.typing import NDArray

GOOD: Final = "VsstGood"
"""Reason of an L1 -> L2 job with good vSSTs only."""
MIXED: Final = "VsstMixed"
"""Reason of an L1 -> L2 job with all good vSSTs and further poor ones."""
POOR: Final = "VsstPoor"
"""Reason of an L1 -> L2 job without good vSSTs."""


@dataclass(frozen=True)
class Vlsm(PolicySettings[Picker]):
    """`engine/picker=vlsm`. S_M is target_file_size_base, f is max_bytes_for_level_multiplier."""

    levels_only: ClassVar[str] = (
        "vlsm needs levels with targets, not {style}; set engine.options.compaction_style to level"
    )
    l1_capacity: int | None = quantity("bytes", None, low=1)
    """Target of L1, instead of max_bytes_for_level_base; None: f x S_M."""
    l2_capacity: int | None = quantity("bytes", 2 << 30, low=1)
    """Target of L2; None: f x L1, as between all other levels."""
    phi: float | None = quantity("ratio", None, low=1.0)
    """Target of L2 / target of L1; None: from `l2_capacity`."""
    overflow_limit: int = quantity("bytes", 64 << 20)
    """Bytes by which a level may exceed its target."""
    overlap: Overlap = Overlap.COUNT
    """Measure of overlap that separates good from poor vSSTs; the same as `engine.cutter.overlap`."""
    vssts: bool = True
    """Whether the picker distinguishes good and poor vSSTs; False: all files of L1 count as good (LSMi)."""

    def make(self, base: Base) -> VlsmPicker:
        """Build the picker of the options."""
        options = base.options
        if options.num_levels < 3:
            raise InputError(f"engine.options.num_levels: {options.num_levels} leaves no L2 for vLSM; set it to 3 or more")
        l1 = self.l1_capacity or round(options.max_bytes_for_level_multiplier * options.target_file_size_base)
        options = replace(options, max_bytes_for_level_base=l1, level_compaction_dynamic_level_bytes=False)
        return VlsmPicker(options, base.version, self.overflow_limit, self)

    def refuses(self, parts: Parts, base: Base) -> str | None:
        """Refuse styles without levels, and a cutter with another measure of overlap."""
        cutter = parts.cutter
        if isinstance(cutter, VsstCutting) and self.vssts and cutter.overlap is not self.overlap:
            return (
                f"vSSTs are built by overlap {cutter.overlap.value} and picked by overlap {self.overlap.value}; set "
                "engine.picker.overlap and engine.cutter.overlap to the same"
            )
        return super().refuses(parts, base)


@dataclass(frozen=True)
class PhiRules(LevelRules):
    """Level targets with a separate growth factor from L1 to L2."""

    phi: float

    def targets(self, tree: Tree) -> Targets:  # noqa: ARG002
        """Return the targets: L1, Φ times L1 for L2, and f times more for each deeper level."""
        return self._fixed

    @cached_property
    def _fixed(self) -> Targets:
        sizes = [math.inf, float(self.options.max_bytes_for_level_base)]
        for level in range(2, self.options.num_levels):
            factor = self.phi if level == 2 else self.options.max_bytes_for_level_multiplier
            sizes.append(float(multiply(int(sizes[-1]), factor)))
        return Targets(1, tuple(sizes[: self.options.num_levels]), multiplier=self.options.max_bytes_for_level_multiplier)


@dataclass
class VlsmPicker(OverflowPicker):
    """Implements `decisions.Picker`: the shallowest job with room below; a level without room needs compaction first."""

    settings: Vlsm

    def __post_init__(self) -> None:
        super().__post_init__()
        phi, l2 = self.settings.phi, self.settings.l2_capacity
        if phi is None:
            phi = self.growth if l2 is None else l2 / self.options.max_bytes_for_level_base
        self.rules = PhiRules(self.options, self.version, phi)

    @property
    def growth(self) -> float:
        """f: size ratio of two levels."""
        return self.options.max_bytes_for_level_multiplier

    @property
    def unit_bytes(self) -> int:
        """S_M: size of an L0 file, for which L1 must have room."""
        return self.options.target_file_size_base

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:  # noqa: ARG002
        """Return whether L0 has a free file, L1 lacks room for the next one, or a deeper level has reached its target."""
        if self.options.disable_auto_compactions:
            return False
        waits = any(not f.busy for f in tree.l0)
        if scope is Scope.L0 or (waits and scope is Scope.ANY):
            return waits
        return self._lacks_room(tree, tree.levels[1].free_compensated_bytes) or max(self.scores(tree)[2:], default=0) >= 1

    def pick(
        self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY  # noqa: ARG002
    ) -> Pick:
        """Pick by R3, R5 and R6 in this order; a scheduler may not delay jobs that make room for L0."""
        scores = self.scores(tree)
        lacks_room = self._lacks_room(tree, staying_l1_bytes(tree, running))
        due = [bool(tree.l0), lacks_room, *(score >= 1 for score in scores[2:]), False]
        urgent = [True, lacks_room and bool(tree.l0), *(False for _ in scores[2:]), False]
        for level in range(tree.num_levels - 1):
            pick = self.pick_level(tree, running, level) if due[level] else NOTHING
            if isinstance(pick, Compaction | Move) and not self._has_room(tree, running, pick):
                due[level + 1] = True
                urgent[level + 1] |= urgent[level]
                continue
            if isinstance(pick, Compaction) and urgent[level]:
                pick = pick._replace(deferrable=False)
            pick = in_scope(pick, scope)
            if pick is not NOTHING:
                return pick
        return NOTHING

    def pick_level(self, tree: Tree, running: Sequence[RunningJob], level: int) -> Pick:
        """Return the compaction from `level` at any score."""
        if level == 0:
            return self._from_l0(tree, running)
        return self._from_l1(tree, running) if level == 1 else super().pick_level(tree, running, level)

    def _lacks_room(self, tree: Tree, staying_bytes: int) -> bool:
        """Return whether L1 with `staying_bytes` has its target f x S_M, or lacks room for the next L0 file (R5).

        The overflow limit bounds L1 while its compaction runs; it does not put off the start.
        """
        coming = tree.l0[-1].size_bytes if tree.l0 else self.unit_bytes
        return staying_bytes >= self.options.max_bytes_for_level_base or not self._fits(tree, 1, staying_bytes, coming)

    def _from_l0(self, tree: Tree, running: Sequence[RunningJob]) -> Pick:
        """Pick the oldest L0 file and all files of L1 that it overlaps; one such job at a time (R3)."""
        if not tree.l0 or tree.l0[-1].busy or any(job.start_level == 0 for job in running):
            return NOTHING
        oldest, level = tree.l0[-1], tree.levels[1]
        i, j = level.overlapping(oldest.lo, oldest.hi)
        files = tuple(level.files[i:j])
        if level.any_busy(i, j) or conflicts(running, 1, *key_range([oldest, *files])):
            return NOTHING
        score = self.scores(tree)[0]
        if not files and oldest.size_bytes <= self.unit_bytes and not overlapping(tree, 2, oldest.lo, oldest.hi):
            return Move(0, 1, ((0, (oldest,)),), "LevelL0FilesNum", score)
        inputs = ((0, (oldest,)), (1, files)) if files else ((0, (oldest,)),)
        return Compaction(0, 1, inputs, "LevelL0FilesNum", score)

    def _from_l1(self, tree: Tree, running: Sequence[RunningJob]) -> Pick:
        """Pick good files by least overlap per byte up to S_M, then poor ones in the same order (R5)."""
        level, below = tree.levels[1], tree.levels[2]
        count, overlap = overlaps(level, below)
        good = self.good(level, below)
        taken: list[int] = []
        total = 0
        for index in np.lexsort((overlap / level.size, ~good)).tolist():
            file = level.files[index]
            i, j = below.overlapping(file.lo, file.hi)
            if file.busy or below.any_busy(i, j) or conflicts(running, 2, file.lo, file.hi):
                continue
            if taken and count[taken[0]] == 0 < count[index] and self._may_move(tree, level, taken):
                break  # files without overlap move in a job of their own
            taken.append(index)
            total += file.size_bytes
            if total >= self.unit_bytes:
                break
        if not taken:
            return NOTHING
        score = self.scores(tree)[1]
        reason = self._reason([bool(good[i]) for i in taken])
        files = tuple(level.files[i] for i in sorted(taken))
        if not count[taken].any() and self._may_move(tree, level, taken):
            return Move(1, 2, ((1, files),), reason, score)
        return _compact(files, below, running, reason, score)

    def good(self, level: Level, below: Level) -> NDArray[np.bool_]:
        """Return the mask of the good files of L1: their overlap with the present L2 is at most f. Shape (files,)."""
        if not self.settings.vssts:
            return np.ones(len(level), dtype=np.bool_)
        count, size_bytes = overlaps(level, below)
        if self.settings.overlap is Overlap.RATIO:
            return np.asarray(size_bytes <= self.growth * level.size)
        return np.asarray(count <= self.growth)

    def _reason(self, good: Sequence[bool]) -> str:
        if not self.settings.vssts:
            return "LevelMaxLevelSize"
        return GOOD if all(good) else MIXED if any(good) else POOR

    def _may_move(self, tree: Tree, level: Level, taken: Sequence[int]) -> bool:
        files = [level.files[i] for i in taken]
        return self._is_trivial_move(tree, self._targets(tree), Seed(1, 2, files, 0.0))


def overlaps(level: Level, below: Level) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count, per file of a level, the files of the level below that it overlaps, and their bytes. Shapes (files,)."""
    first = below.hi.searchsorted(level.lo, side="left")
    end = np.maximum(below.lo.searchsorted(level.hi, side="right"), first)
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(below.size)))
    return end - first, before[end] - before[first]


def _compact(
    files: tuple[SortedFile, ...], below: Level, running: Sequence[RunningJob], reason: str, score: float
) -> Compaction:
    """Build one job of separate ranges: an output ends before each L2 file that is no input, and before each running job.

    See (behaviour/vlsm.md, vLSM picks from L1).
    """
    joined: dict[int, SortedFile] = {}
    cut_keys: list[int] = []
    done = -1
    before: SortedFile | None = None
    for file in files:
        a, b = below.overlapping(file.lo, file.hi)
        if 0 <= done < a or (before is not None and conflicts(running, 2, before.hi, file.lo)):
            cut_keys.append(min(file.lo, below.files[a].lo) if b > a else file.lo)
        before, done = file, max(done, b)
        joined.update((i, below.files[i]) for i in range(a, b))
    inputs = ((1, files), (2, tuple(joined.values()))) if joined else ((1, files),)
    return Compaction(1, 2, inputs, reason, score, cut_keys=tuple(cut_keys))
