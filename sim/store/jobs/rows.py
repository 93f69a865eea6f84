"""Rows of the job table for compactions, moves, drops and links, and for unfinished jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lsmlab.models.policies.decisions import Compaction, Drop, Link, Move
from lsmlab.models.policies.scheduling import JobState
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.machine.steps import StepProgress
from lsmlab.sim.store.jobs.job import Job
from lsmlab.sim.store.jobs.work import CompactionWork
from lsmlab.sim.store.records import JobRecord


def compaction_job_record(
    job: Job, pick: Compaction, work: CompactionWork, shard: int, merged_s: float, end_s: float
) -> JobRecord:  # fmt: skip
    """Return the record of a committed compaction."""
    same = [
        f for level, files in pick.inputs if level == pick.output_level != pick.start_level for f in files
    ]
    return JobRecord(
        job=job.number, kind="compaction", reason=pick.reason, start_level=pick.start_level,
        output_level=pick.output_level, queued_s=job.start_s, start_s=job.start_s, merged_s=merged_s,
        end_s=end_s, input_files=sum([len(files) for _, files in pick.inputs]) - len(same),
        input_files_output_level=len(same), output_files=len(work.outputs), read_bytes=work.input_bytes,
        read_bytes_output_level=sum([f.size_bytes for f in same]), write_bytes=work.output_bytes, entries_in=work.entries_in,
        entries_out=work.entries_out, score=pick.score, parent=job.parent, shard=shard, cpu_s=work.cpu_s,
        subcompactions=len(work.parts), halted_s=job.halted_s, pool=job.view.pool.value,
        waits=job.progress.waits,
    )  # fmt: skip


def discarded_record(job: Job, shard: int, end_s: float) -> JobRecord:
    """Return the record of an aborted or failed compaction, with the I/O done before its end and without entries."""
    pick, done = job.pick, job.progress
    assert isinstance(pick, Compaction)
    reason = pick.reason if done.failure is None else done.failure.value
    return JobRecord(
        job=job.number, kind="discarded", reason=reason, start_level=pick.start_level,
        output_level=pick.output_level, queued_s=job.start_s, start_s=job.start_s, merged_s=end_s,
        end_s=end_s, input_files=sum(len(files) for _, files in pick.inputs), input_files_output_level=0,
        output_files=0, read_bytes=round(done.read_bytes), read_bytes_output_level=0,
        write_bytes=round(done.write_bytes), entries_in=0.0, entries_out=0.0, score=pick.score, parent=job.parent,
        shard=shard, cpu_s=0.0, subcompactions=1, halted_s=job.halted_s, pool=job.view.pool.value,
        waits=done.waits,
    )  # fmt: skip


def failed_flush_record(record: JobRecord, done: StepProgress, end_s: float) -> JobRecord:
    """Return the record of a failed flush, `record` if it had succeeded, with the I/O done before the failure."""
    assert done.failure is not None
    return replace(
        record, kind="discarded", reason=done.failure.value, merged_s=end_s, end_s=end_s, output_files=0,
        write_bytes=round(done.write_bytes), entries_in=0.0, entries_out=0.0, cpu_s=0.0,
    )  # fmt: skip


def edit_record(
    job: Job, pick: Move | Drop | Link, files: Sequence[SortedFile], shard: int, end_s: float
) -> JobRecord:
    """Return the record of a trivial move, drop or link, which changes metadata only."""
    moves = not isinstance(pick, Drop)
    kind = "drop" if isinstance(pick, Drop) else "link" if isinstance(pick, Link) else "trivial_move"
    return JobRecord(
        job=job.number, kind=kind, reason=pick.reason,
        start_level=pick.inputs[0][0],
        output_level=-1 if isinstance(pick, Drop) else pick.output_level, queued_s=job.start_s, start_s=job.start_s,
        merged_s=job.start_s, end_s=end_s, input_files=len(files), input_files_output_level=0,
        output_files=len(files) if moves else 0, read_bytes=0, read_bytes_output_level=0, write_bytes=0,
        entries_in=0.0, entries_out=0.0, score=pick.score, parent=job.parent, shard=shard, cpu_s=0.0,
        subcompactions=1, moved_bytes=sum(f.size_bytes for f in files) if moves else 0, pool=job.view.pool.value,
        waits=job.progress.waits,
    )  # fmt: skip


def unfinished_compaction(job: Job, shard: int, now_s: float) -> JobRecord:
    """Return the record of a compaction, move, drop or link that is not committed at the end of the run, `now_s`."""
    pick, work = job.pick, job.work
    if isinstance(pick, Compaction):
        assert work is not None
        merged_s = now_s if job.merged_s is None else job.merged_s
        record = compaction_job_record(job, pick, work, shard, merged_s, now_s)
        if job.view.state is not JobState.RUNNING:
            record.halted_s += now_s - job.halted_since_s
        return unfinished_record(record, job.progress.share_of(work.parts))
    files = [f for _, group in pick.inputs for f in group]
    return unfinished_record(edit_record(job, pick, files, shard, now_s), 0.0)


def unfinished_record(record: JobRecord, share: float) -> JobRecord:
    """Return the record of an unfinished job: `record` of the complete job, with `share` of its amounts."""
    return replace(
        record, unfinished=True, output_files=0, moved_bytes=0, read_bytes=round(share * record.read_bytes),
        read_bytes_output_level=round(share * record.read_bytes_output_level),
        write_bytes=round(share * record.write_bytes), entries_in=share * record.entries_in,
        entries_out=share * record.entries_out, cpu_s=share * record.cpu_s,
    )  # fmt: skip
