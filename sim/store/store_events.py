"""Events of one column family and their observers."""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.models.policies.decisions import Picker, StallInputs, ThrottleState
from lsmlab.models.policies.tuning import Changes
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.observers import Observers
from lsmlab.sim.store.records import Files, JobRecord, VersionEdit


class StoreEvents:
    """Observers of one column family, one list per event: recorder, event log, clients and tuner add their functions.

    Times are simulated seconds.
    """

    __slots__ = (
        "abandoned", "activity", "closed", "dropped", "edited", "installed", "job_ended", "memtable_resized",
        "picked", "retuned", "switched", "writers_released",
    )  # fmt: skip

    def __init__(self) -> None:
        self.installed = Observers[[float, Tree, StallInputs, ThrottleState, bool]]()
        """New version or memtable list, after the stall condition was recomputed. Arguments: time, tree, inputs of the stall
        condition, throttle state, whether writers were stopped before."""
        self.edited = Observers[[VersionEdit]]()
        """Version edit applied to the tree."""
        self.switched = Observers[[float, float, float]]()
        """Memtable switch. Arguments: time, entries of the memtable, bytes of the closed WAL."""
        self.writers_released = Observers[[float, int]]()
        """Release of stopped writers. Arguments: time, number of the job whose end released them (-1: none)."""
        self.memtable_resized = Observers[[int]]()
        """New size of the active memtable by an option change. Argument: number of the column family."""
        self.activity = Observers[[float, int, int]]()
        """Start or resumption (+1), end or halt (-1) of a job. Arguments: time, change in running flushes, in running
        compactions."""
        self.job_ended = Observers[[JobRecord]]()
        """Commit of a job, or end of an aborted job."""
        self.closed = Observers[[float, Sequence[JobRecord]]]()
        """End of the run. Arguments: time, records of unfinished jobs."""
        self.abandoned = Observers[[float, int, Sequence[Files]]]()
        """Abort of a compaction, or end of the run before its commit. Arguments: time, number of the job, inputs."""
        self.picked = Observers[[float, int, Tree, Picker]]()
        """Pick of a compaction, before its inputs are locked. Arguments: time, number of the job, tree, picker."""
        self.dropped = Observers[[Sequence[SortedFile]]]()
        """Deletion of files without a compaction (FIFO). Argument: the files."""
        self.retuned = Observers[[float, Changes]]()
        """Option change by a tuner. Arguments: time, new values."""
