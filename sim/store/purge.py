"""Deletion of obsolete files: who has to do it, and when.

A running job holds the version of the tree that it began with, so a merge's inputs stay as long as a job that began
before the merge's commit runs. The last of these jobs deletes them and keeps its thread meanwhile; so a flush may spend
its end on the inputs of a large merge (DBImpl::FindObsoleteFiles, FlushJob::base_).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lsmlab.models.sums import float_sum


class Obsolete(NamedTuple):
    """Files to delete."""

    files: int = 0
    cached_bytes: float = 0.0
    """Bytes of them in the page cache."""
    wal_bytes: float = 0.0
    """Bytes of logs that go with them."""


NOTHING: Final = Obsolete()


class Purge:
    """The versions of one store that its jobs hold, and the files that wait for them."""

    def __init__(self) -> None:
        self._version = 0
        self._held: dict[int, int] = {}
        self._waiting: list[tuple[int, Obsolete]] = []

    def begin(self, job: int) -> None:
        """A job begins on the present version."""
        self._held[job] = self._version

    def retire(self, files: Obsolete) -> None:
        """A commit has replaced these files: the next version is without them."""
        self._version += 1
        self._waiting.append((self._version, files))

    def end(self, job: int) -> Obsolete:
        """A job gives up its version; what nobody needs any more is for it to delete."""
        del self._held[job]
        if not self._waiting:
            return NOTHING
        oldest = min(self._held.values(), default=math.inf)
        free = [files for version, files in self._waiting if version <= oldest]
        self._waiting = [entry for entry in self._waiting if entry[0] > oldest]
        return Obsolete(
            sum(f.files for f in free), float_sum(f.cached_bytes for f in free), float_sum(f.wal_bytes for f in free)
        )
