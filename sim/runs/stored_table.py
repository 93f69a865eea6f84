"""Tables of a stored run, read column by column on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class StoredTable(Mapping[str, Any]):
    """Columns of a Parquet file by name, as NumPy arrays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: dict[str, Any] = {}
        self._names: list[str] | None = None

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            import pyarrow.parquet as pq

            if name not in list(self):
                raise KeyError(f"{self._path.name} has no column {name!r}; it has {', '.join(self)}")
            column = pq.read_table(self._path, columns=[name], use_threads=False)[name]
            self._read[name] = column.combine_chunks().to_numpy(zero_copy_only=False)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        if self._names is None:
            import pyarrow.parquet as pq

            self._names = list(pq.read_schema(self._path).names)
        return iter(self._names)

    def __len__(self) -> int:
        return len(list(iter(self)))
