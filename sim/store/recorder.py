"""What a run remembers while it goes on: compact columns, turned into tables when it ends."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

from lsmlab.models.policies.decisions import StallCause, ThrottleState
from lsmlab.models.policies.scheduling import StoreView
from lsmlab.models.policies.tuning import Changes
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree

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


class StoreRecorder:
    """The memory of one store's run."""

    STATE_WIDTH: Final = 7

    def __init__(self, shard: int, num_levels: int) -> None:
        self.shard = shard
        self.num_levels = num_levels
        self.jobs: list[JobRecord] = []
        self.stalls: list[StallInterval] = []
        self.stall_counts: dict[StallCause, int] = dict.fromkeys(CAUSES, 0)
        self.states = array("d")
        """Rows of (time, L0 files, immutables, pending bytes, delayed rate, cause, running compactions)."""
        self.level_states = array("d")
        """Rows of (bytes per level …, files per level …), parallel to `states`."""
        self.activity = array("d")
        """Rows of (time, change in running flushes, change in running compactions)."""
        self.options: list[tuple[float, Changes]] = []
        """(time, new values) of every change by a tuner."""
        self.entries_preloaded = 0.0
        self.entries_dropped_by_drop = 0.0
        self._open: StallInterval | None = None

    def install(
        self, now_s: float, tree: Tree, view: StoreView, throttle: ThrottleState, running_compactions: int, *, blocked: bool
    ) -> None:
        """The state right after a version, memtable or immutable list changed. `blocked`: whether writers waited already."""
        cause = -1 if throttle.cause is None else CAUSES.index(throttle.cause)
        self.states.extend(
            (now_s, len(tree.l0), view.immutables, view.pending_bytes, throttle.rate_bytes_per_s, cause,
             running_compactions)
        )  # fmt: skip
        self.level_states.extend(tree.level_bytes())
        self.level_states.extend(tree.files_per_level())
        self._follow(now_s, throttle.cause, blocked)

    def _follow(self, now_s: float, cause: StallCause | None, blocked: bool) -> None:
        """Keep the open stall interval in step with the throttle's cause."""
        current = self._open
        if current is not None and current.cause is cause:
            return
        if current is not None and not (blocked and current.cause.stops and cause is None):
            self._close(now_s, -1)
        if cause is not None and (self._open is None):
            self._open = StallInterval(cause, now_s, now_s, self.shard)

    def unblocked(self, now_s: float, job: int) -> None:
        """Stopped writers were signalled at the end of `job`."""
        if self._open is not None and self._open.cause.stops:
            self._close(now_s, job)

    def count_stall(self, cause: StallCause) -> None:
        """One more recompute that ended in `cause` (what RocksDB's stall counters count)."""
        self.stall_counts[cause] += 1

    def job(self, record: JobRecord) -> None:
        """A job has committed."""
        self.jobs.append(record)
        if self._open is not None:
            self._open.ended_by = record.job

    def running(self, now_s: float, flushes: int = 0, compactions: int = 0) -> None:
        """Jobs started or ended."""
        self.activity.extend((now_s, flushes, compactions))

    def retuned(self, now_s: float, changes: Changes) -> None:
        """A tuner changed options."""
        self.options.append((now_s, dict(changes)))

    def dropped(self, files: Sequence[SortedFile]) -> None:
        """Files were deleted unread (FIFO)."""
        self.entries_dropped_by_drop += sum(f.entries for f in files)

    def close(self, now_s: float) -> None:
        """The run ends."""
        if self._open is not None:
            self._close(now_s, -1)

    def _close(self, now_s: float, job: int) -> None:
        assert self._open is not None
        self._open.end_s = now_s
        if job >= 0:
            self._open.ended_by = job
        self.stalls.append(self._open)
        self._open = None
