"""Text of a query trace: what RocksDB's trace_analyzer writes with --convert_to_human_readable_trace.

Each line has the key in hexadecimal digits, the type, the column family, the size of the value and the time in microseconds
(tools/trace_analyzer_tool.cc: TraceAnalyzer::WriteTraceSequence). With --no_key the first field is missing.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.text.files import TextLines
from lsmlab.models.traces.operations import MOST_OPERATIONS, UNKNOWN, Kind, OperationList, Operations

_LINE: Final = re.compile(r"(?:0x)?((?:[0-9A-Fa-f]{2})*) (\d) (\d{1,10}) (\d{1,10}) (\d{1,18})", re.ASCII)
_WITHOUT_KEY: Final = re.compile(r"\d \d{1,10} \d{1,10} \d{1,18}", re.ASCII)
_KINDS: Final = (
    Kind.GET, Kind.PUT, Kind.DELETE, Kind.DELETE, Kind.RANGE_DELETE, Kind.MERGE, Kind.SEEK, Kind.SEEK, Kind.GET,
)  # fmt: skip
"""Kinds by `TraceOperationType` (tools/trace_analyzer_tool.h)."""
_SIZED: Final = (Kind.PUT, Kind.MERGE)


def is_readable_trace(line: str) -> bool:
    """Whether a file with this first line is such a text."""
    return bool(_LINE.fullmatch(line.strip()) or _WITHOUT_KEY.fullmatch(line.strip()))


def read_readable_trace(path: Path) -> Operations:
    """Read the text, plain or compressed. Raises InputError with the number of the first bad line."""
    found = OperationList(str(path), "line")
    for number, line in enumerate(TextLines(path, MOST_OPERATIONS), 1):
        text = line.strip()
        if not text:
            continue
        match = _LINE.fullmatch(text)
        if match is None and _WITHOUT_KEY.fullmatch(text):
            raise InputError(f"{path}:{number}: has no key; convert the trace again, without --no_key")
        if match is None or int(match[2]) >= len(_KINDS):
            raise found.damaged(number, "it is not: key in hexadecimal digits, type 0 to 8, column family, value size, time")
        kind = _KINDS[int(match[2])]
        value_bytes = int(match[4]) if kind in _SIZED else 0 if kind is Kind.DELETE else UNKNOWN
        found.add(number, kind, bytes.fromhex(match[1]), value_bytes, int(match[5]), family=int(match[3]))
    notes = (
        "a trace of RocksDB does not say whether it was sampled (TraceOptions::sampling_frequency) or filtered",
        "the text does not contain write batches, nor whether the trace had its end",
    )
    return found.finished("text of trace_analyzer", complete=False, notes=notes)
