"""Crossings of the file boundaries of the grandparent level by a key stream (behaviour/compaction-jobs.md, Output cutting)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from lsmlab.models.policies.decisions import CutContext
from lsmlab.models.tree.files import KeyArray
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


class Crossings(NamedTuple):
    """Steps of the stream from one key to the next that cross a file boundary, in order; one list element per step.

    The first key of the stream crosses no boundary.
    """

    position: list[int]
    """Position of the key at the end of the step."""
    crossed: list[int]
    """File starts and file ends that the step crosses."""
    entered_bytes: list[int]
    """Bytes of the grandparent files that the step enters, files that it leaves again included."""
    inside_bytes: list[int]
    """Size of the grandparent file that contains the key; 0 in a gap."""
    first_inside_bytes: int
    """Size of the grandparent file that contains the first key of the stream; 0 in a gap."""


def crossings(keys: KeyArray, context: CutContext) -> Crossings:
    """Find all crossings at once; UpdateGrandparentBoundaryInfo finds them key by key."""
    walk = Crossings([], [], [], [], 0)
    if not len(context.grandparent_size):
        return walk
    position, crossed, entered, inside, _ = walk
    n, at, first_inside = len(keys), 0, 0
    starts = keys.searchsorted(context.grandparent_lo, side="left").tolist()
    ends_ = keys.searchsorted(context.grandparent_hi, side="right").tolist()
    for start, end, size in zip(starts, ends_, context.grandparent_size.tolist(), strict=True):
        for place, weight in ((start, size), (end, 0)):
            if place == 0:
                first_inside = weight
            elif place == at:
                crossed[-1] += 1
                entered[-1] += weight
                inside[-1] = weight
            elif place < n:
                at = place
                position.append(place)
                crossed.append(1)
                entered.append(weight)
                inside.append(weight)
    return walk._replace(first_inside_bytes=first_inside)


def ends(keys: KeyArray, context: CutContext, after: int) -> tuple[list[int], list[int]]:
    """Return (position, bytes): keys after the end of grandparent files, and the bytes of the files that end there.

    Files that end before the key at position `after` do not count: RocksDB up to 7.7 counts from the second key of the
    stream on (1), LevelDB from the first (0).
    """
    sizes = context.grandparent_size
    if not len(sizes):
        return [], []
    passed = keys.searchsorted(context.grandparent_hi, side="right")
    begin, end = int(passed.searchsorted(after, side="right")), int(passed.searchsorted(len(keys), side="left"))
    if begin == end:
        return [], []
    steps = np.flatnonzero(np.diff(passed[begin:end], prepend=-1))
    return passed[begin:end][steps].tolist(), np.add.reduceat(sizes[begin:end], steps).tolist()


class SampledGrowth:
    """Size of a growing output file, from the cumulative bytes of the stream."""

    __slots__ = ("_base", "_cumulative")

    def __init__(self, cumulative: NDArray[np.float64], start: int) -> None:
        self._cumulative = cumulative
        self._base = float(cumulative.item(start))

    def before(self, position: int) -> float:
        """Bytes of the file before the key at `position`."""
        return float(self._cumulative.item(position)) - self._base

    def reach(self, size: float) -> int:
        """First position at which the file has at least `size` bytes; the length of the stream or more without one."""
        return int(self._cumulative.searchsorted(self._base + size, side="left"))

    def exceed(self, size: float) -> int:
        """First position at which the file has more than `size` bytes."""
        return int(self._cumulative.searchsorted(self._base + size, side="right"))


class BlockGrowth:
    """Size of a growing output file in finished blocks, exactly the size that RocksDB compares.

    `first[k]` is the first entry after blocks 0 to k are finished, `size[k]` the sum of their bytes.
    """

    __slots__ = ("_end", "_first", "_size")

    def __init__(self, first: IntArray, size: IntArray, end: int) -> None:
        """Take the arrays of the class docstring; `end` is the length of the stream."""
        self._first, self._size, self._end = first, size, end

    def before(self, position: int) -> float:
        """Bytes of the finished blocks before the key at `position`."""
        k = int(self._first.searchsorted(position, side="right"))
        return float(self._size[k - 1]) if k else 0.0

    def reach(self, size: float) -> int:
        """First position at which the finished blocks have at least `size` bytes; `end` without one."""
        return self._at(int(self._size.searchsorted(size, side="left")))

    def exceed(self, size: float) -> int:
        """First position at which the finished blocks have more than `size` bytes; `end` without one."""
        return self._at(int(self._size.searchsorted(size, side="right")))

    def _at(self, k: int) -> int:
        return int(self._first[k]) if k < len(self._first) else self._end


OutputGrowth = SampledGrowth | BlockGrowth
FinishedBlocks = Callable[[int], tuple[IntArray, IntArray]]
"""Function from the first entry of a file to (first, size) of `BlockGrowth`, such as `BlockLayout.finished`."""
