"""Columns and tables of the results contract, and its version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

FORMAT: Final = 1
"""Version of the contract: goes up by one when a table or key is added, removed, renamed or means something else.

0 is what LSMLab 0.1.0 wrote, without a number; `reading` upgrades it.
"""
DTYPES: Final = ("float64", "float32", "int64", "int32", "int16", "int8", "bool", "string", "list<int64>")


@dataclass(frozen=True, slots=True)
class Column:
    """One column, or a family of columns: `<...>` in the name is a number or a name."""

    name: str
    dtype: str
    unit: str
    """s, bytes, bytes/s, count, ratio …; "" for names and numbers of jobs, files, levels."""
    meaning: str
    since: int = 0
    """First version of the contract that has the column."""
    optional: bool = False
    """Whether a table may lack the column."""

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"column {self.name}: {self.dtype!r} is not one of {', '.join(DTYPES)}")

    @property
    def family(self) -> bool:
        """Whether the name stands for several columns."""
        return "<" in self.name

    def matches(self, name: str) -> bool:
        """Whether the column, or a member of its family, has this name."""
        if not self.family:
            return name == self.name
        fixed = re.split(r"<[^>]+>", self.name)
        return re.fullmatch(".+".join(map(re.escape, fixed)), name) is not None


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One table, as `<name>.parquet` holds it."""

    name: str
    row: str
    """What one row stands for."""
    columns: tuple[Column, ...]
    since: int = 0
    note: str = ""
    """What a reader has to know of the whole table."""

    def column(self, name: str) -> Column:
        """The column of this name. Raises ValueError where the table has none."""
        for column in self.columns:
            if column.matches(name):
                return column
        raise ValueError(f"{self.name}: the results contract has no column {name!r}; add it to sim/results/schema")

    def check(self, names: Iterable[str]) -> None:
        """Raise ValueError where columns are unknown or missing: the writer and the contract have come apart."""
        present = list(names)
        for name in present:
            self.column(name)
        missing = [c.name for c in self.columns if not (c.optional or c.family or c.name in present)]
        if missing:
            raise ValueError(f"{self.name}: columns {', '.join(missing)} are missing; the results contract wants them")

    def empty(self) -> dict[str, NDArray[Any]]:
        """The columns without a row, families and optional ones left out."""
        return {c.name: column_array((), c.dtype) for c in self.columns if not (c.family or c.optional)}

    def extended(self, columns: Iterable[Column], without: Iterable[str] = (), **changes: str) -> TableSchema:
        """The same table with further columns and without some; `changes` replaces `row` or `note`."""
        left_out = set(without)
        kept = tuple(c for c in self.columns if c.name not in left_out)
        fields: Mapping[str, Any] = {"columns": (*kept, *columns), **changes}
        return replace(self, **fields)


    def table(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
        """Columns of rows that have every column, optional ones in all rows or in none; without rows, empty columns."""
        present = [c for c in self.columns if not c.optional or (rows and c.name in rows[0])]
        return {c.name: column_array([row[c.name] for row in rows], c.dtype) for c in present}


def column_array(values: Sequence[Any], dtype: str) -> NDArray[Any]:
    """Make a column: strings and lists are objects, as in pandas."""
    if dtype == "list<int64>":
        lists = np.empty(len(values), dtype=object)
        lists[:] = [np.asarray(v, dtype=np.int64) for v in values]
        return lists
    return np.array(values, dtype=object if dtype == "string" else dtype)
