"""Order in which RocksDB considers the files of a level: UpdateFilesByCompactionPri.

See (behaviour/leveled-compaction.md, File priority).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.models.options.fields import CompactionPri
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version
from numpy.typing import NDArray

SORTED_FILES: Final = 50
"""Number of positions that RocksDB sorts (kNumberFilesToSort); this model sorts the rest too, on first use."""
_RATIO_SCALE: Final = 1024
"""Fixed-point scale of the overlap ratio in SortFileByOverlappingRatio."""

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

    def __init__(self, priority: CompactionPri, version: Version) -> None:
        self.priority = priority
        self._by_file_size = version <= (5, 7)
        self._memo: dict[int, tuple[tuple[object, ...], FileOrder]] = {}

    def of(self, tree: Tree, number: int) -> FileOrder:
        """Return the order of the files of level `number` >= 1."""
        level = tree.levels[number]
        below = tree.levels[number + 1]
        state: tuple[object, ...]
        if self.priority is CompactionPri.MIN_OVERLAPPING_RATIO:
            state = (level, level.stamp, below, below.stamp)
        elif self.priority is CompactionPri.ROUND_ROBIN:
            state = (level, level.stamp, tree.round_robin_key[number])
        else:
            state = (level, level.stamp)
        cached = self._memo.get(number)
        if cached is not None and cached[0] == state:
            return cached[1]
        order = FileOrder(self._key(level, below, tree.round_robin_key[number]))
        self._memo[number] = (state, order)
        return order

    def of_l0(self, tree: Tree) -> list[int]:
        """Return the order of the L0 files as first inputs of a compaction."""
        files = tree.l0
        match self.priority:
            case CompactionPri.MIN_OVERLAPPING_RATIO:
                ratios = _l0_ratios(files, tree.levels[1], self._by_file_size)
                return sorted(range(len(files)), key=lambda i: (ratios[i], files[i].lo))
            case CompactionPri.BY_COMPENSATED_SIZE:
                return sorted(range(len(files)), key=lambda i: -files[i].compensated_bytes)
            case CompactionPri.OLDEST_LARGEST_SEQ_FIRST:
                return sorted(range(len(files)), key=lambda i: files[i].largest_seqno)
            case _:
                return sorted(range(len(files)), key=lambda i: files[i].smallest_seqno)

    def _key(self, level: Level, below: Level, cursor: int) -> IndexArray:
        n = len(level)
        match self.priority:
            case CompactionPri.MIN_OVERLAPPING_RATIO:
                ratio = overlap_bytes(level, below) * _RATIO_SCALE
                ratio //= level.size if self._by_file_size else level.compensated
                return ratio * n + np.arange(n)
            case CompactionPri.BY_COMPENSATED_SIZE:
                return _shuffled(level) - level.compensated * n
            case CompactionPri.OLDEST_LARGEST_SEQ_FIRST:
                return np.array([f.largest_seqno for f in level], dtype=np.int64) * n + np.arange(n)
            case CompactionPri.OLDEST_SMALLEST_SEQ_FIRST:
                return np.array([f.smallest_seqno for f in level], dtype=np.int64) * n + np.arange(n)
            case CompactionPri.ROUND_ROBIN:
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


def overlap_bytes(level: Level, below: Level) -> IndexArray:
    """Bytes of `below` that each file of `level` overlaps, as SortFileByOverlappingRatio counts them.

    RocksDB compares internal keys, in which the newer version of a user key comes first. So a file below whose smallest
    key equals the largest key of the file does not count; one whose largest key equals the smallest key does.
    """
    if not len(below) or not len(level):
        return np.zeros(len(level), dtype=np.int64)
    prefix = np.empty(len(below) + 1, dtype=np.int64)
    prefix[0] = 0
    np.cumsum(below.size, out=prefix[1:])
    first = below.hi.searchsorted(level.lo, side="left")
    end = np.maximum(below.lo.searchsorted(level.hi, side="left"), first)
    return np.asarray(prefix[end] - prefix[first], dtype=np.int64)


def _l0_ratios(files: Sequence[SortedFile], below: Level, by_file_size: bool) -> list[int]:
    """Overlap ratios of L0 files with L1, by RocksDB's single forward pass over L1, although L0 is in order of age."""
    ratios, at, n = [], 0, len(below)
    hi, lo, size = below.hi, below.lo, below.size
    for file in files:
        overlap = 0
        if at < n:
            at = max(at, int(hi.searchsorted(file.lo, side="left")))
            end = int(lo.searchsorted(file.hi, side="left"))
            if end > at:
                overlap = int(size[at:end].sum())
                at = end - 1 if hi[end - 1] >= file.hi else end
        divisor = file.size_bytes if by_file_size else file.compensated_bytes
        ratios.append(overlap * _RATIO_SCALE // max(divisor, 1))
    return ratios
