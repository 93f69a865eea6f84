"""Rows of an index of runs, collected into a typed table while runs end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.results.leftovers import partial_path

_CHUNK: Final = 500
"""Rows that are kept as dictionaries; more are converted to Arrow columns, which take a tenth of the memory."""


@dataclass(slots=True)
class RowCollector:
    """Rows with a number each; `write` orders them by this number."""

    _rows: list[dict[str, Any]] = field(default_factory=list)
    _chunks: list[Any] = field(default_factory=list)
    _names: dict[str, None] = field(default_factory=dict)
    count: int = 0
    """Number of rows."""

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        """Add a row; no two rows have the same number."""
        self._rows.append({_NUMBER: number, **row})
        self.count += 1
        if len(self._rows) >= _CHUNK:
            self._convert()

    def write(self, path: Path, first: Sequence[str]) -> None:
        """Write all rows as Parquet: the columns `first`, then the others by name, each typed by its values."""
        import pyarrow as pa

        self._convert()
        mixed = _mixed_columns(self._chunks)
        chunks = [_with_texts(chunk, mixed) for chunk in self._chunks]
        table = pa.concat_tables(chunks, promote_options="permissive").sort_by(_NUMBER)
        others = sorted(set(table.column_names) - {*first, _NUMBER})
        write_parquet(path, table.select([*(name for name in first if name in table.column_names), *others]))

    def _convert(self) -> None:
        if self._rows:
            self._chunks.append(arrow_table(self._rows))
            self._rows.clear()


_NUMBER: Final = " number"
"""Column by which rows are ordered; a space keeps it apart from every key."""


def arrow_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return a pyarrow Table of rows; a column's type follows from its values, a key that a row lacks is null."""
    import pyarrow as pa

    columns = list(dict.fromkeys(key for row in rows for key in row))
    return pa.table({name: _column([row.get(name) for row in rows]) for name in columns})


def _column(values: list[Any]) -> list[Any]:
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int, float} and kinds:
        return [None if v is None else float(v) for v in values] if float in kinds else values
    if kinds == {bool}:
        return values
    return [None if v is None else str(v) for v in values]


def _mixed_columns(chunks: Sequence[Any]) -> set[str]:
    """Return the columns that are numbers in one chunk and not in another."""
    kinds: dict[str, set[str]] = {}
    for chunk in chunks:
        for column in chunk.schema:
            kinds.setdefault(column.name, set()).add(str(column.type).replace("int64", "double"))
    return {name for name, found in kinds.items() if len(found - {"null"}) > 1}


def _with_texts(chunk: Any, names: set[str]) -> Any:
    import pyarrow as pa

    for name in names.intersection(chunk.column_names):
        texts = pa.array([None if v is None else str(v) for v in chunk[name].to_pylist()], pa.string())
        chunk = chunk.set_column(chunk.column_names.index(name), name, texts)
    return chunk


def write_parquet(path: Path, table: Any) -> None:
    """Write a table atomically: readers see the complete old file or the complete new one."""
    import pyarrow.parquet as pq

    temporary = partial_path(path)
    try:
        pq.write_table(table, temporary, compression="zstd")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def numbers(summary: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every number and text of a summary by its key; keys of nested mappings are joined by dots."""
    for key, value in summary.items():
        if isinstance(value, Mapping):
            yield from numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float | str):
            yield f"{prefix}{key}", value
