"""Columns and tables of the results contract, and its version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

FORMAT: Final = 3
"""Version of the contract. A table or key that is added, removed, renamed or changes its meaning increases it by one."""
DTYPES: Final = ("float64", "float32", "int64", "int32", "int16", "int8", "bool", "string", "list<int64>")


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a family of columns: `<...>` in the name stands for a number or a name."""

    name: str
    dtype: str
    unit: str
    """s, bytes, bytes/s, count, ratio …; "" for names, and for numbers of jobs, files and levels."""
    meaning: str
    since: int = 0
    """First version of the contract with this column."""
    optional: bool = False
    """Whether a table may omit the column."""

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"column {self.name}: {self.dtype!r} is not one of {', '.join(DTYPES)}")

    @property
    def family(self) -> bool:
        """Whether the name stands for a family of columns."""
        return "<" in self.name

    def matches(self, name: str) -> bool:
        """Return whether the column, or a member of its family, has this name."""
        if not self.family:
            return name == self.name
        fixed = re.split(r"<[^>]+>", self.name)
        return re.fullmatch(".+".join(map(re.escape, fixed)), name) is not None


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Schema of the table in `<name>.parquet`."""

    name: str
    row: str
    """Meaning of a row."""
    columns: tuple[Column, ...]
    since: int = 0
    note: str = ""
    """Further explanation of the table."""

    def column(self, name: str) -> Column:
        """Return the column of this name. Raises ValueError if the table has none."""
        for column in self.columns:
            if column.matches(name):
                return column
        raise ValueError(f"{self.name}: the results contract has no column {name!r}; add it to sim/results/schema")

    def check(self, names: Iterable[str]) -> None:
        """Raise ValueError for unknown or missing columns: the code that writes the table contradicts the contract."""
        present = list(names)
        for name in present:
            self.column(name)
        missing = [c.name for c in self.columns if not (c.optional or c.family or c.name in present)]
        if missing:
            raise ValueError(f"{self.name}: columns {', '.join(missing)} are missing, but the contract requires them")

    def empty(self) -> dict[str, NDArray[Any]]:
        """Return the columns of a table without rows, except families and optional columns."""
        return {c.name: column_array((), c.dtype) for c in self.columns if not (c.family or c.optional)}

    def extended(self, columns: Iterable[Column], without: Iterable[str] = (), **changes: str) -> TableSchema:
        """Return a copy with further columns, without the columns in `without`; `changes` replaces `row` or `note`."""
        left_out = set(without)
        kept = tuple(c for c in self.columns if c.name not in left_out)
        fields: Mapping[str, Any] = {"columns": (*kept, *columns), **changes}
        return replace(self, **fields)


    def table(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
        """Build the columns from rows. Optional columns must be in all rows or in none."""
        present = [c for c in self.columns if not c.optional or (rows and c.name in rows[0])]
        return {c.name: column_array([row[c.name] for row in rows], c.dtype) for c in present}


def column_array(values: Sequence[Any], dtype: str) -> NDArray[Any]:
    """Build the array of a column; strings and lists are Python objects, as in pandas."""
    if dtype == "list<int64>":
        lists = np.empty(len(values), dtype=object)
        lists[:] = [np.asarray(v, dtype=np.int64) for v in values]
        return lists
    return np.array(values, dtype=object if dtype == "string" else dtype)
