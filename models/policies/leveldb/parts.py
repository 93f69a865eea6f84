"""LevelDB's other policies: where outputs end, how writers are held back, and its one background thread.

Spec: (behaviour/leveldb.md, LevelDB write throttle; LevelDB background thread; LevelDB moves and cutting)
(DBImpl::MakeRoomForWrite, MaybeScheduleCompaction, DoCompactionWork; Compaction::ShouldStopBefore).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lsmlab.models.policies.decisions import CutContext, StallCause, StallInputs, ThrottleState
from lsmlab.models.policies.leveldb.picker import GRANDPARENT_FILES
from lsmlab.models.policies.parts import Base, Parts
from lsmlab.models.policies.rate_limiter import Priority
from lsmlab.models.policies.scheduling import (
    Action,
    ClientWindow,
    JobKind,
    JobState,
    Pause,
    Resume,
    StartCompaction,
    StartFlush,
    StoreView,
)
from lsmlab.models.tree.merge import MergedStream
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import quantity

if TYPE_CHECKING:
    from lsmlab.models.options.options import RocksDbOptions
    from lsmlab.models.policies.rate_limiter import RateLimiter


@dataclass(frozen=True)
class LevelDbCutting:
    """`engine/cutter=leveldb`."""

    def make(self, base: Base) -> LevelDbCutter:  # noqa: ARG002
        """The cutter: it has no settings, the target size comes with each job."""
        return LevelDbCutter()


@dataclass(frozen=True)
class LevelDbCutter:
    """Implements `decisions.Cutter`: a file ends at the target size, or earlier with much of the level below passed."""

    def guide_level(self, tree: Tree, output_level: int, lo: int, hi: int) -> int | None:  # noqa: ARG002
        """Always the next level."""
        return output_level + 1 if output_level + 1 < tree.num_levels else None

    def cuts(self, merged: MergedStream, context: CutContext) -> Sequence[int]:
        """Positions at which a new file starts.

        The overlap counts the files of the guiding level that were passed since it last was too much; a cut for size
        does not reset it, and one that comes when a file has just ended for its size ends nothing.
        """
        data, target = merged.cumulative_bytes, context.target_bytes
        most, n = GRANDPARENT_FILES * target, len(merged.keys)
        passed = merged.keys.searchsorted(context.grandparent_hi, side="right")
        inside = (passed > 0) & (passed < n)  # what ends before the first key does not count
        steps = list(zip(passed[inside].tolist(), context.grandparent_size[inside].tolist(), strict=True))
        cuts: list[int] = []
        start = step = overlap = 0
        while True:
            at = min(max(int(data.searchsorted(data[start] + target, side="left")), start + 1), n)
            while step < len(steps) and steps[step][0] <= at:
                position = steps[step][0]
                while step < len(steps) and steps[step][0] == position:
                    overlap += steps[step][1]
                    step += 1
                if overlap > most:
                    at, overlap = position, 0
                    break
            if at >= n:
                return cuts
            cuts.append(at)
            start = at


@dataclass(frozen=True)
class LevelDbThrottling:
    """`engine/throttle=leveldb`. The numbers of L0 files are those of the options: 8 and 12 in LevelDB."""

    sleep: float = quantity("seconds", 1e-3, low=1e-6)
    """What a group of writers sleeps, once, while L0 is at the slowdown trigger."""

    def make(self, base: Base) -> LevelDbThrottle:
        """The throttle of the options."""
        options = base.options
        return LevelDbThrottle(
            options.level0_slowdown_writes_trigger, options.level0_stop_writes_trigger, options.max_write_buffer_number,
            self.sleep,
        )  # fmt: skip


@dataclass(frozen=True)
class LevelDbThrottle:
    """Implements `decisions.Throttle` (MakeRoomForWrite).

    LevelDB's full memtable waits with the writer until there is room for it; here it is already an immutable one whose
    flush is held. So `max_memtables` immutable ones mean that one is flushed and the active one is full.
    """

    slowdown_files: int = 8
    stop_files: int = 12
    max_memtables: int = 2
    sleep_s: float = 1e-3

    def initial(self) -> ThrottleState:
        """Writers run."""
        return ThrottleState(None, 0, 0, pressure=False)

    def recompute(self, state: ThrottleState, inputs: StallInputs) -> ThrottleState:  # noqa: ARG002 - has no memory
        """At 12 files of L0 writers still go on, a millisecond each, until the memtable is full; then they wait."""
        held = inputs.l0_files >= self.stop_files
        cause: StallCause | None = None
        if inputs.immutables >= self.max_memtables:
            cause = StallCause.MEMTABLE_STOP
        elif held and inputs.immutables > 0:
            cause = StallCause.L0_STOP
        elif inputs.l0_files >= self.slowdown_files:
            cause = StallCause.L0_SLOWDOWN
        sleep_s = self.sleep_s if cause is StallCause.L0_SLOWDOWN else 0.0
        return ThrottleState(cause, 0, inputs.pending_bytes, pressure=False, hold_flushes=held, sleep_s=sleep_s)


@dataclass(frozen=True)
class OneThread:
    """`engine/scheduler=leveldb`: one background thread for everything."""

    chunk: int = quantity("bytes", 256 << 10, low=1 << 12)
    """Most bytes that a merge moves between two looks for a full memtable. LevelDB looks at every key: a simulation
    grain, no rule."""

    def make(self, base: Base) -> OneThreadScheduler:  # noqa: ARG002
        """The scheduler of a store just opened."""
        return OneThreadScheduler(self.chunk)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """LevelDB has no rate limiter."""
        if base.options.rate_limiter_bytes_per_sec:
            return (
                "LevelDB's background thread has no rate limiter; set engine.options.rate_limiter_bytes_per_sec to 0, "
                "or choose engine/scheduler=rocksdb"
            )
        return None


_NOTHING: Final[tuple[Action, ...]] = ()


@dataclass(slots=True)
class OneThreadScheduler:
    """Implements `scheduling.Scheduler`. A flush halts the merge that runs, and the merge goes on when it has ended.

    A memtable that filled up during a flush is not yet immutable when that ends: its writer sleeps and has to wake up
    first. The thread is back at work by then, so a compaction that is due begins, and the flush comes inside it. (117 of
    143 flushes in the recorded runs; `BackgroundCall` schedules itself before it signals.)
    """

    chunk_bytes: int
    writer_sleeps: bool = field(default=False, init=False)
    """A memtable has filled up during the flush at hand, or the one that has just ended."""
    splits_l0: bool = field(default=False, init=False)
    preemptive: bool = field(default=True, init=False)
    window_s: float = field(default=0.0, init=False)
    every_window: bool = field(default=False, init=False)
    limits_reads: bool = field(default=False, init=False)

    def limiter(self) -> RateLimiter | None:
        """None."""
        return None

    def most_jobs(self) -> tuple[int, int]:
        """One thread: a flush takes it from the compaction."""
        return 1, 0

    def priority(self, kind: JobKind, urgent: bool) -> Priority:  # noqa: ARG002
        """Of no account without a limiter."""
        return Priority.LOW

    def plan(self, view: StoreView, coin: float) -> Sequence[Action]:  # noqa: ARG002
        """One thing at a time: the flush first, inside a merge if one runs; else the merge goes on, or the next job."""
        asleep, self.writer_sleeps = self.writer_sleeps, bool(view.flushes) and view.flush_waiting
        if view.flushes:
            return _NOTHING
        jobs = view.jobs
        if asleep and not jobs and view.compaction_waiting:
            return (StartCompaction(),)
        if view.flush_waiting:
            if all(job.state is JobState.HALTED for job in jobs):
                return (StartFlush(),)
            return [Pause(job.job) for job in jobs if job.state is JobState.RUNNING]
        if jobs:
            return [Resume(job.job) for job in jobs if job.state is not JobState.RUNNING]
        return (StartCompaction(),) if view.compaction_waiting else _NOTHING

    def observe(self, view: StoreView, clients: ClientWindow) -> float | None:  # noqa: ARG002
        """Never asked."""
        return None

    def retuned(self, options: RocksDbOptions) -> None:
        """Nothing of it is an option."""
