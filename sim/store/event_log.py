"""Event log of one column family: numeric rows of version edits and memtable switches, for events.parquet."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence, Set
from enum import IntEnum
from typing import Any, Final

import numpy as np
from lsmlab.models.policies.decisions import Picker
from lsmlab.models.tree.blobs import BlobEdit
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.sim.store.blocks import Blocks, Columns
from lsmlab.sim.store.records import Files, VersionEdit
from lsmlab.sim.store.store_events import StoreEvents
from numpy.typing import NDArray

_NONE = -1
_MOMENT_WIDTH, _FILE_WIDTH, _REMOVAL_WIDTH, _PICK_WIDTH = 2, 10, 4, 4
_BLOCK: Final = 4096
"""Rows with files after which all rows become columns."""
_GARBAGE_STEP: Final = 1 / 16
"""Share of a blob file by which its garbage grows between two rows: a compaction adds some to most files."""


class EventKind(IntEnum):
    """Kinds of events; their lower-case names are the values of `kind` in events.parquet."""

    CREATE = 0
    MOVE = 1
    FREEZE = 2
    LINK = 3
    DELETE = 4
    INPUT = 5
    SWITCH = 6
    PICK = 7
    BLOB_CREATE = 8
    BLOB_GARBAGE = 9
    BLOB_DELETE = 10


class EventLog:
    """Observer that records the events of one column family.

    Rows contain numbers only: references to `SortedFile` objects would keep their key arrays in memory.
    """

    def __init__(self, shard: int, family: str, last_code: float) -> None:
        """`last_code`: code of the last key of the key space; events give key ranges as fractions of it."""
        self.shard = shard
        self.family = family
        self._last_code = last_code
        self._blocks = Blocks()
        self._moments = array("d")
        """Rows of (time in s, job): one per version edit, memtable switch or aborted job."""
        self._files = array("q")
        """Rows of (moment, kind, file, from level, to level, smallest key, largest key, bytes, entries, linked to)."""
        self._removals = array("q")
        """Rows of (moment, kind, file, from level): deleted files and inputs; an earlier row has their range and size."""
        self._picks = array("d")
        """Rows of (moment, level, target size in bytes, score): levels of the tree when a compaction was picked."""
        self._garbage: dict[int, tuple[float, float, float]] = {}
        """Of each blob file: bytes of its records, of its garbage, and of the garbage from which on the next row is due."""

    def observe(self, events: StoreEvents) -> None:
        """Start to log the events of a column family."""
        events.edited.add(self._edited)
        events.switched.add(self._switched)
        events.abandoned.add(self._abandoned)
        events.picked.add(self._picked)

    def _edited(self, edit: VersionEdit) -> None:
        moment = self._moment(edit.time_s, edit.job)
        removed = {f.number: level for level, files in edit.removed for f in files}
        left = dict(removed)
        rows: list[int] = []
        for file in edit.frozen:
            rows += _row(moment, EventKind.FREEZE, file, left.pop(file.number, _NONE), _NONE)
        for level, files in edit.added:
            for file in files:
                source = left.pop(file.number, _NONE)
                rows += _row(moment, EventKind.CREATE if source == _NONE else EventKind.MOVE, file, source, level)
        for target, part in edit.links:
            rows += (moment, EventKind.LINK, part.source.number, _NONE, _NONE, part.lo, part.hi, part.size_bytes,
                     round(part.entries), target.number)  # fmt: skip
        rows += self._blob_rows(moment, edit.blobs, {file.number for file in edit.dropped})
        self._files.fromlist(rows)
        rows = []
        for number, level in left.items():
            rows += moment, EventKind.DELETE, number, level
        for file in edit.unreferenced:
            if file.number not in removed:
                rows += moment, EventKind.DELETE, file.number, _NONE
        for gone in edit.dropped:
            rows += moment, EventKind.BLOB_DELETE, gone.number, _NONE
            del self._garbage[gone.number]
        self._removals.fromlist(rows)

    def _blob_rows(self, moment: int, edit: BlobEdit, dropped: Set[int]) -> list[int]:
        """Return the rows of new blob files, and of garbage in files that stay."""
        rows: list[int] = []
        for file in edit.added:
            size = (file.size_bytes, round(file.total.blobs))
            rows += moment, EventKind.BLOB_CREATE, file.number, _NONE, _NONE, 0, 0, *size, _NONE
            self._garbage[file.number] = file.total.record_bytes, 0.0, _GARBAGE_STEP * file.total.record_bytes
        for number, more in edit.garbage.items():
            total, garbage, due = self._garbage[number]
            garbage += more.record_bytes
            if garbage >= due and number not in dropped:
                rows += moment, EventKind.BLOB_GARBAGE, number, _NONE, _NONE, 0, 0, round(garbage), 0, _NONE
                due = garbage + _GARBAGE_STEP * total
            self._garbage[number] = total, garbage, due
        return rows

    def _switched(self, now_s: float, entries: float, wal_bytes: float) -> None:
        moment = self._moment(now_s, _NONE)
        row = (moment, EventKind.SWITCH, _NONE, _NONE, _NONE, 0, 0, round(wal_bytes), round(entries), _NONE)
        self._files.extend(row)

    def _picked(self, now_s: float, job: int, tree: Tree, picker: Picker) -> None:
        """Log score and target of each level that has files."""
        moment = self._moment(now_s, job)
        targets = picker.level_targets(tree)
        rows: list[float] = []
        for level, score in enumerate(picker.scores(tree)):
            if tree.file_count(level):
                target = targets[level] if level else 0.0
                rows += moment, level, target if math.isfinite(target) else 0.0, score
        self._picks.fromlist(rows)

    def _abandoned(self, now_s: float, job: int, inputs: Sequence[Files]) -> None:
        moment = self._moment(now_s, job)
        for level, files in inputs:
            for file in files:
                self._removals.extend((moment, EventKind.INPUT, file.number, level))

    def _moment(self, now_s: float, job: int) -> int:
        if len(self._files) > _BLOCK * _FILE_WIDTH:
            self._store()
        self._moments.extend((now_s, job))
        return len(self._moments) // _MOMENT_WIDTH - 1

    def columns(self) -> Columns:
        """Return columns of events.parquet by name, with rows sorted by time; `kind` contains `EventKind` numbers.

        The rows of one version edit are adjacent, removed files first.
        """
        if self._moments or not self._blocks:
            self._store()
        return self._blocks.columns()

    def _store(self) -> None:
        """Turn the rows up to now into columns, which take less than half of the memory."""
        moments = np.frombuffer(self._moments, dtype=np.float64).reshape(-1, _MOMENT_WIDTH)
        files = np.frombuffer(self._files, dtype=np.int64).reshape(-1, _FILE_WIDTH)
        removals = np.frombuffer(self._removals, dtype=np.int64).reshape(-1, _REMOVAL_WIDTH)
        picks = np.frombuffer(self._picks, dtype=np.float64).reshape(-1, _PICK_WIDTH)
        levels = _pick_rows(picks)
        order = np.argsort(np.concatenate((removals[:, 0], files[:, 0], levels[:, 0])), kind="stable")

        def column(place: int, absent: int, dtype: str) -> NDArray[Any]:
            """Return column `place` of the rows of `removals`, `files` and picks in order; `absent` where `removals` lacks it."""
            head = removals[:, place] if place < _REMOVAL_WIDTH else np.full(len(removals), absent)
            return np.concatenate((head, files[:, place], levels[:, place]))[order].astype(dtype)

        scores = np.concatenate((np.full(len(removals) + len(files), np.nan), picks[:, 3]))
        moment = column(0, 0, "int64")
        self._blocks.add({
            "time_s": moments[moment, 0],
            "job": moments[moment, 1].astype(np.int32),
            "kind": column(1, 0, "int8"),
            "file": column(2, 0, "int32"),
            "from_level": column(3, -1, "int8"),
            "to_level": column(4, -1, "int8"),
            "smallest": (column(5, 0, "float64") / self._last_code).astype(np.float32),
            "largest": (column(6, 0, "float64") / self._last_code).astype(np.float32),
            "bytes": column(7, 0, "int64"),
            "entries": column(8, 0, "int64"),
            "linked_to": column(9, -1, "int32"),
            "score": scores[order].astype(np.float32),
        })  # fmt: skip
        self._picks = array("d")
        self._moments, self._files, self._removals = array("d"), array("q"), array("q")


def _row(moment: int, kind: EventKind, file: SortedFile, source: int, level: int) -> tuple[int, ...]:
    """Return a row of `_files` of one file."""
    return moment, kind, file.number, source, level, file.lo, file.hi, file.size_bytes, round(file.entries), _NONE


def _pick_rows(picks: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return rows of picks with the columns of rows of files: the level as source, its target size as bytes."""
    rows = np.zeros((len(picks), _FILE_WIDTH), dtype=np.int64)
    rows[:, 0], rows[:, 1] = picks[:, 0], EventKind.PICK
    rows[:, 3], rows[:, 7] = picks[:, 1], picks[:, 2]
    rows[:, 2] = rows[:, 4] = rows[:, 9] = _NONE
    return rows
