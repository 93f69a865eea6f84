"""Contract of tuners: changes of options at run time.

The store calls a tuner at the end of every interval and applies the options that it returns. A tuner keeps its state in
its own fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

Changes = Mapping[str, Any]
"""New values by RocksDB's option names, sizes in bytes; `picker.<key>` and so on change a setting of another policy."""

DB_OPTIONS: Final = frozenset(
    {"max_background_jobs", "max_background_compactions", "max_background_flushes", "max_subcompactions"}
)
"""Options of RocksDB's SetDBOptions: RocksDB installs no version for them and does not recompute stalls and scores."""


@dataclass(frozen=True, slots=True)
class FlushDone:
    """Flush that ended in the interval."""

    size_bytes: int
    """Bytes written."""
    duration_s: float
    """Time in s from the start of the flush to the end of its file, without the commit ("Flush lasted" in the LOG)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Inputs of a tuner: one store over the last interval, and its state at the end."""

    start_s: float
    end_s: float
    flushes: tuple[FlushDone, ...]
    memtables_full: int
    """Memtables that became full while an older one was still unflushed (ADOC's memory overflow)."""
    immutables: int
    """Immutable memtables at the end of the interval."""
    l0_files: int
    files_per_level: tuple[int, ...]
    pending_bytes: int
    write_ops: float
    """Operations of all clients in the interval, per store."""
    read_ops: float
    """Point reads and scans."""
    scan_ops: float = 0.0
    """Scans among `read_ops`."""
    applying: bool = False
    """Whether the last SetOptions has not returned: the new values count at once, but RocksDB returns only after it has
    written the OPTIONS file, which waits while writes are stopped."""


class Tuner(Protocol):
    """Tuner of options at run time. One object per store; it may have state."""

    interval_s: float
    """Time between two calls of `observe` in s."""

    def observe(self, interval: Interval) -> Changes:
        """Return the options to change now; empty = none. The tuner clamps values to the range of the policy."""
