"""Steps of a recorded run, which a replay processes in order."""

from __future__ import annotations

from dataclasses import dataclass

from lsmlab.validation.logs.manifest import VersionEdit
from lsmlab.validation.logs.records import StallLine


@dataclass(slots=True)
class SwitchStep:
    """Switch of the memtable: the active memtable becomes immutable, and RocksDB recomputes the write stall."""

    time_us: int
    thread: str
    line: StallLine | None = None
    """Stall line that the recompute logged."""


@dataclass(slots=True)
class LoggedPick:
    """Pick of a compaction or trivial move."""

    time_us: int
    job: int
    move: bool
    reason: str
    files: dict[int, tuple[int, ...]]
    """File numbers by level. For a trivial move the level is -1; the replay finds the real level in the tree."""
    output_level: int | None
    """None if the job did not finish."""
    score: float | None
    """Compaction score as logged, with six digits; None for a trivial move, which logs no score."""
    before_version: int | None = None
    """Version whose commit must come after this pick; None if the LOG does not give it."""


@dataclass(slots=True)
class Idle:
    """Call of the compaction picker that found no work."""

    time_us: int


@dataclass(slots=True)
class Commit:
    """Commit of version edits, release of immutable memtables, or the recompute that follows (see `recomputes`)."""

    time_us: int
    edits: tuple[VersionEdit, ...]
    jobs: tuple[int, ...]
    """Jobs of `edits`."""
    version: int
    """Number of the version that is current after this step."""
    released: int = 0
    """Number of immutable memtables that this step releases."""
    recomputes: bool = False
    """Whether the thread installs the new state; then RocksDB recomputes the write stall if anything has changed."""
    thread: str = ""
    lsm_state: tuple[int, ...] = ()
    """Files per level that the LOG prints for this moment; empty if it prints none."""
    immutables: int | None = None
    """Number of immutable memtables that the LOG prints for this moment; None if it prints none."""
    line: StallLine | None = None
    since_us: int | None = None
    """Time of the pick, for a trivial move or a FIFO deletion; both recompute before they log their event."""


ReplayStep = SwitchStep | LoggedPick | Idle | Commit
