"""Files of one store's history: its LOG and LOG.old.* files, in time order, and the gaps between them.

RocksDB begins a new LOG each time that it opens the store, and where the old one is too long or too old; it renames the
old one to LOG.old.<microseconds> and repeats the header in the new one (logging/auto_roll_logger.cc).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.options_text import Form, form_of
from lsmlab.models.text.files import TextLines
from lsmlab.models.text.plain_lines import PlainLines
from lsmlab.validation.logs.clock import Clock
from lsmlab.validation.logs.lines import split_line

VERSION: Final = re.compile(r"RocksDB version: (\S+)")
POINTER: Final = re.compile(r"DB pointer (\S+)")
_LOG: Final = re.compile(r"(?P<store>.+_)?LOG(?:\.old\.\d+)?(?:\.(?:gz|xz|bz2))?")
_OPTIONS: Final = re.compile(r"OPTIONS-(?P<number>\d+)")
_SESSION: Final = re.compile(r"DB Session ID:\s+(\S+)")
_HEAD_LINES: Final = 20_000
"""Lines in which the header of a LOG ends; a hundred column families take 15,000."""
_FIRST_STAMPS: Final = 20
"""Lines from which the time of the first one is taken: a single stamp may be damaged."""
_NO_END: Final = 1 << 60
"""Number of no line: above that of the last one."""
GAP_US: Final = 10**6
"""Shortest time between two files that counts as a gap; the tables have a row per second."""


@dataclass(frozen=True, slots=True)
class LogHead:
    """Header of a LOG file."""

    path: Path
    first_us: int | None = None
    """Time of the first line; None without time stamps."""
    lines: range | None = None
    """Numbers of its lines, of one of several LOGs in a file; None: the whole file."""
    version: str = ""
    """Release of RocksDB; empty if the file has no header."""
    session: str = ""
    """Name of the open, which releases from 6.15 on write; empty without it."""
    pointer: str = ""
    """Address of the open store; empty if it is not in the header, because the open had to recover first."""

    def continues(self, session: str, pointer: str, *, closed: bool) -> bool:
        """Whether the file goes on with the open whose name and address are given; `closed`: whether it has ended."""
        if not self.version or (self.session and session):
            return bool(self.session) and self.session == session
        return bool(self.pointer) and self.pointer == pointer and not closed


def log_files(places: Sequence[Path]) -> list[Path]:
    """Return the LOG files that files and folders mean; a folder means its LOG and LOG.old.* files.

    Raises InputError for a folder without a LOG, or with those of several stores.
    """
    found: list[Path] = []
    for place in places:
        found += _logs_in(place) if place.is_dir() else [place]
    return list(dict.fromkeys(found))


def _logs_in(folder: Path) -> list[Path]:
    """Return the LOG files in a folder that are not empty."""
    named = {path: match for path in sorted(folder.iterdir()) if (match := _LOG.fullmatch(path.name)) and path.is_file()}
    stores = {match["store"] or "" for match in named.values()}
    if not named:
        raise InputError(f"{folder}: contains no file LOG or LOG.old.*; give the database's folder, or the LOG itself")
    if len(stores) > 1:
        names = ", ".join(f"{store}LOG" for store in sorted(stores)[:3])
        raise InputError(f"{folder}: contains the LOGs of {len(stores)} stores ({names}); name the files of one of them")
    files = [path for path in named if path.stat().st_size]
    if not files:
        raise InputError(f"{folder}: its LOG is empty; give a folder whose LOG has lines")
    return files


def newest_options(folder: Path) -> Path | None:
    """Return the OPTIONS file of a folder with the largest number; None without one."""
    found = [(int(match["number"]), path) for path in folder.iterdir() if (match := _OPTIONS.fullmatch(path.name))]
    return max(found)[1] if found else None


def is_options_file(path: Path) -> bool:
    """Whether a file has one of the forms of texts with options other than a LOG. Raises InputError if it cannot be read."""
    return form_of(islice(_lines(path), 50)) not in (Form.LOG, Form.OTHER)


def in_time_order(paths: Sequence[Path]) -> list[LogHead]:
    """Return the headers of a history's files by the time of their first lines.

    Raises InputError for one of several files that has no time stamps, because its place in the history is unknown.
    """
    if len(paths) == 1:
        return [LogHead(paths[0])]
    heads = [read_head(path) for path in paths]
    timeless = next((head.path for head in heads if head.first_us is None), None)
    if timeless is not None:
        raise InputError(f"{timeless}: has no time stamps of a LOG; give an OPTIONS file or a LOG of RocksDB")
    return sorted(heads, key=lambda head: (head.first_us or 0, head.path.name))


def apart(path: Path, begins: Sequence[int]) -> list[LogHead]:
    """Return the headers of the LOGs in one file by the time of their first lines; `begins`: numbers of their first lines."""
    edges = [*sorted({1, *begins}), _NO_END]
    heads = [read_head(path, range(first, last)) for first, last in itertools.pairwise(edges)]
    return sorted(heads, key=lambda head: head.first_us or 0)


def read_head(path: Path, lines: range | None = None) -> LogHead:
    """Read the header of a LOG: its lines before the first event. Raises InputError if the file cannot be read.

    `lines`: numbers of the lines of one of several LOGs in the file.
    """
    clock, stamps, found = Clock(), 0, {"version": "", "session": "", "pointer": ""}
    patterns = {"version": VERSION, "session": _SESSION, "pointer": POINTER}
    for text in islice(_lines(path, lines), _HEAD_LINES):
        if stamps < _FIRST_STAMPS:
            stamps += sum(line.stamped for line in split_line(text, clock))
        if "EVENT_LOG_v1 " in text or all(found.values()):
            break
        for name, pattern in patterns.items():
            if not found[name] and (match := pattern.search(text)):
                found[name] = match[1]
    return LogHead(path, clock.first_us, lines, **found)


def _lines(path: Path, lines: range | None = None) -> Iterator[str]:
    """Yield the plain lines of a file, all or those with the numbers in `lines`."""
    return (text for number, text in PlainLines(TextLines(path)) if lines is None or number in lines)
