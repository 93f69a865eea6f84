"""The fifth decision: options that change while the store runs.

A tuner is asked at the end of every interval and answers with the options to change. What it remembers is its own
explicit state.
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
"""Options of RocksDB's SetDBOptions: no version is installed for them, so stalls and scores are not computed anew."""


@dataclass(frozen=True, slots=True)
class FlushDone:
    """A flush that ended in the interval."""

    size_bytes: int
    """Bytes written."""
    duration_s: float
    """From its start to the end of its file, without the commit ("Flush lasted" in the LOG)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """What a tuner may look at: one store over the last interval, and as it is at its end."""

    start_s: float
    end_s: float
    flushes: tuple[FlushDone, ...]
    memtables_full: int
    """Memtables that filled up while an older one was still unflushed (ADOC's memory overflow)."""
    immutables: int
    """Immutable memtables now."""
    l0_files: int
    files_per_level: tuple[int, ...]
    pending_bytes: int
    write_ops: float
    """Operations of all clients in the interval, per store."""
    read_ops: float
    """Point reads and scans."""
    scan_ops: float = 0.0
    """Of them the scans."""
    applying: bool = False
    """Whether the last change is still being applied: RocksDB's SetOptions returns only when the OPTIONS file is written,
    and waits with that while writers are stopped, though the new values count at once."""


class Tuner(Protocol):
    """Run-time change of options. One object per store: it may remember things."""

    interval_s: float
    """Time between two questions."""

    def observe(self, interval: Interval) -> Changes:
        """Options to change now; empty = none. Values outside a policy's range are the tuner's mistake: it clamps."""
