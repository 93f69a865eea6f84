"""Records of one column family: background job, stall interval, version edit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lsmlab.models.policies.decisions import THROTTLE_CAUSES, StallCause
from lsmlab.models.tree.blobs import NO_BLOBS, BlobEdit, BlobFile
from lsmlab.models.tree.files import Slice, SortedFile
from lsmlab.sim.machine.steps import JobWaits

NO_JOB: Final = -1
"""Job number of the version edit that builds the tree at the start of a run; parent of a job that no job has started."""
CAUSES: Final = tuple(StallCause)


def shown_causes(occurred: Iterable[StallCause]) -> tuple[StallCause, ...]:
    """Return the causes that results name: those of RocksDB's throttle, and others that `occurred`."""
    found = set(occurred)
    return tuple(cause for cause in CAUSES if cause in THROTTLE_CAUSES or cause in found)



@dataclass(slots=True)
class JobRecord:
    """Background job, as a row of jobs.parquet."""

    job: int
    kind: str
    """flush, compaction, trivial_move, drop, link, or discarded: an aborted compaction."""
    reason: str
    start_level: int
    """-1 for a flush."""
    output_level: int
    """-1 for a drop."""
    queued_s: float
    start_s: float
    merged_s: float
    """Time at which the output files are complete; the MANIFEST commit follows."""
    end_s: float
    """Time of the commit, which installs the new version."""
    input_files: int = 0
    """Input files from levels other than the output level."""
    input_files_output_level: int = 0
    output_files: int = 0
    read_bytes: int = 0
    """Sizes of all input files, as RocksDB counts them, even where reads hit the page cache."""
    read_bytes_output_level: int = 0
    write_bytes: int = 0
    entries_in: float = 0.0
    entries_out: float = 0.0
    score: float = 0.0
    parent: int = NO_JOB
    """Job whose end started this job; -1: a memtable switch started it."""
    shard: int = 0
    cpu_s: float = 0.0
    subcompactions: int = 1
    moved_bytes: int = 0
    blob_files: int = 0
    """New blob files."""
    blob_read_bytes: int = 0
    """Record bytes of relocated blobs; not in `read_bytes`."""
    blob_write_bytes: int = 0
    """Record bytes of the new blob files; not in `write_bytes`."""
    halted_s: float = 0.0
    """Time between start and end in which the scheduler had halted the job."""
    pool: str = "low"
    """Thread pool of the job: "high" (flushes, and compactions that the scheduler assigns to it) or "low"."""
    unfinished: bool = False
    """Whether the job was still running at the end of the run; its amounts are those up to the end."""
    waits: JobWaits = field(default_factory=JobWaits)


@dataclass(slots=True)
class StallInterval:
    """Interval in which one cause delayed or stopped writers."""

    cause: StallCause
    start_s: float
    end_s: float
    shard: int
    ended_by: int = -1
    """Job whose end released the writers; -1: none."""
    family: str = "default"
    """Name of the column family."""
    unfinished: bool = False
    """Whether writers were still delayed or stopped at the end of the run."""


Files = tuple[int, Sequence[SortedFile]]
"""(level, files of the level)."""
Links = Sequence[tuple[SortedFile, Slice]]
"""(file, slice that is linked to the file)."""


class VersionEdit(NamedTuple):
    """Version edit of a tree. A file that is both removed and added has moved to another level."""

    time_s: float
    job: int
    """Job that committed the edit; -1: the tree at the start of the run."""
    removed: Sequence[Files] = ()
    added: Sequence[Files] = ()
    """New files by level, in the order of the tree: L0 newest first."""
    frozen: Sequence[SortedFile] = ()
    """Files that leave their level but stay on the device until all their slices are compacted (LDC)."""
    links: Links = ()
    unreferenced: Sequence[SortedFile] = ()
    """Files without references after the edit: removed files, and frozen files whose last slice was compacted."""
    blobs: BlobEdit = NO_BLOBS
    """New blob files, and the garbage that is counted."""
    dropped: Sequence[BlobFile] = ()
    """Blob files that go."""
