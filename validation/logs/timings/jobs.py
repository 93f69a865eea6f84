"""Flushes and compactions of a LOG as fits take them: in seconds, with their CPU time and the time in system calls.

RocksDB measures per job: `compaction_time_cpu_micros` and the "Flush lasted" line (of 7.8, not of 6.11) count the thread's
CPU time; with report_bg_io_stats `file_write_nanos` is the time in write calls (with direct I/O that of the device, else
that of copies into the page cache), `file_fsync_nanos` that in fsyncs (with direct I/O only the directory's).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lsmlab.validation.logs.history.jobs import LogJob


@dataclass(slots=True)
class Job:
    """One flush or compaction."""

    kind: str = ""
    start_s: float = 0.0
    end_s: float = 0.0
    """When it said that it was finished: of the merge; of a flush its commit."""
    records: float = 0.0
    raw_bytes: float = 0.0
    """Keys and values that went in."""
    read_bytes: float = 0.0
    output_bytes: float = 0.0
    """Of a merge, as it says itself: with files that it did not finish when the store closed."""
    runs: int = 1
    """Sorted runs that were merged."""
    dropped: float = 0.0
    """Records that a merge read and did not write."""
    parts: int = 1
    wall_s: float = 0.0
    """Without the commit; 0 where the LOG does not tell."""
    cpu_s: float = 0.0
    """0 where the LOG does not tell."""
    write_s: float = 0.0
    """In write calls, where the LOG has I/O statistics."""
    prepare_s: float = 0.0
    """In calls that make room for writes."""
    sync_s: float | None = None
    """In fsync calls, where the LOG has I/O statistics."""
    files: list[tuple[float, float]] = field(default_factory=list)
    """Output files: when finished, bytes."""
    deleted_s: list[float] = field(default_factory=list)
    """When it deleted its inputs, one after the other."""

    @property
    def work_end_s(self) -> float:
        """End of the part that `wall_s` measures."""
        return self.start_s + self.wall_s

    @property
    def writing_s(self) -> float:
        """In write calls, and those that make room for them."""
        return self.write_s + self.prepare_s

    @property
    def write_bytes(self) -> float:
        """Of its output files."""
        return sum(size for _, size in self.files)


def timed_jobs(jobs: Iterable[LogJob], zero_us: int, entry_bytes: float) -> list[Job]:
    """Flushes and compactions that have ended and made files, by start; compactions only where the LOG has their CPU time.

    Times are seconds after `zero_us`, which is on the LOG's clock; `entry_bytes` are key and value of one entry. Jobs whose
    output the store threw away when it closed count too: their time and their bytes are real.
    """
    ended = [job for job in jobs if job.end_us is not None and job.outputs]
    return [
        _timed(job, zero_us, entry_bytes)
        for job in sorted(ended, key=lambda job: job.start_us)
        if job.kind == "flush" or (job.kind == "compaction" and job.cpu_s is not None)
    ]


def _timed(job: LogJob, zero_us: int, entry_bytes: float) -> Job:
    def seconds(time_us: int | None) -> float:
        return ((time_us or 0) - zero_us) / 1e6

    merges = job.kind == "compaction"
    return Job(
        kind=job.kind,
        start_s=seconds(job.start_us),
        end_s=seconds(job.end_us),
        records=float(job.entries_in),
        raw_bytes=float(job.entries_in * entry_bytes),
        read_bytes=float(job.read_bytes),
        output_bytes=float(job.write_bytes) if merges else 0.0,
        runs=max(1, sum(len(files) if level == 0 else 1 for level, files in job.inputs.items())),
        dropped=float(job.entries_in - job.entries_out) if merges else 0.0,
        parts=job.subcompactions,
        wall_s=job.wall_s or 0.0,
        cpu_s=job.cpu_s or 0.0,
        write_s=job.write_s or 0.0,
        prepare_s=job.prepare_s,
        sync_s=job.sync_s,
        files=[(seconds(file.created_us), float(file.size_bytes)) for file in job.outputs],
        deleted_s=[seconds(time_us) for time_us in job.deleted_us],
    )
