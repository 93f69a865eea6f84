"""Contracts of pickers, cutters, throttles and filter policies, and their decisions, which the simulation carries out.

A policy is a pure object: its methods take a tree, the running jobs and the load, and return an immutable object. It has
no clock (time is an argument), no device and no randomness, and it never changes its arguments. Objects that a job makes
are named tuples: a frozen dataclass of the same size takes more than twice as long to make.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final, NamedTuple

import numpy as np
from lsmlab.models.tree.files import NO_KEYS, KeyArray, SortedFile
from lsmlab.models.tree.merge import MergedStream
from lsmlab.models.tree.tree import Placement, Tree
from numpy.typing import NDArray


class RunningJob(NamedTuple):
    """Running compaction, with the data that a picker needs to avoid a conflict."""

    start_level: int
    output_level: int
    lo: int
    """Smallest key of all inputs."""
    hi: int
    """Largest key of all inputs."""
    incoming_bytes: int = 0
    """Bytes that the job brings into `output_level` from levels above it."""
    proximal_level: int = -1
    """Level to which the job writes young data, too (`preclude_last_level_data_seconds`); -1: none."""


class Scope(Enum):
    """Kinds of jobs that a scheduler may request from a picker."""

    ANY = "any"
    L0 = "l0"
    """Jobs that make room in L0 for flushes (`is_deep` is False)."""
    DEEP = "deep"
    """All other jobs: a scheduler may delay them."""


@dataclass(frozen=True, slots=True)
class DoNothing:
    """No job for this state of the tree; the store calls the picker again at the next install."""


NOTHING: Final = DoNothing()


class Compaction(NamedTuple):
    """Compaction: read the inputs, keep the newest version of each key, write new files to `output_level`."""

    start_level: int
    output_level: int
    inputs: tuple[tuple[int, tuple[SortedFile, ...]], ...]
    """(level, files) per input level, shallowest first; L0 files newest first."""
    reason: str
    """RocksDB's compaction_reason, such as LevelL0FilesNum."""
    score: float = 0.0
    cursor: int | None = None
    """Index to store as the version's pick cursor of `start_level`."""
    max_output_bytes: int | None = None
    """Overrides the target file size of the output level; None keeps it."""
    next_key: int | None = None
    """Round-robin pickers: value for `Tree.round_robin_key[start_level]` at the end of the job."""
    cut_keys: tuple[int, ...] = ()
    """Ascending keys at which a new output file must begin in addition to the cutter's cuts: borders of guards, or of
    separate input ranges with other files of the output level between them."""
    placement: Placement = Placement.REPLACE
    deferrable: bool | None = None
    """Whether a scheduler may delay the job; None: yes, unless the job starts at L0."""


class Move(NamedTuple):
    """Trivial move: change the level of files by one manifest edit, without reading them."""

    start_level: int
    output_level: int
    inputs: tuple[tuple[int, tuple[SortedFile, ...]], ...]
    reason: str
    score: float = 0.0
    cursor: int | None = None
    next_key: int | None = None


class Drop(NamedTuple):
    """Delete files without reading them (FIFO)."""

    inputs: tuple[tuple[int, tuple[SortedFile, ...]], ...]
    reason: str
    score: float = 0.0


class Link(NamedTuple):
    """Freeze files of a level and link a slice of each to every file of the next level that owns part of its keys.

    A metadata edit of LDC (behaviour/ldc.md, LDC rules): the compaction of the owner rewrites the slices.
    """

    start_level: int
    output_level: int
    inputs: tuple[tuple[int, tuple[SortedFile, ...]], ...]
    """(start level, files to freeze, oldest first) and (output level, files that receive slices)."""
    reason: str
    score: float = 0.0
    cursor: int | None = None
    next_key: int | None = None


Pick = DoNothing | Compaction | Move | Drop | Link


def is_deep(pick: Pick) -> bool:
    """Return whether a scheduler may delay the job, because it makes no room in L0."""
    if isinstance(pick, Compaction) and pick.deferrable is not None:
        return pick.deferrable
    return isinstance(pick, Compaction | Move | Link) and pick.start_level > 0


def in_scope(pick: Pick, scope: Scope) -> Pick:
    """Return the pick if it is in scope, else DoNothing; for pickers that choose before they test the kind of job."""
    if scope is Scope.ANY or isinstance(pick, DoNothing) or is_deep(pick) is (scope is Scope.DEEP):
        return pick
    return NOTHING


def first_pick(picks: Iterable[Pick], scope: Scope = Scope.ANY) -> Pick:
    """Return the first job in scope of `picks`, else NOTHING; later picks are not computed."""
    return next((pick for pick in picks if in_scope(pick, scope) is not NOTHING), NOTHING)


Bits = NDArray[np.bool_]
Counts = NDArray[np.float64]


class Picker(ABC):
    """Compaction picker: the choice of the next job.

    Abstract methods have no default. All others have RocksDB's behaviour with levelled files in L0; a picker of a store that
    differs overrides them.
    """

    @abstractmethod
    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:
        """Return the next job for this state, or DoNothing. `tree` marks busy files."""

    @abstractmethod
    def scores(self, tree: Tree) -> Sequence[float]:
        """Compaction score per level, for the stats table."""

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:
        """Return whether the store should queue for compaction (RocksDB: some score >= 1). Default: whether there is a pick."""
        return self.pick(tree, (), now_s, scope) is not NOTHING

    def pending_bytes(self, tree: Tree) -> int:  # noqa: ARG002
        """Estimated bytes that compaction has yet to rewrite (RocksDB's estimated pending compaction bytes). Default: 0."""
        return 0

    def bottommost_bytes(self, tree: Tree) -> int:  # noqa: ARG002
        """Return `StallInputs.bottommost_bytes`. Default: 0, not needed."""
        return 0

    def stall_run_count(self, tree: Tree) -> int:
        """Count that the L0 triggers compare. Default: L0 files, those being compacted included."""
        return len(tree.l0)

    def level_targets(self, tree: Tree) -> Sequence[float]:
        """Target bytes per level (index = level; infinity where a level has no target). Default: no level has one."""
        return (math.inf,) * tree.num_levels

    def levels_at_open(self, filled: Sequence[int]) -> Mapping[int, int]:
        """Levels to which the open of a store moves the files of its filled levels, ascending. Default: none moves."""
        return {level: level for level in filled}

    def settled_level(self, tree: Tree, size_bytes: float) -> int | None:  # noqa: ARG002
        """Level with nearly all of `size_bytes` of a store without pending compactions. Default, None: by `level_targets`."""
        return None

    # ---- files ----

    def target_file_size(self, tree: Tree, level: int) -> int | None:  # noqa: ARG002
        """Target bytes of files that a job writes to `level` now. Default, None: by the options, with static levels."""
        return None

    def estimated_run_bytes(self, tree: Tree, pick: Compaction) -> int:  # noqa: ARG002
        """Size in bytes of the sorted run that `pick` writes, by which universal compaction chooses its path. Default: 0."""
        return 0

    def compresses(self, tree: Tree, pick: Compaction | None) -> bool:  # noqa: ARG002
        """Return whether the outputs of `pick`, or of a flush (None), may be compressed. Default: yes."""
        return True

    divides_levels: ClassVar[bool] = False
    """Whether files must not span certain keys, `borders`."""

    def borders(self, keys: KeyArray, weight: float, level: int) -> KeyArray:  # noqa: ARG002
        """Select from `keys`, of `weight` real keys each, those at which a file of the level must begin. Default: none."""
        return NO_KEYS

    def metadata_bytes(self, tree: Tree) -> int:  # noqa: ARG002
        """Memory in bytes of metadata beside the list of files, for example of PebblesDB's guards. Default: 0."""
        return 0

    # ---- flushes and reads ----

    def flush_level(self, tree: Tree, lo: int, hi: int) -> int:  # noqa: ARG002
        """Level to which a flush writes a file with keys in [lo, hi]. Default: L0."""
        return 0

    def allowed_seeks(self, size_bytes: int) -> float:  # noqa: ARG002
        """Misses that a file of that size may have before its compaction, after which `Tree.exhausted` lists it.

        Default: infinity, so the store does not count them.
        """
        return math.inf

    @property
    def keeps_hot_keys(self) -> bool:
        """Return whether `hot` selects keys of full memtables that stay in memory (TRIAD). Default: no."""
        return False

    def hot(self, updates: Counts, keys: Counts, entries: float) -> Bits:  # noqa: ARG002
        """Return the mask of the memtable's keys that stay in memory instead of being flushed. Default: none.

        `updates`: writes of each carried key since the memtable was created; `keys`: real keys that each carried key
        represents; `entries`: writes in the memtable. All arrays have the same shape.
        """
        return np.zeros(len(keys), dtype=np.bool_)

    holds_blobs: ClassVar[bool] = True
    """Whether trees of the picker may have blob files; not with files of which slices are compacted one by one (LDC)."""

    @property
    def values_in_wal(self) -> bool:
        """Return whether L0 files contain offsets into the WAL, from which compactions read values (TRIAD). Default: no."""
        return False


class StallCause(Enum):
    """Causes of write stalls. The values are the keys of `stall_seconds` in summary.json."""

    MEMTABLE_STOP = "memtable_stop"
    L0_STOP = "l0_stop"
    PENDING_STOP = "pending_stop"
    MEMTABLE_SLOWDOWN = "memtable_slowdown"
    L0_SLOWDOWN = "l0_slowdown"
    PENDING_SLOWDOWN = "pending_slowdown"
    BACKGROUND_ERROR = "background_error"
    """A job has failed, and the database accepts no write. RocksDB counts no stall; its writers get the error."""
    WRITE_BUFFER_MANAGER_LIMIT = "write_buffer_manager_limit"
    """The memtables of all databases of a write buffer manager with `allow_stall` take its whole buffer."""
    INGESTION = "ingestion"
    """Files are being ingested. RocksDB counts no stall; its writers wait in their queue."""

    @property
    def stops(self) -> bool:
        """Return True for a stop, False for a slowdown."""
        return self in _STOPS


_OUTSIDE_THROTTLE = frozenset({StallCause.BACKGROUND_ERROR, StallCause.WRITE_BUFFER_MANAGER_LIMIT, StallCause.INGESTION})
_STOPS = frozenset({StallCause.MEMTABLE_STOP, StallCause.L0_STOP, StallCause.PENDING_STOP, *_OUTSIDE_THROTTLE})
THROTTLE_CAUSES: Final = tuple(cause for cause in StallCause if cause not in _OUTSIDE_THROTTLE)
"""Causes that RocksDB's throttle has and its LOG names."""


class StallInputs(NamedTuple):
    """Inputs of a throttle for one recompute."""

    immutables: int
    """Immutable memtables without a committed flush, those in a running flush included."""
    l0_files: int
    """`Picker.stall_run_count`."""
    pending_bytes: int
    bottommost_bytes: int = 0
    """Bytes of all files that overlap no deeper file, in later releases (behaviour/write-stalls.md, Pressure); 0 if not
    needed."""
    others_delayed: bool = False
    """Whether another column family of the database holds a delay token."""
    others_stopped: bool = False
    """Whether another column family of the database holds a stop token."""


class ThrottleState(NamedTuple):
    """State of a throttle between two recomputes."""

    cause: StallCause | None
    """None = no stall."""
    rate_bytes_per_s: int
    """Delayed write rate; kept also while writes are not delayed."""
    previous_pending_bytes: int
    pressure: bool
    """Whether compactions may run in parallel (RocksDB's compaction-pressure token)."""
    line: str | None = None
    """LOG line that RocksDB prints at this recompute, without the column family prefix."""
    hold_flushes: bool = False
    """Whether flushes wait, because L0 has no room for their file (vLSM's full L0 queue, LevelDB's stop at 12
    files)."""
    sleep_s: float = 0.0
    """Sleep of every write group during a slowdown, in s (LevelDB's 1 ms); if set, `rate_bytes_per_s` has no effect."""

    @property
    def stopped(self) -> bool:
        """Return whether writes are stopped."""
        return self.cause is not None and self.cause.stops

    @property
    def delayed(self) -> bool:
        """Return whether writes are slowed down to `rate_bytes_per_s`."""
        return self.cause is not None and not self.cause.stops

    @property
    def speedup(self) -> bool:
        """Return RocksDB's NeedSpeedupCompaction for a single column family."""
        return self.pressure or self.holds_token

    @property
    def holds_token(self) -> bool:
        """Return whether RocksDB's write controller has a token for the cause: not for what stops writes outside of it."""
        return self.cause is not None and self.cause not in _OUTSIDE_THROTTLE


class Throttle(ABC):
    """Write throttle: slowdowns and stops of writes."""

    flushes_one_memtable: ClassVar[bool] = False
    """Whether each memtable becomes a file of its own; else a flush takes all immutable memtables."""

    @abstractmethod
    def initial(self) -> ThrottleState:
        """State at the open of a store."""

    @abstractmethod
    def recompute(self, state: ThrottleState, inputs: StallInputs) -> ThrottleState:
        """Compute the state after an install (RocksDB: RecalculateWriteStallConditions)."""


class Cutter(ABC):
    """Cutter: the ends of the output files of a compaction."""

    @abstractmethod
    def cuts(self, merged: MergedStream, context: CutContext) -> Sequence[int]:
        """Ascending positions in `merged.keys` at which a new file starts (0 and the end are implied)."""

    def guide_level(self, tree: Tree, output_level: int, lo: int, hi: int) -> int | None:  # noqa: ARG002
        """Level of the files in `CutContext.grandparent_*` for outputs in [lo, hi]. Default: None, no level."""
        return None

    def inspects_keys(self, output_level: int) -> bool:  # noqa: ARG002
        """Return whether the cutter inspects every key of a job that writes to `output_level`. Default: no.

        It takes CPU time (models/costs/jobs.py).
        """
        return False


class FilterPolicy(ABC):
    """Filter policy: the size of the filters of new files."""

    @abstractmethod
    def bits_per_key(self, level: int, num_levels: int) -> float:
        """Filter bits per key of the files that a job writes to a level of `num_levels`; 0: no filter."""


class CutContext(NamedTuple):
    """Inputs of a cutter: the job, and the files below its output level."""

    output_level: int
    target_bytes: int
    """Target file size of the output level."""
    max_compaction_bytes: int
    bottommost: bool
    grandparent_lo: KeyArray
    """Smallest keys of the grandparent files over the job's range. Shape (g,)."""
    grandparent_hi: KeyArray
    """Largest keys (inclusive). Shape (g,)."""
    grandparent_size: NDArray[np.int64]
    """File sizes in bytes. Shape (g,)."""
