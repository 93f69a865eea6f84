"""LevelDB's cutter, write throttle and scheduler with a single background thread.

Spec: (behaviour/leveldb.md, LevelDB write throttle; LevelDB background thread; LevelDB moves and cutting)
(DBImpl::MakeRoomForWrite, MaybeScheduleCompaction, DoCompactionWork; Compaction::ShouldStopBefore).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import CutContext, Cutter, StallCause, StallInputs, Throttle, ThrottleState
from lsmlab.models.policies.leveldb.picker import GRANDPARENT_FILES
from lsmlab.models.policies.parts import Base, Parts, PolicySettings
from lsmlab.models.policies.rocksdb.boundaries import ends
from lsmlab.models.policies.scheduling import (
    Action,
    JobState,
    Pause,
    Resume,
    Scheduler,
    StartCompaction,
    StartFlush,
    StoreView,
)
from lsmlab.models.tree.merge import MergedStream
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import quantity


@dataclass(frozen=True)
class LevelDbCutting(PolicySettings[Cutter]):
    """`engine/cutter=leveldb`."""

    def make(self, base: Base) -> LevelDbCutter:  # noqa: ARG002
        """Build the cutter, without settings: the target size comes with each job."""
        return LevelDbCutter()


@dataclass(frozen=True)
class LevelDbCutter(Cutter):
    """Implements `decisions.Cutter`: a file ends at the target size, or earlier if it overlaps too much of the level below."""

    def guide_level(self, tree: Tree, output_level: int, lo: int, hi: int) -> int | None:  # noqa: ARG002
        """Return the next level; None for the last."""
        return output_level + 1 if output_level + 1 < tree.num_levels else None

    def cuts(self, merged: MergedStream, context: CutContext) -> Sequence[int]:
        """Positions at which a new file starts.

        The overlap counts the files of the guide level passed since the last cut for overlap. A cut for size does not
        reset it. If the overlap exceeds its limit just after a cut for size, it causes no further cut.
        """
        data, target = merged.cumulative_bytes, context.target_bytes
        most, n = GRANDPARENT_FILES * target, len(merged.keys)
        steps = list(zip(*ends(merged.keys, context, after=0), strict=True))
        cuts: list[int] = []
        start = step = overlap = 0
        while True:
            at = min(max(int(data.searchsorted(data[start] + target, side="left")), start + 1), n)
            while step < len(steps) and steps[step][0] <= at:
                position, passed_bytes = steps[step]
                overlap += passed_bytes
                step += 1
                if overlap > most:
                    at, overlap = position, 0
                    break
            if at >= n:
                return cuts
            cuts.append(at)
            start = at


@dataclass(frozen=True)
class LevelDbThrottling(PolicySettings[Throttle]):
    """`engine/throttle=leveldb`. The L0 triggers are those of the options: 8 and 12 files in LevelDB."""

    sleep: float = quantity("seconds", 1e-3, low=1e-6)
    """Sleep of each write group while L0 is at the slowdown trigger."""

    def make(self, base: Base) -> LevelDbThrottle:
        """Build the throttle of the options."""
        return LevelDbThrottle(base.options, self.sleep)


@dataclass(frozen=True)
class LevelDbThrottle(Throttle):
    """Implements `decisions.Throttle` (MakeRoomForWrite).

    In LevelDB a full memtable stays active while its writer waits for the immutable one; here it is already immutable
    and its flush is held. So `max_write_buffer_number` immutable memtables mean one in a flush and a full active one.
    """

    options: RocksDbOptions
    sleep_s: float

    def initial(self) -> ThrottleState:
        """State at the open of a store: no stall."""
        return ThrottleState(None, 0, 0, pressure=False)

    def recompute(self, state: ThrottleState, inputs: StallInputs) -> ThrottleState:  # noqa: ARG002 - has no memory
        """Slow writes down from the stop trigger on too, until the memtable is full; then stop them."""
        held = inputs.l0_files >= self.options.level0_stop_writes_trigger
        cause: StallCause | None = None
        if inputs.immutables >= self.options.max_write_buffer_number:
            cause = StallCause.MEMTABLE_STOP
        elif held and inputs.immutables > 0:
            cause = StallCause.L0_STOP
        elif inputs.l0_files >= self.options.level0_slowdown_writes_trigger:
            cause = StallCause.L0_SLOWDOWN
        sleep_s = self.sleep_s if cause is StallCause.L0_SLOWDOWN else 0.0
        return ThrottleState(cause, 0, inputs.pending_bytes, pressure=False, hold_flushes=held, sleep_s=sleep_s)


@dataclass(frozen=True)
class OneThread(PolicySettings[Scheduler]):
    """`engine/scheduler=leveldb`: one background thread for flushes and compactions."""

    chunk: int = quantity("bytes", 256 << 10, low=1 << 12)
    """Maximum of bytes that a compaction moves between two tests for a full memtable: a grain of the simulation, not a
    rule; LevelDB tests at every key."""

    def make(self, base: Base) -> OneThreadScheduler:  # noqa: ARG002
        """Build a scheduler in its state at the open of a store."""
        return OneThreadScheduler(self.chunk)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Refuse a rate limiter: LevelDB has none."""
        if base.options.rate_limiter_bytes_per_sec:
            return (
                "LevelDB's background thread has no rate limiter; set engine.options.rate_limiter_bytes_per_sec to 0, "
                "or choose engine/scheduler=rocksdb"
            )
        return None


_NOTHING: Final[tuple[Action, ...]] = ()


@dataclass
class OneThreadScheduler(Scheduler):
    """Implements `scheduling.Scheduler`. A flush halts the running compaction, which resumes after the flush.

    A memtable that becomes full during a flush is not yet immutable when that flush ends, because its writer must wake
    up first. By then the thread has begun the next compaction, if one is needed, and the flush runs inside it (117 of
    143 flushes in the recorded runs; `BackgroundCall` schedules the next job before it signals the writers).
    """

    chunk_bytes: int
    preemptive: bool = field(default=True, init=False)
    writer_sleeps: bool = field(default=False, init=False)
    """Whether a memtable became full during the current flush or the flush that has just ended."""

    def most_jobs(self) -> tuple[int, int]:
        """Return one flush, which takes the thread from the compaction."""
        return 1, 0

    def plan(self, view: StoreView, coin: float) -> Sequence[Action]:  # noqa: ARG002
        """Run one job at a time: a flush first, inside a running compaction; else resume or start a compaction."""
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
