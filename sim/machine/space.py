"""What lets writes of jobs fail: space of the device that SST files, unfinished outputs and closed WALs take, and I/O errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lsmlab.models.devices.conditions import CompactionErrors


class Faults:
    """I/O errors that are still to come, for the compactions of all databases in the order in which they start."""

    def __init__(self, errors: Sequence[CompactionErrors] = ()) -> None:
        """`errors`: by time."""
        self._left = [[error.at, error.count, error.done] for error in errors]

    def next_compaction(self, now_s: float) -> float | None:
        """Return the share of its output after which a compaction that starts now fails; None if it does not fail."""
        for error in self._left:
            at_s, count, done = error
            if at_s <= now_s and count > 0:
                error[1] -= 1
                return done
        return None


class DeviceSpace:
    """Space that the files of all databases share. Without a limit it only counts."""

    def __init__(self) -> None:
        self.limit_bytes = math.inf
        """Bytes that the files may occupy now."""
        self.used_bytes = 0.0
        """Bytes that the files occupy."""

    @property
    def free_bytes(self) -> float:
        """Bytes that can still be written; negative if the limit fell below the files."""
        return self.limit_bytes - self.used_bytes

    def take(self, size_bytes: float) -> None:
        """Count bytes of a write, or bytes that are on the device, such as a WAL or the tree at the start."""
        self.used_bytes += size_bytes

    def free(self, size_bytes: float) -> None:
        """Count bytes of a deleted file as free."""
        self.used_bytes -= size_bytes
