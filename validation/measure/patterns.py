"""Kinds of requests to a drive, and the times that they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

SMALL_BYTES: Final = 4096
"""Size of a small request: a block of RocksDB, and of the ratings of drives."""


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Requests of one kind, repeated for some time by one or several threads that wait for each request."""

    name: str
    writes: bool
    request_bytes: int
    seconds: float
    streams: int = 1
    """Threads: the queue depth, because each has one request at a time."""
    random: bool = False
    """Whether requests go to random places; else each stream goes through a part of the file of its own."""
    direct: bool = True
    """Whether requests bypass the page cache."""
    synced: bool = False
    """Whether a write is appended to a file and followed by fdatasync, as a synced write of the WAL is."""
    most_bytes: float = float("inf")
    """Bytes after which the pattern ends before its time."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Times of the requests of one pattern."""

    pattern: Pattern
    requests: int
    elapsed_s: float
    mean_s: float
    """Mean time of a request."""
    median_s: float
    cpu_s: float = 0.0
    """CPU time of this process, for all patterns that ran at once."""
    windows: tuple[tuple[float, float], ...] = ()
    """(end in seconds since the start, bytes per second) of equal parts of the time."""
    synced_s: float | None = None
    """Time of the fsync after buffered writes."""

    @property
    def bytes(self) -> float:
        """Bytes that were moved."""
        return float(self.requests * self.pattern.request_bytes)

    @property
    def bytes_per_s(self) -> float:
        """Mean rate in bytes per second."""
        return self.bytes / self.elapsed_s

    @property
    def typical_s(self) -> float:
        """Time of a request without the waits that other programs cause: the median.

        Where the mean is more than twice as long, a throttle lets some requests pass and holds others: then the mean.
        """
        return self.median_s if self.mean_s <= 2.0 * self.median_s else self.mean_s

    @property
    def per_s(self) -> float:
        """Mean rate in requests per second."""
        return self.requests / self.elapsed_s


class Drive(Protocol):
    """Drive under test: a real one (`drive_io`), or one of a test."""

    size_bytes: int
    """Bytes of the file that requests go to."""

    def perform(self, patterns: Sequence[Pattern]) -> list[Timing]:
        """Perform patterns at once, and return the times of each."""
        ...


Timings = Mapping[str, Timing]
"""Times by the name of their pattern."""
