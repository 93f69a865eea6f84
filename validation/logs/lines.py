"""Single lines of a RocksDB LOG: split into time stamp and message, and converted to records."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from sys import intern
from typing import Final

from lsmlab.validation.logs.clock import Clock
from lsmlab.validation.logs.records import (
    DeletedLine,
    DroppingLine,
    IdlePick,
    InstalledLine,
    JobLine,
    MovedLine,
    MovingLine,
    OptionsChange,
    Record,
    ReleasedLine,
    StallLine,
    StartSummary,
    SwitchLine,
)

_STAMP: Final = r"\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d\.\d{6}"
_LINE: Final = re.compile(rf"({_STAMP}) (\S+) (?:\(Original Log Time ({_STAMP})\) )?")
_ORIGINAL: Final = re.compile(rf"\(Original Log Time ({_STAMP})\) ")
_HOST: Final = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T _-](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?|"
    r"[IWEFD](\d\d)(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6})"
)
"""Time stamps of programs that embed RocksDB: ISO 8601 and similar, and CockroachDB's (I210503 12:34:56.789012)."""
_HOST_THREAD: Final = re.compile(r"(?:[Z+-][\d:]* )?\s*\[?([0-9a-f]{4,16}|\d+)\b")
_MESSAGE: Final = re.compile(
    r"EVENT_LOG_v1 |\(Original Log Time |(?:\[(?:WARN|ERROR|FATAL)\] ?)?\[[^\]\s]+\.(?:cc|h):\d+\] |RocksDB version: |"
    r"DB pointer |"
    r" *Options\.\w|\[[^\]]+\] (?:Stalling|Stopping|Increasing|New memtable|Mov(?:ing|ed) #|Level-0 |"
    r"compacted to|Level summary|SetOptions|\[JOB )|"
    r"------- DUMPING STATS|Shutdown"
)
"""Beginnings of the messages to read. Needed where the embedding program puts a prefix of unknown length before
them."""
_HEAD: Final = re.compile(
    r"(?:\[(?:WARN|ERROR|FATAL|HEADER|DEBUG)\] ?)?(?:\[[^\]]*:\d+\] ?)?(?:\[([^\]]*)\]:? )?(?:\[JOB (\d+)\] )?"
)

_STALL: Final = re.compile(
    r"(?:Stalling writes because (?:we have \d+ (?:immutable memtables \(waiting for flush\), "
    r"max_write_buffer_number is set to \d+|level-0 files)|of estimated pending compaction bytes \d+) rate \d+|"
    r"Stopping writes because (?:we have \d+ (?:immutable memtables \(waiting for flush\), "
    r"max_write_buffer_number is set to \d+|level-0 files)|of estimated pending compaction bytes \d+)|"
    r"Increasing compaction threads because (?:we have \d+ (?:level-0 files|files marked for compaction)|"
    r"of estimated pending compaction bytes \d+))\s*$"
)
_SWITCH: Final = re.compile(r"New memtable created with log file: #(\d+)\. Immutable memtables: (\d+)\.")
_MOVING: Final = re.compile(r"Moving #(\d+) to level-(\d+) (\d+) bytes")
_MOVED: Final = re.compile(r"Moved #(\d+) files to level-(\d+) (\d+) bytes \S+: .*?files\[([\d ]+)\]")
_RELEASED: Final = re.compile(r"Level-0 commit (?:flush result of )?table #(\d+).*: memtable #(\d+) done")
_SUMMARY: Final = re.compile(r"Compaction start summary: Base version (\d+) Base level (\d+), inputs: (.*)")
_INSTALLED: Final = re.compile(r"compacted to: .*?files\[([\d ]+)\]")
_NEAR: Final = re.compile(
    r"writes because|compaction threads|immutable memtables|level-0 files|pending compaction bytes \d+( rate|\s*$)|"
    r"\"time_micros\": |"
    r"\"job\": \d+|\"event\": \"|\[JOB \d+\] (?:Level-0 flush|Compact|Generated|Flush)|"
    r"files to L\d|lumn_family\.cc|Level-0 commit table #\d+: |memtables?: \d+\.$"
)
_NOT_DAMAGED: Final = re.compile(
    r"(?:Level-0 commit (?:flush result of )?table #\d+.* started|Level-0 flush table #\d+: started|"
    r"Compaction error|Flushing|Column family|Level summary: )"
)

KNOWN_EVENTS: Final = frozenset(
    (
        "flush_started", "flush_finished", "compaction_started", "compaction_finished", "trivial_move",
        "table_file_creation", "table_file_deletion", "blob_file_creation", "blob_file_deletion",
        "recovery_started", "recovery_finished", "ingest_finished", "refit_level", "stats",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A message with its time."""

    time_us: int
    """Local wall clock; for a line without a time stamp, the time of the line before it."""
    thread: str
    message: str
    stamped: bool
    stated_us: int = 0
    """Time in the line's stamp, even if `Clock` did not accept it."""


def split_line(text: str, clock: Clock) -> list[Line]:
    """Split one physical line into messages: one, or several if a line break was lost; none if the line is blank."""
    first = _LINE.match(text)
    if first is not None and not _another_stamp(text, first.end()):
        clock.own = True
        return [_stamped(text, first, len(text), clock)]
    stamps = list(_LINE.finditer(text))
    if not stamps:
        return _host_line(text, clock)
    clock.own = True
    lines = []
    if stamps[0].start() and _MESSAGE.match(text) and looks_damaged(text[: stamps[0].start()]):
        lines.append(Line(clock.last_us, "", text[: stamps[0].start()], stamped=False))
    for i, found in enumerate(stamps):
        end = stamps[i + 1].start() if i + 1 < len(stamps) else len(text)
        lines.append(_stamped(text, found, end, clock))
    return lines


def _another_stamp(text: str, start: int) -> bool:
    """Whether a time stamp may follow after `start`: look for its slashes, as regular expressions are slow."""
    at = text.find("/", start)
    while at >= 0:
        if text[at + 3 : at + 4] == "/" and text[at + 6 : at + 7] == "-":
            return True
        at = text.find("/", at + 1)
    return False


def _stamped(text: str, found: re.Match[str], end: int, clock: Clock) -> Line:
    time_us, stated_us = clock.read(found[1])
    if found[3]:
        time_us = clock.original(found[3], time_us)
    return Line(time_us, found[2], text[found.end() : end].rstrip("\r"), True, stated_us)


def _host_line(text: str, clock: Clock) -> list[Line]:
    text = text.rstrip("\r")
    if not text.strip():
        return []
    host = _HOST.search(text) if not clock.own else None
    start = _MESSAGE.search(text)
    if start is None:
        return [Line(clock.last_us, "", text, stamped=False)]
    message = text[start.start() :]
    if message.endswith('"]'):  # some programs wrap a message as ["…"] and escape quotes
        message = message.removesuffix('"]').replace('\\"', '"').replace("\\\\", "\\")
    if host is None or host.start() > start.start():
        return [Line(clock.last_us, "", message, stamped=False)]
    year, month, day, hour, minute, second, fraction = host.groups()[:7] if host[1] else host.groups()[7:]
    year = year if len(year) == 4 else f"20{year}"
    stamp = f"{year}/{month}/{day}-{hour}:{minute}:{second}.{(fraction or '0')[:6].ljust(6, '0')}"
    time_us, stated_us = clock.read(stamp)
    clock.wrapped = True
    thread = _HOST_THREAD.match(text, host.end())
    if original := _ORIGINAL.match(message):
        time_us = clock.original(original[1], time_us)
        message = message[original.end() :]
    return [Line(time_us, thread[1] if thread else "", message, True, stated_us)]


def read_line(message: str, time_us: int, thread: str, number: int, opening: int) -> Record | None:
    """Convert a message to its record; None for a message of any other kind than those in `records`."""
    head = _HEAD.match(message)
    assert head is not None
    rest = message[head.end() :]
    reader = _FIRST_WORDS.get(rest.split(" ", 1)[0])
    if reader is None:
        return None
    return reader(_Context(time_us, intern(thread), number, opening, intern(head[1] or "default"), head[2]), rest)


def looks_damaged(message: str) -> bool:
    """Whether a message that could not be read resembles a known message, and so is probably damaged."""
    if not _NEAR.search(message):
        return False
    head = _HEAD.match(message)
    return not _NOT_DAMAGED.match(message, head.end() if head else 0)


@dataclass(frozen=True, slots=True)
class _Context:
    time_us: int
    thread: str
    number: int
    opening: int
    family: str
    job: str | None


def _stall(c: _Context, text: str) -> Record | None:
    if not _STALL.match(text):
        return None
    return StallLine(c.time_us, c.thread, c.number, text.rstrip(), c.family, opening=c.opening)


def _switch(c: _Context, text: str) -> Record | None:
    found = _SWITCH.match(text)
    return found and SwitchLine(c.time_us, c.thread, c.number, int(found[2]), c.family, opening=c.opening)


def _moving(c: _Context, text: str) -> Record | None:
    found = _MOVING.match(text)
    return found and MovingLine(
        c.time_us, c.thread, c.number, int(found[1]), int(found[2]), int(found[3]), c.family, opening=c.opening
    )


def _moved(c: _Context, text: str) -> Record | None:
    found = _MOVED.match(text)
    return found and MovedLine(
        c.time_us, c.thread, c.number, _numbers(found[4]), c.family, int(found[1]), int(found[3]), int(found[2]),
        opening=c.opening,
    )  # fmt: skip


def _level0(c: _Context, text: str) -> Record | None:
    if found := _RELEASED.match(text):
        return ReleasedLine(c.time_us, c.thread, c.number, int(found[1]), int(found[2]), c.family, opening=c.opening)
    return _job(c, text) if text.startswith("Level-0 flush") else None


def _compaction(c: _Context, text: str) -> Record | None:
    if found := _SUMMARY.match(text):
        return StartSummary(c.time_us, c.thread, c.number, int(found[1]), int(found[2]), found[3], opening=c.opening)
    return IdlePick(c.time_us, c.thread, c.number, opening=c.opening) if "nothing to do" in text else None


def _deleted(c: _Context, text: str) -> Record | None:
    found = re.match(r"Deleted (\d+) files\s*$", text)
    return found and DeletedLine(c.time_us, c.thread, c.number, int(found[1]), c.family, opening=c.opening)


def _dropping(c: _Context, text: str) -> Record | None:
    found = re.match(r"FIFO compaction: picking file (\d+) with", text)
    return found and DroppingLine(c.time_us, c.thread, c.number, int(found[1]), c.family, opening=c.opening)


def _set_options(c: _Context, text: str) -> Record | None:
    if text.rstrip() != "SetOptions() succeeded":
        return None
    return OptionsChange(c.time_us, c.thread, c.number, c.family, opening=c.opening)


def _installed(c: _Context, text: str) -> Record | None:
    found = _INSTALLED.match(text)
    return found and InstalledLine(c.time_us, c.thread, c.number, c.family, _numbers(found[1]), text, opening=c.opening)


def _job(c: _Context, text: str) -> Record | None:
    if c.job is None:
        return None
    return JobLine(c.time_us, c.thread, c.number, int(c.job), c.family, text, opening=c.opening)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split())


_FIRST_WORDS: Final[dict[str, Callable[[_Context, str], Record | None]]] = {
    "Stalling": _stall,
    "Stopping": _stall,
    "Increasing": _stall,
    "New": _switch,
    "Moving": _moving,
    "Moved": _moved,
    "Level-0": _level0,
    "Compaction": _compaction,
    "compacted": _installed,
    "Compacting": _job,
    "Compacted": _job,
    "Generated": _job,
    "Flushing": _job,
    "Flush": _job,
    "Deleted": _deleted,
    "FIFO": _dropping,
    "SetOptions()": _set_options,
}
