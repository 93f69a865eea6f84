"""Compactions of one store: a thread picks, works in steps, commits; it may be halted or given up between two steps."""

from __future__ import annotations

import math
from functools import partial

from lsmlab.models.policies.decisions import NOTHING, Compaction, DoNothing, Drop, Link, Move, Pick, is_deep
from lsmlab.models.policies.scheduling import Hold, JobKind, JobState, JobView, StartCompaction
from lsmlab.sim.machine.gate import Gate
from lsmlab.sim.machine.machine import Consumer, Events
from lsmlab.sim.store.job_context import JobContext
from lsmlab.sim.store.job_records import compaction_job_record, discarded_record, edit_record
from lsmlab.sim.store.jobs import Job, Work, running_job
from lsmlab.sim.store.purge import Obsolete
from lsmlab.sim.store.work import CompactionWork, compaction_work


class Compacting:
    """The compaction threads of one store."""

    def __init__(self, store: JobContext) -> None:
        self._store = store
        self.jobs: dict[int, Job] = {}
        """Jobs that hold their inputs, by number."""

    def run(self, view: JobView, action: StartCompaction, parent: int) -> Events:
        """Be one compaction thread, from its pick to its end."""
        store = self._store
        job = self._begin(view, action, parent)
        if job is None:
            self._leave(view, worked=False)
            return
        if isinstance(job.pick, Compaction):
            work = compaction_work(store, job.pick)
            store.purge.begin(job.number)
            yield from self._compact(job, work)
            if job.gate is not None and job.gate.discarded:
                store.purge.end(job.number)
                self._note_discarded(job)
                return
            job.gate = None  # from here on it can neither be halted nor given up
            merged_s = store.env.now
            yield from store.manifest.commit()
            self._commit_compaction(job, work, merged_s)
            store.events.compactions_changed(store.env.now, -1)
            gone = store.purge.end(job.number)
            yield from store.machine.unlink(*gone)
        else:
            yield from store.manifest.commit()
            self._commit_edit(job, job.pick)
        self._leave(view)

    # --- start ------------------------------------------------------------------------------------------------------

    def _begin(self, view: JobView, action: StartCompaction, parent: int) -> Job | None:
        """Pick, take the inputs, and let the next thread start if there is more to do."""
        store = self._store
        picker, now_s = store.picker, store.env.now
        pick, lifted = self._pick(action)
        if isinstance(pick, DoNothing):
            return None
        self._lock(pick)
        if not isinstance(pick, Drop) and pick.cursor is not None:
            store.tree.cursor[pick.start_level] = pick.cursor
        job = Job(view, pick, running_job(pick), None, parent, now_s, store.engine)
        view.start_level, view.output_level = job.running.start_level, job.running.output_level
        view.kind = JobKind.DEEP if is_deep(pick) else JobKind.L0
        self._give_way(lifted, action, job)
        self.jobs[view.job] = job
        if store.queue_compactions(picker) or lifted:
            store.schedule_after(parent)
        return job

    def _pick(self, action: StartCompaction) -> tuple[Pick, list[Job]]:
        """The picker's answer, and the jobs whose locks had to be lifted for it (`StartCompaction`)."""
        store = self._store
        lifted: list[Job] = []
        for numbers in ((), action.victims, *((n,) for n in action.holders)):
            more = [job for n in numbers if (job := self.jobs.get(n)) is not None and job.gate is not None]
            if numbers and not more:
                continue
            for job in more:
                self._unlock(job.pick)
            lifted += more
            running = [job.running for job in self.jobs.values() if job not in lifted]
            pick = store.picker.pick(store.tree, running, store.env.now, action.scope)
            if not isinstance(pick, DoNothing):
                return pick, lifted
            if not action.victims and not action.holders:
                break
        for job in lifted:
            self._lock(job.pick)
        return NOTHING, []

    def _give_way(self, lifted: list[Job], action: StartCompaction, to: Job) -> None:
        """Victims halt; whoever lost an input, or the right to write where it meant to, is discarded."""
        for job in lifted:
            if job.shares_input(to.pick) or _writes_overlap(job, to):
                self._discard(job)
            else:
                self._lock(job.pick)
        for number in action.victims:
            victim = self.jobs.get(number)
            if victim is not None:
                self.halt(victim, Hold.PREEMPTED, to.number)

    def _lock(self, pick: Work) -> None:
        for level, files in pick.inputs:
            self._store.tree.mark(level, files, True)

    def _unlock(self, pick: Work) -> None:
        for level, files in pick.inputs:
            self._store.tree.mark(level, files, False)

    # --- halting ----------------------------------------------------------------------------------------------------

    def halt(self, job: Job, hold: Hold, by: int = -1) -> None:
        """Stop a job at the end of its chunk. One that merges nothing is as good as done and goes on."""
        if job.gate is None or job.view.state is not JobState.RUNNING:
            return
        job.gate.close()
        job.view.state, job.view.hold, job.view.preempted_by = JobState.HALTING, hold, by
        job.halted_since_s = self._store.env.now
        self._store.events.compactions_changed(self._store.env.now, -1)
        if hold is Hold.PREEMPTED:
            self._store.view.compactions -= 1

    def pause(self, number: int, hold: Hold) -> None:
        """Halt a job by its number."""
        job = self.jobs.get(number)
        if job is not None:
            self.halt(job, hold)

    def resume(self, number: int) -> None:
        """Let a halted job go on where it stopped."""
        job = self.jobs.get(number)
        if job is None or job.gate is None or job.view.state is JobState.RUNNING:
            return
        if job.view.hold is Hold.PREEMPTED:
            self._store.view.compactions += 1
        job.view.state, job.view.hold, job.view.preempted_by = JobState.RUNNING, None, -1
        job.halted_s += self._store.env.now - job.halted_since_s
        self._store.events.compactions_changed(self._store.env.now, 1)
        job.gate.open()

    def discard(self, number: int) -> None:
        """End a job without a result."""
        job = self.jobs.get(number)
        if job is not None and job.gate is not None:
            self._unlock(job.pick)
            self._discard(job)

    def _discard(self, job: Job) -> None:
        """Give up a job whose locks are lifted already."""
        store = self._store
        assert job.gate is not None
        del self.jobs[job.number]
        store.view.jobs.remove(job.view)
        if job.view.state is JobState.RUNNING:
            store.events.compactions_changed(store.env.now, -1)
        if job.view.hold is not Hold.PREEMPTED:
            store.view.compactions -= 1
        job.gate.discard()
        store.queue_compactions(store.picker)

    def _halted(self, view: JobView) -> None:
        view.state = JobState.HALTED
        self._store.schedule()

    # --- work and commit ----------------------------------------------------------------------------------------------

    def _compact(self, job: Job, work: CompactionWork) -> Events:
        store = self._store
        machine = store.machine
        store.events.compactions_changed(store.env.now, 1)
        gate = job.gate
        if store.scheduler.preemptive:
            gate = job.gate = Gate(store.env, partial(self._halted, job.view))
            gate.threads = len(work.parts)
        yield from machine.start_job()
        consumer = Consumer.L0 if job.running.start_level == 0 else Consumer.DEEPER
        priority = store.scheduler.priority(job.view.kind, store.throttle.cause is not None)
        yield from machine.run_parts(work.parts, consumer, priority, gate)
        if gate is not None and gate.discarded:
            return
        yield from machine.finish_files(math.ceil(len(work.outputs) / len(work.parts)))
        if gate is not None:
            gate.threads = 1
            yield from gate.wait()

    def _commit_compaction(self, job: Job, work: CompactionWork, merged_s: float) -> None:
        store, pick = self._store, job.pick
        assert isinstance(pick, Compaction)
        del self.jobs[job.number]
        self._remember_round_robin(pick)
        cached_bytes = store.machine.cache.cached_bytes(f for _, files in pick.inputs for f in files)
        gone = store.tree.install(pick.inputs, [(pick.output_level, work.outputs)], pick.placement)
        logs = [f.wal_bytes for f in gone if f.wal_bytes]
        store.purge.retire(Obsolete(len(gone) + len(logs), cached_bytes, sum(logs)))
        for file in gone:
            store.machine.deleted(file)
        for file in work.outputs:
            store.machine.cache.wrote(file)
        store.events.job_ended(compaction_job_record(job, pick, work, store.number, merged_s, store.env.now))
        store.install_after(job.number, job.engine)

    def _commit_edit(self, job: Job, pick: Move | Drop | Link) -> None:
        store = self._store
        del self.jobs[job.number]
        groups = pick.inputs[:1] if isinstance(pick, Link) else pick.inputs
        files = sorted((f for _, group in groups for f in group), key=lambda f: f.lo)
        if isinstance(pick, Drop):
            store.tree.install(removed=pick.inputs)
            for file in files:
                store.machine.deleted(file)
            store.events.dropped(files)
        elif isinstance(pick, Link):
            self._unlock(pick)
            store.tree.link(pick.start_level, pick.output_level, pick.inputs[0][1])
        else:
            store.tree.install(removed=pick.inputs, added=[(pick.output_level, files)])
        self._remember_round_robin(pick)
        store.events.job_ended(edit_record(job, pick, files, store.number, store.env.now))
        store.install_after(job.number, job.engine)

    def _remember_round_robin(self, pick: Work) -> None:
        if not isinstance(pick, Drop) and pick.next_key is not None:
            self._store.tree.round_robin_key[pick.start_level] = pick.next_key

    def _note_discarded(self, job: Job) -> None:
        """Its partial outputs are deleted; what they cost shows in the job table and on the device."""
        store = self._store
        assert job.gate is not None
        store.machine.device.trim(job.gate.write_bytes)
        store.events.job_ended(discarded_record(job, store.number, store.env.now))
        store.end_job(job.number)

    def _leave(self, view: JobView, worked: bool = True) -> None:
        store = self._store
        store.view.compactions -= 1
        store.view.jobs.remove(view)
        store.end_job(view.job, worked)


def _writes_overlap(job: Job, other: Job) -> bool:
    a, b = job.running, other.running
    return a.output_level == b.output_level and a.lo <= b.hi and b.lo <= a.hi
