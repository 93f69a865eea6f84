"""RocksDB's level targets, scores and debt: VersionStorageInfo (behaviour/leveled-compaction.md, Leveled compaction)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models import since
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

SCORE_SCALE: Final = 10.0
"""Factor on the scores of levels over their target with dynamic level bytes (kScoreScale, 7.5+)."""
_MAX_UINT64: Final = 2**64 - 1


def multiply(value: int, factor: float) -> int:
    """Compute `value * factor` as an integer; `value` itself if the product exceeds 2^64 (MultiplyCheckOverflow)."""
    if value == 0 or factor <= 0:
        return 0
    if _MAX_UINT64 / value < factor:
        return value
    return int(value * factor)


def compensated_size(size_bytes: int, entries: int, deletions: int, average_value_bytes: int) -> int:
    """Compensated size in bytes, by which RocksDB ranks files: larger for files with mostly tombstones.

    See (behaviour/leveled-compaction.md, Compensated size).

    `average_value_bytes` is `average_value` of the whole store. Source: VersionStorageInfo::ComputeCompensatedSizes.
    """
    if deletions * 2 < entries:
        return size_bytes
    return size_bytes + (deletions * 2 - entries) * average_value_bytes * 2


def average_value(raw_value_bytes: int, raw_key_bytes: int, puts: int, file_bytes: int) -> int:
    """Mean size of a value on the device in bytes, from the totals of the store (GetAverageValueSize)."""
    raw = raw_value_bytes + raw_key_bytes
    return raw_value_bytes // puts * file_bytes // raw if puts and raw_value_bytes else 0


class Targets(NamedTuple):
    """Level targets of one version of the tree."""

    base_level: int
    """Output level of compactions from L0."""
    size_bytes: tuple[float, ...]
    """Target per level; infinity for L0 and for levels above the base level."""
    lowest_unnecessary_level: int = -1
    """Deepest level to drain (`since.DRAIN`); -1 without one."""
    multiplier: float = 10.0
    """Level multiplier in force (5.18 to 7.4 adapt it to a large L0)."""


@dataclass(frozen=True)
class LevelRules:
    """Targets, scores and debt of levelled compaction, from the options."""

    options: RocksDbOptions
    version: Version

    @property
    def dynamic(self) -> bool:
        """Return whether targets follow the size of the largest level."""
        return self.options.level_compaction_dynamic_level_bytes

    # ---- targets (behaviour/leveled-compaction.md, Static targets; Dynamic targets) ----

    def targets(self, tree: Tree) -> Targets:
        """Compute the targets of this version of the tree (CalculateBaseBytes). Cheap enough to call again."""
        return self._dynamic_targets(tree) if self.options.level_compaction_dynamic_level_bytes else self._static_targets

    @cached_property
    def _static_targets(self) -> Targets:
        target = [math.inf, float(self.options.max_bytes_for_level_base)]
        size = self.options.max_bytes_for_level_base
        for level in range(2, self.options.num_levels):
            size = multiply(multiply(size, self.options.max_bytes_for_level_multiplier), self._additional(level - 1))
            target.append(size)
        return Targets(1, tuple(target[: self.options.num_levels]), multiplier=self.options.max_bytes_for_level_multiplier)

    def _additional(self, level: int) -> int:
        extra = self.options.max_bytes_for_level_multiplier_additional
        return extra[level] if level < len(extra) else 1

    def _dynamic_targets(self, tree: Tree) -> Targets:
        last = self.options.num_levels - 1
        sizes = [0] + [tree.levels[level].size_bytes for level in range(1, last + 1)]
        largest = max(sizes)
        if largest == 0:  # no files below L0: L0 compacts directly into the last level
            return Targets(last, (math.inf,) * self.options.num_levels, multiplier=0.0)
        first = next(level for level, size in enumerate(sizes) if size)
        factor = self.options.max_bytes_for_level_multiplier
        # no level below L0 is smaller than L0 (base_bytes_max)
        to_l0 = since.TARGETS_FIT_L0 <= self.version < since.SCORES_BY_ARRIVALS
        upper = max(self.options.max_bytes_for_level_base, tree.size_bytes(0)) if to_l0 else self.options.max_bytes_for_level_base
        lower = int(upper / factor)
        size, unnecessary = largest, -1
        for level in range(last - 1, first - 1, -1):
            size = int(size / factor)
            if unnecessary == -1 and size <= lower and (level < last - 1 or not self.options.preclude_last_level_data_seconds):
                unnecessary = level
        base = first
        if size <= lower:
            base_size = lower + 1
        else:
            while base > 1 and size > upper:
                base -= 1
                size = int(size / factor)
            base_size = upper if size > upper else max(1, size)
        if to_l0:
            base_size, factor = self._fit_to_l0(tree, base, base_size, largest)
        if self.version < since.DRAIN:
            unnecessary = -1
        target = [math.inf] * base
        size = base_size
        for level in range(base, self.options.num_levels):
            if level > base:
                size = multiply(size, factor)
            target.append(max(size, upper))
        return Targets(base, tuple(target), unnecessary, factor)

    def _fit_to_l0(self, tree: Tree, base: int, base_size: int, largest: int) -> tuple[int, float]:
        """Fit base level and multiplier to a backlogged L0, 5.18 to 7.4 (behaviour/leveled-compaction.md, Dynamic targets)."""
        l0_bytes = tree.size_bytes(0)
        factor = self.options.max_bytes_for_level_multiplier
        backlogged = l0_bytes > self.options.max_bytes_for_level_base or (
            len(tree.l0) // 2 >= self.options.level0_file_num_compaction_trigger
        )
        if l0_bytes <= base_size or not backlogged:
            return base_size, factor
        steps = self.options.num_levels - base - 1
        return l0_bytes, 1.0 if steps == 0 else (largest / l0_bytes) ** (1.0 / steps)

    def target_file_size(self, level: int, base_level: int) -> int:
        """Target size of files written to `level` (MaxFileSizeForLevel). Unit: bytes."""
        index = level
        if self.dynamic and self.version >= since.FILE_SIZE_FROM_BASE_LEVEL and level >= base_level:
            index = level - base_level
        return self._target_file_sizes[index]

    @cached_property
    def _target_file_sizes(self) -> tuple[int, ...]:
        sizes = [self.options.target_file_size_base] * 2
        for _ in range(2, self.options.num_levels):
            sizes.append(multiply(sizes[-1], self.options.target_file_size_multiplier))
        return tuple(sizes)

    # ---- scores (behaviour/leveled-compaction.md, Scores) ----

    def scores(self, tree: Tree, targets: Targets) -> list[float]:
        """Score of each level but the last (ComputeCompactionScore): a level with a score >= 1 needs compaction."""
        free, free_bytes, all_bytes = 0, 0, 0
        for file in tree.l0:
            all_bytes += file.size_bytes
            if not file.busy:
                free += 1
                free_bytes += file.compensated_bytes
        score = free / self.options.level0_file_num_compaction_trigger
        if not self.dynamic or self.version < since.SCORES_BY_ARRIVALS:
            scores = [max(score, free_bytes / self._l0_limit(targets))]
            for level in range(1, self.options.num_levels - 1):
                scores.append(tree.levels[level].free_compensated_bytes / targets.size_bytes[level])
            return scores
        scores = [self._dynamic_l0_score(tree, targets, score, free_bytes)]
        self._add_dynamic_scores(scores, tree, targets, all_bytes)
        return scores

    def _l0_limit(self, targets: Targets) -> int:
        """Bytes of L0 at which its score is 1; in 6.13 to 7.4 larger with a base level that `_fit_to_l0` has raised.

        Source: ComputeCompactionScore, l0_target_size (in 6.13.2, not in 6.12.7).
        """
        if not self.dynamic or self.version < since.L0_SCORE_FITS_BASE or targets.multiplier == 0.0:
            return self.options.max_bytes_for_level_base
        return max(self.options.max_bytes_for_level_base, int(targets.size_bytes[targets.base_level] / targets.multiplier))

    def _dynamic_l0_score(self, tree: Tree, targets: Targets, score: float, free_bytes: int) -> float:
        if free_bytes >= self.options.max_bytes_for_level_base:
            score = max(score, 1.01)  # the debt estimate counts L0 from here on, so L0 must be eligible for compaction
        base_target = targets.size_bytes[targets.base_level]
        if free_bytes > base_target:
            score = max(score, free_bytes / max(tree.levels[targets.base_level].compensated_bytes, base_target))
        return score * SCORE_SCALE if score > 1.0 else score

    def _add_dynamic_scores(self, scores: list[float], tree: Tree, targets: Targets, l0_bytes: int) -> None:
        coming = float(l0_bytes)  # bytes that later compactions move down from above
        unnecessary = targets.lowest_unnecessary_level
        for number in range(1, self.options.num_levels - 1):
            level, target = tree.levels[number], targets.size_bytes[number]
            free, total = level.free_compensated_bytes, level.size_bytes
            score = free / target if free < target else free / (target + coming) * SCORE_SCALE
            if free > 0 and number <= unnecessary:
                score = max(score, SCORE_SCALE * (1.001 + 0.001 * (unnecessary - number)))
            scores.append(score)
            if number <= unnecessary:
                coming += total
            elif total > target:
                coming += total - target

    # ---- debt (behaviour/leveled-compaction.md, Pending compaction bytes) ----

    def pending_bytes(self, tree: Tree, targets: Targets) -> int:
        """Estimated bytes that compaction has yet to rewrite (EstimateCompactionBytesNeeded)."""
        pending, carry = 0, 0
        l0_bytes = tree.size_bytes(0)
        triggered = (
            len(tree.l0) >= self.options.level0_file_num_compaction_trigger or l0_bytes >= self.options.max_bytes_for_level_base
        )
        if triggered:
            pending = carry = l0_bytes
        base = targets.base_level
        for number in range(base, self.options.num_levels - 1):
            size = tree.levels[number].size_bytes
            if triggered and number == base:
                pending += size
            size += carry
            carry = 0
            if size > targets.size_bytes[number]:
                carry = size - int(targets.size_bytes[number])
                below = tree.levels[number + 1].size_bytes
                if below > 0:
                    pending += int(carry * (below / size + 1))
        return pending


def order_by_score(scores: Sequence[float]) -> list[int]:
    """Order levels by descending score with RocksDB's exchange sort, which sets the order of equal scores."""
    values, levels = list(scores), list(range(len(scores)))
    for i in range(len(levels) - 1):
        for j in range(i + 1, len(levels)):
            if values[i] < values[j]:
                values[i], values[j] = values[j], values[i]
                levels[i], levels[j] = levels[j], levels[i]
    return levels


def bottommost_bytes(tree: Tree) -> int:
    """Bytes of all files that overlap no deeper file: Z (behaviour/write-stalls.md, Pressure), GenerateBottommostFiles."""
    total = 0
    below: list[Level] = []
    for number in range(tree.num_levels - 1, 0, -1):
        level = tree.levels[number]
        if len(level):
            total += level.size_bytes - _covered_bytes(level, below)
            below.append(level)
    if not below and tree.l0:
        total = tree.l0[-1].size_bytes
    return total


def _covered_bytes(level: Level, below: Sequence[Level]) -> int:
    """Bytes of the files of `level` that overlap a file of a level in `below`."""
    if not below:
        return 0
    covered = np.zeros(len(level), dtype=np.bool_)
    for other in below:
        first = other.hi.searchsorted(level.lo, side="left")
        covered |= other.lo.searchsorted(level.hi, side="right") > first
    return int(level.size[covered].sum())
