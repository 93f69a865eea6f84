"""Files that levelled compaction compacts though no score asks for it: marked ones, and those that are too old.

See (behaviour/leveled-compaction.md, Ages of files; Marked files).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.models import since
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.ranges import bottommost
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

_TRIGGER_S: Final = 12 * 3600.0
"""Time between two looks at ages without a change of the tree (kTriggerCompaction)."""
_LOOKS_PER_AGE: Final = 5
"""Looks per ttl or period since `since.TRIGGER_BY_AGES` (kTriggerDivisor)."""
MARKED, BOTTOMMOST, TTL = "FilesMarkedForCompaction", "BottommostFiles", "Ttl"
PERIODIC, ROUND_ROBIN_TTL = "PeriodicCompaction", "RoundRobinTtl"
"""Reasons of these compactions."""


@dataclass(frozen=True, slots=True)
class DueFile:
    """File that is due."""

    level: int
    file: SortedFile
    output: int
    """Level to which its compaction writes; -1: the base level."""
    reason: str


@dataclass(frozen=True, slots=True)
class DueFiles:
    """Rules of levelled compaction."""

    options: RocksDbOptions
    version: Version

    def files(self, tree: Tree, now_s: float) -> Sequence[DueFile]:
        """Return the free files that are due, in the order in which they are tried.

        Marked ones come first, then those that a snapshot kept large, then by ttl, then by period.
        """
        return [
            *(marked_files(tree) if tree.marks_files else ()), *self._bottommost(tree, now_s),
            *self._expired(tree, now_s), *self._periodic(tree, now_s),
        ]  # fmt: skip

    def _bottommost(self, tree: Tree, now_s: float) -> list[DueFile]:
        """Files without data below them that all snapshots see since the last release, and did not when they were written.

        They stay in their level (ComputeBottommostFilesMarkedForCompaction).
        """
        if tree.oldest_snapshot_s == -math.inf or self.version < since.BOTTOMMOST_FILES:
            return []
        least_deletions = 1 if self.version < since.BOTTOMMOST_WITHOUT_DELETIONS else -1
        before_s = now_s - self.options.bottommost_file_compaction_delay
        return [
            DueFile(level, file, level, BOTTOMMOST)
            for level in range(tree.last_nonempty_level() + 1)
            for i, file in enumerate(tree.files_of(level))
            if -math.inf < file.newest_s <= tree.oldest_snapshot_s
            and not file.busy and file.deletions > least_deletions and file.created_s <= before_s
            and bottommost(tree, level, file.lo, file.hi)
            and not (level == 0 and any(f.lo <= file.hi and f.hi >= file.lo for f in tree.l0[i + 1 :]))
        ]  # fmt: skip

    def _expired(self, tree: Tree, now_s: float) -> list[DueFile]:
        """Files whose oldest data is older than `ttl`, without those of the deepest level (ComputeExpiredTtlFiles)."""
        before_s = int(now_s) - self.options.ttl
        if before_s <= 0 or not self.options.ttl or self.version < since.LEVEL_TTL:
            return []
        return [
            DueFile(level, file, level + 1 if level else -1, TTL)
            for level in range(tree.last_nonempty_level())
            for file in tree.files_of(level)
            if not file.busy and int(file.data_from_s) < before_s
        ]

    def _periodic(self, tree: Tree, now_s: float) -> list[DueFile]:
        """Files written before the period (ComputeFilesMarkedForPeriodicCompaction); they stay in their level.

        Since `since.PERIODIC_TO_NEXT_LEVEL` those above the deepest level go one down with dynamic levels.
        """
        before_s = int(now_s) - self.options.periodic_compaction_seconds
        if before_s <= 0 or not self.options.periodic_compaction_seconds or self.version < since.LEVEL_PERIODIC:
            return []
        down = self.options.level_compaction_dynamic_level_bytes and self.version >= since.PERIODIC_TO_NEXT_LEVEL
        last = tree.last_nonempty_level()
        return [
            DueFile(level, file, level if not down or level == last else level + 1 if level else -1, PERIODIC)
            for level in range(last + 1)
            for file in tree.files_of(level)
            if not file.busy and int(file.created_s) < before_s
        ]


def marked_files(tree: Tree) -> list[DueFile]:
    """Return the free marked files above the deepest level (ComputeFilesMarkedForCompaction).

    RocksDB tries one of them at random first; here the order is that of the levels.
    """
    return [
        DueFile(level, file, level + 1 if level else -1, MARKED)
        for level in range(max(1, tree.last_nonempty_level()))
        for file in tree.files_of(level)
        if file.marked and not file.busy
    ]


def trigger_period_s(options: RocksDbOptions, version: Version) -> float:
    """Return the time in s between two looks at the ages of files while the tree does not change; infinity: there are none."""
    period = options.periodic_compaction_seconds
    ages = [age for age in (options.ttl, period) if age]
    if version < since.TIMED_TRIGGER or not (period if version < since.TRIGGER_BY_AGES else ages):
        return math.inf
    if version < since.TRIGGER_BY_AGES:
        return _TRIGGER_S
    return float(max(1, min(options.stats_dump_period_sec or math.inf, min(ages) // _LOOKS_PER_AGE)))


def least_age_s(options: RocksDbOptions) -> float:
    """Return the age in s from which a file can be too old; infinity: at no age."""
    return min([float(age) for age in (options.ttl, options.periodic_compaction_seconds) if age], default=math.inf)
