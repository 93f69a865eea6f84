"""Sorted run of a level: disjoint files in key order, mirrored in arrays so that thousands of files cost little."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from lsmlab.models.tree.files import SortedFile
from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Level:
    """Files of one level >= 1, disjoint and in key order, mirrored in arrays that `splice` changes in place.

    Without snapshots two files of a level never share a user key, so RocksDB's "clean cut" of a range is the range
    itself and needs no code here.

    The arrays `lo`, `hi`, `size`, `busy`, `compensated` and `links` are views of length `len(level)` into growing
    buffers. Do not write to them or keep them across a change of the level; set busy marks through `mark` only.
    """

    __slots__ = (
        "_busy",
        "_busy_bytes",
        "_bytes",
        "_comp",
        "_comp_bytes",
        "_hi",
        "_links",
        "_lo",
        "_n",
        "_size",
        "files",
        "stamp",
    )

    def __init__(self, files: Sequence[SortedFile] = ()) -> None:
        self.files: list[SortedFile] = []
        self._n = 0
        capacity = 16
        self._lo: NDArray[np.int64] = np.empty(capacity, dtype=np.int64)
        self._hi: NDArray[np.int64] = np.empty(capacity, dtype=np.int64)
        self._size: NDArray[np.int64] = np.empty(capacity, dtype=np.int64)
        self._comp: NDArray[np.int64] = np.empty(capacity, dtype=np.int64)
        self._links: NDArray[np.int64] = np.empty(capacity, dtype=np.int64)
        self._busy: NDArray[np.bool_] = np.empty(capacity, dtype=np.bool_)
        self._bytes = 0
        self._comp_bytes = 0
        self._busy_bytes = 0
        self.stamp = 0
        """Counts changes of the file set (not of busy marks), for caches keyed on a level's content."""
        self.splice(0, 0, sorted(files, key=lambda f: f.lo))

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[SortedFile]:
        return iter(self.files)

    @property
    def lo(self) -> NDArray[np.int64]:
        """Smallest keys, ascending. Shape (n,)."""
        return self._lo[: self._n]

    @property
    def hi(self) -> NDArray[np.int64]:
        """Largest keys (inclusive), ascending. Shape (n,)."""
        return self._hi[: self._n]

    @property
    def size(self) -> NDArray[np.int64]:
        """File sizes in bytes. Shape (n,)."""
        return self._size[: self._n]

    @property
    def compensated(self) -> NDArray[np.int64]:
        """Compensated file sizes in bytes (behaviour/leveled-compaction.md, Compensated size). Shape (n,)."""
        return self._comp[: self._n]

    @property
    def links(self) -> NDArray[np.int64]:
        """Number of slices that the next compaction of each file merges into it. Shape (n,)."""
        return self._links[: self._n]

    @property
    def busy(self) -> NDArray[np.bool_]:
        """Mask of the files that are inputs of a running job. Shape (n,)."""
        return self._busy[: self._n]

    @property
    def size_bytes(self) -> int:
        """Bytes of all files, those being compacted included."""
        return self._bytes

    @property
    def free_compensated_bytes(self) -> int:
        """Compensated bytes of the files that are not inputs of a running job."""
        return self._comp_bytes - self._busy_bytes

    @property
    def compensated_bytes(self) -> int:
        """Compensated bytes of all files, those being compacted included."""
        return self._comp_bytes

    def overlapping(self, lo: int, hi: int) -> tuple[int, int]:
        """Index range [i, j) of the files whose key range overlaps [lo, hi] (both inclusive)."""
        n = self._n
        if n == 0:
            return 0, 0
        i = int(self._hi[:n].searchsorted(lo, side="left"))
        j = int(self._lo[:n].searchsorted(hi, side="right"))
        return (i, j) if j > i else (i, i)

    def responsible(self, lo: int, hi: int) -> tuple[int, int]:
        """Index range [i, j) of the files responsible for [lo, hi]; the level must not be empty.

        Each file is responsible from just above its left neighbour's largest key to its own; the first reaches down to
        the smallest key there is, the last up to the largest (behaviour/ldc.md, LDC rules).
        """
        last = self._n - 1
        i, j = (int(k) for k in self._hi[: self._n].searchsorted((lo, hi), side="left"))
        return min(i, last), min(j, last) + 1

    def holds(self, file: SortedFile) -> bool:
        """Return whether `file` is in this run."""
        i = int(self._lo[: self._n].searchsorted(file.lo, side="left"))
        return i < self._n and self.files[i] is file

    def any_busy(self, i: int, j: int) -> bool:
        """Return whether any of the files [i, j) is an input of a running job."""
        return bool(np.count_nonzero(self._busy[i:j]))  # takes a third of the time of any() on few files

    def bytes_of(self, i: int, j: int) -> int:
        """Bytes of the files [i, j)."""
        return int(self._size[i:j].sum())

    def mark(self, files: Sequence[SortedFile], busy: bool) -> None:
        """Set the busy mark of `files`, which must be files of this run."""
        for index, file in zip(self._places(files), files, strict=True):
            if file.busy != busy:
                self._busy[index] = busy
                file.busy = busy
                self._busy_bytes += file.compensated_bytes if busy else -file.compensated_bytes

    def update_links(self, i: int, j: int) -> None:
        """Update `links` after the files [i, j) have received slices."""
        self._links[i:j] = [len(f.slices) for f in self.files[i:j]]

    def index(self, file: SortedFile) -> int:
        """Return the position of `file`; raise ValueError if it is not in this run."""
        i = int(self._lo[: self._n].searchsorted(file.lo, side="left"))
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
        return [self.index(file) for file in files]

    def remove(self, files: Sequence[SortedFile]) -> None:
        """Remove `files`, one contiguous range at a time."""
        indices = sorted(self._places(files))
        end = len(indices)
        while end > 0:  # from the back, so that earlier indices stay valid
            start = end - 1
            while start > 0 and indices[start - 1] == indices[start] - 1:
                start -= 1
            self.splice(indices[start], indices[end - 1] + 1, ())
            end = start

    def insert(self, files: Sequence[SortedFile]) -> None:
        """Insert `files`, ascending and disjoint from each other and from this run's, one contiguous range at a time."""
        start = 0
        while start < len(files):
            at = int(self._lo[: self._n].searchsorted(files[start].lo, side="left"))
            bound = self._lo[at] if at < self._n else None
            end = start + 1
            while end < len(files) and (bound is None or files[end].lo < bound):
                end += 1
            self.splice(at, at, files[start:end])
            start = end

    def splice(self, i: int, j: int, new: Sequence[SortedFile]) -> None:
        """Replace the files [i, j) by `new` in place: a memory move instead of a rebuild of the arrays."""
        old_n, delta = self._n, len(new) - (j - i)
        n = old_n + delta
        for file in self.files[i:j]:
            self._bytes -= file.size_bytes
            self._comp_bytes -= file.compensated_bytes
            if file.busy:
                self._busy_bytes -= file.compensated_bytes
        if n > len(self._lo):
            self._grow(n)
        if delta and j < old_n:
            for array in (self._lo, self._hi, self._size, self._comp, self._links):
                array[j + delta : n] = array[j:old_n]
            self._busy[j + delta : n] = self._busy[j:old_n]
        for k, file in enumerate(new, i):
            self._lo[k] = file.lo
            self._hi[k] = file.hi
            self._size[k] = file.size_bytes
            self._comp[k] = file.compensated_bytes
            self._links[k] = len(file.slices)
            self._busy[k] = file.busy
            self._bytes += file.size_bytes
            self._comp_bytes += file.compensated_bytes
            if file.busy:
                self._busy_bytes += file.compensated_bytes
        self.files[i:j] = new
        self._n = n
        self.stamp += 1

    def check(self) -> None:
        """Raise AssertionError where the arrays and the files disagree or two files overlap (the invariants switch)."""
        n = self._n
        assert n == len(self.files)
        assert bool((self._lo[1:n] > self._hi[: n - 1]).all()) if n > 1 else True, "files of a level overlap"
        assert [f.lo for f in self.files] == self.lo.tolist()
        assert [f.hi for f in self.files] == self.hi.tolist()
        assert [f.busy for f in self.files] == self.busy.tolist()
        assert [len(f.slices) for f in self.files] == self.links.tolist()
        assert self._bytes == sum(f.size_bytes for f in self.files)
        assert self._comp_bytes == sum(f.compensated_bytes for f in self.files)
        assert self._busy_bytes == sum(f.compensated_bytes for f in self.files if f.busy)

    def _grow(self, n: int) -> None:
        capacity = max(n, 2 * len(self._lo))

        def wider(old: NDArray[_Scalar]) -> NDArray[_Scalar]:
            new = np.empty(capacity, dtype=old.dtype)
            new[: self._n] = old[: self._n]
            return new

        self._lo, self._hi, self._size = wider(self._lo), wider(self._hi), wider(self._size)
        self._comp, self._links, self._busy = wider(self._comp), wider(self._links), wider(self._busy)
