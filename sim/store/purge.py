"""Deletion of obsolete files, by the last job that references them.

A running job references the version of the tree at its start. The inputs of a compaction therefore stay on the device
until all jobs that started before its commit have ended. The last of these jobs deletes them and keeps its thread while
it does, so a flush may delete the inputs of a large compaction (DBImpl::FindObsoleteFiles, FlushJob::base_).
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final, NamedTuple


class Obsolete(NamedTuple):
    """Files to delete."""

    files: int = 0
    file_bytes: float = 0.0
    """Bytes of these files without WALs."""
    wal_bytes: float = 0.0
    """Bytes of the WALs to delete together with the SST files that refer to them."""


NOTHING: Final = Obsolete()


class Purge:
    """Versions of one column family that running jobs reference, and obsolete files that wait for the end of these jobs."""

    def __init__(self) -> None:
        self._version = 0
        self._held: dict[int, int] = {}
        self._waiting: deque[tuple[int, Obsolete]] = deque()
        """Files to delete with the version that no longer contains them, in the order of versions."""

    def begin(self, job: int) -> None:
        """Let a job reference the current version."""
        self._held[job] = self._version

    def retire(self, files: Obsolete) -> None:
        """Add files that a commit has removed from the tree; the next version does not contain them."""
        self._version += 1
        self._waiting.append((self._version, files))

    def end(self, job: int) -> Obsolete:
        """Release the version of a job. Return the files that no other job references: the job has to delete them."""
        del self._held[job]
        if not self._waiting:
            return NOTHING
        oldest = min(self._held.values(), default=math.inf)
        number, file_bytes, wal_bytes = NOTHING
        while self._waiting and self._waiting[0][0] <= oldest:
            _, files = self._waiting.popleft()
            number += files.files
            file_bytes += files.file_bytes
            wal_bytes += files.wal_bytes
        return Obsolete(number, file_bytes, wal_bytes)
