"""Page cache of the kernel, file by file: bytes that compactions and reads find in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Protocol

from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree


class StoredFile(Protocol):
    """SST file or blob file."""

    @property
    def size_bytes(self) -> int:
        """Size on the device."""

    @property
    def cold(self) -> bool:
        """Whether the file is on `cold_device`."""


class PageCache:
    """Whole files in memory up to a size; the least recently written or read file leaves first.

    A frozen file stays while slices of it wait for a compaction. Pages of a compacted slice are the first to leave, so
    they take no room from pages that reads need.
    """

    def __init__(self, size_bytes: float, *, direct_reads: bool = False, direct_writes: bool = False) -> None:
        """`direct_reads`: reads neither look here nor leave pages; `direct_writes`: a written file leaves no pages.

        See (behaviour/device-and-kernel.md, Page cache).
        """
        self.room_bytes = size_bytes
        self._direct_reads = direct_reads
        self._direct_writes = direct_writes
        self._files: OrderedDict[int, int] = OrderedDict()
        self._used = 0

    def take_over(self, before: PageCache) -> None:
        """Begin with the pages that are in memory when the databases are opened again, perhaps with other options."""
        self._files, self._used = before._files, before._used

    def add_written(self, files: Iterable[StoredFile]) -> None:
        """Add files that have been written, unless writes pass the cache."""
        if not self._direct_writes:
            for file in files:
                self._add(file)

    def missing_bytes(self, files: Sequence[SortedFile]) -> int:
        """Bytes of `files` and their slices that a compaction reads from the device.

        The files are in the cache afterwards, unless reads pass it.
        """
        if self.room_bytes <= 0 or self._direct_reads:
            return sum(f.compaction_bytes for f in files)
        missing = sum(s.size_bytes for f in files for s in f.slices if id(s.source) not in self._files)
        for file in files:
            if id(file) in self._files:
                self._files.move_to_end(id(file))
            else:
                missing += file.size_bytes
                self._add(file)
        return missing

    def cached_bytes(self, files: Iterable[StoredFile]) -> int:
        """Bytes of `files` that are in memory."""
        return sum(self._files.get(id(file), 0) for file in files) if self._files else 0

    def deleted(self, files: Iterable[StoredFile]) -> None:
        """Free the pages of deleted files."""
        if self._files:
            self._used -= sum(self._files.pop(id(file), 0) for file in files)

    def share(self, trees: Iterable[Tree]) -> float:
        """Share of the bytes of `trees`, all trees of the run, that reads find in memory; 1 for empty trees."""
        if self._direct_reads:
            return 0.0
        wanted_bytes = sum(tree.total_bytes() + tree.linked_bytes + tree.blobs.size_bytes for tree in trees)
        return min(1.0, self._used / wanted_bytes) if wanted_bytes else 1.0

    def _add(self, file: StoredFile) -> None:
        if self.room_bytes <= 0:
            return
        self._used += file.size_bytes - self._files.pop(id(file), 0)
        self._files[id(file)] = file.size_bytes
        while self._used > self.room_bytes:
            _, size = self._files.popitem(last=False)
            self._used -= size
