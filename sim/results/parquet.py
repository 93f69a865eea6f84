"""Parquet files of a run's tables.

Arrow arrays are built from buffers: `pyarrow.array` imports pandas if pandas is installed. The import takes longer than
most runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.sim.results.schema.columns import FORMAT, TableSchema

_LISTS: Final = "list<int64>"
_JOINED: Final = 4096
"""Strings that are joined at once: `bytes.join` takes 80 bytes of memory per string."""
_GROUP_ROWS: Final = 65_536
"""Rows of a row group: Arrow's arrays of a group are in memory beside the table."""


def write_table(folder: Path, schema: TableSchema, columns: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write a table to `folder`/<name>.parquet with the column types of the results contract.

    `columns`: arrays, or lists of int64 arrays. The metadata of the file contain, under the key `lsmlab`, `about`, the name
    of the table and the version of the contract. The metadata of a column contain its unit.
    """
    import pyarrow.parquet as pq

    def group(start: int, end: int) -> Any:
        part = {name: values[start:end] for name, values in columns.items()}
        return arrow_table(schema, part).replace_schema_metadata(metadata)

    metadata = {b"lsmlab": json.dumps({**about, "format": FORMAT, "table": schema.name}).encode()}
    text = [name for name in columns if schema.column(name).dtype == "string"]
    path, rows = folder / f"{schema.name}.parquet", max(map(len, columns.values()))
    with pq.ParquetWriter(path, group(0, 0).schema, compression="zstd", use_dictionary=text) as writer:
        for start in range(0, max(1, rows), _GROUP_ROWS):
            writer.write_table(group(start, start + _GROUP_ROWS))


def arrow_table(schema: TableSchema, columns: Mapping[str, Any]) -> Any:
    """Return columns as a pyarrow Table with the types of the results contract, and each column's unit as metadata."""
    import pyarrow as pa

    schema.check(columns)
    types = {name: schema.column(name) for name in columns}
    arrays = [_array(pa, values, types[name].dtype) for name, values in columns.items()]
    fields = [
        pa.field(name, array.type, metadata={b"unit": types[name].unit.encode()})
        for name, array in zip(columns, arrays, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _array(pa: Any, values: Any, dtype: str) -> Any:
    if dtype == _LISTS:
        return _lists(pa, values)
    if dtype == "string":
        return _strings(pa, values)
    if dtype == "bool":
        bits = np.packbits(np.asarray(values, dtype=np.bool_), bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])
    array = np.ascontiguousarray(values, dtype=dtype)
    return pa.Array.from_buffers(pa.type_for_alias(dtype), len(array), [None, pa.py_buffer(array)])


def _offsets(pa: Any, lengths: Iterable[int], count: int) -> Any:
    offsets = np.zeros(count + 1, dtype=np.int32)
    np.cumsum(np.fromiter(lengths, np.int32, count), out=offsets[1:])
    return pa.py_buffer(offsets)


def _strings(pa: Any, values: Any) -> Any:
    """Return an Arrow array of strings; each distinct string is encoded only once.

    `pyarrow.Array.take` would import pyarrow.compute, which takes as long as a short run.
    """
    encoded = {text: text.encode() for text in set(values)}
    offsets = _offsets(pa, (len(encoded[text]) for text in values), len(values))
    joined = bytearray()
    for start in range(0, len(values), _JOINED):
        joined += b"".join([encoded[text] for text in values[start : start + _JOINED]])
    return pa.StringArray.from_buffers(len(values), offsets, pa.py_buffer(joined))


def _lists(pa: Any, rows: Sequence[np.ndarray[Any, Any]]) -> Any:
    flat = np.concatenate([np.empty(0, dtype=np.int64), *rows])
    child = pa.Array.from_buffers(pa.int64(), len(flat), [None, pa.py_buffer(flat)])
    return pa.Array.from_buffers(
        pa.list_(pa.int64()), len(rows), [None, _offsets(pa, map(len, rows), len(rows))], children=[child]
    )
