"""Form of a file with operations, and its operations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.text.compression import Damaged, unpacked
from lsmlab.models.traces.cache_trace import is_cache_trace, read_cache_trace
from lsmlab.models.traces.operations import Operations
from lsmlab.models.traces.query_trace import is_query_trace, read_query_trace
from lsmlab.models.traces.readable_trace import is_readable_trace, read_readable_trace

_HEAD_BYTES: Final = 4096
Reader = Callable[[Path], Operations]


def reader_of(path: Path) -> Reader | None:
    """Return the reader of a file with operations by its begin; None for another file. Raises InputError if it is unreadable."""
    head = b""
    try:
        for part in islice(unpacked(path, 1 << 62), 1):
            head = part[:_HEAD_BYTES]
    except Damaged:
        pass
    if is_query_trace(head):
        return read_query_trace
    line = head.partition(b"\n")[0].decode("utf-8-sig", "replace")
    if is_readable_trace(line):
        return read_readable_trace
    return read_cache_trace if is_cache_trace(line) else None


def read_operations(path: Path) -> Operations:
    """Read the operations of a trace. Raises InputError for a file in another form, and with the record of damage."""
    reader = reader_of(path)
    if reader is None:
        raise InputError(
            f"{path}: is no trace of operations; known are RocksDB's query trace (StartTrace, db_bench --trace_file), the text"
            " of trace_analyzer --convert_to_human_readable_trace, and CSV files of Twitter's and Meta's cache traces"
        )
    return reader(path)
