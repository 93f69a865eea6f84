"""Records of what happened to one column family: a background job, a stall, a version edit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.models.policies.decisions import StallCause
from lsmlab.models.tree.files import Slice, SortedFile

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
    unfinished: bool = False
    """Whether the job was still running when the run ended; amounts are those so far."""


@dataclass(slots=True)
class StallInterval:
    """A stretch of time in which one cause held writers back."""

    cause: StallCause
    start_s: float
    end_s: float
    shard: int
    ended_by: int = -1
    """Job whose end let writers go on; -1 if none did."""
    family: str = "default"
    """Name of the column family."""
    unfinished: bool = False
    """Whether writers were still held back when the run ended."""


Files = tuple[int, Sequence[SortedFile]]
"""A level and files of it."""
Links = Sequence[tuple[SortedFile, Slice]]
"""Slices, each with the file that it is linked to."""


@dataclass(frozen=True, slots=True)
class VersionEdit:
    """One change of a tree. A file that is removed and added has moved."""

    time_s: float
    job: int
    """The job that committed the edit; -1 for the tree with which the run begins."""
    removed: Sequence[Files] = ()
    added: Sequence[Files] = ()
    """Files of a level in the order of the tree: L0 newest first."""
    frozen: Sequence[SortedFile] = ()
    """Files that stay on the device in no level, for their slices (LDC)."""
    links: Links = ()
    unreferenced: Sequence[SortedFile] = ()
    """Files that the edit leaves without references: the removed ones, and frozen ones after their last slice."""
