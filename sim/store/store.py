"""One store in time: memtables, installs, and the moments at which jobs start and writers are held back.

The event loop is RocksDB's (behaviour/jobs-and-threads.md, Scheduling; End of a job). Decisions come from the engine's
policies; durations from the stations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import simpy
from lsmlab.models.engines.engine import Engine
from lsmlab.models.policies.decisions import Picker, Scope, StallCause, StallInputs
from lsmlab.models.policies.scheduling import (
    Action,
    Discard,
    Hold,
    JobKind,
    JobView,
    Pause,
    Resume,
    StartCompaction,
    StartFlush,
    StoreView,
)
from lsmlab.models.policies.tuning import DB_OPTIONS, Changes
from lsmlab.models.tree.content import Content
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.store.compacting import Compacting
from lsmlab.sim.store.flushing import Flushing
from lsmlab.sim.store.manifest import Manifest
from lsmlab.sim.store.memtables import KeySource, Memtable, Memtables
from lsmlab.sim.store.options_file import OptionsFile
from lsmlab.sim.store.purge import Purge
from lsmlab.sim.store.recorder import StoreRecorder
from lsmlab.sim.store.store_events import StoreEvents


class Store:
    """One LSM-tree with its memtables and background jobs."""

    def __init__(
        self, number: int, env: simpy.Environment, engine: Engine, content: Content, machine: Machine,
        source: KeySource, recorder: StoreRecorder, rng: np.random.Generator, checks: bool = False,
    ) -> None:  # fmt: skip
        """`rng`: for schedulers that decide by chance."""
        self.number = number
        self.env = env
        self.engine = engine
        """With the latest options."""
        self.installed = engine
        """With the options of whoever installed the present version: its level targets, scores and debt are by these."""
        self.memtable_engine = engine
        """With the options by which the active memtable is full."""
        self.options = engine.options
        self.content = content
        self.machine = machine
        self.recorder = recorder
        self.events = StoreEvents()
        recorder.observe(self.events)
        self.checks = checks
        self.tree = engine.new_tree()
        self.throttle = engine.throttle.initial()
        self.scheduler = engine.scheduler()
        self.view = StoreView()
        """What the scheduler sees."""
        self.immutables: list[Memtable] = []
        self.blocked = False
        """Writers wait: set by a stop, cleared at the end of the background job that lifted it.

        See (behaviour/write-stalls.md, Sleeps and stops).
        """
        self.blocked_by: StallCause | None = None
        self.memtables_full = 0
        """Memtables that filled up while an older one was unflushed."""
        self.file_numbers: Iterator[int] = itertools.count(1)
        self.manifest = Manifest(env, machine)
        self.options_file = OptionsFile(env, machine, lambda: self.blocked, self.events.stall_changed)
        self.purge = Purge()
        self.memtables = Memtables(number, source, content.sample)
        self._rng = rng
        self._job_ids = itertools.count(1)
        self._flushing = Flushing(self)
        self._compacting = Compacting(self)
        self._flush_queued = False
        self._cause_job = -1
        """The job whose end is being handled: parent of whatever starts now."""

    # --- what clients and the tuner do --------------------------------------------------------------------------------

    def switch_memtable(self, entries: float, wal_bytes: float) -> None:
        """The active memtable, which took `entries` writes, becomes immutable (SwitchMemtable), hot keys apart."""
        memtable = self.memtables.full(entries, wal_bytes, self.engine.hot_keys)
        if memtable is None:
            return
        self.memtables_full += bool(self.immutables)
        self.immutables.append(memtable)
        self._size_memtable(self.engine)
        self._install()
        self.request_flush()
        self.schedule()

    def flush_all(self, entries: float) -> None:
        """Flush everything in memory now, the active memtable with its `entries` too (DB::Flush)."""
        memtable = self.memtables.rest(entries)
        if memtable is not None:
            self.immutables.append(memtable)
        self._flush_queued = any(not m.in_progress for m in self.immutables)
        self._install()

    @property
    def idle(self) -> bool:
        """Nothing in memory, no job running or halted and none due."""
        view = self.view
        waiting = self._flush_queued or view.compaction_waiting or view.l0_waiting or bool(self.immutables)
        return not waiting and not view.jobs

    def preload(self, levels: list[tuple[int, list[SortedFile]]]) -> None:
        """Begin with a tree that was built before the run."""
        self.tree.install(added=levels)
        self.events.loaded(sum(f.entries for _, files in levels for f in files))
        for _, files in levels:
            for file in files:
                self.machine.cache.wrote(file)
        self._install()
        self.schedule()

    def adopt(self, tree: Tree) -> None:
        """Begin with the tree of another store, which has settled."""
        self.tree = tree
        self.events.loaded(tree.live_entries())
        for file in tree.files():
            self.machine.cache.wrote(file)
        self._install()
        self.schedule()

    def retune(self, changes: Changes) -> None:
        """Options change at run time: policies are made anew, running jobs go on as they began.

        SetOptions installs a version, whatever the values are. SetDBOptions does not, and ignores what is no change; else
        it sets the delayed write rate to its maximum (`WriteController::set_max_delayed_write_rate`).
        """
        whole_store = any(name in DB_OPTIONS and value != self.engine.setting(name) for name, value in changes.items())
        column_family = not changes.keys() <= DB_OPTIONS
        self.events.retuned(self.env.now, changes)
        self.engine = self.engine.retuned(changes)
        self.options = self.engine.options
        self.scheduler.retuned(self.options)
        if whole_store:
            rate = self.engine.throttle.initial().rate_bytes_per_s
            self.throttle = replace(self.throttle, rate_bytes_per_s=rate)
            self.events.stall_changed()
        if column_family:
            self._install_options_of(self.engine)
            self._install()
        self.schedule()
        self.options_file.changed(whole_store + any(name not in DB_OPTIONS and "." not in name for name in changes))

    def files(self) -> list[SortedFile]:
        """All files on the device."""
        return list(self.tree.files())

    @property
    def running_compactions(self) -> int:
        """Compactions in progress, halted ones included."""
        return len(self._compacting.jobs)

    @property
    def picker(self) -> Picker:
        """The picker, which goes by the targets and scores of the present version."""
        return self.installed.picker

    # --- installs and scheduling --------------------------------------------------------------------------------------

    def _install_options_of(self, engine: Engine) -> None:
        """A version is installed with an engine's options."""
        self.installed = engine
        self._size_memtable(engine)

    def _size_memtable(self, engine: Engine) -> None:
        before, self.memtable_engine = self.memtable_engine, engine
        if engine.options.write_buffer_size != before.options.write_buffer_size:
            self.events.memtable_resized(self.number)

    def _install(self) -> None:
        """What follows every new version or memtable list: stalls are recomputed, work is queued.

        See (behaviour/write-stalls.md, When the condition is recomputed) and
        (behaviour/jobs-and-threads.md, Scheduling).
        """
        engine, view = self.installed, self.view
        picker = engine.picker
        view.pending_bytes = pending = picker.pending_bytes(self.tree)
        view.immutables = len(self.immutables)
        view.l0_files = picker.stall_run_count(self.tree)
        before = self.throttle
        self.throttle = engine.throttle.recompute(
            before,
            StallInputs(
                immutables=view.immutables,
                l0_files=view.l0_files,
                pending_bytes=pending,
                bottommost_bytes=engine.bottommost_bytes(self.tree, pending),
            ),
        )
        view.speedup = self.throttle.speedup
        self.events.installed(self.env.now, self.tree, view, self.throttle, self.running_compactions, self.blocked)
        if self.throttle.stopped:
            self.blocked, self.blocked_by = True, self.throttle.cause
        after = self.throttle
        if (before.cause, before.rate_bytes_per_s, before.sleep_s) != (after.cause, after.rate_bytes_per_s, after.sleep_s):
            self.events.stall_changed()
        self.queue_compactions(picker)
        if self.checks:
            self.tree.check()
        self.schedule()

    def install_after(self, job: int, began_with: Engine) -> None:
        """Handle the version that `job` installed; `began_with` is the engine as it was when the job started."""
        self._install_options_of(began_with if self.engine.reverts_options else self.engine)
        self._cause_job = job
        self._install()
        self._cause_job = -1

    def queue_compactions(self, picker: Picker) -> bool:
        """Note that there is work, if the picker says so; whether something is new (EnqueuePendingCompaction)."""
        view = self.view
        if self.options.disable_auto_compactions:
            return False
        if not self.scheduler.splits_l0:
            if view.compaction_waiting:
                return False
            view.compaction_waiting = picker.needs_compaction(self.tree, self.env.now)
            return view.compaction_waiting
        before = view.l0_waiting, view.compaction_waiting
        view.l0_waiting = before[0] or picker.needs_compaction(self.tree, self.env.now, Scope.L0)
        view.compaction_waiting = before[1] or picker.needs_compaction(self.tree, self.env.now, Scope.DEEP)
        return before != (view.l0_waiting, view.compaction_waiting)

    def request_flush(self) -> None:
        """Note that memtables wait for a flush, if they are enough (EnqueuePendingFlush)."""
        waiting = sum(not m.in_progress for m in self.immutables)
        if waiting >= self.options.min_write_buffer_number_to_merge:
            self._flush_queued = True

    def schedule(self) -> None:
        """Do what the scheduler says: MaybeScheduleFlushOrCompaction (behaviour/jobs-and-threads.md, Scheduling)."""
        view = self.view
        view.now_s = self.env.now
        view.flush_waiting = self._flush_queued and not self.throttle.hold_flushes
        coin = float(self._rng.random()) if self.scheduler.preemptive else 0.0
        for action in self.scheduler.plan(view, coin):
            self._act(action)

    def schedule_after(self, parent: int) -> None:
        """`schedule`, where `parent` is why something may start now."""
        self._cause_job = parent
        self.schedule()
        self._cause_job = -1

    def _act(self, action: Action) -> None:
        view = self.view
        if isinstance(action, StartFlush):
            view.flushes += 1
            self._flush_queued = view.flush_waiting = False
            job = JobView(next(self._job_ids), JobKind.FLUSH, action.pool)
            view.jobs.append(job)
            self.env.process(self._flushing.run(job, self._cause_job))
        elif isinstance(action, StartCompaction):
            view.compactions += 1
            if action.scope is Scope.L0:
                view.l0_waiting = False
            else:
                view.compaction_waiting = False
            kind = JobKind.L0 if action.scope is Scope.L0 else JobKind.DEEP
            job = JobView(next(self._job_ids), kind, action.pool)
            view.jobs.append(job)
            self.env.process(self._compacting.run(job, action, self._cause_job))
        elif isinstance(action, Pause):
            self._compacting.pause(action.job, Hold.LOAD)
        elif isinstance(action, Resume):
            self._compacting.resume(action.job)
        elif isinstance(action, Discard):
            self._compacting.discard(action.job)

    def end_job(self, job: int, worked: bool = True) -> None:
        """The very end of a job: its slot is free, the scheduler runs, stopped writers are signalled.

        See (behaviour/jobs-and-threads.md, End of a job).

        A thread that found nothing to do (`worked` is False) signals them too, but they did not wait for it.
        """
        self.schedule_after(job)
        if self.blocked and not self.throttle.stopped:
            self.blocked = False
            self.options_file.released()
            self.events.writers_released(self.env.now, job if worked else -1)
            self.events.stall_changed()
