"""Recorder of one column family: its jobs, stalls and states in compact columns, from which the tables of a run are made."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import fields
from typing import Final

import numpy as np
from lsmlab.models.policies.decisions import StallCause, StallInputs, ThrottleState
from lsmlab.models.policies.tuning import Changes
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.machine.steps import JobWaits
from lsmlab.sim.store.blocks import Blocks, Columns
from lsmlab.sim.store.records import CAUSES, JobRecord, StallInterval
from lsmlab.sim.store.store_events import StoreEvents
from numpy.typing import NDArray

_BLOCK: Final = 1024
"""Records that are kept as objects until they become part of the columns."""
_TYPES: Final = {"int": np.int64, "float": np.float64, "bool": np.bool_, "str": np.int16}
_FIELDS: Final = {f.name: _TYPES[str(f.type)] for f in fields(JobRecord) if f.name != "waits"}
_TEXTS: Final = tuple(f.name for f in fields(JobRecord) if str(f.type) == "str")
_WAITS: Final = tuple(f.name for f in fields(JobWaits))


class RowIndex:
    """Index of the rows of a column of whole numbers."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self._rows = numbers.argsort(kind="stable")
        self._sorted = numbers[self._rows]

    def last(self, number: int) -> int | None:
        """Return the last row with this number; None if there is none."""
        place = int(self._sorted.searchsorted(number, side="right")) - 1
        return int(self._rows[place]) if place >= 0 and self._sorted[place] == number else None


class JobLog:
    """Job records in the order in which they were added. Nobody changes a record after it was added."""

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._recent: list[JobRecord] = []
        self._texts: dict[str, int] = {}
        """Numbers of texts; a column of texts contains numbers until `columns` returns it."""
        self._table: Columns = {}
        self._index: RowIndex | None = None

    def add(self, record: JobRecord) -> None:
        """Add the record of a job."""
        self._recent.append(record)
        if len(self._recent) == _BLOCK:
            self._store()

    def recent(self) -> list[JobRecord]:
        """Return the latest records, those that are not in columns yet: at most 1,023."""
        return list(self._recent)

    def columns(self) -> Columns:
        """Return the fields of all records and of their waits by name, each of shape (jobs,). Add no record afterwards."""
        if not self._table:
            self._store()
            texts = np.array(list(self._texts), dtype=object)
            numbers = self._blocks.columns()
            self._table = numbers | {name: texts[numbers[name]] for name in _TEXTS}
        return self._table

    def find(self, job: int) -> JobRecord | None:
        """Return the record of job number `job`; None if the log has none."""
        columns = self.columns()
        if self._index is None:
            self._index = RowIndex(columns["job"])
        row = self._index.last(job)
        if row is None:
            return None
        waits = JobWaits(**{name: columns[name].item(row) for name in _WAITS})
        return JobRecord(**{name: columns[name].item(row) for name in _FIELDS}, waits=waits)

    def _store(self) -> None:
        """Turn the records that are kept as objects into columns."""
        records, texts = self._recent, self._texts
        for name in _TEXTS:
            for value in {getattr(r, name) for r in records} - texts.keys():
                texts[value] = len(texts)
        read = {name: [getattr(r, name) for r in records] for name in _FIELDS}
        read |= {name: [texts[value] for value in read[name]] for name in _TEXTS}
        own: Columns = {name: np.array(read[name], dtype) for name, dtype in _FIELDS.items()}
        waits = {name: np.array([getattr(r.waits, name) for r in records], np.float64) for name in _WAITS}
        self._blocks.add(own | waits)
        self._recent = []


class StoreRecorder:
    """Observer that records jobs, stalls, states and option changes of one column family."""

    STATE_WIDTH: Final = 5

    def __init__(self, shard: int, num_levels: int, family: str = "default") -> None:
        self.shard = shard
        self.family = family
        self.num_levels = num_levels
        self.jobs = JobLog()
        """Jobs that have ended, and after them those of `unfinished`."""
        self.unfinished: list[JobRecord] = []
        """Jobs that were still running when the run ended."""
        self.stalls: list[StallInterval] = []
        self.stall_counts: dict[StallCause, int] = dict.fromkeys(CAUSES, 0)
        """Number of recomputations of the stall condition that ended in each cause, as in RocksDB's stall counters."""
        self.states = array("d")
        """Rows of (time in s, L0 files, immutable memtables, pending compaction bytes, delayed write rate in bytes/s), one per
        change."""
        self._state: tuple[float, ...] = ()
        """Last row of `states`, without its time."""
        self.level_states = [array("d") for _ in range(num_levels)]
        """Of each level: rows of (time, bytes, files), one per change."""
        self.blob_states = array("d")
        """Rows of (time, blob files, their bytes, bytes of garbage), one per change; none without blob files."""
        self._blob_stamp = 0
        """`BlobFiles.stamp` of the last row."""
        self._levels = [(0, 0)] * num_levels
        """Last rows of `level_states`, without their times."""
        self._version: tuple[Tree, int] | None = None
        """Tree and version of these rows."""
        self.activity = array("d")
        """Rows of (time, change in running flushes, change in running compactions)."""
        self.options: list[tuple[float, Changes]] = []
        """(time in s, new values) of every change by a tuner."""
        self.entries_preloaded = 0.0
        """Entries of the tree with which the run starts."""
        self.entries_dropped_by_drop = 0.0
        self._open: StallInterval | None = None

    def observe(self, events: StoreEvents) -> None:
        """Start to record the events of a column family."""
        events.installed.add(self._installed)
        events.writers_released.add(self._writers_released)
        events.job_ended.add(self._job_ended)
        events.activity.add(lambda *row: self.activity.extend(row))
        events.retuned.add(lambda now_s, changes: self.options.append((now_s, dict(changes))))
        events.dropped.add(self._dropped)
        events.closed.add(self._closed)

    def forget_states(self) -> None:
        """Free the states, from which the series per second was made."""
        self.states = array("d")
        self.level_states = [array("d") for _ in self.level_states]
        self.blob_states = array("d")

    def _installed(
        self, now_s: float, tree: Tree, inputs: StallInputs, throttle: ThrottleState, blocked: bool
    ) -> None:
        state = (len(tree.l0), inputs.immutables, inputs.pending_bytes, throttle.rate_bytes_per_s)
        if state != self._state:
            self._state = state
            self.states.extend((now_s, *state))
        if self._version != (tree, tree.version):
            self._version = tree, tree.version
            levels = list(zip(tree.level_bytes(), tree.files_per_level(), strict=True))
            for rows, before, now in zip(self.level_states, self._levels, levels, strict=True):
                if now != before:
                    rows.extend((now_s, *now))
            self._levels = levels
            if tree.blobs.stamp != self._blob_stamp:
                self._blob_stamp = tree.blobs.stamp
                self.blob_states.extend((now_s, len(tree.blobs.files), tree.blobs.size_bytes, tree.blobs.garbage_bytes))
        self._follow(now_s, throttle.cause, blocked)
        if throttle.cause is not None:
            self.stall_counts[throttle.cause] += 1

    def _follow(self, now_s: float, cause: StallCause | None, blocked: bool) -> None:
        """Close the open stall interval if the cause has changed, and open one for the new cause.

        A stop whose cause is gone stays open until the writers are released.
        """
        current = self._open
        if current is not None and current.cause is cause:
            return
        if current is not None and not (blocked and current.cause.stops and cause is None):
            self._close(now_s, -1)
        if cause is not None and (self._open is None):
            self._open = StallInterval(cause, now_s, now_s, self.shard, family=self.family)

    def _writers_released(self, now_s: float, job: int) -> None:
        if self._open is not None and self._open.cause.stops:
            self._close(now_s, job)

    def _job_ended(self, record: JobRecord) -> None:
        self.jobs.add(record)
        if self._open is not None:
            self._open.ended_by = record.job

    def _dropped(self, files: Sequence[SortedFile]) -> None:
        self.entries_dropped_by_drop += sum(f.entries for f in files)

    def _closed(self, now_s: float, unfinished: Sequence[JobRecord]) -> None:
        self.unfinished.extend(unfinished)
        for record in unfinished:
            self.jobs.add(record)
        if self._open is not None:
            self._open.unfinished, self._open.ended_by = True, -1
            self._close(now_s, -1)

    def _close(self, now_s: float, job: int) -> None:
        assert self._open is not None
        self._open.end_s = now_s
        if job >= 0:
            self._open.ended_by = job
        self.stalls.append(self._open)
        self._open = None
