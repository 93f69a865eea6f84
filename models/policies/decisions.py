"""The five decisions of an engine, and what each may answer. Policies decide; the simulation acts.

A policy is a pure object: its methods look at a tree, at what runs and at the load, and answer with a frozen
dataclass. It has no clock of its own (time is an argument), no device, no randomness, and changes nothing it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, runtime_checkable

import numpy as np
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.models.tree.merge import MergedStream
from lsmlab.models.tree.tree import Placement, Tree
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A compaction in progress, as far as a picker must know it to avoid a conflict."""

    start_level: int
    output_level: int
    lo: int
    """Smallest key of all inputs."""
    hi: int
    """Largest key of all inputs."""
    intra_l0: bool = False
    incoming_bytes: int = 0
    """Bytes that the job brings into `output_level` from levels above it."""


class Scope(Enum):
    """Which jobs a scheduler asks a picker for."""

    ANY = "any"
    L0 = "l0"
    """Jobs that relieve L0, from which flushes are blocked (`is_deep` is False)."""
    DEEP = "deep"
    """All others: they may wait."""


@dataclass(frozen=True, slots=True)
class DoNothing:
    """Nothing to do on this state; asked again at the next install."""


NOTHING: Final = DoNothing()


@dataclass(frozen=True, slots=True)
class Compaction:
    """Read the inputs, keep the newest version of each key, write new files to `output_level`."""

    start_level: int
    output_level: int
    inputs: tuple[tuple[int, tuple[SortedFile, ...]], ...]
    """(level, files) per input level, shallowest first; L0 files newest first."""
    reason: str
    """RocksDB's compaction_reason, such as LevelL0FilesNum."""
    score: float = 0.0
    cursor: int | None = None
    """Index to store as the version's pick cursor of `start_level`."""
    max_output_bytes: int | None = None
    """Overrides the target file size of the output level; None keeps it."""
    next_key: int | None = None
    """Round-robin pickers: what to store in `Tree.round_robin_key[start_level]` when the job ends."""
    cut_keys: tuple[int, ...] = ()
    """Ascending keys at which a new output file must begin, whatever the cutter says: borders of guards, or of inputs
    that are several separate ranges with other files of the output level between them."""
    placement: Placement = Placement.REPLACE
    deferrable: bool | None = None
    """Whether a scheduler may hold the job back; None: unless it starts at L0."""


@dataclass(frozen=True, slots=True)
class Move:
    """Change the level of files by one manifest edit, without reading them (trivial move)."""

    start_level: int
    output_level: int
    inputs: tuple[tuple[int, tuple[SortedFile, ...]], ...]
    reason: str
    score: float = 0.0
    cursor: int | None = None
    next_key: int | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """Delete files without reading them (FIFO)."""

    inputs: tuple[tuple[int, tuple[SortedFile, ...]], ...]
    reason: str
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Link:
    """Freeze files of a level and hand each slice of them to the file of the next level that is responsible for it.

    Metadata only, LDC (behaviour/ldc.md, LDC rules): the slices are rewritten when their new owner is merged.
    """

    start_level: int
    output_level: int
    inputs: tuple[tuple[int, tuple[SortedFile, ...]], ...]
    """(start level, files to freeze, oldest first) and (output level, the files that get slices)."""
    reason: str
    score: float = 0.0
    cursor: int | None = None
    next_key: int | None = None


Pick = DoNothing | Compaction | Move | Drop | Link


def is_deep(pick: Pick) -> bool:
    """Whether a scheduler may hold the job back: it does not relieve L0."""
    if isinstance(pick, Compaction) and pick.deferrable is not None:
        return pick.deferrable
    return isinstance(pick, Compaction | Move | Link) and pick.start_level > 0


def in_scope(pick: Pick, scope: Scope) -> Pick:
    """The pick if the scope has it, else DoNothing: for pickers that choose before they know the kind of job."""
    if scope is Scope.ANY or isinstance(pick, DoNothing) or is_deep(pick) is (scope is Scope.DEEP):
        return pick
    return NOTHING


class Picker(Protocol):
    """What to compact next."""

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:
        """Whether the store should be queued for compaction (RocksDB: some score >= 1)."""

    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:
        """The next job on this state, or DoNothing. Busy files are marked in `tree`."""

    def pending_bytes(self, tree: Tree) -> int:
        """Estimated bytes that compaction has yet to rewrite (RocksDB's estimated pending compaction bytes)."""

    def stall_run_count(self, tree: Tree) -> int:
        """The count that L0 triggers look at: L0 files when levelled, sorted runs when universal."""

    def level_targets(self, tree: Tree) -> Sequence[float]:
        """Target bytes per level (index = level; infinity where a level has no target)."""

    def scores(self, tree: Tree) -> Sequence[float]:
        """Compaction score per level, for the stats table."""


@runtime_checkable
class SizesFiles(Protocol):
    """A picker whose levels have target file sizes of their own, not those of the options."""

    def target_file_size(self, tree: Tree, level: int) -> int:
        """Target size of files that a job writes to `level` now. Unit: bytes."""


class StallCause(Enum):
    """Why writers are slowed or stopped. The values are the keys of `stall_seconds` in summary.json."""

    MEMTABLE_STOP = "memtable_stop"
    L0_STOP = "l0_stop"
    PENDING_STOP = "pending_stop"
    MEMTABLE_SLOWDOWN = "memtable_slowdown"
    L0_SLOWDOWN = "l0_slowdown"
    PENDING_SLOWDOWN = "pending_slowdown"

    @property
    def stops(self) -> bool:
        """True for a stop, False for a slowdown."""
        return self in _STOPS


_STOPS = frozenset({StallCause.MEMTABLE_STOP, StallCause.L0_STOP, StallCause.PENDING_STOP})


@dataclass(frozen=True, slots=True)
class StallInputs:
    """What a throttle looks at, as of one recompute."""

    immutables: int
    """Immutable memtables not yet committed, those being flushed included."""
    l0_files: int
    """`Picker.stall_run_count`."""
    pending_bytes: int
    bottommost_bytes: int = 0
    """Bytes of all files with nothing below them, since 8.10 (behaviour/write-stalls.md, Pressure); 0 if not needed."""
    marked_files: int = 0
    """Files marked for compaction (9.0+)."""
    others_delayed: bool = False
    """Whether another column family of the database holds a delay token."""
    others_stopped: bool = False
    """Whether another column family of the database holds a stop token."""


@dataclass(frozen=True, slots=True)
class ThrottleState:
    """What a throttle remembers from one recompute to the next."""

    cause: StallCause | None
    """None = writers run freely."""
    rate_bytes_per_s: int
    """Delayed write rate: remembered also while not delayed."""
    previous_pending_bytes: int
    pressure: bool
    """Whether the store asks for parallel compactions (RocksDB's compaction-pressure token)."""
    line: str | None = None
    """The LOG line that RocksDB prints at this recompute, without the column family prefix."""
    hold_flushes: bool = False
    """No flush may start: there is no room for its file (vLSM's full L0 queue, LevelDB's stop at 12 files)."""
    sleep_s: float = 0.0
    """Sleep of every group of writes while delayed (LevelDB's 1 ms); then `rate_bytes_per_s` does not count."""

    @property
    def stopped(self) -> bool:
        """Writers wait."""
        return self.cause is not None and self.cause.stops

    @property
    def delayed(self) -> bool:
        """Writers pass at `rate_bytes_per_s`."""
        return self.cause is not None and not self.cause.stops

    @property
    def speedup(self) -> bool:
        """RocksDB's NeedSpeedupCompaction for a single column family."""
        return self.pressure or self.cause is not None


class Throttle(Protocol):
    """How writers are held back."""

    def initial(self) -> ThrottleState:
        """State of a store just opened."""

    def recompute(self, state: ThrottleState, inputs: StallInputs) -> ThrottleState:
        """New state after an install (RocksDB: RecalculateWriteStallConditions)."""


class Cutter(Protocol):
    """Where a merge ends one output file and begins the next."""

    def guide_level(self, tree: Tree, output_level: int, lo: int, hi: int) -> int | None:
        """The level whose files `CutContext.grandparent_*` show, for outputs in [lo, hi]; None: no level does."""

    def cuts(self, merged: MergedStream, context: CutContext) -> Sequence[int]:
        """Ascending positions in `merged.keys` at which a new file starts (0 and the end are implied)."""


@runtime_checkable
class InspectsKeys(Protocol):
    """A cutter that looks at every key of some jobs, which takes CPU (`Host.overlap_check`)."""

    def inspects_keys(self, output_level: int) -> bool:
        """Whether it does so in jobs that write to `output_level`."""


@dataclass(frozen=True, slots=True)
class CutContext:
    """What a cutter may know about the job and the levels below its output."""

    output_level: int
    target_bytes: int
    """Target file size of the output level."""
    max_compaction_bytes: int
    bottommost: bool
    grandparent_lo: KeyArray
    """Smallest keys of the grandparent files over the job's range. Shape (g,)."""
    grandparent_hi: KeyArray
    """Largest keys (inclusive). Shape (g,)."""
    grandparent_size: NDArray[np.int64]
    """File sizes in bytes. Shape (g,)."""
    split_key: int | None = None
    """Key at which round-robin compaction ends a file: the output level's cursor.

    See (behaviour/compaction-jobs.md, Output cutting).
    """
