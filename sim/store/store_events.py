"""Events of one column family, each with its list of observers."""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.models.policies.decisions import StallInputs, ThrottleState
from lsmlab.models.policies.tuning import Changes
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.observers import Observers
from lsmlab.sim.store.records import Files, JobRecord, VersionEdit


class StoreEvents:
    """Observers of one column family: recorder, event log, clients and tuner join those events that they need.

    Times are simulated seconds.
    """

    __slots__ = (
        "abandoned", "closed", "compactions_changed", "dropped", "edited", "flushes_changed", "installed", "job_ended", "loaded",
        "memtable_resized", "retuned", "switched", "writers_released",
    )  # fmt: skip

    def __init__(self) -> None:
        self.loaded = Observers[[float]]()
        """The family begins with a tree that was built before the run: its entries."""
        self.installed = Observers[[float, Tree, StallInputs, ThrottleState, int, bool]]()
        """A version, the memtable or the list of immutable memtables has changed, and the stall state was recomputed: time,
        tree, inputs of the stall state, throttle, compactions in progress, whether writers were blocked before."""
        self.edited = Observers[[VersionEdit]]()
        """A version edit was applied to the tree."""
        self.switched = Observers[[float, float, float]]()
        """A memtable became immutable: time, entries, bytes of its WAL."""
        self.writers_released = Observers[[float, int]]()
        """Stopped writers were signalled: time, number of the job at whose end (-1: none)."""
        self.memtable_resized = Observers[[int]]()
        """The active memtable has another size from now on: number of the family."""
        self.flushes_changed = Observers[[float, int]]()
        """A flush begins (+1) or ends (-1) to run: time, change."""
        self.compactions_changed = Observers[[float, int]]()
        """A compaction begins or resumes (+1), ends or halts (-1): time, change."""
        self.job_ended = Observers[[JobRecord]]()
        """A job has committed, or was discarded."""
        self.closed = Observers[[float, Sequence[JobRecord]]]()
        """The run ends: time, jobs that are unfinished."""
        self.abandoned = Observers[[float, int, Sequence[Files]]]()
        """A compaction was discarded, or the run ended before it: time, number of the job, inputs."""
        self.dropped = Observers[[Sequence[SortedFile]]]()
        """Files were deleted unread (FIFO)."""
        self.retuned = Observers[[float, Changes]]()
        """A tuner has changed options: time, new values."""
