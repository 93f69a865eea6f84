"""Rows of the job table for compactions."""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.models.policies.decisions import Compaction, Drop, Link, Move
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.store.jobs import Job
from lsmlab.sim.store.records import JobRecord
from lsmlab.sim.store.work import CompactionWork


def compaction_job_record(
    job: Job, pick: Compaction, work: CompactionWork, shard: int, merged_s: float, end_s: float
) -> JobRecord:  # fmt: skip
    """A merge that has committed."""
    same = [files for level, files in pick.inputs if level == pick.output_level]
    same_bytes = sum(f.size_bytes for files in same for f in files) if pick.output_level != pick.start_level else 0
    same_count = sum(len(files) for files in same) if pick.output_level != pick.start_level else 0
    return JobRecord(
        job=job.number, kind="compaction", reason=pick.reason, start_level=pick.start_level,
        output_level=pick.output_level, queued_s=job.start_s, start_s=job.start_s, merged_s=merged_s,
        end_s=end_s, input_files=sum(len(files) for _, files in pick.inputs) - same_count,
        input_files_output_level=same_count, output_files=len(work.outputs), read_bytes=work.input_bytes,
        read_bytes_output_level=same_bytes, write_bytes=work.output_bytes, entries_in=work.entries_in,
        entries_out=work.entries_out, score=pick.score, parent=job.parent, shard=shard, cpu_s=work.cpu_s,
        subcompactions=len(work.parts), halted_s=job.halted_s, pool=job.view.pool.value,
    )  # fmt: skip


def discarded_record(job: Job, shard: int, end_s: float) -> JobRecord:
    """A merge that was given up: its I/O is spent, its entries are where they were."""
    pick, gate = job.pick, job.gate
    assert isinstance(pick, Compaction)
    assert gate is not None
    return JobRecord(
        job=job.number, kind="discarded", reason=pick.reason, start_level=pick.start_level,
        output_level=pick.output_level, queued_s=job.start_s, start_s=job.start_s, merged_s=end_s,
        end_s=end_s, input_files=sum(len(files) for _, files in pick.inputs), input_files_output_level=0,
        output_files=0, read_bytes=round(gate.read_bytes), read_bytes_output_level=0,
        write_bytes=round(gate.write_bytes), entries_in=0.0, entries_out=0.0, score=pick.score, parent=job.parent,
        shard=shard, cpu_s=0.0, subcompactions=1, halted_s=job.halted_s, pool=job.view.pool.value,
    )  # fmt: skip


def edit_record(
    job: Job, pick: Move | Drop | Link, files: Sequence[SortedFile], shard: int, end_s: float
) -> JobRecord:
    """A job that only changed metadata."""
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
    )  # fmt: skip
