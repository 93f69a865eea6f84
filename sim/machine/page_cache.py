"""Page cache of the kernel, file by file: bytes that compactions and reads find in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree


class PageCache:
    """Whole files in memory up to a size; the least recently written or read file leaves first.

    A frozen file stays while slices of it wait for a compaction. Pages of a compacted slice are the first to leave, so
    they take no room from pages that reads need.
    """

    def __init__(self, size_bytes: float) -> None:
        self.room_bytes = size_bytes
        self._files: OrderedDict[int, int] = OrderedDict()
        self._used = 0

    def add_written(self, file: SortedFile) -> None:
        """Add a file that was written through the cache."""
        self._add(file)

    def missing_bytes(self, files: Sequence[SortedFile]) -> int:
        """Bytes of `files` and their slices that a compaction reads from the device; the files are in the cache afterwards."""
        if self.room_bytes <= 0:
            return sum(f.compaction_bytes for f in files)
        missing = sum(s.size_bytes for f in files for s in f.slices if id(s.source) not in self._files)
        for file in files:
            if id(file) in self._files:
                self._files.move_to_end(id(file))
            else:
                missing += file.size_bytes
                self._add(file)
        return missing

    def cached_bytes(self, files: Iterable[SortedFile]) -> int:
        """Bytes of `files` that are in memory."""
        return sum(self._files.get(id(file), 0) for file in files)

    def deleted(self, file: SortedFile) -> None:
        """Free the pages of a deleted file."""
        self._used -= self._files.pop(id(file), 0)

    def share(self, trees: Iterable[Tree]) -> float:
        """Share of the bytes of `trees`, all trees of the run, that is in memory; 1 for empty trees."""
        wanted_bytes = sum(tree.total_bytes() + tree.linked_bytes for tree in trees)
        return min(1.0, self._used / wanted_bytes) if wanted_bytes else 1.0

    def _add(self, file: SortedFile) -> None:
        if self.room_bytes <= 0:
            return
        self._used += file.size_bytes - self._files.pop(id(file), 0)
        self._files[id(file)] = file.size_bytes
        while self._used > self.room_bytes:
            _, size = self._files.popitem(last=False)
            self._used -= size
