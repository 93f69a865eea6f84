"""RocksDB's query trace: operations of clients as `DB::StartTrace` and db_bench's --trace_file write them.

A record is a time in microseconds (8 bytes), a type (1), the length of the payload (4) and the payload; numbers are
little-endian. The first record is the header with the versions of the format and of RocksDB, and the last one has the type
of an end (trace_replay/trace_replay.cc: TracerHelper::EncodeTrace, Tracer::WriteHeader, Tracer::WriteFooter). Format 0.1
(RocksDB 5.14 to 6.17) has the bare arguments as payload. Format 0.2 has a map of the arguments before them: a bit for each of
`TracePayloadType`. Writes contain the representation of a write batch (db/write_batch.cc).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.text.compression import Damaged, unpacked
from lsmlab.models.traces.operations import UNKNOWN, Kind, OperationList, Operations

MAGIC: Final = b"feedcafedeadbeef"
_HEAD: Final = struct.Struct("<QBI")
_BEGIN, _END, _WRITE, _GET, _SEEK, _SEEK_FOR_PREV, _MULTI_GET = 1, 2, 3, 4, 5, 6, 13
"""`TraceType` (include/rocksdb/trace_record.h)."""
_OTHERS: Final = range(7, 13)
"""Types of traces of the block cache and of I/O."""
_VERSIONS: Final = re.compile(rb"Trace Version: (\d{1,3})\.(\d{1,3})\tRocksDB Version: ([\d.]{1,16})\t")
_LARGEST_PAYLOAD: Final = 1 << 30
_LARGEST_BYTES: Final = 64 << 30
_BATCH_HEADER: Final = 12
"""Bytes of sequence number and count at the start of a write batch."""
_DATA, _GET_FAMILY, _GET_KEY, _ITER_FAMILY, _ITER_KEY, _LOWER, _UPPER, _SIZE, _FAMILIES, _KEYS = range(1, 11)
"""`TracePayloadType` (trace_replay/trace_replay.h)."""
_FIXED: Final = frozenset({_GET_FAMILY, _ITER_FAMILY, _SIZE})
"""Arguments of 4 bytes; the others have their length before them."""
_MEMBERS: Final = {
    _WRITE: {_DATA}, _GET: {_GET_FAMILY, _GET_KEY}, _SEEK: {_ITER_FAMILY, _ITER_KEY}, _SEEK_FOR_PREV: {_ITER_FAMILY, _ITER_KEY},
    _MULTI_GET: {_SIZE, _FAMILIES, _KEYS},
}  # fmt: skip
"""Arguments that each type must have."""
_ENTRIES: Final[dict[int, tuple[Kind, bool, bool]]] = {
    0x0: (Kind.DELETE, False, False), 0x1: (Kind.PUT, False, True), 0x2: (Kind.MERGE, False, True),
    0x4: (Kind.DELETE, True, False), 0x5: (Kind.PUT, True, True), 0x6: (Kind.MERGE, True, True),
    0x7: (Kind.DELETE, False, False), 0x8: (Kind.DELETE, True, False), 0xE: (Kind.RANGE_DELETE, True, True),
    0xF: (Kind.RANGE_DELETE, False, True), 0x10: (Kind.PUT, True, True), 0x11: (Kind.PUT, False, True),
    0x16: (Kind.PUT, False, True), 0x17: (Kind.PUT, True, True), 0x18: (Kind.PUT, False, True), 0x19: (Kind.PUT, True, True),
}  # fmt: skip
"""Entries of a write batch by tag (`ValueType`, db/dbformat.h): kind, whether it has a column family, whether it has a value."""
_MARKS: Final = {0x3: 1, 0x9: 0, 0xA: 1, 0xB: 1, 0xC: 1, 0xD: 0, 0x12: 0, 0x13: 0, 0x15: 2}
"""Records of a write batch that write no entry, by tag: number of their strings."""


class _Torn(Exception):  # noqa: N818  (a state of a record, which its reader turns into an error)
    """A record ends within a field."""


def is_query_trace(head: bytes) -> bool:
    """Whether a file that begins so is a trace of RocksDB."""
    return head[_HEAD.size : _HEAD.size + len(MAGIC)] == MAGIC


def read_query_trace(path: Path) -> Operations:
    """Read a trace, plain or compressed. Raises InputError with the number of the first damaged record.

    A trace whose process was killed has no end, and its last record may be cut off.
    """
    found = OperationList(str(path))
    old, version = False, ""
    complete, batches, multi = False, 0, 0
    for number, time_us, kind, payload in _records(path, found):
        if number == 1:
            old, version = _header(kind, payload, found)
            continue
        if kind == _END:
            complete = True
            break
        if kind in _OTHERS:
            raise InputError(f"{path}: is a trace of the block cache or of I/O; give a trace of queries (DB::StartTrace)")
        try:
            if kind == _WRITE:
                data = payload if old else _members(payload, kind)[_DATA]
                _add_batch(found, number, bytes(data), time_us)
                batches += 1
            elif kind == _MULTI_GET:
                _add_keys(found, number, _members(payload, kind), time_us)
                multi += 1
            elif kind in _MEMBERS:
                family, key = _family_and_key(payload) if old else _of(_members(payload, kind), kind)
                found.add(number, Kind.GET if kind == _GET else Kind.SEEK, key, UNKNOWN, time_us, family=family)
            else:
                raise found.damaged(number, f"its type is {kind}")
        except (_Torn, struct.error):
            raise found.damaged(number, "it ends within a field") from None
    notes = ["a trace of RocksDB does not say whether it was sampled (TraceOptions::sampling_frequency) or filtered"]
    if not complete:
        notes.append("the trace has no end: its process was stopped, or the file was cut off")
    if multi:
        notes.append(f"{multi:,} MultiGets are read as single gets of their keys")
    return found.finished(version, complete=complete, write_batches=batches, notes=tuple(notes))


def _records(path: Path, found: OperationList) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield (number from 1, time in microseconds, type, payload) of the whole records of a file."""
    buffer, at, number = b"", 0, 1
    try:
        for part in unpacked(path, _LARGEST_BYTES):
            buffer, at = buffer[at:] + part, 0
            while len(buffer) - at >= _HEAD.size:
                time_us, kind, size = _HEAD.unpack_from(buffer, at)
                if size > _LARGEST_PAYLOAD or time_us >= 1 << 62:
                    raise found.damaged(number, f"a payload of {size:,} B" if size > _LARGEST_PAYLOAD else "its time")
                end = at + _HEAD.size + size
                if end > len(buffer):
                    break
                yield number, time_us, kind, buffer[at + _HEAD.size : end]
                at, number = end, number + 1
    except Damaged:
        return


def _header(kind: int, payload: bytes, found: OperationList) -> tuple[bool, str]:
    """Return whether the format is 0.1, and the format in words."""
    match = _VERSIONS.search(payload)
    if kind != _BEGIN or match is None:
        raise InputError(f"{found.source}: is no query trace of RocksDB: its header has no versions; give the file of StartTrace")
    major, minor = int(match[1]), int(match[2])
    if (major, minor) not in ((0, 1), (0, 2)):
        raise InputError(
            f"{found.source}: has the trace format {major}.{minor}; 0.1 and 0.2 are known. Convert it with trace_analyzer"
            " --convert_to_human_readable_trace"
        )
    return (major, minor) == (0, 1), f"query trace {major}.{minor} of RocksDB {match[3].decode()}"


def _members(payload: bytes, kind: int) -> dict[int, bytes]:
    """Return the arguments of a record of format 0.2 by `TracePayloadType`. Raises _Torn if one is missing or unknown."""
    (bits,) = struct.unpack_from("<Q", payload)
    at, members = 8, {}
    for member in range(64):
        if not bits >> member & 1:
            continue
        if member in _FIXED:
            members[member], at = payload[at : at + 4], at + 4
        elif _DATA <= member <= _KEYS:
            members[member], at = _prefixed(payload, at)
        else:
            raise _Torn
    if at > len(payload) or not _MEMBERS[kind] <= members.keys():
        raise _Torn
    return members


def _of(members: dict[int, bytes], kind: int) -> tuple[int, bytes]:
    family, key = (_GET_FAMILY, _GET_KEY) if kind == _GET else (_ITER_FAMILY, _ITER_KEY)
    return int.from_bytes(members[family], "little"), members[key]


def _family_and_key(payload: bytes) -> tuple[int, bytes]:
    (family,) = struct.unpack_from("<I", payload)
    return family, _prefixed(payload, 4)[0]


def _add_keys(found: OperationList, number: int, members: dict[int, bytes], time_us: int) -> None:
    size, families, keys, at = int.from_bytes(members[_SIZE], "little"), members[_FAMILIES], members[_KEYS], 0
    if len(families) != 4 * size:
        raise _Torn
    for i in range(size):
        key, at = _prefixed(keys, at)
        found.add(number, Kind.GET, key, UNKNOWN, time_us, family=int.from_bytes(families[4 * i : 4 * i + 4], "little"))


def _add_batch(found: OperationList, number: int, data: bytes, time_us: int) -> None:
    if len(data) < _BATCH_HEADER:
        raise _Torn
    at, entries = _BATCH_HEADER, 0
    while at < len(data):
        tag, at = data[at], at + 1
        if tag in _MARKS:
            for _ in range(_MARKS[tag]):
                _, at = _prefixed(data, at)
            continue
        if tag not in _ENTRIES:
            raise found.damaged(number, f"an entry of type {tag} in a write batch")
        kind, has_family, has_value = _ENTRIES[tag]
        family, at = _varint(data, at) if has_family else (0, at)
        key, at = _prefixed(data, at)
        value_bytes = 0
        if has_value:
            value_bytes, start = _varint(data, at)
            at = start + value_bytes
            if at > len(data):
                raise _Torn
        found.add(number, kind, key, value_bytes, time_us, family=family)
        entries += 1
    if entries != int.from_bytes(data[8:12], "little"):
        raise found.damaged(number, f"a write batch of {entries:,} entries, not {int.from_bytes(data[8:12], 'little'):,}")


def _prefixed(data: bytes, at: int) -> tuple[bytes, int]:
    """Return a string with its length before it, and the place after it."""
    size, at = _varint(data, at)
    if at + size > len(data):
        raise _Torn
    return data[at : at + size], at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned number of 7 bits per byte, low bits first, and the place after it."""
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            raise _Torn
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise _Torn
