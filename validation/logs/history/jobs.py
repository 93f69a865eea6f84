"""Background jobs of a LOG: one record per flush, compaction, trivial move and FIFO deletion."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final


@dataclass(slots=True)
class LogFile:
    """One SST file."""

    number: int
    size_bytes: int
    entries: int | None = None
    deletions: int = 0
    raw_key_bytes: int = 0
    raw_value_bytes: int = 0
    data_bytes: int = 0
    created_us: int | None = None
    """Time at which the file was finished, including its fsync."""
    exact: bool = True
    """False if the size is rounded. Sizes of files written before the LOG began are known only from "Compaction start
    summary" lines, which round them."""


@dataclass(slots=True)
class LogJob:
    """One background job."""

    job: int
    kind: str
    """flush, compaction, trivial_move, drop (FIFO deletion) or recovery (flush of entries replayed from the WAL)."""
    opening: int
    thread: str
    start_us: int
    end_us: int | None = None
    """Time of the commit; None if the LOG does not show it."""
    column_family: str = "default"
    reason: str = ""
    start_level: int = -1
    output_level: int = -1
    score: float = 0.0
    inputs: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Numbers of the input files by level."""
    input_bytes: dict[int, int] = field(default_factory=dict)
    """Bytes read by level. A level is absent if the sizes of its input files are unknown."""
    outputs: list[LogFile] = field(default_factory=list)
    output_files: int = 0
    read_bytes: int = 0
    write_bytes: int = 0
    moved_bytes: int = 0
    entries_in: int = 0
    entries_out: int = 0
    deletes_in: int = 0
    memtables: int = 0
    payload_bytes: int | None = None
    """Bytes of keys and values in the memtables of a flush (total_data_size)."""
    wall_s: float | None = None
    """Duration without the commit: compaction_time_micros, or for a flush the line "Flush lasted" (in 7.8, not in
    6.11)."""
    cpu_s: float | None = None
    """CPU time of the job's threads: compaction_time_cpu_micros, or for a flush "Flush lasted"."""
    write_s: float | None = None
    """Time in write calls (file_write_nanos); None without report_bg_io_stats."""
    prepare_s: float = 0.0
    """Time in calls that allocate space for writes (file_prepare_write_nanos)."""
    sync_s: float | None = None
    """Time in fsyncs; None without report_bg_io_stats."""
    subcompactions: int = 1
    status: str = "unfinished"
    """ok, aborted (the output was discarded), or unfinished (the LOG does not show the end)."""
    lsm_state: tuple[int, ...] | None = None
    """Files per level after the commit."""
    immutables: int | None = None
    """Immutable memtables after the commit."""
    line: int = 0
    """Line number of the job's last event."""
    summary: str = ""
    """Input files from the line "Compaction start summary"."""
    deleted_us: list[int] = field(default_factory=list)
    """Times at which the job deleted its input files."""

    @property
    def writing_s(self) -> float | None:
        """Time in write calls and in calls that allocate space for writes; None without report_bg_io_stats."""
        return None if self.write_s is None else self.write_s + self.prepare_s

    @property
    def done(self) -> bool:
        """Whether the job's result was committed."""
        return self.status == "ok"

    @property
    def input_files(self) -> int:
        """Number of input files from levels other than the output level."""
        return sum(len(files) for level, files in self.inputs.items() if level != self.output_level)

    @property
    def input_files_output_level(self) -> int:
        """Number of input files from the output level."""
        return len(self.inputs.get(self.output_level, ()))


@dataclass
class LogJobs:
    """All jobs of a LOG, and its inconsistencies."""

    jobs: list[LogJob] = field(default_factory=list)
    """Jobs by start time."""
    files: dict[int, LogFile] = field(default_factory=dict)
    """Known SST files by number. If several stores in one LOG use a number, the last file with it is kept."""
    families: list[str] = field(default_factory=list)
    """Names of the column families."""
    problems: Counter[str] = field(default_factory=Counter)
    """Number of gaps and contradictions by kind; `PROBLEMS` explains the kinds."""

    def done(self, *kinds: str) -> list[LogJob]:
        """Return the committed jobs of these kinds."""
        return [job for job in self.jobs if job.kind in kinds and job.done]


PROBLEMS: Final = {
    "missing_starts": "jobs with an end but no start",
    "missing_ends": "jobs without an end whose thread started another job",
    "unfinished": "jobs still running at the end of the LOG or at the next open of the store",
    "contradictions": "numbers of a job that differ between its event, its lines and its files",
    "unknown_numbers": "numbers of a job that the LOG does not contain (counted as 0)",
    "orphan_files": "SST files that no job in the LOG wrote",
    "lsm_jumps": "commits whose files per level do not follow from the jobs before them (jobs are missing)",
    "table_mismatches": "statistics tables that contradict the sum of the jobs before them",
    "stall_mismatches": "stall counters that contradict the number of stall lines before them",
    "missing_stall_lines": "recomputed stall conditions without a stall line although L0 files or memtables are at a limit",
    "no_events": "file without job events, such as db_bench's output (all numbers are from its last statistics table)",
    "no_beginning": "LOG that begins after the store was opened",
    "no_end": "LOG that ends before the store was closed",
}
"""Meaning of each kind that `LogJobs.problems` and `check_log` count."""
