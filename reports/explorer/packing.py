"""Binary form of a run's columns in a page: typed arrays behind a JSON header, compressed, as base64 text."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT: Final = 8
"""Bytes at whose multiples arrays begin, so that a browser needs no copy to use them as typed arrays."""
_DTYPES: Final = {"f8", "f4", "u4", "i4", "u2", "i2", "u1", "i1"}
_LEVEL: Final = 6
"""Compression level of gzip: higher ones take several times as long for 2 % less."""


def narrowed(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return numbers as the type of a typed array: an integer type takes NaN as 0, and its limits beyond them.

    >>> narrowed(np.array([np.nan, -1.0, 300.0, 7.0]), "u1").tolist()
    [0, 0, 255, 7]
    """
    target = np.dtype(f"<{dtype}")
    if target.kind == "f":
        return values.astype(target)
    limits = np.iinfo(target)
    known = np.nan_to_num(values, nan=0.0) if values.dtype.kind == "f" else values.astype(np.int64)
    narrow: NDArray[Any] = np.clip(known, limits.min, limits.max).astype(target)
    return narrow


def pack(data: Mapping[str, Any]) -> str:
    """Return the base64 text of nested mappings, lists and arrays; the module web/unpack.js reads it.

    Layout: length of the header as a little-endian 32-bit number, JSON header, padding, arrays. An array stands in the
    header as {"$": [dtype, offset in bytes after the padding, length]}. The same data give the same text.
    """
    arrays: list[bytes] = []
    header = json.dumps(_header(data, arrays, [0]), separators=(",", ":"), allow_nan=False).encode()
    head = struct.pack("<I", len(header)) + header
    return compressed(head + bytes(-len(head) % _ALIGNMENT) + b"".join(arrays))


def compressed(content: bytes) -> str:
    """Return gzip-compressed bytes as base64 text."""
    return base64.b64encode(gzip.compress(content, _LEVEL, mtime=0)).decode("ascii")


def _header(value: Any, arrays: list[bytes], end: list[int]) -> Any:
    """Return `value` with each array replaced by its place; append the bytes of the arrays to `arrays`."""
    if isinstance(value, Mapping):
        return {str(key): _header(inner, arrays, end) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_header(inner, arrays, end) for inner in value]
    if not isinstance(value, np.ndarray):
        return value
    dtype = value.dtype.str[1:]
    assert dtype in _DTYPES, f"a browser has no typed array for {value.dtype}"
    content = np.ascontiguousarray(value, dtype=f"<{dtype}").tobytes()
    place = {"$": [dtype, end[0], len(value)]}
    arrays.append(content + bytes(-len(content) % _ALIGNMENT))
    end[0] += len(arrays[-1])
    return place
