"""Event log of one column family: numeric rows of version edits and memtable switches, for events.parquet."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import IntEnum

from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.store.records import Files, VersionEdit
from lsmlab.sim.store.store_events import StoreEvents

_NONE = -1


class EventKind(IntEnum):
    """Kinds of events; their lower-case names are the values of `kind` in events.parquet."""

    CREATE = 0
    MOVE = 1
    FREEZE = 2
    LINK = 3
    DELETE = 4
    INPUT = 5
    SWITCH = 6


class EventLog:
    """Observer that records the events of one column family.

    Rows contain numbers only: references to `SortedFile` objects would keep their key arrays in memory.
    """

    MOMENT_WIDTH, FILE_WIDTH, REMOVAL_WIDTH = 2, 10, 4

    def __init__(self, shard: int, family: str = "default") -> None:
        self.shard = shard
        self.family = family
        self.moments = array("d")
        """Rows of (time in s, job): one per version edit, memtable switch or aborted job."""
        self.files = array("q")
        """Rows of (moment, kind, file, from level, to level, smallest key, largest key, bytes, entries, linked to)."""
        self.removals = array("q")
        """Rows of (moment, kind, file, from level): deleted files and inputs; an earlier row has their range and size."""

    def observe(self, events: StoreEvents) -> None:
        """Start to log the events of a column family."""
        events.edited.add(self._edited)
        events.switched.add(self._switched)
        events.abandoned.add(self._abandoned)

    def _edited(self, edit: VersionEdit) -> None:
        moment = self._moment(edit.time_s, edit.job)
        removed = {f.number: level for level, files in edit.removed for f in files}
        left = dict(removed)
        for file in edit.frozen:
            self._file(moment, EventKind.FREEZE, file, left.pop(file.number, _NONE), _NONE)
        for level, files in edit.added:
            for file in files:
                source = left.pop(file.number, _NONE)
                kind = EventKind.CREATE if source == _NONE else EventKind.MOVE
                self._file(moment, kind, file, source, level)
        for target, part in edit.links:
            self.files.extend(
                (moment, EventKind.LINK, part.source.number, _NONE, _NONE, part.lo, part.hi, part.size_bytes,
                 round(part.entries), target.number)
            )  # fmt: skip
        for number, level in left.items():
            self.removals.extend((moment, EventKind.DELETE, number, level))
        for file in edit.unreferenced:
            if file.number not in removed:
                self.removals.extend((moment, EventKind.DELETE, file.number, _NONE))

    def _file(self, moment: int, kind: EventKind, file: SortedFile, source: int, level: int) -> None:
        self.files.extend(
            (moment, kind, file.number, source, level, file.lo, file.hi, file.size_bytes, round(file.entries), _NONE)
        )

    def _switched(self, now_s: float, entries: float, wal_bytes: float) -> None:
        moment = self._moment(now_s, _NONE)
        row = (moment, EventKind.SWITCH, _NONE, _NONE, _NONE, 0, 0, round(wal_bytes), round(entries), _NONE)
        self.files.extend(row)

    def _abandoned(self, now_s: float, job: int, inputs: Sequence[Files]) -> None:
        moment = self._moment(now_s, job)
        for level, files in inputs:
            for file in files:
                self.removals.extend((moment, EventKind.INPUT, file.number, level))

    def _moment(self, now_s: float, job: int) -> int:
        self.moments.extend((now_s, job))
        return len(self.moments) // self.MOMENT_WIDTH - 1
