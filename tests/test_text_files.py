"""CSV files of any encoding: a byte order mark changes nothing, and other encodings are named in one line."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.workloads.trace import TraceColumn, read_trace
from lsmlab.sim.setting import tree_rows
from lsmlab.validation.casefiles.curves import read_series
from lsmlab.validation.casefiles.public.table import rows

TRACE = "seconds,operations\n0,10\n1,20\n2,30\n"
TREE = "level,size_bytes\n1,4MiB\n2,8MiB\n"
READERS: list[tuple[Callable[[Path], Any], str]] = [
    (lambda path: read_trace(path, TraceColumn.OPERATIONS), TRACE),
    (lambda path: tree_rows(str(path)), TREE),
    (lambda path: list(rows(path)), TREE),
]
NAMES = ("trace", "initial tree", "public table", "series")
SERIES = (lambda path: read_series(path).tolist(), TRACE)
"""Functions that read a CSV file in UTF-8, and a text that each accepts; `SERIES` reads any Unicode encoding."""


@pytest.mark.parametrize(("read", "text"), [*READERS, SERIES], ids=NAMES)
def test_a_byte_order_mark_changes_nothing(read: Callable[[Path], Any], text: str, tmp_path: Path) -> None:
    """Spreadsheets write UTF-8 with a byte order mark."""
    plain, marked = tmp_path / "plain.csv", tmp_path / "marked.csv"
    plain.write_text(text, encoding="utf-8")
    marked.write_text(text, encoding="utf-8-sig")

    assert read(plain) == read(marked)


@pytest.mark.parametrize(("read", "text"), READERS, ids=NAMES[:3])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (lambda text: text.encode("utf-16"), "it is UTF-16; save it as UTF-8"),
        (lambda text: text.encode() + b"caf\xe9\n", "byte [0-9]+ is not UTF-8; save it as UTF-8"),
    ],
)
def test_other_encodings_are_named(
    read: Callable[[Path], Any], text: str, content: Callable[[str], bytes], reason: str, tmp_path: Path
) -> None:
    """The message has the file and the remedy, and no name of a codec."""
    path = tmp_path / "table.csv"
    path.write_bytes(content(text))

    with pytest.raises(InputError, match=rf"table\.csv.*{reason}"):
        read(path)


def test_a_missing_trace_has_no_error_number(tmp_path: Path) -> None:
    """The reason is in words."""
    with pytest.raises(InputError, match=r"none\.csv cannot be read \(No such file or directory\)"):
        read_trace(tmp_path / "none.csv", TraceColumn.RATE)


@pytest.mark.parametrize(("read", "text"), [*READERS, SERIES], ids=NAMES)
def test_damaged_files_are_read_or_refused(read: Callable[[Path], Any], text: str, tmp_path: Path) -> None:
    """Two hundred files with changed, doubled and removed bytes end in a result or in one line."""
    draws = random.Random(1)
    path = tmp_path / "table.csv"
    for _ in range(200):
        raw = bytearray(text.encode())
        for _ in range(draws.randrange(1, 4)):
            at = draws.randrange(len(raw))
            raw[at : at + draws.randrange(2)] = draws.choice([b"", b"\0", b"\xff", b'"', b"\r", b"9" * 400, b"1e400", b"nan"])
        path.write_bytes(raw)
        with contextlib.suppress(InputError):
            read(path)
