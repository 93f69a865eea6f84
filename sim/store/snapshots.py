"""Open snapshots of a database (DB::GetSnapshot, DB::ReleaseSnapshot)."""

from __future__ import annotations

import bisect


class Snapshots:
    """Times at which the open snapshots of one database were taken."""

    def __init__(self) -> None:
        self.open_s: list[float] = []
        """In s, ascending."""

    def take(self, now_s: float) -> None:
        """Open a snapshot of the database as it is now."""
        bisect.insort(self.open_s, now_s)

    def release(self, taken_s: float) -> None:
        """Release the snapshot that was taken at this time."""
        self.open_s.remove(taken_s)
