"""Order of the files of a level by overlap ratio, updated where the files have changed: kMinOverlappingRatio."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models import since
from lsmlab.models.policies.rocksdb.unstable_sort import sorted_as_libstdcxx
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.version import Version
from numpy.typing import NDArray

RATIO_SCALE: Final = 1024
"""Fixed-point scale of the overlap ratio in SortFileByOverlappingRatio."""
_FEW_CHANGES: Final = 4
"""Changes that take less time to follow one by one than a new order of any level: 9 us each, against 40 us."""
_FILES_PER_CHANGE: Final = 5
"""Files whose part of a new order takes as long as one change to follow."""

Entry = tuple[int, int]
"""(overlap ratio, smallest key) of a file."""


class Release(NamedTuple):
    """Rules that differ between releases."""

    by_file_size: bool
    """Divide by file sizes instead of compensated sizes."""
    ties_by_key: bool
    """Files of the same ratio are in key order. Before, in the order in which std::sort leaves them."""

    @staticmethod
    def of(version: Version) -> Release:
        """Return the rules of a release."""
        return Release(version < since.RATIO_BY_COMPENSATED_SIZE, version >= since.TIES_BY_KEY)


class OverlapOrder:
    """File indices of one level in the order of their overlap ratios.

    A compaction changes two ranges of neighbouring files. An update computes the ratios of the files in or above these
    ranges only, so it costs the same in a level of 50 files and in one of 5,000.
    """

    __slots__ = ("_below", "_entries", "_level", "_lows", "_order", "_release", "_stamps", "_unstable")

    def __init__(self, level: Level, below: Level, release: Release) -> None:
        """Order the files of `level` by bytes of `below` that they overlap per byte of their own."""
        self._level = level
        self._below = below
        self._release = release
        self._stamps = (-1, -1)
        self._lows: list[int] = []
        self._entries: list[Entry] = []
        self._order: list[Entry] = []
        self._unstable: list[int] | None = None
        self._order_all()

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, position: int) -> int:
        """Index of the file at `position` of the order."""
        if not self._release.ties_by_key and self._tied(position):
            if self._unstable is None:
                self._unstable = sorted_as_libstdcxx([ratio for ratio, _ in self._entries])
            return self._unstable[position]
        return bisect_left(self._level.lows, self._order[position][1])

    def orders(self, below: Level, release: Release) -> bool:
        """Return whether this is the order against the level `below`."""
        return self._below is below and self._release == release

    def _tied(self, position: int) -> bool:
        """Return whether the ratio of the file at `position` is also that of a neighbour in the order."""
        order, ratio = self._order, self._order[position][0]
        return (position > 0 and order[position - 1][0] == ratio) or (
            position + 1 < len(order) and order[position + 1][0] == ratio
        )

    def update(self) -> None:
        """Follow the changes of both levels since the last update."""
        if self._stamps == (self._level.stamp, self._below.stamp):
            return
        self._unstable = None
        own = self._level.changes_since(self._stamps[0])
        under = self._below.changes_since(self._stamps[1])
        most = _FEW_CHANGES + len(self._level) // _FILES_PER_CHANGE
        if own is None or under is None or len(own) + len(under) > most:
            self._order_all()
            return
        for lo, hi in own:
            self._reorder(lo, hi)
        for lo, hi in under:
            i, j = self._level.overlapping(lo, hi)
            if j > i:
                self._reorder(self._level.lows[i], self._level.lows[j - 1])
        self._stamps = (self._level.stamp, self._below.stamp)

    def _order_all(self) -> None:
        level = self._level
        sizes = level.size if self._release.by_file_size else level.compensated
        ratios = overlap_bytes(level, self._below) * RATIO_SCALE // sizes
        self._lows = level.lows.copy()
        self._entries = list(zip(ratios.tolist(), self._lows, strict=True))
        self._order = [self._entries[i] for i in ratios.argsort(kind="stable").tolist()]
        self._stamps = (level.stamp, self._below.stamp)

    def _reorder(self, lo: int, hi: int) -> None:
        """Update the files whose smallest keys are in [lo, hi]."""
        lows = self._level.lows
        i, j = bisect_left(lows, lo), bisect_right(lows, hi)
        k, m = bisect_left(self._lows, lo), bisect_right(self._lows, hi)
        new = [(self._ratio(file), file.lo) for file in self._level.files[i:j]]
        old = self._entries[k:m]
        if new == old:
            return
        for entry in old:
            del self._order[bisect_left(self._order, entry)]
        for entry in new:
            insort(self._order, entry)
        self._lows[k:m] = lows[i:j]
        self._entries[k:m] = new

    def _ratio(self, file: SortedFile) -> int:
        below = self._below
        first = bisect_left(below.highs, file.lo)
        overlap = below.bytes_of(first, bisect_left(below.lows, file.hi, first))
        return overlap * RATIO_SCALE // (file.size_bytes if self._release.by_file_size else file.compensated_bytes)


def overlap_bytes(level: Level, below: Level) -> NDArray[np.int64]:
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


def l0_order(files: Sequence[SortedFile], below: Level, release: Release) -> list[int]:
    """Order of the L0 files, newest first, by their overlap ratios."""
    ratios = _l0_ratios(files, below, release.by_file_size)
    if release.ties_by_key:
        return sorted(range(len(files)), key=lambda i: (ratios[i], files[i].lo))
    return sorted_as_libstdcxx(ratios)


def _l0_ratios(files: Sequence[SortedFile], below: Level, by_file_size: bool) -> list[int]:
    """Overlap ratios of L0 files with L1, by RocksDB's single forward pass over L1, although L0 is in order of age."""
    ratios, at, n = [], 0, len(below)
    for file in files:
        overlap = 0
        if at < n:
            at = max(at, bisect_left(below.highs, file.lo))
            end = bisect_left(below.lows, file.hi)
            if end > at:
                overlap = below.bytes_of(at, end)
                at = end - 1 if below.highs[end - 1] >= file.hi else end
        divisor = file.size_bytes if by_file_size else file.compensated_bytes
        ratios.append(overlap * RATIO_SCALE // max(divisor, 1))
    return ratios
