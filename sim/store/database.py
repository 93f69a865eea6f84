"""Database: state that its column families share, and the stops and releases of its writers.

A column family has its own memtables, tree and options. WAL, MANIFEST, job slots, write controller and file numbers
belong to the database (RocksDB's `DBImpl`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import simpy
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import Compaction, StallCause, ThrottleState
from lsmlab.models.policies.rate_limiter import Priority
from lsmlab.models.policies.rocksdb.errors import WriteFailure
from lsmlab.models.policies.scheduling import ClientWindow, Hold, JobKind, JobView, Scheduler, StoreView
from lsmlab.models.policies.tuning import DB_OPTIONS, Changes
from lsmlab.models.version import Version
from lsmlab.sim.machine.machine import Events, Machine
from lsmlab.sim.observers import Observers
from lsmlab.sim.store.background import Background
from lsmlab.sim.store.background_errors import BackgroundErrors
from lsmlab.sim.store.column_family import ColumnFamily, FamilyParts, MemtableSwitch
from lsmlab.sim.store.jobs.context import AtomicFlush, FamilyContext, FlushThreads
from lsmlab.sim.store.manifest import Manifest
from lsmlab.sim.store.memtables import WRITE_BUFFER_FULL
from lsmlab.sim.store.options_file_writer import OptionsFileWriter
from lsmlab.sim.store.records import NO_JOB
from lsmlab.sim.store.snapshots import Snapshots
from lsmlab.sim.store.thread_pools import ThreadPools
from lsmlab.sim.store.wal_files import WalFiles
from lsmlab.sim.store.write_buffer_manager import SharedMemtables
from lsmlab.sim.store.write_controller import WriteController


class Database:
    """Database of a run, one of `workload.shards` databases on the same machine."""

    def __init__(
        self, number: int, env: simpy.Environment, machine: Machine, scheduler: Scheduler, rng: np.random.Generator,
        delayed_write_rate: int, pools: ThreadPools | None = None,
    ) -> None:  # fmt: skip
        """Open without column families.

        `rng`: random numbers of the scheduler; `delayed_write_rate` in bytes/s; `pools`: threads that databases of the same
        process share, None: the database has as many as it asks for.
        """
        self.number = number
        self.env = env
        self.machine = machine
        self.families: list[ColumnFamily] = []
        self.write_controller = WriteController(delayed_write_rate)
        self.pools = pools or ThreadPools()
        """Threads for its jobs, its own or those of its process."""
        self.background = Background(env, self.families, self.write_controller, scheduler, rng, self.pools)
        self.stall_changed = Observers[[]]()
        """Observers of the stall state: writers are delayed, stopped or released, or the delayed write rate has changed."""
        self.writers_affected = Observers[[]]()
        """Observers of the same changes, except those by memtable switches: there writers cause the change themselves."""
        self.manifest = Manifest(env, machine)
        self.options_file = OptionsFileWriter(env, machine, lambda: self.blocked, self._tell_writers)
        self.wals = WalFiles()
        self.current_wal_bytes: Callable[[], float] = lambda: 0.0
        """Size of the current WAL now; the clients, who fill it, set this."""
        self.snapshots: Snapshots | None = None
        """Open snapshots; None: the run has none, at no time."""
        self.shared_memtables: SharedMemtables | None = None
        """Memtables of all databases that share a write buffer manager with this one; None without one."""
        self.memory_freed = Observers[[]]()
        """Observers of committed flushes, which free memtable memory and WALs."""
        self.errors = BackgroundErrors(self)
        self.memory_freed.add(self.errors.memory_freed)
        self.file_numbers: Iterator[int] = itertools.count(1)
        self.blocked = False
        """Whether writers are stopped: from the stop condition until the end of the background job that lifts it.

        See (behaviour/write-stalls.md, Sleeps and stops).
        """
        self.blocked_by: StallCause | None = None
        self._waiting: list[simpy.Event] = []
        """Events of those who wait for the end of a job."""

    def add_family(self, parts: FamilyParts) -> ColumnFamily:
        """Open a column family."""
        family = ColumnFamily(self, parts)
        self.families.append(family)
        if parts.written:
            self.wals.add_family(family.number)
        self.write_controller.families.append(family)
        return family

    @property
    def idle(self) -> bool:
        """Return whether no immutable memtable is left and no job is queued, running or halted."""
        return self.background.idle and not self.has_immutables

    def until(self, condition: Callable[[], bool]) -> Events:
        """Wait until a condition holds; jobs that end can bring it about (RocksDB's `bg_cv_`)."""
        while not condition():
            yield from self.job_end()

    def job_end(self) -> Events:
        """Wait for the end of the next job."""
        event = self.env.event()
        self._waiting.append(event)
        yield event

    def look_at_ages(self, period_s: float, from_s: float) -> Events:
        """Queue compactions of files that are too old every `period_s`, from `from_s` (TriggerPeriodicCompaction)."""
        yield self.env.timeout(math.ceil(from_s / period_s) * period_s)
        while True:
            for family in self.families:
                self.background.enqueue_compaction(family)
            self.background.schedule()
            yield self.env.timeout(period_s)

    def flush_all(self, entries: list[float]) -> None:
        """Flush all memtables (DB::Flush). `entries`: in the active memtable of each column family."""
        for family, count in zip(self.families, entries, strict=True):
            family.flush_all(count)

    def switch_memtables(self, switches: Sequence[MemtableSwitch]) -> list[int]:
        """Switch active memtables of this database and request their flushes.

        Return the numbers of the column families whose new memtable has another size than the old one.

        See (behaviour/write-path.md, Memtable switch).
        """
        families = {family.number: family for family in self.families}
        sizes = {number: family.memtable_options.options.write_buffer_size for number, family in families.items()}
        switched = [(families[s.family], s) for s in switches if families[s.family].switch_memtable(s)]
        if not switched:
            return []
        self.wals.note_size(0.0)
        self.wals.note_kept(self.oldest_wals())
        if self.atomic_flush:
            self._enqueue_atomic_flush()
        else:
            for family, switch in switched:
                family.request_flush(forced=switch.reason != WRITE_BUFFER_FULL)
        self.background.schedule()
        return [n for n, size in sizes.items() if families[n].memtable_options.options.write_buffer_size != size]

    @property
    def atomic_flush(self) -> bool:
        """Return whether all column families are flushed together."""
        return len(self.families) > 1 and self.families[0].options.atomic_flush

    def _enqueue_atomic_flush(self) -> None:
        waiting = [f for f in self.families if f.has_waiting_memtables]
        if waiting:
            request = AtomicFlush(tuple(f.flushing for f in waiting), tuple(f.immutables[-1] for f in waiting))
            self.background.enqueue_flush(request)

    def force_flushes(self, numbers: Sequence[int]) -> None:
        """Flush column families whose memtables wait for `min_write_buffer_number_to_merge`; `numbers`: those of families."""
        for family in self.families:
            if family.number in numbers:
                family.request_flush(forced=True)
        self.background.schedule()

    def has_queued_flush(self, threads: FlushThreads) -> bool:
        """Return whether a flush of this column family is queued."""
        return self.background.has_queued_flush(threads)

    def flush_requested(self, threads: FlushThreads) -> None:
        """Queue a flush of one column family."""
        self.background.enqueue_flush(threads)

    def wal_closed(self, family: int, size_bytes: float) -> int:
        """Close the WAL of a memtable switch. Return the number of the oldest WAL with data of the memtable."""
        self.machine.wal.space.take(size_bytes)
        return self.wals.switch_memtable(family, size_bytes)

    def commit_edit(self) -> Events:
        """Make one version edit durable in the MANIFEST."""
        yield from self.manifest.commit()

    def commit_flushes(self, job: int) -> None:
        """Commit the finished flushes of all column families, in memtable order within each family (atomic_flush)."""
        for family in self.families:
            family.flushing.commit(job)

    def delete_wals(self) -> list[float]:
        """Delete the WALs that hold no unflushed data of any column family. Return their sizes in bytes, oldest first."""
        self.wals.note_size(self.current_wal_bytes())
        return self.wals.delete_before(min(self.oldest_wals().values()))

    def oldest_wals(self) -> dict[int, int]:
        """Return the number of the oldest WAL with unflushed data of each column family (`OldestLogToKeep`)."""
        return {f.number: f.immutables[0].first_wal if f.immutables else self.wals.active_since(f.number) for f in self.families}

    def retune(self, changes: Changes) -> None:
        """Change options of all column families at run time; running jobs keep the options of their start.

        SetOptions always installs a version, even if no value changes. SetDBOptions installs none. A call of SetDBOptions
        that changes a value resets the delayed write rate to its maximum (`WriteController::set_max_delayed_write_rate`);
        a call that changes none has no effect.
        """
        current = self.families[0].latest_options
        set_db_options = any(name in DB_OPTIONS and value != current.setting(name) for name, value in changes.items())
        set_options = not changes.keys() <= DB_OPTIONS
        for family in self.families:
            family.retune(changes)
        latest = self.families[0].latest_options
        self.background.scheduler.retuned(latest.options)
        if set_db_options:
            self.write_controller.reset_rate(latest.throttle.initial().rate_bytes_per_s)
            self._tell_writers()
        if set_options:
            for family in self.families:
                family.install_options_of(family.latest_options)
                family.install()
        self.background.schedule()
        in_file = any(name not in DB_OPTIONS and "." not in name for name in changes)
        self.options_file.changed(set_db_options + in_file * len(self.families))

    # --- versions and compactions -------------------------------------------------------------------------------------

    def version_installed(self, family: FamilyContext, *, by_writers: bool, job: int) -> None:
        """Recompute the stall condition, queue a compaction of the family if one is due, and start jobs.

        `by_writers`: a memtable switch of the writers has caused it; `job`: the job that has committed the version.
        """
        before = family.throttle
        self.write_controller.recompute(family, family.version_options.throttle, family.stall_inputs)
        self.background.update_view()
        family.events.installed(self.env.now, family.tree, family.stall_inputs, family.throttle, self.blocked)
        self._stall_conditions_changed(family, before, by_writers=by_writers)
        self.background.enqueue_compaction(family)
        self.background.schedule_after(job)

    def compaction_due(self, family: FamilyContext) -> None:
        """Queue a compaction of a family, and start jobs."""
        self.background.enqueue_compaction(family)
        self.background.schedule()

    def compaction_picked(self, family: FamilyContext, parent: int, *, gave_way: bool) -> None:
        """Queue the next compaction of a family; `gave_way`: other jobs were halted or aborted for the one that was picked."""
        if self.background.enqueue_compaction(family) or gave_way:
            self.background.schedule_after(parent)

    @property
    def free_slots(self) -> int:
        """Compaction slots that the parts of one job may take besides its own."""
        return self.background.scheduler.free_slots(self.background.view)

    def take_slots(self, view: JobView, count: int) -> None:
        """Take `count` compaction slots for further parts of a job, until its end."""
        self.background.take_slots(view, count)

    def compaction_preempted(self) -> None:
        """Give the slot of a job that is halted to the job that it gives way to."""
        self.background.view.compactions -= 1

    def compaction_resumed(self) -> None:
        """Take the slot back for a job that had given way."""
        self.background.view.compactions += 1

    def compaction_halted(self) -> None:
        """Look for work after all threads of a job have halted."""
        self.background.schedule()

    def compaction_discarded(self, family: FamilyContext, view: JobView) -> None:
        """Forget an aborted job and queue its family again."""
        self.background.view.jobs.remove(view)
        if view.hold is not Hold.PREEMPTED:
            self.background.view.compactions -= 1
        self.background.enqueue_compaction(family)

    def compaction_put_back(self, family: FamilyContext) -> None:
        """Queue the family of a job again that committed nothing."""
        self.background.enqueue_compaction(family)

    @property
    def halt_bytes(self) -> float | None:
        """Bytes after which a compaction can be halted; None: the scheduler halts none."""
        scheduler = self.background.scheduler
        return scheduler.chunk_bytes if scheduler.preemptive else None

    def io_priority(self, kind: JobKind) -> Priority:
        """Return the rate limiter's priority for the I/O of a job."""
        return self.background.io_priority(kind)

    def schedule(self) -> None:
        """Start the jobs that the scheduler asks for."""
        self.background.schedule()

    @property
    def scheduler(self) -> Scheduler:
        """Scheduler of the jobs."""
        return self.background.scheduler

    @property
    def view(self) -> StoreView:
        """State of the jobs and column families, as the scheduler reads it."""
        return self.background.view

    def observe(self, window: ClientWindow) -> float | None:
        """Tell the scheduler of the load in a window; return a new rate of the rate limiter in bytes/s, None: as it is."""
        self.view.now_s = self.env.now
        return self.background.scheduler.observe(self.view, window)

    # --- background errors --------------------------------------------------------------------------------------------

    @property
    def first_options(self) -> tuple[Version, RocksDbOptions]:
        """Release and latest options of the default column family."""
        engine = self.families[0].latest_options
        return engine.version, engine.options

    def admits(self, pick: Compaction) -> bool:
        """Return whether a compaction may start in spite of a background error."""
        return self.errors.admits(pick)

    def job_failed(self, failure: WriteFailure, *, flush: bool) -> None:
        """Set the background error that a failed write causes."""
        self.errors.job_failed(failure, flush=flush)

    @property
    def has_immutables(self) -> bool:
        """Whether an immutable memtable is not flushed yet."""
        return any(f.immutables for f in self.families)

    def compaction_inputs(self) -> Iterator[int]:
        """Bytes of the inputs of each running compaction."""
        for family in self.families:
            for job in family.compacting.jobs.values():
                yield sum(f.size_bytes for _, files in job.pick.inputs for f in files)

    def stop_for_error(self) -> None:
        """Accept no write and start no job."""
        self.background.suspended = True
        self.stop_writes(StallCause.BACKGROUND_ERROR)

    def start_jobs_again(self) -> None:
        """Start jobs again, first the flush of all immutable memtables; accept no write yet."""
        self.background.suspended = False
        if self.atomic_flush:
            self._enqueue_atomic_flush()
        else:
            for family in self.families:
                family.request_flush(forced=True)
        self.background.schedule()

    def stop_writes(self, cause: StallCause) -> None:
        """Accept no write until `resume_writes`; a background error replaces another cause."""
        if self.write_controller.stopped_by is None or cause is StallCause.BACKGROUND_ERROR:
            self.write_controller.stopped_by = cause
            self.families[0].install()

    def resume_writes(self, cause: StallCause) -> None:
        """Accept writes again if they are stopped for this cause."""
        if self.write_controller.stopped_by is not cause:
            return
        self.write_controller.stopped_by = None
        self.families[0].install()
        self.end_job(NO_JOB, worked=False)

    # --- ends of jobs -------------------------------------------------------------------------------------------------

    def finish_job(self, view: JobView, worked: bool = True) -> None:
        """Free the slot of a job and end the job."""
        self.background.free_slot(view)
        self.end_job(view.job, worked)
        self.background.free_thread(view)

    def _stall_conditions_changed(self, family: FamilyContext, before: ThrottleState, *, by_writers: bool) -> None:
        """Stop writers if `family` is stopped, and notify observers if its stall state differs from `before`.

        `by_writers`: the writers have caused the change.
        """
        after = family.throttle
        if after.stopped:
            self.blocked, self.blocked_by = True, after.cause
        if (before.cause, before.rate_bytes_per_s, before.sleep_s) != (after.cause, after.rate_bytes_per_s, after.sleep_s):
            self.stall_changed()
            if not by_writers:
                self.writers_affected()

    def _tell_writers(self) -> None:
        self.stall_changed()
        self.writers_affected()

    def end_job(self, job: int, worked: bool = True) -> None:
        """End a job whose slot is free: start further jobs, then release stopped writers if no stop condition holds.

        See (behaviour/jobs-and-threads.md, End of a job).

        `worked` is False for a thread that found nothing to do: it also releases writers, but is not recorded as the job
        that they waited for.
        """
        self.background.schedule_after(job)
        if self.blocked and not self.write_controller.stopped:
            self.blocked = False
            self.options_file.on_writers_released()
            for family in self.families:
                family.events.writers_released(self.env.now, job if worked else -1)
            self._tell_writers()
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for event in waiting:
                event.succeed()
