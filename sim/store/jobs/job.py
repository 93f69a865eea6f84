"""State of a running compaction, for the column family, the scheduler and the machine, and rows of the job table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lsmlab.models.engines.engine import Engine
from lsmlab.models.policies.decisions import Compaction, Drop, Link, Move, RunningJob
from lsmlab.models.policies.scheduling import JobState, JobView
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.machine.gate import Gate
from lsmlab.sim.machine.steps import StepProgress
from lsmlab.sim.store.jobs.blobs import BlobWork
from lsmlab.sim.store.jobs.work import CompactionWork
from lsmlab.sim.store.records import JobRecord

PickedWork = Compaction | Move | Drop | Link
"""Result of a pick other than `DoNothing`."""


@dataclass(slots=True, eq=False)
class Job:
    """Compaction, trivial move, drop or link in progress."""

    view: JobView
    pick: PickedWork
    running: RunningJob
    gate: Gate | None
    parent: int
    start_s: float
    engine: Engine
    """Engine with the options at the start of the job."""
    halted_s: float = 0.0
    """Total time of the halts that are over."""
    halted_since_s: float = 0.0
    """Start of the last halt."""
    work: CompactionWork | None = None
    """Outputs and steps of a compaction; None for other jobs."""
    progress: StepProgress = field(default_factory=StepProgress)
    merged_s: float | None = None
    """Time at which the output files of a compaction were complete; None before."""

    @property
    def number(self) -> int:
        """Id of the job within its database."""
        return self.view.job

    def shares_input(self, other: PickedWork) -> bool:
        """Return whether this job and `other` have an input file in common."""
        own = {id(f) for _, files in self.pick.inputs for f in files}
        return any(id(f) in own for _, files in other.inputs for f in files)


def running_job(pick: PickedWork, proximal_level: int = -1) -> RunningJob:
    """Return the levels and key range of a job, with which a picker avoids conflicts."""
    lo, hi = math.inf, -math.inf
    incoming = 0
    output = 0 if isinstance(pick, Drop) else pick.output_level
    for level, group in pick.inputs:
        for file in group:
            if file.lo < lo:
                lo = file.lo
            if file.hi > hi:
                hi = file.hi
            if level != output:
                incoming += file.size_bytes
    if isinstance(pick, Drop):
        return RunningJob(0, 0, int(lo), int(hi))
    start = pick.start_level
    return RunningJob(start, output, int(lo), int(hi), incoming, proximal_level)


def _record(job: Job, kind: str, output_level: int, shard: int, end_s: float, **amounts: Any) -> JobRecord:
    """Return the record of a job that ends at `end_s`; `amounts`: further fields of `JobRecord`."""
    of_pick = {"reason": job.pick.reason, "start_level": job.pick.inputs[0][0], "score": job.pick.score}
    return JobRecord(
        job=job.number, kind=kind, output_level=output_level, queued_s=job.start_s, start_s=job.start_s, end_s=end_s,
        parent=job.parent, shard=shard, halted_s=job.halted_s, pool=job.view.pool.value, waits=job.progress.waits,
        **{**of_pick, **amounts},
    )  # fmt: skip


def compaction_job_record(
    job: Job, pick: Compaction, work: CompactionWork, shard: int, merged_s: float, end_s: float
) -> JobRecord:  # fmt: skip
    """Return the record of a committed compaction."""
    same = [
        f for level, files in pick.inputs if level == pick.output_level != pick.start_level for f in files
    ]
    return _record(
        job, "compaction", pick.output_level, shard, end_s, start_level=pick.start_level, merged_s=merged_s,
        input_files=sum([len(files) for _, files in pick.inputs]) - len(same), input_files_output_level=len(same),
        output_files=len(work.outputs), read_bytes=work.input_bytes,
        read_bytes_output_level=sum([f.size_bytes for f in same]), write_bytes=work.output_bytes,
        entries_in=work.entries_in, entries_out=work.entries_out, cpu_s=work.cpu_s, subcompactions=len(work.parts),
        **_blob_amounts(work.blobs),
    )  # fmt: skip


def _blob_amounts(blobs: BlobWork | None) -> dict[str, int]:
    """Return the blob files and blob bytes of a job, as fields of its record."""
    if blobs is None:
        return {}
    return {
        "blob_files": len(blobs.files), "blob_read_bytes": round(blobs.read.record_bytes), "blob_write_bytes": blobs.write_bytes
    }  # fmt: skip


def discarded_record(job: Job, shard: int, end_s: float) -> JobRecord:
    """Return the record of an aborted or failed compaction, with the I/O done before its end and without entries."""
    pick, done = job.pick, job.progress
    assert isinstance(pick, Compaction)
    return _record(
        job, "discarded", pick.output_level, shard, end_s, start_level=pick.start_level, merged_s=end_s,
        reason=pick.reason if done.failure is None else done.failure.value,
        input_files=sum(len(files) for _, files in pick.inputs), read_bytes=round(done.read_bytes),
        write_bytes=round(done.write_bytes),
    )  # fmt: skip


def failed_flush_record(record: JobRecord, done: StepProgress, end_s: float) -> JobRecord:
    """Return the record of a failed flush, `record` if it had succeeded, with the I/O done before the failure."""
    assert done.failure is not None
    return replace(
        record, kind="discarded", reason=done.failure.value, merged_s=end_s, end_s=end_s, output_files=0,
        write_bytes=round(done.write_bytes), entries_in=0.0, entries_out=0.0, cpu_s=0.0, blob_files=0, blob_write_bytes=0,
    )  # fmt: skip


def edit_record(
    job: Job, pick: Move | Drop | Link, files: Sequence[SortedFile], shard: int, end_s: float
) -> JobRecord:
    """Return the record of a trivial move, drop or link, which changes metadata only."""
    if isinstance(pick, Drop):
        return _record(job, "drop", -1, shard, end_s, merged_s=job.start_s, input_files=len(files))
    kind = "link" if isinstance(pick, Link) else "trivial_move"
    return _record(
        job, kind, pick.output_level, shard, end_s, merged_s=job.start_s, input_files=len(files), output_files=len(files),
        moved_bytes=sum(f.size_bytes for f in files),
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
        entries_out=share * record.entries_out, cpu_s=share * record.cpu_s, blob_files=0,
        blob_read_bytes=round(share * record.blob_read_bytes), blob_write_bytes=round(share * record.blob_write_bytes),
    )  # fmt: skip
