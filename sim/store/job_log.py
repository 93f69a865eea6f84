"""Log of ended jobs in columns, which take a third of the memory of records."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

import numpy as np
from lsmlab.sim.machine.steps import JobWaits
from lsmlab.sim.store.blocks import Blocks, Columns
from lsmlab.sim.store.records import JobRecord
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
