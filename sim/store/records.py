"""Records of what happened to one store: a background job, a stall."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from lsmlab.models.policies.decisions import StallCause

CAUSES: Final = tuple(StallCause)


@dataclass(slots=True)
class JobRecord:
    """One background job, as a row of jobs.parquet."""

    job: int
    kind: str
    """flush, compaction, trivial_move, drop, link, or discarded: a compaction that was given up."""
    reason: str
    start_level: int
    """-1 for a flush."""
    output_level: int
    """-1 for a drop."""
    queued_s: float
    start_s: float
    merged_s: float
    """End of the merge itself; the manifest commit follows."""
    end_s: float
    """Commit: the new version is installed."""
    input_files: int
    """Input files from levels other than the output level."""
    input_files_output_level: int
    output_files: int
    read_bytes: int
    """All input bytes (file sizes, as RocksDB counts them), whether or not they came from the device."""
    read_bytes_output_level: int
    write_bytes: int
    entries_in: float
    entries_out: float
    score: float
    parent: int
    """The job whose end made this one start; -1 if a memtable switch did."""
    shard: int
    cpu_s: float
    subcompactions: int
    moved_bytes: int = 0
    halted_s: float = 0.0
    """Time between start and end in which a scheduler had it halted."""
    pool: str = "low"
    """Threads that it ran on: high (flushes, and what a scheduler puts beside them) or low; moves and drops as well."""


JOB_COLUMNS: Final = tuple(f.name for f in fields(JobRecord))


@dataclass(slots=True)
class StallInterval:
    """A stretch of time in which one cause held writers back."""

    cause: StallCause
    start_s: float
    end_s: float
    shard: int
    ended_by: int = -1
    """Job whose end let writers go on; -1 if none did."""
