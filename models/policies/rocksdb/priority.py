"""Order of the files of a level: UpdateFilesByCompactionPri (behaviour/leveled-compaction.md, File priority)."""

from __future__ import annotations

from typing import Final

import numpy as np
from lsmlab.models import since
from lsmlab.models.options.fields import CompactionPri
from lsmlab.models.policies.rocksdb.overlap_order import RATIO_SCALE, OverlapOrder, Release, l0_order, overlap_bytes
from lsmlab.models.policies.rocksdb.ttl_boost import TtlBoost
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version
from numpy.typing import NDArray

SORTED_FILES: Final = 50
"""Number of positions that RocksDB sorts (kNumberFilesToSort); this model sorts the rest too, on first use."""
_SCATTER: Final = 2_654_435_761
"""Multiplicative hash of file numbers (Knuth): 2^32 over the golden ratio."""

IndexArray = NDArray[np.int64]


class FileOrder:
    """File indices of one level in the order of a sort key: the first positions sorted at once, the rest on first use."""

    __slots__ = ("_head", "_key", "_rest")

    def __init__(self, key: IndexArray) -> None:
        self._key = key
        n = len(key)
        if n <= SORTED_FILES:
            self._head: list[int] = key.argsort(kind="stable").tolist()
        else:  # index breaks ties: the sort key times n stays far below 2^63 for ratios and sizes of real files
            first = key.argpartition(SORTED_FILES - 1)[:SORTED_FILES]
            self._head = first[key[first].argsort(kind="stable")].tolist()
        self._rest: list[int] | None = None

    def __len__(self) -> int:
        return len(self._key)

    def __getitem__(self, position: int) -> int:
        """Index of the file at `position` of the order."""
        if position < len(self._head):
            return self._head[position]
        if self._rest is None:
            self._rest = self._key.argsort(kind="stable").tolist()
        return self._rest[position]


class PriorityLists:
    """Priority lists of all levels, cached while the files of the levels do not change."""

    def __init__(self, priority: CompactionPri, version: Version, ttl_s: int = 0) -> None:
        """`ttl_s`: option `ttl`; 0: none."""
        self.priority = priority
        self._release = Release.of(version)
        self._ttl_s = ttl_s if version >= since.BOOSTS_OLD_FILES else 0
        self._memo: dict[int, tuple[tuple[object, ...], FileOrder]] = {}

    def of(self, tree: Tree, number: int, now_s: float = 0.0) -> FileOrder | OverlapOrder:
        """Return the order of the files of level `number` >= 1 at a time."""
        level = tree.levels[number]
        state: tuple[object, ...]
        if self.priority is CompactionPri.MIN_OVERLAPPING_RATIO:
            boost = TtlBoost.of(self._ttl_s, number, tree.last_nonempty_level()) if 2 * now_s > self._ttl_s > 0 else None
            if boost is None:
                return self._by_overlap(level, tree.levels[number + 1])
            return self._boosted(tree, number, boost, now_s)
        if self.priority is CompactionPri.ROUND_ROBIN:
            state = (level, level.stamp, tree.round_robin_key[number])
        else:
            state = (level, level.stamp)
        cached = self._memo.get(number)
        if cached is not None and cached[0] == state:
            return cached[1]
        order = FileOrder(self._key(level, tree.round_robin_key[number]))
        self._memo[number] = (state, order)
        return order

    def _boosted(self, tree: Tree, number: int, boost: TtlBoost, now_s: float) -> FileOrder:
        """Return the order with preference for old files, which holds for one version of the tree."""
        state = (tree, tree.version)
        cached = self._memo.get(number)
        if cached is None or cached[0] != state:
            level = tree.levels[number]
            ratios = overlap_bytes(level, tree.levels[number + 1]) * RATIO_SCALE // level.compensated
            n = len(level)
            key = ratios // boost.divisors(level, now_s) * n + np.arange(n)  # equal ratios in key order
            cached = self._memo[number] = (state, FileOrder(key))
        return cached[1]

    def _by_overlap(self, level: Level, below: Level) -> OverlapOrder:
        order = level.order
        if not isinstance(order, OverlapOrder) or not order.orders(below, self._release):
            level.order = order = OverlapOrder(level, below, self._release)
        order.update()
        return order

    def of_l0(self, tree: Tree) -> list[int]:
        """Return the order of the L0 files as first inputs of a compaction."""
        files = tree.l0
        match self.priority:
            case CompactionPri.MIN_OVERLAPPING_RATIO:
                return l0_order(files, tree.levels[1], self._release)
            case CompactionPri.BY_COMPENSATED_SIZE:
                return sorted(range(len(files)), key=lambda i: -files[i].compensated_bytes)
            case CompactionPri.OLDEST_LARGEST_SEQ_FIRST:
                return sorted(range(len(files)), key=lambda i: files[i].largest_seqno)
            case _:
                return sorted(range(len(files)), key=lambda i: files[i].smallest_seqno)

    def _key(self, level: Level, cursor: int) -> IndexArray:
        n = len(level)
        match self.priority:
            case CompactionPri.BY_COMPENSATED_SIZE:
                return _shuffled(level) - level.compensated * n
            case CompactionPri.OLDEST_LARGEST_SEQ_FIRST:
                return np.array([f.largest_seqno for f in level], dtype=np.int64) * n + np.arange(n)
            case CompactionPri.OLDEST_SMALLEST_SEQ_FIRST:
                return np.array([f.smallest_seqno for f in level], dtype=np.int64) * n + np.arange(n)
            case _:
                start = int(level.lo.searchsorted(cursor, side="left"))
                return (np.arange(n) - start) % n if n else np.arange(0)


def _shuffled(level: Level) -> IndexArray:
    """Rank of each file, independent of its keys, to break ties between files of one size.

    Full files of a real store differ by less than a block, so the largest file is random. Ranks by key would always
    compact one end of the level first and leave few files there.
    """
    scattered = np.array([f.number for f in level], dtype=np.int64) * _SCATTER & 0xFFFF_FFFF
    ranks = np.empty(len(level), dtype=np.int64)
    ranks[scattered.argsort(kind="stable")] = np.arange(len(level))
    return ranks
