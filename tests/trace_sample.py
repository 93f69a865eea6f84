"""Query traces as RocksDB writes them, of operations given as rows, in both formats and as text of trace_analyzer."""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

START_US = 1_700_000_000_000_000
TAGS = {"put": b"\x01", "delete": b"\x00", "merge": b"\x02", "range_delete": b"\x0f"}
CODES = {"get": 0, "put": 1, "delete": 2, "range_delete": 4, "merge": 5, "seek": 6}
TYPES = {"get": 4, "seek": 5}


class Row(NamedTuple):
    """One operation."""

    kind: str
    key: bytes
    value_bytes: int = 0
    time_s: float = 0.0


def varint(number: int) -> bytes:
    """Return a number in 7 bits per byte, low bits first."""
    out = b""
    while number >= 0x80:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def prefixed(text: bytes) -> bytes:
    """Return a string with its length before it."""
    return varint(len(text)) + text


def record(time_s: float, kind: int, payload: bytes) -> bytes:
    """Return a record of a trace."""
    return struct.pack("<QBI", START_US + round(time_s * 1e6), kind, len(payload)) + payload


def header(version: str = "0.2") -> bytes:
    """Return the first record."""
    text = f"feedcafedeadbeef\tTrace Version: {version}\tRocksDB Version: 7.8\tFormat: Timestamp OpType Payload\n"
    return record(0.0, 1, text.encode())


def batch(rows: Sequence[Row]) -> bytes:
    """Return a write batch."""
    out = struct.pack("<QI", 0, len(rows))
    for row in rows:
        out += TAGS[row.kind] + prefixed(row.key) + (b"" if row.kind == "delete" else prefixed(b"v" * row.value_bytes))
    return out


def operation(row: Row, *, old: bool = False) -> bytes:
    """Return the record of an operation, in format 0.2 or 0.1 (`old`)."""
    if row.kind not in TYPES:
        data = batch([row])
        return record(row.time_s, 3, data if old else struct.pack("<Q", 1 << 1) + prefixed(data))
    family_and_key = struct.pack("<I", 0) + prefixed(row.key)
    bits = (1 << 2 | 1 << 3) if row.kind == "get" else (1 << 4 | 1 << 5)
    return record(row.time_s, TYPES[row.kind], family_and_key if old else struct.pack("<Q", bits) + family_and_key)


def query_trace(rows: Sequence[Row], *, old: bool = False, complete: bool = True) -> bytes:
    """Return a whole trace."""
    end = record(rows[-1].time_s, 2, b"") if complete else b""
    return header("0.1" if old else "0.2") + b"".join(operation(row, old=old) for row in rows) + end


def readable(rows: Sequence[Row]) -> str:
    """Return the text that trace_analyzer makes of a trace."""
    return "".join(
        f"0x{row.key.hex().upper()} {CODES[row.kind]} 0 {row.value_bytes} {START_US + round(row.time_s * 1e6)}\n" for row in rows
    )


def key(number: int) -> bytes:
    """Return a key of 16 bytes."""
    return b"%016d" % number


def mixed(count: int, keys: int = 1000, seed: int = 1) -> list[Row]:
    """Return gets, puts, deletes and seeks of uniform keys, 1000 per second."""
    rng = random.Random(seed)
    kinds = rng.choices(("get", "put", "delete", "seek"), (0.5, 0.4, 0.05, 0.05), k=count)
    return [
        Row(kind, key(rng.randrange(keys)), rng.randrange(50, 150) if kind == "put" else 0, i / 1000)
        for i, kind in enumerate(kinds)
    ]


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(query_trace(mixed(20_000, 5000)))
