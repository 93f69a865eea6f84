"""Writing tables as Parquet.

Arrow arrays are made from buffers here: `pyarrow.array` would first import pandas wherever that is installed, which
takes longer than most runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def write_table(path: Path, columns: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write columns (arrays, or lists of int64 arrays) to `path`, with `about` in the schema's metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [_column(pa, values) for values in columns.values()]
    fields = [pa.field(name, array.type) for name, array in zip(columns, arrays, strict=True)]
    schema = pa.schema(fields, metadata={b"lsmlab": json.dumps(about).encode()})
    text = [f.name for f in fields if f.type == pa.string()]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, compression="zstd", use_dictionary=text)


def _column(pa: Any, values: Any) -> Any:
    if isinstance(values, list):
        return _lists(pa, values)
    array = np.ascontiguousarray(values)
    if array.dtype.kind == "U":
        return _strings(pa, array)
    kind = {"f": (np.float64, pa.float64()), "i": (np.int64, pa.int64()), "u": (np.int64, pa.int64())}
    dtype, arrow = kind[array.dtype.kind]
    return pa.Array.from_buffers(arrow, len(array), [None, pa.py_buffer(array.astype(dtype, copy=False))])


def _offsets(pa: Any, lengths: Sequence[int]) -> Any:
    return pa.py_buffer(np.concatenate(([0], np.cumsum(np.asarray(lengths, dtype=np.int32)))).astype(np.int32))


def _strings(pa: Any, array: np.ndarray[Any, Any]) -> Any:
    words = [str(word).encode() for word in array.tolist()]
    return pa.StringArray.from_buffers(len(words), _offsets(pa, [len(w) for w in words]), pa.py_buffer(b"".join(words)))


def _lists(pa: Any, rows: Sequence[np.ndarray[Any, Any]]) -> Any:
    flat = np.concatenate([np.empty(0, dtype=np.int64), *rows])
    child = pa.Array.from_buffers(pa.int64(), len(flat), [None, pa.py_buffer(flat)])
    return pa.Array.from_buffers(
        pa.list_(pa.int64()), len(rows), [None, _offsets(pa, [len(r) for r in rows])], children=[child]
    )
