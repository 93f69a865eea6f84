"""Compactions of one column family, from pick to commit. A job may be halted or aborted between two steps."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from lsmlab.models.policies.decisions import NOTHING, Compaction, DoNothing, Drop, Link, Move, Pick, is_deep
from lsmlab.models.policies.rocksdb.errors import RETRY_S, WriteFailure
from lsmlab.models.policies.scheduling import Hold, JobKind, JobState, JobView, StartCompaction
from lsmlab.models.tree.blobs import NO_BLOBS
from lsmlab.sim.machine.gate import Gate
from lsmlab.sim.machine.machine import Consumer, Events
from lsmlab.sim.store.jobs.context import FamilyContext
from lsmlab.sim.store.jobs.job import (
    Job,
    PickedWork,
    compaction_job_record,
    discarded_record,
    edit_record,
    running_job,
    unfinished_compaction,
)
from lsmlab.sim.store.jobs.work import CompactionWork, compaction_work
from lsmlab.sim.store.purge import NOTHING as NO_FILES
from lsmlab.sim.store.purge import Obsolete
from lsmlab.sim.store.records import JobRecord
from lsmlab.sim.store.version_edits import apply_edit, apply_link

_BEFORE_END: Final = 1.0 - 1e-9
"""Largest share of the output after which an I/O error comes: the last write can fail."""


class Compacting:
    """Compaction threads of one column family."""

    def __init__(self, family: FamilyContext) -> None:
        self._family = family
        self.jobs: dict[int, Job] = {}
        """Jobs that have picked their inputs and are neither committed nor aborted, by number."""

    def run(self, view: JobView, action: StartCompaction, parent: int, given: Pick | None = None) -> Events:
        """Run one compaction thread: pick a compaction, do its work, commit it, delete obsolete files.

        `given`: the job of a manual compaction; None: the picker chooses.
        """
        family, database = self._family, self._family.database
        job = self._begin(view, action, parent, given)
        if job is None:
            database.finish_job(view, worked=False)
            return
        if isinstance(job.pick, Compaction):
            if not database.admits(job.pick):
                yield from self._put_back(job, view)
                return
            work = job.work = compaction_work(family, job.pick)
            database.take_slots(view, max(0, len(work.parts) - job.engine.options.max_subcompactions))
            family.purge.begin(job.number)
            yield from self._compact(job, work)
            if job.gate is not None and job.gate.discarded:
                family.purge.end(job.number)
                self._note_discarded(job)
                return
            if job.progress.failure is not None:
                yield from self._fail(job, view, job.progress.failure)
                return
            job.gate = None  # a job that commits can be neither halted nor aborted
            merged_s = job.merged_s = database.env.now
            yield from database.commit_edit()
            job.progress.waits.sync_wait_s += database.env.now - merged_s
            self._commit_compaction(job, work, merged_s)
            family.events.activity(database.env.now, 0, -1)
            obsolete = family.purge.end(job.number)
            yield from database.machine.unlink(*obsolete)
        else:
            yield from database.commit_edit()
            self._commit_edit(job, job.pick)
        database.finish_job(view)

    # --- start ------------------------------------------------------------------------------------------------------

    def _begin(self, view: JobView, action: StartCompaction, parent: int, given: Pick | None) -> Job | None:
        """Pick a job, lock its input files, and start the next compaction if one is due; None: nothing to compact."""
        family = self._family
        now_s = family.database.env.now
        pick, lifted = self._pick(action) if given is None else (given, [])
        if isinstance(pick, DoNothing):
            return None
        family.events.picked(now_s, view.job, family.tree, family.picker)
        self._lock(pick)
        if not isinstance(pick, Drop) and pick.cursor is not None:
            family.tree.cursor[pick.start_level] = pick.cursor
        engine = family.latest_options
        proximal = engine.proximal_level(family.tree, pick) if isinstance(pick, Compaction) else -1
        job = Job(view, pick, running_job(pick, proximal), None, parent, now_s, engine)
        job.progress.waits.slot_wait_s = view.slot_wait_s
        view.start_level, view.output_level = job.running.start_level, job.running.output_level
        view.kind = JobKind.DEEP if is_deep(pick) else JobKind.L0
        self._give_way(lifted, action, job)
        self.jobs[view.job] = job
        family.database.compaction_picked(family, parent, gave_way=bool(lifted))
        return job

    def _pick(self, action: StartCompaction) -> tuple[Pick, list[Job]]:
        """Return the next job and the jobs whose inputs were unlocked to find it (see `StartCompaction`)."""
        family = self._family
        lifted: list[Job] = []
        for numbers in ((), action.victims, *((n,) for n in action.holders)):
            more = [job for n in numbers if (job := self.jobs.get(n)) is not None and job.gate is not None]
            if numbers and not more:
                continue
            for job in more:
                self._lock(job.pick, busy=False)
            lifted += more
            running = [job.running for job in self.jobs.values() if job not in lifted]
            pick = family.picker.pick(family.tree, running, family.database.env.now, action.scope)
            if not isinstance(pick, DoNothing):
                return pick, lifted
            if not action.victims and not action.holders:
                break
        for job in lifted:
            self._lock(job.pick)
        return NOTHING, []

    def _give_way(self, lifted: list[Job], action: StartCompaction, to: Job) -> None:
        """Abort unlocked jobs that conflict with the new job `to`, lock the others again, and halt victims.

        A job conflicts with `to` if both read the same file or write overlapping ranges of the same level.
        """
        for job in lifted:
            if job.shares_input(to.pick) or _writes_overlap(job, to):
                self._discard(job)
            else:
                self._lock(job.pick)
        for number in action.victims:
            victim = self.jobs.get(number)
            if victim is not None:
                self.halt(victim, Hold.PREEMPTED)

    def _lock(self, pick: PickedWork, busy: bool = True) -> None:
        """Lock the input files of a job, or unlock them."""
        for level, files in pick.inputs:
            self._family.tree.mark(level, files, busy)

    # --- halting ----------------------------------------------------------------------------------------------------

    def halt(self, job: Job, hold: Hold) -> None:
        """Halt a running job at the end of its current step. Moves, drops, links and commits have no gate and continue."""
        if job.gate is None or job.view.state is not JobState.RUNNING:
            return
        job.gate.close()
        job.view.state, job.view.hold = JobState.HALTING, hold
        job.halted_since_s = self._family.database.env.now
        self._family.events.activity(self._family.database.env.now, 0, -1)
        if hold is Hold.PREEMPTED:
            self._family.database.compaction_preempted()

    def pause(self, number: int, hold: Hold) -> None:
        """Halt the job with this number at the end of its current step."""
        job = self.jobs.get(number)
        if job is not None:
            self.halt(job, hold)

    def resume(self, number: int) -> None:
        """Resume a halted job where it stopped."""
        job = self.jobs.get(number)
        if job is None or job.gate is None or job.view.state is JobState.RUNNING:
            return
        if job.view.hold is Hold.PREEMPTED:
            self._family.database.compaction_resumed()
        job.view.state, job.view.hold = JobState.RUNNING, None
        job.halted_s += self._family.database.env.now - job.halted_since_s
        self._family.events.activity(self._family.database.env.now, 0, 1)
        job.gate.open()

    def discard(self, number: int) -> None:
        """Abort the job with this number; the tree stays as it is."""
        job = self.jobs.get(number)
        if job is not None and job.gate is not None:
            self._lock(job.pick, busy=False)
            self._discard(job)

    def _discard(self, job: Job) -> None:
        """Abort a job whose input files are unlocked already."""
        family = self._family
        assert job.gate is not None
        del self.jobs[job.number]
        if job.view.state is JobState.RUNNING:
            family.events.activity(family.database.env.now, 0, -1)
        job.gate.discard()
        family.database.compaction_discarded(family, job.view)

    def _halted(self, view: JobView) -> None:
        view.state = JobState.HALTED
        self._family.database.compaction_halted()

    # --- work and commit ----------------------------------------------------------------------------------------------

    def _compact(self, job: Job, work: CompactionWork) -> Events:
        family, database = self._family, self._family.database
        machine = database.machine
        family.events.activity(database.env.now, 0, 1)
        gate = job.gate
        if database.halt_bytes is not None:
            gate = job.gate = Gate(database.env, partial(self._halted, job.view))
            gate.threads = len(work.parts)
        share = machine.faults.next_compaction(database.env.now) if work.output_bytes else None
        if share is not None:
            job.progress.fails_after_bytes = min(share, _BEFORE_END) * sum(work.file_sizes)
        yield from machine.start_job()
        consumer = Consumer.L0 if job.running.start_level == 0 else Consumer.DEEPER
        priority = database.io_priority(job.view.kind)
        yield from machine.run_parts(work.parts, consumer, priority, job.progress, gate)
        if job.progress.failure is not None or (gate is not None and gate.discarded):
            return
        since_s = database.env.now
        cold = bool(work.outputs) and work.outputs[-1].cold
        yield from machine.finish_files(math.ceil(len(work.file_sizes) / len(work.parts)), cold=cold)
        job.progress.waits.sync_wait_s += database.env.now - since_s
        if gate is not None:
            gate.threads = 1
            yield from gate.wait()

    # --- failures -----------------------------------------------------------------------------------------------------

    def _fail(self, job: Job, view: JobView, failure: WriteFailure) -> Events:
        """End a job whose write failed: queue its compaction again, wait, and delete its unfinished files.

        See (behaviour/background-errors.md, A compaction fails).
        """
        family, database = self._family, self._family.database
        self.resume(job.number)  # a thread that fails does not wait at the gate
        database.job_failed(failure, flush=False)
        family.events.activity(database.env.now, 0, -1)
        family.events.abandoned(database.env.now, job.number, job.pick.inputs)
        family.events.job_ended(discarded_record(job, database.number, database.env.now))
        obsolete = family.purge.end(job.number)
        yield from self._put_back(job, view, obsolete)

    def _put_back(self, job: Job, view: JobView, obsolete: Obsolete = NO_FILES) -> Events:
        """Unlock the inputs of a job that commits nothing, queue its compaction again, and wait with the slot."""
        family, database = self._family, self._family.database
        self._lock(job.pick, busy=False)
        del self.jobs[job.number]
        database.compaction_put_back(family)
        yield database.env.timeout(RETRY_S)
        database.machine.discard(job.progress.write_bytes, job.progress.cold_write_bytes)
        if obsolete.files:
            yield from database.machine.unlink(*obsolete)
        database.finish_job(view, worked=False)

    def _commit_compaction(self, job: Job, work: CompactionWork, merged_s: float) -> None:
        family, database, pick = self._family, self._family.database, job.pick
        assert isinstance(pick, Compaction)
        del self.jobs[job.number]
        self._remember_round_robin(pick)
        blobs = NO_BLOBS if work.blobs is None else work.blobs.edit
        unreferenced, dropped = apply_edit(
            family, job.number, pick.inputs, work.added(pick.output_level), pick.placement, blobs
        )
        logs = [f.wal_bytes for f in unreferenced if f.wal_bytes]
        file_bytes = sum([f.size_bytes for f in unreferenced]) + sum([f.size_bytes for f in dropped])
        family.purge.retire(Obsolete(len(unreferenced) + len(dropped) + len(logs), file_bytes, sum(logs)))
        database.machine.deleted(unreferenced)
        database.machine.files_deleted(dropped)
        database.machine.cache.add_written(work.outputs)
        database.machine.cache.add_written(blobs.added)
        family.events.job_ended(compaction_job_record(job, pick, work, database.number, merged_s, database.env.now))
        family.install_after(job.number, job.engine)

    def _commit_edit(self, job: Job, pick: Move | Drop | Link) -> None:
        family, database = self._family, self._family.database
        del self.jobs[job.number]
        groups = pick.inputs[:1] if isinstance(pick, Link) else pick.inputs
        files = sorted((f for _, group in groups for f in group), key=lambda f: f.lo)
        if isinstance(pick, Drop):
            _, dropped = apply_edit(family, job.number, pick.inputs)
            database.machine.deleted(files)
            database.machine.files_deleted(dropped)
            family.events.dropped(files)
        elif isinstance(pick, Link):
            self._lock(pick, busy=False)
            apply_link(family, job.number, pick.start_level, pick.output_level, pick.inputs[0][1])
        else:
            apply_edit(family, job.number, pick.inputs, [(pick.output_level, files)])
        self._remember_round_robin(pick)
        family.events.job_ended(edit_record(job, pick, files, database.number, database.env.now))
        family.install_after(job.number, job.engine)

    def unfinished(self) -> list[JobRecord]:
        """Return the records of the jobs that are running or halted at the end of the run."""
        database = self._family.database
        return [unfinished_compaction(job, database.number, database.env.now) for job in self.jobs.values()]

    def _remember_round_robin(self, pick: PickedWork) -> None:
        if not isinstance(pick, Drop) and pick.next_key is not None:
            self._family.tree.round_robin_key[pick.start_level] = pick.next_key

    def _note_discarded(self, job: Job) -> None:
        """Delete the partial outputs of an aborted job; its I/O still counts in the job table and on the device."""
        family = self._family
        assert job.gate is not None
        family.database.machine.discard(job.progress.write_bytes, job.progress.cold_write_bytes)
        family.events.abandoned(family.database.env.now, job.number, job.pick.inputs)
        family.events.job_ended(discarded_record(job, family.database.number, family.database.env.now))
        family.database.end_job(job.number)


def _writes_overlap(job: Job, other: Job) -> bool:
    a, b = job.running, other.running
    return a.output_level == b.output_level and a.lo <= b.hi and b.lo <= a.hi
