"""Sorted run of a level: disjoint files in key order, mirrored in arrays so that thousands of files cost little."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from lsmlab.models.tree.files import SortedFile
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
_REMEMBERED: Final = 64
"""Number of changes of a level that are remembered for updates of orders."""


class Level:
    """Files of one level >= 1, disjoint and in key order, mirrored in lists and arrays that `splice` changes in place.

    Without snapshots two files of a level never share a user key, so RocksDB's "clean cut" of a range is the range
    itself and needs no code here.

    The arrays `lo` and `hi` are views of length `len(level)` into growing buffers. Do not write to them or keep them
    across a change of the level; set busy marks through `mark` only. Searches for one key use lists of the bounds
    instead: a bisection of a list takes a third of the time of a search in an array.
    """

    __slots__ = (
        "_changes",
        "_hi",
        "_links",
        "_lo",
        "_n",
        "busy",
        "compensated_bytes",
        "files",
        "free_compensated_bytes",
        "highs",
        "lows",
        "order",
        "size_bytes",
        "stamp",
    )

    def __init__(self, files: Sequence[SortedFile] = ()) -> None:
        self.files: list[SortedFile] = []
        self.busy: set[SortedFile] = set()
        """Files that are inputs of a running job."""
        self.lows: list[int] = []
        """Smallest keys of `files`; do not write to this list or to `highs`."""
        self.highs: list[int] = []
        """Largest keys of `files` (inclusive)."""
        self.order: object = None
        """Order of the files that the picker keeps from pick to pick, if it keeps one (`OverlapOrder`)."""
        self._n = 0
        self._changes: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        capacity = 16
        self._lo: IntArray = np.empty(capacity, dtype=np.int64)
        self._hi: IntArray = np.empty(capacity, dtype=np.int64)
        self._links: IntArray | None = None
        """Value of `links`; None after a change of files or slices."""
        self.size_bytes = 0
        """Bytes of all files, those being compacted included."""
        self.compensated_bytes = 0
        """Compensated bytes of all files, those being compacted included."""
        self.free_compensated_bytes = 0
        """Compensated bytes of the files that are not inputs of a running job."""
        self.stamp = 0
        """Counts changes of the file set (not of busy marks), for caches keyed on a level's content."""
        self.splice(0, 0, sorted(files, key=lambda f: f.lo))

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[SortedFile]:
        return iter(self.files)

    @property
    def lo(self) -> IntArray:
        """Smallest keys, ascending. Shape (n,)."""
        return self._lo[: self._n]

    @property
    def hi(self) -> IntArray:
        """Largest keys (inclusive), ascending. Shape (n,)."""
        return self._hi[: self._n]

    @property
    def size(self) -> IntArray:
        """File sizes in bytes, collected from the files at each call. Shape (n,)."""
        return self.sizes(0, self._n)

    def sizes(self, i: int, j: int) -> IntArray:
        """Sizes of the files [i, j) in bytes. Shape (j - i,)."""
        return np.array([f.size_bytes for f in self.files[i:j]], dtype=np.int64)

    @property
    def compensated(self) -> IntArray:
        """Compensated file sizes in bytes (behaviour/leveled-compaction.md, Compensated size), as `size`."""
        return np.array([f.compensated_bytes for f in self.files], dtype=np.int64)

    @property
    def links(self) -> IntArray:
        """Number of slices that the next compaction of each file merges into it. Shape (n,)."""
        if self._links is None:
            self._links = np.array([len(f.slices) for f in self.files], dtype=np.int64)
        return self._links

    @property
    def fills(self) -> FloatArray:
        """Bytes of the slices that the next compaction of each file merges into it, over the file's own. Shape (n,)."""
        return np.array([_fill(f) for f in self.files])

    def overlapping(self, lo: int, hi: int) -> tuple[int, int]:
        """Index range [i, j) of the files whose key range overlaps [lo, hi] (both inclusive)."""
        i = bisect_left(self.highs, lo)
        return i, bisect_right(self.lows, hi, i)

    def inside(self, lo: int, hi: int) -> tuple[int, int]:
        """Index range [i, j) of the files whose key range is part of [lo, hi] (both inclusive)."""
        i = bisect_left(self.lows, lo)
        return i, bisect_right(self.highs, hi, i)

    def responsible(self, lo: int, hi: int) -> tuple[int, int]:
        """Index range [i, j) of the files responsible for [lo, hi]; the level must not be empty.

        Each file is responsible from just above its left neighbour's largest key to its own; the first reaches down to
        the smallest key there is, the last up to the largest (behaviour/ldc.md, LDC rules).
        """
        last = self._n - 1
        return min(bisect_left(self.highs, lo), last), min(bisect_left(self.highs, hi), last) + 1

    def holds(self, file: SortedFile) -> bool:
        """Return whether `file` is in this run."""
        i = bisect_left(self.lows, file.lo)
        return i < self._n and self.files[i] is file

    def any_busy(self, i: int, j: int) -> bool:
        """Return whether any of the files [i, j) is an input of a running job."""
        return bool(self.busy) and any(f.busy for f in self.files[i:j])

    def bytes_of(self, i: int, j: int) -> int:
        """Bytes of the files [i, j)."""
        return sum([f.size_bytes for f in self.files[i:j]])

    def compensated_bytes_of(self, i: int, j: int) -> int:
        """Compensated bytes of the files [i, j)."""
        return sum([f.compensated_bytes for f in self.files[i:j]])

    def mark(self, files: Sequence[SortedFile], busy: bool) -> None:
        """Set the busy mark of `files`, which must be files of this run."""
        for file in files:
            if file.busy != busy:
                file.busy = busy
                if busy:
                    self.busy.add(file)
                    self.free_compensated_bytes -= file.compensated_bytes
                else:
                    self.busy.remove(file)
                    self.free_compensated_bytes += file.compensated_bytes

    def links_changed(self) -> None:
        """Tell the level that some of its files have received slices."""
        self._links = None

    def index(self, file: SortedFile) -> int:
        """Return the position of `file`; raise ValueError if it is not in this run."""
        i = bisect_left(self.lows, file.lo)
        if i >= self._n or self.files[i] is not file:
            raise ValueError(f"{file!r} is not in this level")
        return i

    def _places(self, files: Sequence[SortedFile]) -> Sequence[int]:
        """Positions of `files`; neighbours, as the inputs of a compaction mostly are, take one search."""
        if not files:
            return ()
        first = self.index(files[0])
        if self.files[first : first + len(files)] == list(files):
            return range(first, first + len(files))
        return sorted(self.index(file) for file in files)

    def replace(self, old: Sequence[SortedFile], new: Sequence[SortedFile]) -> None:
        """Remove the files `old` and insert the files `new`, which are ascending and disjoint from all that stay."""
        places = self._places(old)
        if new and isinstance(places, range) and self._fit(new, places.start, places.stop):
            self.splice(places.start, places.stop, new)
            return
        end = len(places)
        while end > 0:  # one contiguous range at a time, from the back, so that earlier indices stay valid
            start = end - 1
            while start > 0 and places[start - 1] == places[start] - 1:
                start -= 1
            self.splice(places[start], places[end - 1] + 1, ())
            end = start
        self.insert(new)

    def _fit(self, files: Sequence[SortedFile], i: int, j: int) -> bool:
        """Return whether the key range of `files` is between that of the file before `i` and that of the file `j`."""
        return (i == 0 or self.highs[i - 1] < files[0].lo) and (j == self._n or files[-1].hi < self.lows[j])

    def insert(self, files: Sequence[SortedFile]) -> None:
        """Insert `files`, ascending and disjoint from each other and from this run's, one contiguous range at a time."""
        start = 0
        while start < len(files):
            at = bisect_left(self.lows, files[start].lo)
            end = len(files)
            if at < self._n:
                bound = self.lows[at]
                end = start + 1
                while end < len(files) and files[end].lo < bound:
                    end += 1
            self.splice(at, at, files[start:end])
            start = end

    def splice(self, i: int, j: int, new: Sequence[SortedFile]) -> None:
        """Replace the files [i, j) by `new` in place: a memory move instead of a rebuild of lists and arrays."""
        old = self.files[i:j]
        if not old and not new:
            return
        self._count(old, new)
        lows, highs = [f.lo for f in new], [f.hi for f in new]
        self._changes.append((min(self.lows[i:j] + lows), max(self.highs[i:j] + highs)))
        self.stamp += 1
        self.files[i:j], self.lows[i:j], self.highs[i:j] = new, lows, highs
        self._move(j, len(new) - len(old))
        self._lo[i : i + len(new)], self._hi[i : i + len(new)] = lows, highs
        self._links = None

    def _count(self, old: Sequence[SortedFile], new: Sequence[SortedFile]) -> None:
        """Update the sums and the set of busy files for `old` files that leave and `new` files that come."""
        size, compensated, free = self.size_bytes, self.compensated_bytes, self.free_compensated_bytes
        for file in old:
            size -= file.size_bytes
            compensated -= file.compensated_bytes
            if file.busy:
                self.busy.remove(file)
            else:
                free -= file.compensated_bytes
        for file in new:
            size += file.size_bytes
            compensated += file.compensated_bytes
            if file.busy:
                self.busy.add(file)
            else:
                free += file.compensated_bytes
        self.size_bytes, self.compensated_bytes, self.free_compensated_bytes = size, compensated, free

    def changes_since(self, stamp: int) -> list[tuple[int, int]] | None:
        """Key ranges (both inclusive) in which files have changed since `stamp`; None if they are too many to remember."""
        number = self.stamp - stamp
        return [self._changes[-k] for k in range(1, number + 1)] if number <= len(self._changes) else None

    def check(self) -> None:
        """Raise AssertionError where the arrays and the files disagree or two files overlap (the invariants switch)."""
        n = self._n
        assert n == len(self.files)
        assert bool((self._lo[1:n] > self._hi[: n - 1]).all()) if n > 1 else True, "files of a level overlap"
        assert [f.lo for f in self.files] == self.lo.tolist() == self.lows
        assert [f.hi for f in self.files] == self.hi.tolist() == self.highs
        assert {f for f in self.files if f.busy} == self.busy
        assert [len(f.slices) for f in self.files] == self.links.tolist()
        assert self.size_bytes == sum(f.size_bytes for f in self.files)
        assert self.compensated_bytes == sum(f.compensated_bytes for f in self.files)
        assert self.free_compensated_bytes == sum(f.compensated_bytes for f in self.files if not f.busy)

    def _move(self, j: int, delta: int) -> None:
        """Move the rows of the arrays from `j` on by `delta` places."""
        n = self._n + delta
        if n > len(self._lo):
            self._grow(n)
        if delta and j < self._n:
            for array in (self._lo, self._hi):
                array[j + delta : n] = array[j : self._n]
        self._n = n

    def _grow(self, n: int) -> None:
        self._lo, self._hi = (np.resize(array, max(n, 2 * len(array))) for array in (self._lo, self._hi))


def _fill(file: SortedFile) -> float:
    return sum(s.size_bytes for s in file.slices) / max(1, file.size_bytes) if file.slices else 0.0
