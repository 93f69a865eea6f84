"""Flushes and compactions of a LOG in seconds, with CPU time and time in system calls, for the fits of constants.

RocksDB measures per job: `compaction_time_cpu_micros` and the line "Flush lasted" (in 7.8, not in 6.11) give the CPU
time of the thread. With report_bg_io_stats `file_write_nanos` is the time in write calls (of the device with direct
I/O, else of copies into the page cache), and `file_fsync_nanos` the time in fsyncs (with direct I/O only of the
directory).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from lsmlab.validation.logs.history.jobs import LogJob


@dataclass(slots=True)
class TimedJob:
    """One flush or compaction."""

    kind: str = ""
    start_s: float = 0.0
    end_s: float = 0.0
    """Time of the compaction_finished or flush_finished event."""
    records: float = 0.0
    """Input entries."""
    raw_bytes: float = 0.0
    """Bytes of keys and values of the input entries."""
    read_bytes: float = 0.0
    output_bytes: float = 0.0
    """Bytes that a compaction reports as written, including files that were incomplete when the store closed; 0 for a
    flush."""
    input_files: int = 0
    runs: int = 1
    """Sorted runs that were merged."""
    dropped: float = 0.0
    """Entries that a compaction read and did not write."""
    parts: int = 1
    """Number of subcompactions."""
    wall_s: float = 0.0
    """Duration without the commit; 0 if the LOG does not have it."""
    cpu_s: float = 0.0
    """CPU time; 0 if the LOG does not have it."""
    write_s: float = 0.0
    """Time in write calls; 0 without report_bg_io_stats."""
    prepare_s: float = 0.0
    """Time in calls that allocate space for writes; 0 without report_bg_io_stats."""
    sync_s: float | None = None
    """Time in fsync calls; None without report_bg_io_stats."""
    files: list[tuple[float, float]] = field(default_factory=list)
    """Output files: (time at which the file was finished, bytes)."""
    deletions: int = 0
    """Input files that the job deleted."""

    @property
    def work_end_s(self) -> float:
        """End of the part that `wall_s` measures."""
        return self.start_s + self.wall_s

    @property
    def writing_s(self) -> float:
        """Time in write calls and in calls that allocate space for writes."""
        return self.write_s + self.prepare_s

    @property
    def write_bytes(self) -> float:
        """Bytes of the output files."""
        return sum(size for _, size in self.files)


def timed_jobs(jobs: Iterable[LogJob], zero_us: int, entry_bytes: Callable[[LogJob], float]) -> list[TimedJob]:
    """Return the flushes and compactions that have ended and written files, by start time.

    Compactions are included only if the LOG has their CPU time. Aborted jobs are included: their time and bytes are
    real, although the store discarded the output when it closed. Times are seconds after `zero_us`, which is on the
    LOG's clock. `entry_bytes` returns the bytes of key and value of one entry of a job.
    """
    ended = [job for job in jobs if job.end_us is not None and job.outputs]
    return [
        _timed(job, zero_us, entry_bytes)
        for job in sorted(ended, key=lambda job: job.start_us)
        if job.kind == "flush" or (job.kind == "compaction" and job.cpu_s is not None)
    ]


def _timed(job: LogJob, zero_us: int, entry_bytes: Callable[[LogJob], float]) -> TimedJob:
    def seconds(time_us: int | None) -> float:
        return ((time_us or 0) - zero_us) / 1e6

    merges = job.kind == "compaction"
    return TimedJob(
        kind=job.kind,
        start_s=seconds(job.start_us),
        end_s=seconds(job.end_us),
        records=float(job.entries_in),
        raw_bytes=float(job.entries_in * entry_bytes(job)),
        read_bytes=float(job.all_read_bytes),
        output_bytes=float(job.all_write_bytes) if merges else 0.0,
        input_files=sum(map(len, job.inputs.values())),
        runs=job.runs,
        dropped=float(job.entries_in - job.entries_out) if merges else 0.0,
        parts=job.subcompactions,
        wall_s=job.wall_s or 0.0,
        cpu_s=job.cpu_s or 0.0,
        write_s=job.write_s or 0.0,
        prepare_s=job.prepare_s,
        sync_s=job.sync_s,
        files=[
            *((seconds(file.created_us), float(file.size_bytes)) for file in job.outputs),
            *((seconds(job.end_us), float(job.blob_write_bytes)) for _ in (1,) if job.blob_write_bytes),
        ],
        deletions=job.deletions,
    )
