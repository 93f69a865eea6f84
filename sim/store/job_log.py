"""Log of ended jobs in columns, which take a third of the memory of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

import numpy as np
from lsmlab.sim.machine.waits import JobWaits
from lsmlab.sim.store.records import JobRecord
from numpy.typing import NDArray

_BLOCK: Final = 1024
"""Records that are kept as objects until they become part of the columns."""
_TYPES: Final = {"int": np.int64, "float": np.float64, "bool": np.bool_, "str": object}
_FIELDS: Final = {f.name: _TYPES[str(f.type)] for f in fields(JobRecord) if f.name != "waits"}
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
        self._blocks: list[dict[str, NDArray[Any]]] = []
        self._recent: list[JobRecord] = []
        self._index: RowIndex | None = None

    def add(self, record: JobRecord) -> None:
        """Add the record of a job."""
        self._recent.append(record)
        self._index = None
        if len(self._recent) == _BLOCK:
            self._blocks.append(_columns(self._recent))
            self._recent = []

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the fields of all records and of their waits by name, each of shape (jobs,)."""
        if self._recent or len(self._blocks) != 1:
            blocks = [*self._blocks, _columns(self._recent)]
            self._blocks, self._recent = [], []
            # a column of all blocks at a time, so that all columns are never in memory twice
            names = list(blocks[0])
            self._blocks = [{name: np.concatenate([block.pop(name) for block in blocks]) for name in names}]
        return self._blocks[0]

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


def _columns(records: Sequence[JobRecord]) -> dict[str, NDArray[Any]]:
    own: dict[str, NDArray[Any]] = {name: np.array([getattr(r, name) for r in records], dtype) for name, dtype in _FIELDS.items()}
    return own | {name: np.array([getattr(r.waits, name) for r in records], np.float64) for name in _WAITS}
