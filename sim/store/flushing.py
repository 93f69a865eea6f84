"""Flushes of one store: immutable memtables become L0 files, and are committed in the order in which they filled."""

from __future__ import annotations

from dataclasses import dataclass

from lsmlab.models.engines.engine import Engine
from lsmlab.models.policies.scheduling import JobView
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.merge import merge_runs
from lsmlab.sim.machine.machine import Consumer, Events
from lsmlab.sim.store.job_context import JobContext
from lsmlab.sim.store.memtables import Memtable
from lsmlab.sim.store.records import JobRecord
from lsmlab.sim.store.work import FlushWork, flush_work


@dataclass(slots=True)
class _Flush:
    """A flush that has ended its work but may have to wait for older ones before it commits."""

    memtables: list[Memtable]
    file: SortedFile | None = None
    record: JobRecord | None = None
    finished: bool = False


class Flushing:
    """The flush threads of one store."""

    def __init__(self, store: JobContext) -> None:
        self._store = store
        self._flushes: list[_Flush] = []

    def run(self, view: JobView, parent: int) -> Events:
        """One flush thread: take what waits, write it, commit it (behaviour/flush.md, Flush requests and picking)."""
        store = self._store
        machine, env = store.machine, store.env
        picked = self._pick_memtables()
        if not picked:
            self._leave(view, worked=False)
            return
        start_s = env.now
        flush, engine = _Flush(picked), store.engine
        self._flushes.append(flush)
        store.purge.begin(view.job)
        keys, tombstones = (
            (picked[0].keys, picked[0].tombstones)
            if len(picked) == 1
            else merge_runs([(m.keys, m.tombstones) for m in reversed(picked)])
        )
        work = flush_work(store, keys, tombstones, sum(m.entries for m in picked))
        store.events.flushes_changed(env.now, 1)
        yield from machine.start_job()
        priority = store.scheduler.priority(view.kind, store.throttle.cause is not None)
        yield from machine.run_steps(work.steps, Consumer.FLUSH, priority)
        yield from machine.finish_files(1)
        flush.file = work.file
        wal_bytes = sum(m.wal_bytes for m in picked)
        if work.file is not None and store.engine.values_in_wal:
            work.file.wal_bytes, wal_bytes = wal_bytes, 0.0  # it lives as long as the file
        flush.record = self._record(view, parent, start_s, work, picked)
        flush.finished = True
        if self._flushes[0] is flush:
            yield from store.manifest.commit()
            self._commit(view.job, engine)
        gone = store.purge.end(view.job)
        yield from machine.unlink(gone.files + 1, gone.cached_bytes, gone.wal_bytes + wal_bytes)
        store.events.flushes_changed(env.now, -1)
        self._leave(view)

    def _leave(self, view: JobView, worked: bool = True) -> None:
        store = self._store
        store.view.flushes -= 1
        store.view.jobs.remove(view)
        store.end_job(view.job, worked)

    def _pick_memtables(self) -> list[Memtable]:
        picked: list[Memtable] = []
        for memtable in self._store.immutables:
            if memtable.in_progress:
                if picked:
                    break  # only consecutive memtables (7.8+); with one flush thread there is never a gap
                continue
            memtable.in_progress = True
            picked.append(memtable)
            if self._store.engine.flushes_one_memtable:
                self._store.request_flush()  # of the next one
                break
        return picked

    def _commit(self, job: int, began_with: Engine) -> None:
        """Commit all finished flushes from the oldest on, in memtable order, in one manifest write.

        See (behaviour/flush.md, Commit order).
        """
        store = self._store
        while self._flushes and self._flushes[0].finished:
            flush = self._flushes.pop(0)
            for memtable in flush.memtables:
                store.immutables.remove(memtable)
                if flush.file is None or not flush.file.wal_bytes:
                    store.machine.wal_deleted(memtable.wal_bytes)
            record = flush.record
            assert record is not None
            if flush.file is not None:
                file = flush.file
                record.output_level = store.engine.flush_level(store.tree, file.lo, file.hi)
                store.tree.install(added=[(record.output_level, [file])])
                store.machine.cache.wrote(file)
            record.end_s = store.env.now
            store.events.job_ended(record)
            store.install_after(job, began_with)

    def _record(self, view: JobView, parent: int, start_s: float, work: FlushWork, picked: list[Memtable]) -> JobRecord:
        store, file = self._store, work.file
        return JobRecord(
            job=view.job, kind="flush", reason="Write Buffer Full", start_level=-1, output_level=0, queued_s=start_s,
            start_s=start_s, merged_s=store.env.now, end_s=store.env.now, input_files=len(picked),
            input_files_output_level=0, output_files=int(file is not None), read_bytes=0,
            read_bytes_output_level=0, write_bytes=file.size_bytes if file is not None else 0,
            entries_in=sum(m.entries for m in picked), entries_out=file.entries if file is not None else 0.0,
            score=0.0, parent=parent, shard=store.number, cpu_s=work.cpu_s, subcompactions=1, pool=view.pool.value,
        )  # fmt: skip
