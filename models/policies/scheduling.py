"""The fourth decision: which jobs run when, in which pool, at which priority and bandwidth, and which must wait.

A scheduler is asked whenever something changed (`plan`) and, if it wants to, at the end of every window of its own
(`observe`). What it remembers is its own explicit state; time, load and random numbers are arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from lsmlab.models.policies.decisions import Scope
from lsmlab.models.policies.rate_limiter import Limiter, Priority

if TYPE_CHECKING:
    from lsmlab.models.options.options import RocksDbOptions


class JobKind(Enum):
    """What a scheduler tells apart."""

    FLUSH = "flush"
    L0 = "l0"
    """A compaction that relieves L0."""
    DEEP = "deep"
    """A compaction that may wait (`decisions.is_deep`)."""


class Pool(Enum):
    """A group of threads."""

    HIGH = "high"
    """Flushes, and what a scheduler puts beside them."""
    LOW = "low"
    """Compactions."""


class JobState(Enum):
    """Where a job stands."""

    RUNNING = "running"
    HALTING = "halting"
    """Asked to stop; it still finishes the chunk at hand."""
    HALTED = "halted"


class Hold(Enum):
    """Why a job was stopped."""

    LOAD = "load"
    """All of its kind wait (`Pause`); it keeps its thread."""
    PREEMPTED = "preempted"
    """Its thread went to another job (`StartCompaction.victims`)."""


@dataclass(slots=True, eq=False)
class JobView:
    """One job as a scheduler sees it. The store changes it, policies only read it."""

    job: int
    kind: JobKind
    """Of a compaction that has not picked yet: the scope it was started with, DEEP for `Scope.ANY`."""
    pool: Pool
    start_level: int = -1
    """-1: a flush, or nothing picked yet."""
    output_level: int = -1
    state: JobState = JobState.RUNNING
    hold: Hold | None = None
    """Set while it is not RUNNING."""
    preempted_by: int = -1
    """The job that has its thread."""


@dataclass(slots=True, eq=False)
class StoreView:
    """A store as a scheduler sees it: what waits and what runs, as of now. The store changes it, policies read it."""

    now_s: float = 0.0
    flush_waiting: bool = False
    """Enough immutable memtables wait for a flush, and flushes are not held (`ThrottleState.hold_flushes`)."""
    compaction_waiting: bool = False
    """The picker said that the store needs compaction; with `Scheduler.splits_l0`, in scope DEEP."""
    l0_waiting: bool = False
    """The same in scope L0; only kept with `Scheduler.splits_l0`."""
    speedup: bool = False
    """`ThrottleState.speedup`."""
    flushes: int = 0
    """Flush jobs that hold a thread."""
    compactions: int = 0
    """Compaction jobs that hold a thread; those preempted do not."""
    immutables: int = 0
    l0_files: int = 0
    """`Picker.stall_run_count`."""
    pending_bytes: int = 0
    jobs: list[JobView] = field(default_factory=list)
    """Jobs started and not ended, in the order in which they started, halted ones too."""


@dataclass(frozen=True, slots=True)
class StartFlush:
    """Start one flush."""

    pool: Pool = Pool.HIGH


@dataclass(frozen=True, slots=True)
class StartCompaction:
    """Start one compaction: what it does, the picker decides when the thread starts.

    If the picker finds nothing, nothing has happened. The locks of `victims`, then of one after the other of `holders`,
    are lifted until it finds something. A job that loses an input is discarded: its work is undone and its files are
    free to be picked again. Of the others, victims are halted in favour of the new job, holders go on.
    """

    pool: Pool = Pool.LOW
    scope: Scope = Scope.ANY
    victims: tuple[int, ...] = ()
    """Jobs whose thread it takes."""
    holders: tuple[int, ...] = ()
    """Jobs that may be in the way of its inputs, in the order in which they are to give way."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Halt a running compaction at its next chunk; it keeps its thread and its locks."""

    job: int


@dataclass(frozen=True, slots=True)
class Resume:
    """Let a halted (or halting) job go on where it stopped, in `pool`."""

    job: int
    pool: Pool = Pool.LOW


@dataclass(frozen=True, slots=True)
class Discard:
    """End a compaction without a result; its inputs are free to be picked again."""

    job: int


Action = StartFlush | StartCompaction | Pause | Resume | Discard


@dataclass(frozen=True, slots=True)
class ClientWindow:
    """What clients did in one window. Rates are means over it."""

    start_s: float
    end_s: float
    write_ops_per_s: float
    read_ops_per_s: float
    """Point reads and scans."""
    user_bytes_per_s: float
    """Keys and values, written and read."""
    value_bytes: float
    """Mean size of a value."""
    device_bytes_per_s: float
    """What clients moved on the device: reads that missed every cache, and the log where it reaches the device."""


class Scheduler(Protocol):
    """Which jobs run when. One object per store: it may remember things."""

    splits_l0: bool
    """Whether compactions are started by scope (L0 or DEEP) and not as RocksDB does, whatever is most urgent."""
    preemptive: bool
    """Whether `plan` may answer Pause, Discard or victims; if not, jobs run in coarse steps (and simulate faster)."""
    chunk_bytes: int
    """Preemptive schedulers: most bytes that a job writes between two points at which it can halt."""
    window_s: float
    """Length of the windows after which `observe` is called; 0 = never."""
    every_window: bool
    """Whether `observe` is called after every window; if not, only after those in which clients changed their rates
    and the one that follows, because all others give the same answer."""
    limits_reads: bool
    """Whether background reads pass the rate limiter too (RocksDB: writes only)."""

    def limiter(self) -> Limiter | None:
        """The rate limiter of background I/O as it is at open; None without one. Asked once per run."""

    def most_jobs(self) -> tuple[int, int]:
        """Most (flushes, compactions) that this scheduler ever runs at once."""

    def priority(self, kind: JobKind, urgent: bool) -> Priority:
        """Priority of a job's I/O in the limiter. `urgent`: its files were opened while writers were held back."""

    def plan(self, view: StoreView, coin: float) -> Sequence[Action]:
        """What to do now. Asked after every change, so at most one flush and one compaction need be started at a time.

        Every compaction that is started clears the flag that asked for it (`compaction_waiting` or `l0_waiting`); the
        store sets it again when the picker still needs work, so a pick that finds nothing is not repeated at once.
        `coin` is uniform in [0, 1), drawn for preemptive schedulers only.
        """

    def observe(self, view: StoreView, clients: ClientWindow) -> float | None:
        """A window has ended. Answers the limiter's new rate in bytes/s, or None to leave it. `plan` is asked after it."""

    def retuned(self, options: RocksDbOptions) -> None:
        """A tuner changed options."""
