"""Space of the device: bytes of SST files, of unfinished outputs and of closed WALs, and their limit over time."""

from __future__ import annotations

import math


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
