"""Background work of one database: queues of flushes and compactions, job slots, and the calls to the scheduler.

Source: `DBImpl::MaybeScheduleFlushOrCompaction`, `flush_queue_` and `compaction_queue_` in db/db_impl.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import simpy
from lsmlab.models.policies.decisions import Pick, Scope
from lsmlab.models.policies.rate_limiter import Priority
from lsmlab.models.policies.scheduling import (
    Action,
    Hold,
    JobKind,
    JobView,
    Pause,
    Pool,
    Scheduler,
    StartCompaction,
    StartFlush,
    StoreView,
)
from lsmlab.sim.store.jobs.context import AtomicFlush, FamilyContext, FlushThreads
from lsmlab.sim.store.records import NO_JOB
from lsmlab.sim.store.thread_pools import ThreadPools
from lsmlab.sim.store.write_controller import WriteController

Request = TypeVar("Request")


def _take(queue: dict[Request, float], now_s: float) -> tuple[Request, float]:
    """Remove the oldest request of a queue. Return it and the time that it waited, in s."""
    request = next(iter(queue))
    return request, now_s - queue.pop(request)


class Background:
    """Job queues and job slots that all column families of a database share."""

    def __init__(
        self, env: simpy.Environment, families: Sequence[FamilyContext], controller: WriteController,
        scheduler: Scheduler, rng: np.random.Generator, pools: ThreadPools,
    ) -> None:  # fmt: skip
        """Start with empty queues.

        `families`: all column families of the database, in the order of their ids; `rng`: random numbers of the scheduler;
        `pools`: of the process.
        """
        self._env = env
        self._families = families
        self._controller = controller
        self.scheduler = scheduler
        self.view = StoreView()
        """State that the scheduler reads; counts and bytes are sums over the column families."""
        self._rng = rng
        self._pools = pools
        self._flushes_scheduled = self._compactions_scheduled = 0
        """Jobs that have a slot of the database and wait for a thread of the process; their requests are still queued."""
        self._job_ids = itertools.count(1)
        self._flush_queue: dict[FlushThreads | AtomicFlush, float] = {}
        """Flush requests with their times, oldest first: one column family each, or with atomic_flush all families together."""
        self._compaction_queue: dict[FamilyContext, float] = {}
        """Column families that need a compaction, in the same form (with `Scheduler.splits_l0`: a compaction in scope DEEP)."""
        self._l0_queue: dict[FamilyContext, float] = {}
        """Column families that need a compaction in scope L0; used only with `Scheduler.splits_l0`."""
        self.exclusive = 0
        """Number of manual compactions that let no other compaction start (`HasExclusiveManualCompaction`)."""
        self.suspended = False
        """Whether a background error lets no job start (`ErrorHandler::IsBGWorkStopped`)."""
        self.parent = NO_JOB
        """Parent to record for the jobs that start now: the job whose end is being handled."""

    @property
    def idle(self) -> bool:
        """Return whether no job is queued, running or halted."""
        return not (self._flush_queue or self._compaction_queue or self._l0_queue or self.view.jobs)

    def update_view(self) -> None:
        """Update the scheduler's view after stall conditions were recomputed."""
        view = self.view
        view.immutables = view.l0_files = view.pending_bytes = 0
        for family in self._families:
            inputs = family.stall_inputs
            view.immutables += inputs.immutables
            view.l0_files += inputs.l0_files
            view.pending_bytes += inputs.pending_bytes
        view.speedup = self._controller.speedup

    # --- queues -------------------------------------------------------------------------------------------------------

    def enqueue_flush(self, request: FlushThreads | AtomicFlush) -> None:
        """Queue a flush of a column family, unless it is queued already, or an atomic flush (EnqueuePendingFlush)."""
        self._flush_queue.setdefault(request, self._env.now)

    def has_queued_flush(self, family: FlushThreads) -> bool:
        """Return whether a flush of this column family is queued."""
        return family in self._flush_queue

    def enqueue_compaction(self, family: FamilyContext) -> bool:
        """Queue a column family if it needs a compaction (EnqueuePendingCompaction). Return whether it was added."""
        if family.options.disable_auto_compactions:
            return False
        if not self.scheduler.splits_l0:
            added = self._enqueue(self._compaction_queue, family, Scope.ANY)
            self.view.compaction_waiting = len(self._compaction_queue) > self._compactions_scheduled
            return added
        l0 = self._enqueue(self._l0_queue, family, Scope.L0)
        deep = self._enqueue(self._compaction_queue, family, Scope.DEEP)
        self.view.l0_waiting, self.view.compaction_waiting = bool(self._l0_queue), bool(self._compaction_queue)
        return l0 or deep

    def _enqueue(self, queue: dict[FamilyContext, float], family: FamilyContext, scope: Scope) -> bool:
        if family in queue or not family.picker.needs_compaction(family.tree, self._env.now, scope):
            return False
        queue[family] = self._env.now
        return True

    def io_priority(self, kind: JobKind) -> Priority:
        """Return the rate limiter's priority for the I/O of a job (GetRateLimiterPriority)."""
        return self.scheduler.priority(kind, self._controller.restricts_writes)

    # --- scheduling ---------------------------------------------------------------------------------------------------

    def schedule(self) -> None:
        """Ask the scheduler for actions and carry them out, until no action leaves more work in a queue.

        See (behaviour/jobs-and-threads.md, Scheduling).
        """
        if self.suspended:
            return
        view = self.view
        view.now_s = self._env.now
        view.flush_waiting = len(self._flush_queue) > self._flushes_scheduled and not self._controller.holds_flushes
        more = True
        while more:
            more = False
            coin = float(self._rng.random()) if self.scheduler.preemptive else 0.0
            for action in self.scheduler.plan(view, coin):
                more = self._act(action) or more

    def schedule_after(self, parent: int) -> None:
        """Call `schedule` and record `parent` as the parent of the jobs that start."""
        self.parent = parent
        self.schedule()
        self.parent = NO_JOB

    def take_slots(self, view: JobView, count: int) -> None:
        """Take `count` compaction slots, and threads, for further parts of a job, until its end."""
        view.further_slots = count
        self.view.compactions += count
        self._pools.compactions.reserve(count)

    def free_thread(self, view: JobView) -> None:
        """Give the threads of a job that has ended to the jobs that wait for one, of any database of the process."""
        if view.kind is JobKind.FLUSH:
            self._pools.flushes.free(1)
        else:
            self._pools.compactions.free(1 + view.further_slots)

    def free_slot(self, view: JobView) -> None:
        """Free the slots of a job that has ended."""
        if view.kind is JobKind.FLUSH:
            self.view.flushes -= 1
        else:
            self.view.compactions -= 1 + view.further_slots
        self.view.jobs.remove(view)

    def _act(self, action: Action) -> bool:
        """Carry out an action. Return whether it started a job and more requests are left in the same queue."""
        if isinstance(action, StartFlush):
            return self._start_flush(action)
        if isinstance(action, StartCompaction):
            return not self.exclusive and self._start_compaction(action)
        for family in self._families:
            if isinstance(action, Pause):
                family.compacting.pause(action.job, Hold.LOAD)
            else:
                family.compacting.resume(action.job)
        return False

    def start_manual(self, family: FamilyContext, pick: Pick) -> simpy.Process:
        """Start a compaction thread with a job that the picker has not chosen."""
        self.view.compactions += 1
        job = JobView(next(self._job_ids), JobKind.DEEP, Pool.LOW)
        self.view.jobs.append(job)
        return self._env.process(family.compacting.run(job, StartCompaction(), NO_JOB, pick))

    def _start_flush(self, action: StartFlush) -> bool:
        view = self.view
        view.flushes += 1
        self._flushes_scheduled += 1
        view.flush_waiting = len(self._flush_queue) > self._flushes_scheduled
        self._pools.flushes.run(partial(self._begin_flush, action, self.parent))
        return view.flush_waiting

    def _begin_flush(self, action: StartFlush, parent: int) -> None:
        self._flushes_scheduled -= 1
        request, waited_s = _take(self._flush_queue, self._env.now)
        job = JobView(next(self._job_ids), JobKind.FLUSH, action.pool, slot_wait_s=waited_s)
        self.view.jobs.append(job)
        if isinstance(request, AtomicFlush):
            self._env.process(request.threads[0].run(job, parent, request))
        else:
            self._env.process(request.run(job, parent))

    def _start_compaction(self, action: StartCompaction) -> bool:
        view = self.view
        view.compactions += 1
        if action.scope is Scope.L0:
            self._begin_compaction(action, self.parent, self._l0_queue)
            view.l0_waiting = bool(self._l0_queue)
            return view.l0_waiting
        self._compactions_scheduled += 1
        view.compaction_waiting = len(self._compaction_queue) > self._compactions_scheduled
        self._pools.compactions.run(partial(self._begin_scheduled, action, self.parent))
        return view.compaction_waiting

    def _begin_scheduled(self, action: StartCompaction, parent: int) -> None:
        self._compactions_scheduled -= 1
        self._begin_compaction(action, parent, self._compaction_queue)

    def _begin_compaction(self, action: StartCompaction, parent: int, queue: dict[FamilyContext, float]) -> None:
        family, waited_s = _take(queue, self._env.now)
        kind = JobKind.L0 if action.scope is Scope.L0 else JobKind.DEEP
        job = JobView(next(self._job_ids), kind, action.pool, slot_wait_s=waited_s)
        self.view.jobs.append(job)
        self._env.process(family.compacting.run(job, action, parent))
