"""Single lines of a RocksDB LOG: their stamp, their message, and what the message says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from lsmlab.validation.log_records import (
    DeletedLine,
    DroppingLine,
    IdlePick,
    InstalledLine,
    JobLine,
    MovedLine,
    MovingLine,
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
"""Stamps of host programs: ISO 8601 and its relatives, and the one of CockroachDB (I210503 12:34:56.789012)."""
_HOST_THREAD: Final = re.compile(r"(?:[Z+-][\d:]* )?\s*\[?([0-9a-f]{4,16}|\d+)\b")
_MESSAGE: Final = re.compile(
    r"EVENT_LOG_v1 |\(Original Log Time |(?:\[(?:WARN|ERROR|FATAL)\] ?)?\[[^\]\s]+\.(?:cc|h):\d+\] |RocksDB version: |"
    r"DB pointer |"
    r" *Options\.\w|\[[^\]]+\] (?:Stalling|Stopping|Increasing|New memtable|Mov(?:ing|ed) #|Level-0 |"
    r"compacted to|Level summary|\[JOB )|"
    r"------- DUMPING STATS|Shutdown"
)
"""How the messages of interest begin, where a host's prefix of unknown length stands before them."""
_HEAD: Final = re.compile(
    r"(?:\[(?:WARN|ERROR|FATAL|HEADER|DEBUG)\] ?)?(?:\[[^\]]*:\d+\] ?)?(?:\[([^\]]*)\]:? )?(?:\[JOB (\d+)\] )?"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_US: Final = 86_400 * 10**6
_HOUR_US: Final = 3_600 * 10**6
"""Most time that a line waits to be written under the DB mutex."""
_DISORDER_US: Final = 5 * 10**6
"""Threads write their lines microseconds out of order."""

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
    r"Compaction error|Flushing|Column family)"
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
    """Local wall clock; for a line without a stamp, that of the line before it."""
    thread: str
    message: str
    stamped: bool
    stated_us: int = 0
    """What its stamp says, believed or not."""


class Clock:
    """Turns stamps into microseconds, remembers the last one for lines that have none, and does not believe jumps at once."""

    def __init__(self) -> None:
        self.last_us = 0
        self.first_us: int | None = None
        """Earliest stamp that was believed."""
        self.latest_us: int | None = None
        """Latest stamp that was believed."""
        self.wrapped = False
        """Whether lines carry a host program's stamp in place of RocksDB's."""
        self.own = False
        """Whether lines carry RocksDB's own stamp."""
        self.unreadable = 0
        """Stamps that are no time, or a time that nothing near them confirms."""
        self.backwards = 0
        """Places where time runs backwards."""
        self._accepted = 0
        self._suspect_us: int | None = None
        self._minutes: dict[str, int] = {}

    @property
    def any(self) -> bool:
        """Whether any line had a stamp."""
        return self._accepted > 0

    def read(self, stamp: str) -> tuple[int, int]:
        """A line's own stamp: (the time that is believed, what it says), as if it were UTC.

        A stamp more than a day away from the one before is believed once the next one confirms it; what is no time, or is
        not believed, gives the last time.
        """
        time_us = self._parse(stamp)
        if time_us is None:
            self.unreadable += 1
            return self.last_us, self.last_us
        if self.any and abs(time_us - self.last_us) > _DAY_US:
            if self._suspect_us is None or abs(time_us - self._suspect_us) > _DAY_US:
                self._suspect_us = time_us
                self.unreadable += 1
                return self.last_us, time_us
            self.unreadable -= 1
            if self._accepted == 1:  # the first stamp of all was the wrong one
                self.unreadable += 1
                self.first_us = self.latest_us = time_us
        elif self.any and time_us < self.last_us - _DISORDER_US:
            self.backwards += 1
        self._accept(time_us)
        return time_us, time_us

    def original(self, stamp: str, written_us: int) -> int:
        """The time of creation of a line that was written later; the time of writing if that cannot be."""
        time_us = self._parse(stamp)
        if time_us is None or not written_us - _HOUR_US <= time_us <= written_us + _DISORDER_US:
            self.unreadable += 1
            return written_us
        self.first_us = time_us if self.first_us is None else min(self.first_us, time_us)
        return time_us

    def confirm(self, time_us: int) -> None:
        """Another witness, an event's own time, confirms a stamp that was not believed."""
        if self._suspect_us is not None:
            self.unreadable -= 1
            self._accept(time_us)

    def _accept(self, time_us: int) -> None:
        self._suspect_us = None
        self._accepted += 1
        self.last_us = time_us
        self.first_us = time_us if self.first_us is None else min(self.first_us, time_us)
        self.latest_us = time_us if self.latest_us is None else max(self.latest_us, time_us)

    def _parse(self, stamp: str) -> int | None:
        minute = self._minutes.get(stamp[:16])
        seconds = int(stamp[17:19])
        if minute is None:
            try:
                whole = datetime.strptime(stamp[:16], "%Y/%m/%d-%H:%M").replace(tzinfo=UTC) - _EPOCH
            except ValueError:
                return None
            minute = self._minutes[stamp[:16]] = (whole.days * 86_400 + whole.seconds) * 10**6
        return minute + seconds * 10**6 + int(stamp[20:26]) if seconds <= 60 else None


def split_line(text: str, clock: Clock) -> list[Line]:
    """The messages of one physical line: one, unless a line break was lost; none if the line is blank."""
    stamps = list(_LINE.finditer(text))
    if not stamps:
        return _host_line(text, clock)
    clock.own = True
    lines = []
    if stamps[0].start() and _MESSAGE.match(text) and looks_damaged(text[: stamps[0].start()]):
        lines.append(Line(clock.last_us, "", text[: stamps[0].start()], stamped=False))
    for i, found in enumerate(stamps):
        end = stamps[i + 1].start() if i + 1 < len(stamps) else len(text)
        time_us, stated_us = clock.read(found[1])
        if found[3]:
            time_us = clock.original(found[3], time_us)
        lines.append(Line(time_us, found[2], text[found.end() : end].rstrip("\r"), True, stated_us))
    return lines


def _host_line(text: str, clock: Clock) -> list[Line]:
    text = text.rstrip("\r")
    if not text.strip():
        return []
    host = _HOST.search(text) if not clock.own else None
    start = _MESSAGE.search(text)
    if start is None:
        return [Line(clock.last_us, "", text, stamped=False)]
    message = text[start.start() :]
    if message.endswith('"]'):  # some hosts wrap a message as ["…"], quotes escaped
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
    """The record that a message stands for; None if it says nothing of interest."""
    head = _HEAD.match(message)
    assert head is not None
    rest = message[head.end() :]
    reader = _FIRST_WORDS.get(rest.split(" ", 1)[0])
    if reader is None:
        return None
    return reader(_Context(time_us, thread, number, opening, head[1] or "default", head[2]), rest)


def looks_damaged(message: str) -> bool:
    """Whether a message that was not understood resembles one that should be."""
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
}
