"""One store in time: memtables, flushes, compactions, and the moments at which writers are held back.

The event loop is rocksdb.md §13. Decisions come from the engine's policies; durations from the stations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import simpy
from lsmlab.models.engines.engine import Engine
from lsmlab.models.policies.decisions import DoNothing, Drop, Merge, Move, RunningJob, StallCause, StallInputs
from lsmlab.models.tree.content import Content
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.models.tree.merge import Tombstones, merge_runs
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.machine import Consumer, Events, Machine
from lsmlab.sim.manifest import Manifest
from lsmlab.sim.recorder import JobRecord, StoreRecorder
from lsmlab.sim.work import CompactionWork, FlushWork, flush_work, merge_work


@dataclass(slots=True, eq=False)
class Memtable:
    """A full memtable: what it holds, and whether a flush has taken it."""

    entries: float
    keys: KeyArray
    tombstones: Tombstones
    log_bytes: float
    """Write-ahead log kept alive for it."""
    in_progress: bool = False
    done: bool = False
    """Flushed, waiting for older memtables to commit first."""


class KeySource(Protocol):
    """Where a full memtable's content comes from."""

    def memtable(self, store: int, entries: float) -> tuple[KeyArray, Tombstones]:
        """Distinct keys that the next `entries` writes of store number `store` touch, newest version each."""


@dataclass(slots=True)
class _Slots:
    flushes: int = 0
    compactions: int = 0


@dataclass(slots=True)
class _Flush:
    """A flush that has ended its work but may have to wait for older ones before it commits."""

    memtables: list[Memtable]
    file: SortedFile | None = None
    record: JobRecord | None = None
    finished: bool = field(default=False)


class Store:
    """One LSM-tree with its memtables and background jobs."""

    def __init__(
        self, number: int, env: simpy.Environment, engine: Engine, content: Content, machine: Machine,
        source: KeySource, recorder: StoreRecorder, checks: bool = False,
    ) -> None:  # fmt: skip
        self.number = number
        self.env = env
        self.engine = engine
        self.options = engine.options
        self.content = content
        self.machine = machine
        self.recorder = recorder
        self.checks = checks
        self.tree = Tree(num_levels=engine.options.num_levels)
        self.throttle = engine.throttle.initial()
        self.immutables: list[Memtable] = []
        self.blocked = False
        """Writers wait: set by a stop, cleared at the end of the background job that lifted it (§3.7)."""
        self.blocked_by: StallCause | None = None
        self.on_stall_change: Callable[[], None] = lambda: None
        self.file_numbers: Iterator[int] = itertools.count(1)
        self._source = source
        self._manifest = Manifest(env, machine)
        self._job_ids = itertools.count(1)
        self._running: dict[int, RunningJob] = {}
        self._slots = _Slots()
        self._flush_queued = False
        self._compaction_queued = False
        self._flushes: list[_Flush] = []
        self._cause_job = -1
        """The job whose end is being handled: parent of whatever starts now."""
        self._pending_bytes = 0

    # --- what clients do -------------------------------------------------------------------------------------------

    def switch_memtable(self, entries: float, log_bytes: float) -> None:
        """The active memtable, holding `entries`, becomes immutable (SwitchMemtable)."""
        keys, tombstones = self._source.memtable(self.number, entries)
        self.immutables.append(Memtable(entries, keys, tombstones, log_bytes))
        self._install()
        self._request_flush()
        self._schedule()

    def flush_all(self, entries: float) -> None:
        """Flush everything in memory now, the active memtable with its `entries` too (DB::Flush)."""
        if entries >= 1.0:
            keys, tombstones = self._source.memtable(self.number, entries)
            if len(keys):
                self.immutables.append(Memtable(entries, keys, tombstones, 0.0))
        self._flush_queued = any(not m.in_progress for m in self.immutables)
        self._install()

    @property
    def idle(self) -> bool:
        """Nothing in memory, no job running and none due."""
        slots = self._slots
        waiting = self._flush_queued or self._compaction_queued or bool(self.immutables)
        return not waiting and slots.flushes == 0 and slots.compactions == 0

    def preload(self, levels: list[tuple[int, list[SortedFile]]]) -> None:
        """Begin with a tree that was built before the run."""
        self.tree.install(added=levels)
        self.recorder.entries_preloaded = sum(f.entries for _, files in levels for f in files)
        for _, files in levels:
            for file in files:
                self.machine.cache.wrote(file)
        self._install()
        self._schedule()

    def files(self) -> list[SortedFile]:
        """All files of the tree."""
        return [*self.tree.l0, *(f for level in self.tree.levels[1:] for f in level)]

    @property
    def running_compactions(self) -> int:
        """Compactions in progress."""
        return len(self._running)

    # --- installs and scheduling ------------------------------------------------------------------------------------

    def _install(self) -> None:
        """What follows every new version or memtable list: stalls are recomputed, work is queued (§3.3, §5.1)."""
        picker = self.engine.picker
        self._pending_bytes = pending = picker.pending_bytes(self.tree)
        before = self.throttle
        self.throttle = self.engine.throttle.recompute(
            before,
            StallInputs(
                immutables=len(self.immutables),
                l0_files=picker.stall_run_count(self.tree),
                pending_bytes=pending,
                bottommost_bytes=self.engine.bottommost_bytes(self.tree, pending),
            ),
        )
        self.recorder.install(self.env.now, self, pending)
        if self.throttle.cause is not None:
            self.recorder.count_stall(self.throttle.cause)
        if self.throttle.stopped:
            self.blocked, self.blocked_by = True, self.throttle.cause
        if before.cause is not self.throttle.cause or before.rate_bytes_per_s != self.throttle.rate_bytes_per_s:
            self.on_stall_change()
        if not self._compaction_queued and not self.options.disable_auto_compactions:
            self._compaction_queued = picker.needs_compaction(self.tree, self.env.now)
        if self.checks:
            self.tree.check()
        self._schedule()

    def _request_flush(self) -> None:
        waiting = sum(not m.in_progress for m in self.immutables)
        if waiting >= self.options.min_write_buffer_number_to_merge:
            self._flush_queued = True

    def _schedule(self) -> None:
        """Start threads while slots and queues allow (MaybeScheduleFlushOrCompaction, §2.5)."""
        flushes, compactions = self.engine.slots(self.throttle.speedup)
        slots = self._slots
        if self._flush_queued and slots.flushes < flushes:
            slots.flushes += 1
            self._flush_queued = False
            self.env.process(self._flush(self._cause_job))
        if self._compaction_queued and slots.compactions < compactions:
            slots.compactions += 1
            self._compaction_queued = False
            self.env.process(self._compact(self._cause_job))

    def _end_job(self, job: int) -> None:
        """The very end of a job: its slot is free, the scheduler runs, stopped writers are signalled (§6.6)."""
        self._cause_job = job
        self._schedule()
        self._cause_job = -1
        if self.blocked and not self.throttle.stopped:
            self.blocked = False
            self.recorder.unblocked(self.env.now, job)
            self.on_stall_change()

    def _install_after(self, job: int) -> None:
        self._cause_job = job
        self._install()
        self._cause_job = -1

    # --- flush ------------------------------------------------------------------------------------------------------

    def _flush(self, parent: int) -> Events:
        machine, env = self.machine, self.env
        picked = self._pick_memtables()
        job = next(self._job_ids)
        if not picked:
            self._slots.flushes -= 1
            self._end_job(job)
            return
        start_s = env.now
        flush = _Flush(picked)
        self._flushes.append(flush)
        keys, tombstones = (
            (picked[0].keys, picked[0].tombstones)
            if len(picked) == 1
            else merge_runs([(m.keys, m.tombstones) for m in reversed(picked)])
        )
        work = flush_work(self, keys, tombstones, sum(m.entries for m in picked))
        self.recorder.running(env.now, flushes=1)
        yield from machine.start_job()
        yield from machine.run_steps(work.steps, Consumer.FLUSH, urgent=self.throttle.cause is not None)
        yield from machine.finish_files(1)
        flush.file = work.file
        flush.record = self._flush_record(job, parent, start_s, work, picked)
        flush.finished = True
        if self._flushes[0] is flush:
            yield from self._manifest.commit()
            self._commit_flushes(job)
        yield from machine.unlink(1, log_bytes=sum(m.log_bytes for m in picked))
        self.recorder.running(env.now, flushes=-1)
        self._slots.flushes -= 1
        self._end_job(job)

    def _pick_memtables(self) -> list[Memtable]:
        picked: list[Memtable] = []
        for memtable in self.immutables:
            if memtable.in_progress:
                if picked:
                    break  # only consecutive memtables (7.8+); with one flush thread there is never a gap
                continue
            memtable.in_progress = True
            picked.append(memtable)
        return picked

    def _commit_flushes(self, job: int) -> None:
        """Commit all finished flushes from the oldest on, in memtable order, in one manifest write (§2.4)."""
        while self._flushes and self._flushes[0].finished:
            flush = self._flushes.pop(0)
            for memtable in flush.memtables:
                self.immutables.remove(memtable)
                self.machine.log_deleted(memtable.log_bytes)
            if flush.file is not None:
                self.tree.install(added=[(0, [flush.file])])
                self.machine.cache.wrote(flush.file)
            assert flush.record is not None
            flush.record.end_s = self.env.now
            self.recorder.job(flush.record)
            self._install_after(job)

    def _flush_record(
        self, job: int, parent: int, start_s: float, work: FlushWork, picked: list[Memtable]
    ) -> JobRecord:
        return JobRecord(
            job=job, kind="flush", reason="Write Buffer Full", start_level=-1, output_level=0, queued_s=start_s,
            start_s=start_s, merged_s=self.env.now, end_s=self.env.now, input_files=len(picked),
            input_files_output_level=0, output_files=int(work.file is not None), read_bytes=0,
            read_bytes_output_level=0, write_bytes=work.file.size_bytes if work.file is not None else 0,
            entries_in=sum(m.entries for m in picked), entries_out=work.file.entries if work.file is not None else 0.0,
            score=0.0, parent=parent, region=self.number, cpu_s=work.cpu_s, subcompactions=1,
        )  # fmt: skip

    # --- compaction -------------------------------------------------------------------------------------------------

    def _compact(self, parent: int) -> Events:
        job = next(self._job_ids)
        picker = self.engine.picker
        pick = picker.pick(self.tree, list(self._running.values()), self.env.now)
        if isinstance(pick, DoNothing):
            self._slots.compactions -= 1
            self._end_job(job)
            return
        for level, files in pick.inputs:
            self.tree.mark(level, files, True)
        if isinstance(pick, Merge | Move) and pick.cursor is not None:
            self.tree.cursor[pick.start_level] = pick.cursor
        self._running[job] = _running_job(pick)
        if not self._compaction_queued and picker.needs_compaction(self.tree, self.env.now):
            self._compaction_queued = True
            self._cause_job = parent
            self._schedule()
            self._cause_job = -1
        start_s = self.env.now
        if isinstance(pick, Merge):
            work = merge_work(self, pick)
            self.recorder.running(start_s, compactions=1)
            consumer = Consumer.L0 if pick.start_level == 0 else Consumer.DEEPER
            yield from self.machine.start_job()
            yield from self.machine.run_parts(work.parts, consumer, urgent=self.throttle.cause is not None)
            yield from self.machine.finish_files(math.ceil(len(work.outputs) / len(work.parts)))
            merged_s = self.env.now
            cached_bytes = self.machine.cache.cached_bytes(f for _, files in pick.inputs for f in files)
            yield from self._manifest.commit()
            self._commit_merge(job, parent, pick, work, start_s, merged_s)
            self.recorder.running(self.env.now, compactions=-1)
            yield from self.machine.unlink(sum(len(files) for _, files in pick.inputs), cached_bytes)
        else:
            yield from self._manifest.commit()
            self._commit_edit(job, parent, pick, start_s)
        self._slots.compactions -= 1
        self._end_job(job)

    def _commit_merge(
        self, job: int, parent: int, pick: Merge, work: CompactionWork, start_s: float, merged_s: float
    ) -> None:
        del self._running[job]
        self._remember_round_robin(pick)
        self.tree.install(removed=pick.inputs, added=[(pick.output_level, work.outputs)])
        for _, files in pick.inputs:
            for file in files:
                self.machine.deleted(file)
        for file in work.outputs:
            self.machine.cache.wrote(file)
        same = [files for level, files in pick.inputs if level == pick.output_level]
        same_bytes = sum(f.size_bytes for files in same for f in files) if pick.output_level != pick.start_level else 0
        same_count = sum(len(files) for files in same) if pick.output_level != pick.start_level else 0
        self.recorder.job(
            JobRecord(
                job=job, kind="compaction", reason=pick.reason, start_level=pick.start_level,
                output_level=pick.output_level, queued_s=start_s, start_s=start_s, merged_s=merged_s,
                end_s=self.env.now, input_files=sum(len(files) for _, files in pick.inputs) - same_count,
                input_files_output_level=same_count, output_files=len(work.outputs), read_bytes=work.input_bytes,
                read_bytes_output_level=same_bytes, write_bytes=work.output_bytes, entries_in=work.entries_in,
                entries_out=work.entries_out, score=pick.score, parent=parent, region=self.number, cpu_s=work.cpu_s,
                subcompactions=len(work.parts),
            )
        )  # fmt: skip
        self._install_after(job)

    def _remember_round_robin(self, pick: Merge | Move) -> None:
        if pick.next_key is not None:
            self.tree.round_robin_key[pick.start_level] = pick.next_key

    def _commit_edit(self, job: int, parent: int, pick: Move | Drop, start_s: float) -> None:
        del self._running[job]
        files = sorted((f for _, group in pick.inputs for f in group), key=lambda f: f.lo)
        size = sum(f.size_bytes for f in files)
        move = isinstance(pick, Move)
        added = [(pick.output_level, files)] if isinstance(pick, Move) else []
        if isinstance(pick, Move):
            self._remember_round_robin(pick)
        self.tree.install(removed=pick.inputs, added=added)
        if not move:
            for file in files:
                self.machine.deleted(file)
            self.recorder.dropped(files)
        self.recorder.job(
            JobRecord(
                job=job, kind="trivial_move" if move else "drop", reason=pick.reason, start_level=pick.inputs[0][0],
                output_level=pick.output_level if isinstance(pick, Move) else -1, queued_s=start_s, start_s=start_s,
                merged_s=start_s, end_s=self.env.now, input_files=len(files), input_files_output_level=0,
                output_files=len(files) if move else 0, read_bytes=0, read_bytes_output_level=0, write_bytes=0,
                entries_in=0.0, entries_out=0.0, score=pick.score, parent=parent, region=self.number, cpu_s=0.0,
                subcompactions=1, moved_bytes=size if move else 0,
            )
        )  # fmt: skip
        self._install_after(job)


def _running_job(pick: Merge | Move | Drop) -> RunningJob:
    files = [f for _, group in pick.inputs for f in group]
    lo, hi = min(f.lo for f in files), max(f.hi for f in files)
    if isinstance(pick, Drop):
        return RunningJob(0, 0, lo, hi)
    return RunningJob(
        pick.start_level, pick.output_level, lo, hi, intra_l0=pick.start_level == 0 and pick.output_level == 0
    )
