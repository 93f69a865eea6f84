"""Flushes of one column family: each writes immutable memtables to an L0 file; commits follow memtable order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lsmlab.models.engines.engine import Engine
from lsmlab.models.policies.rocksdb.errors import RETRY_S, WriteFailure
from lsmlab.models.policies.scheduling import JobView
from lsmlab.models.tree.blobs import NO_BLOBS
from lsmlab.sim.machine.machine import Consumer, Events
from lsmlab.sim.machine.steps import JobWaits, StepProgress
from lsmlab.sim.store.jobs.context import AtomicFlush, FamilyContext
from lsmlab.sim.store.jobs.job import failed_flush_record, unfinished_record
from lsmlab.sim.store.jobs.merging import merged_memtables
from lsmlab.sim.store.jobs.work import FlushWork, flush_work
from lsmlab.sim.store.memtables import Memtable
from lsmlab.sim.store.records import JobRecord
from lsmlab.sim.store.version_edits import apply_edit


@dataclass(slots=True)
class _Flush:
    """Flush from its start to its commit."""

    memtables: list[Memtable]
    engine: Engine
    """Engine with the options at the start of the flush."""
    work: FlushWork
    record: JobRecord
    """Record of the complete flush; its end times are set as the flush proceeds."""
    progress: StepProgress = field(default_factory=StepProgress)
    finished: bool = False
    """Whether the file is written; its commit waits for older flushes."""
    obsolete_wals_bytes: list[float] = field(default_factory=list)
    """Bytes of each WAL that became obsolete with the commit. Without writes to the WAL there is none: `DBImpl::SwitchMemtable`
    goes on with an empty WAL (`log_empty_`)."""


class Flushing:
    """Flush threads of one column family."""

    def __init__(self, family: FamilyContext) -> None:
        self._family = family
        self._flushes: list[_Flush] = []

    def run(self, view: JobView, parent: int, group: AtomicFlush | None = None) -> Events:
        """Run one flush thread: pick memtables, write their file, commit it, delete obsolete files.

        See (behaviour/flush.md, Flush requests and picking).

        `group`: column families to flush together; this thread writes their files one after the other
        (`AtomicFlushMemTablesToOutputFiles`).
        """
        database = self._family.database
        asked: Sequence[tuple[Flushing, Memtable | None]] = ((self, None),)
        if group is not None:
            asked = list(zip(group.threads, group.newest, strict=True))
        begun = [(thread, flush) for thread, newest in asked if (flush := thread._begin(view, parent, newest)) is not None]
        if not begun:
            database.finish_job(view, worked=False)
            return
        for thread, flush in begun:
            yield from thread._write(view, flush)
        failure = next((flush.progress.failure for _, flush in begun if flush.progress.failure is not None), None)
        if failure is not None:
            yield from self._fail(view, begun, failure)
            return
        for _, flush in begun:
            flush.finished = True
        if all(thread._flushes[0] is flush for thread, flush in begun):
            since_s = database.env.now
            yield from database.commit_edit()
            for _, flush in begun:
                flush.progress.waits.sync_wait_s += database.env.now - since_s
            if len(begun) > 1:
                database.commit_flushes(view.job)
            else:
                begun[0][0].commit(view.job, begun[0][1].engine)
            database.memory_freed()
        for thread, flush in begun:
            yield from thread._end(view, flush)
        database.finish_job(view)

    def _begin(self, view: JobView, parent: int, newest: Memtable | None) -> _Flush | None:
        """Pick the waiting memtables and compute the work of their flush; None if no memtable waits.

        `newest`: last memtable to pick; None: all.
        """
        family, picked = self._family, self._pick_memtables(newest)
        if not picked:
            return None
        engine = family.latest_options
        family.purge.begin(view.job)
        merged, ranges = merged_memtables(family, picked)
        work = flush_work(family, merged, sum(m.entries for m in picked), ranges)
        flush = _Flush(picked, engine, work, self._record(view, parent, work, picked))
        flush.progress.waits = flush.record.waits
        self._flushes.append(flush)
        return flush

    def _write(self, view: JobView, flush: _Flush) -> Events:
        """Write the L0 file of a flush."""
        family, database = self._family, self._family.database
        machine, file = database.machine, flush.work.file
        family.events.activity(database.env.now, 1, 0)
        yield from machine.start_job()
        priority = database.io_priority(view.kind)
        yield from machine.run_steps(flush.work.steps, Consumer.FLUSH, priority, flush.progress)
        if flush.progress.failure is not None:
            return
        since_s = database.env.now
        yield from machine.finish_files(1 if flush.work.blobs is None else 1 + len(flush.work.blobs.files))
        flush.progress.waits.sync_wait_s += database.env.now - since_s
        if file is not None and family.latest_options.picker.values_in_wal:
            file.wal_bytes = sum(m.wal_bytes for m in flush.memtables)  # the WALs live as long as the file
        flush.record.merged_s = database.env.now

    def _end(self, view: JobView, flush: _Flush) -> Events:
        """Delete obsolete files and the WALs that became obsolete with the commit."""
        family = self._family
        obsolete = family.purge.end(view.job)
        machine = family.database.machine
        wals = flush.obsolete_wals_bytes
        yield from machine.unlink(obsolete.files + len(wals), obsolete.file_bytes, obsolete.wal_bytes + sum(wals))
        family.events.activity(family.database.env.now, -1, 0)

    def _fail(self, view: JobView, begun: Sequence[tuple[Flushing, _Flush]], failure: WriteFailure) -> Events:
        """End a flush job whose write failed: its memtables wait for another flush (`RollbackMemtableFlush`).

        See (behaviour/background-errors.md, A flush fails).
        """
        database, written_bytes, obsolete = self._family.database, 0.0, []
        for thread, flush in begun:
            flush.progress.failure = failure
            written_bytes += thread._roll_back(flush)
            obsolete.append(thread._family.purge.end(view.job))
            thread._family.events.activity(database.env.now, -1, 0)
        database.job_failed(failure, flush=True)
        yield database.env.timeout(RETRY_S)
        database.machine.discard(written_bytes)
        for files in obsolete:
            if files.files:
                yield from database.machine.unlink(*files)
        database.finish_job(view, worked=False)

    def _roll_back(self, flush: _Flush) -> float:
        """Let the memtables of a flush wait again, and those of the flushes after it. Return the bytes to delete."""
        now_s, written_bytes = self._family.database.env.now, 0.0
        place = self._flushes.index(flush)
        for one in self._flushes[place:]:
            one.progress.failure = flush.progress.failure
            if one is flush or one.finished:  # a later flush that still runs fails at its next write
                self._flushes.remove(one)
                written_bytes += one.progress.write_bytes
                self._family.events.job_ended(failed_flush_record(one.record, one.progress, now_s))
                for memtable in one.memtables:
                    memtable.in_progress = False
        return written_bytes

    def _pick_memtables(self, newest: Memtable | None) -> list[Memtable]:
        immutables, picked = self._family.immutables, list[Memtable]()
        if newest is not None:
            immutables = immutables[: immutables.index(newest) + 1] if newest in immutables else []
        for memtable in immutables:
            if memtable.in_progress:
                if picked:
                    break  # a flush picks consecutive memtables only (7.7+); with one flush thread there is never a gap
                continue
            memtable.in_progress = True
            picked.append(memtable)
            if self._family.latest_options.flushes_one_memtable:
                self._family.request_flush()  # flush the next memtable in another job
                break
        return picked

    def commit(self, job: int, began_with: Engine | None = None) -> None:
        """Commit the finished flushes in memtable order, up to the oldest unfinished one, in one MANIFEST write.

        `began_with`: engine with the options at the start of the committing job; None: at the start of each flush.
        See (behaviour/flush.md, Commit order).
        """
        family, database = self._family, self._family.database
        while self._flushes and self._flushes[0].finished:
            flush = self._flushes.pop(0)
            record, file = flush.record, flush.work.file
            for memtable in flush.memtables:
                family.immutables.remove(memtable)
                family.history.add(memtable.memory)
            family.trim_history()
            for wal_bytes in database.delete_wals():
                if wal_bytes and (file is None or not file.wal_bytes):
                    database.machine.wal_deleted(wal_bytes)
                    flush.obsolete_wals_bytes.append(wal_bytes)
            if file is not None:
                record.output_level = family.latest_options.picker.flush_level(family.tree, file.lo, file.hi)
                blobs = NO_BLOBS if flush.work.blobs is None else flush.work.blobs.edit
                apply_edit(family, record.job, added=[(record.output_level, [file])], blobs=blobs)
                database.machine.cache.add_written([file])
                database.machine.cache.add_written(blobs.added)
            record.end_s = database.env.now
            family.events.job_ended(record)
            family.install_after(job, began_with or flush.engine)

    def unfinished(self) -> list[JobRecord]:
        """Return the records of the flushes that are not committed at the end of the run."""
        now_s = self._family.database.env.now
        records = []
        for flush in self._flushes:
            merged_s = flush.record.merged_s if flush.finished else now_s
            whole = replace(flush.record, merged_s=merged_s, end_s=now_s)
            records.append(unfinished_record(whole, flush.progress.share_of([flush.work.steps])))
        return records

    def _record(self, view: JobView, parent: int, work: FlushWork, picked: list[Memtable]) -> JobRecord:
        database, file = self._family.database, work.file
        start_s = database.env.now
        return JobRecord(
            job=view.job, kind="flush", reason=picked[0].reason, start_level=-1, output_level=0, queued_s=start_s,
            start_s=start_s, merged_s=start_s, end_s=start_s, input_files=len(picked),
            output_files=int(file is not None), write_bytes=file.size_bytes if file is not None else 0,
            entries_in=sum(m.entries for m in picked), entries_out=file.entries if file is not None else 0.0,
            parent=parent, shard=database.number, cpu_s=work.cpu_s, pool=view.pool.value,
            waits=JobWaits(slot_wait_s=view.slot_wait_s),
            blob_files=0 if work.blobs is None else len(work.blobs.files),
            blob_write_bytes=0 if work.blobs is None else work.blobs.write_bytes,
        )  # fmt: skip
