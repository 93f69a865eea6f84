"""Contract of schedulers: jobs to start, pause and resume, their thread pools, priorities and bandwidth.

The store calls `plan` after every change and, if `window_s` is set, `observe` at the end of every window. A scheduler
keeps its state in its own fields; time, load and random numbers are arguments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import Scope
from lsmlab.models.policies.rate_limiter import Limiter, Priority


class JobKind(Enum):
    """Kinds of jobs that a scheduler distinguishes."""

    FLUSH = "flush"
    L0 = "l0"
    """Compaction that makes room in L0."""
    DEEP = "deep"
    """Compaction that the scheduler may delay (`decisions.is_deep`)."""


class Pool(Enum):
    """Thread pools of background jobs."""

    HIGH = "high"
    """Flushes, and compactions that a scheduler assigns to this pool."""
    LOW = "low"
    """Compactions."""


class JobState(Enum):
    """States of a job."""

    RUNNING = "running"
    HALTING = "halting"
    """The job halts at the end of its current chunk."""
    HALTED = "halted"


class Hold(Enum):
    """Reasons for a halt."""

    LOAD = "load"
    """The scheduler paused the job (`Pause`); the job keeps its thread."""
    PREEMPTED = "preempted"
    """Another job took the thread (`StartCompaction.victims`)."""


@dataclass(slots=True, eq=False)
class JobView:
    """Job as a scheduler sees it. The store updates it, policies only read it."""

    job: int
    kind: JobKind
    """Kind of the job; of a compaction before its pick: by the scope of its start, DEEP for `Scope.ANY`."""
    pool: Pool
    start_level: int = -1
    """-1: a flush, or a compaction before its pick."""
    output_level: int = -1
    state: JobState = JobState.RUNNING
    hold: Hold | None = None
    """Reason of the halt; None while RUNNING."""
    slot_wait_s: float = 0.0
    """Time that the request of the job waited in its queue before the job started."""
    further_slots: int = 0
    """Compaction slots that its parts hold besides its own (kRoundRobin)."""


@dataclass(slots=True, eq=False)
class StoreView:
    """Store as a scheduler sees it now: waiting and running jobs. The store updates it, policies only read it."""

    now_s: float = 0.0
    flush_waiting: bool = False
    """Enough immutable memtables wait for a flush, and flushes are not held (`ThrottleState.hold_flushes`)."""
    compaction_waiting: bool = False
    """The picker needs a compaction; with `Scheduler.splits_l0`, one in scope DEEP."""
    l0_waiting: bool = False
    """The picker needs a compaction in scope L0; updated only with `Scheduler.splits_l0`."""
    speedup: bool = False
    """Value of `ThrottleState.speedup`."""
    flushes: int = 0
    """Flush jobs with a thread."""
    compactions: int = 0
    """Compaction jobs with a thread; preempted jobs have none."""
    immutables: int = 0
    l0_files: int = 0
    """Value of `Picker.stall_run_count`."""
    pending_bytes: int = 0
    jobs: list[JobView] = field(default_factory=list)
    """Unfinished jobs in the order of their starts, halted jobs included."""


@dataclass(frozen=True, slots=True)
class StartFlush:
    """Start one flush."""

    pool: Pool = Pool.HIGH


@dataclass(frozen=True, slots=True)
class StartCompaction:
    """Start one compaction; the picker picks its inputs when its thread starts.

    If the picker finds no job, the start has no effect. To find one, the store unlocks the files of `victims`, then of
    one job of `holders` after the other. It discards a job that loses an input: that job's work is lost, and its other
    inputs are free again. Victims that lose no input halt in favour of the new job; such holders continue.
    """

    pool: Pool = Pool.LOW
    scope: Scope = Scope.ANY
    victims: tuple[int, ...] = ()
    """Jobs whose thread the new job takes."""
    holders: tuple[int, ...] = ()
    """Jobs that may have locked files the new job needs, in the order in which the store unlocks their files."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Halt a running compaction at its next chunk; the job keeps its thread and its locks."""

    job: int


@dataclass(frozen=True, slots=True)
class Resume:
    """Resume a halted (or halting) job where it stopped, in `pool`."""

    job: int
    pool: Pool = Pool.LOW


Action = StartFlush | StartCompaction | Pause | Resume


@dataclass(frozen=True, slots=True)
class ClientWindow:
    """Client load of one window. Rates are means over the window."""

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
    """Device traffic of clients: reads that missed every cache, and WAL writes that reach the device."""


class Scheduler(ABC):
    """Scheduler of background jobs. One object per store; it may have state. The defaults are RocksDB's."""

    splits_l0: bool = False
    """Whether the scheduler starts compactions by scope (L0 or DEEP), unlike RocksDB, which takes the highest score."""
    preemptive: bool = False
    """Whether `plan` may return Pause or victims; if not, jobs run in coarse steps (and simulate faster)."""
    chunk_bytes: int = 0
    """Preemptive schedulers: maximum of bytes that a job writes between two points at which it can halt."""
    window_s: float = 0.0
    """Length of the windows after which the store calls `observe`, in s; 0 = never."""
    every_window: bool = False
    """Whether `observe` runs after every window; if not, only after a window in which client rates changed and the
    window after it, because all others give the same result."""
    limits_reads: bool = False
    """Whether background reads pass the rate limiter too (RocksDB: writes only)."""

    @abstractmethod
    def most_jobs(self) -> tuple[int, int]:
        """Maximum (flushes, compactions) that this scheduler ever runs at once."""

    @abstractmethod
    def plan(self, view: StoreView, coin: float) -> Sequence[Action]:
        """Return the actions for this state.

        The store calls this after every change, so one flush and one compaction per call suffice. The start of a
        compaction clears its flag (`compaction_waiting` or `l0_waiting`). The store sets the flag again when the picker
        still needs work, so it does not repeat a pick without result at once. `coin` is uniform in [0, 1), drawn for
        preemptive schedulers only.
        """

    def free_slots(self, view: StoreView) -> int:  # noqa: ARG002
        """Compaction slots that the parts of one more job may take (RocksDB: kRoundRobin). Default: 0."""
        return 0

    def limiter(self) -> Limiter | None:
        """Return the rate limiter of background I/O at open; called once per run. Default: None, no limiter."""
        return None

    def priority(self, kind: JobKind, urgent: bool) -> Priority:  # noqa: ARG002
        """Return the priority of a job's I/O in the limiter. `urgent`: the job opened its files during a write stall.

        Default: HIGH for flushes, LOW for compactions.
        """
        return Priority.HIGH if kind is JobKind.FLUSH else Priority.LOW

    def observe(self, view: StoreView, clients: ClientWindow) -> float | None:  # noqa: ARG002
        """Evaluate a window at its end; return the limiter's new rate in bytes/s, or None for no change. `plan` follows."""
        return None

    def retuned(self, options: RocksDbOptions) -> None:  # noqa: B027
        """Apply options that a tuner changed. Default: the scheduler uses none."""
