"""The steps of a recorded store's life, as a replay takes them one by one."""

from __future__ import annotations

from dataclasses import dataclass

from lsmlab.validation.logs.manifest import VersionEdit
from lsmlab.validation.logs.reader import StallLine


@dataclass(slots=True)
class Switch:
    """A memtable became immutable; stalls are recomputed."""

    time_us: int
    thread: str
    line: StallLine | None = None
    """What the recompute printed."""


@dataclass(slots=True)
class Picked:
    """A compaction or trivial move was picked."""

    time_us: int
    job: int
    move: bool
    reason: str
    files: dict[int, tuple[int, ...]]
    """File numbers by level; of a move, under the level that they leave (found when the move is replayed)."""
    output_level: int | None
    """None if the job never ended."""
    score: float | None
    """As printed, to six digits; a move prints none."""
    before_version: int | None = None
    """Must come before the commit that makes this version."""


@dataclass(slots=True)
class Idle:
    """A compaction thread looked for work and found none."""

    time_us: int


@dataclass(slots=True)
class Commit:
    """Edits became a version, or a memtable was released, or a thread saw that: see `recomputes`."""

    time_us: int
    edits: tuple[VersionEdit, ...]
    jobs: tuple[int, ...]
    """Jobs of `edits`."""
    version: int
    """The current one from here on."""
    released: int = 0
    """Immutable memtables that are gone now."""
    recomputes: bool = False
    """Whether the thread installs the new state, so that stalls are recomputed if anything changed since the last."""
    thread: str = ""
    lsm_state: tuple[int, ...] = ()
    """Files per level that the log prints for this moment; empty if none."""
    immutables: int | None = None
    """Immutable memtables that the log prints for this moment."""
    line: StallLine | None = None
    since_us: int | None = None
    """Of a trivial move: when it was picked. It recomputes before it logs its event, all other commits after."""


Step = Switch | Picked | Idle | Commit
