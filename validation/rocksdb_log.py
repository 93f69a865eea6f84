"""RocksDB's information log (the LOG file): events, stall lines and options, as records in time order.

Formats: rocksdb.md §9 (5.7 to 11.8). Lines written under the DB mutex reach the file late and carry their true time as
"(Original Log Time …)"; records are sorted by it. JSON that the logger cut off is recovered field by field, because a
strict parser would drop exactly the largest compactions.
"""

from __future__ import annotations

import gzip
import json
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError

_STAMP: Final = r"(\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d\.\d{6})"
_LINE: Final = re.compile(rf"{_STAMP} (\S+) (?:\(Original Log Time {_STAMP}\) )?(.*)")
_EVENT: Final = re.compile(r"EVENT_LOG_v1 (\{.*)")
_STALL: Final = re.compile(
    r"\[([^\]]+)\] ((?:Stalling|Stopping) writes because .*|Increasing compaction threads because .*)"
)
_RATE: Final = re.compile(r" rate (\d+)$")
_PENDING: Final = re.compile(r"estimated pending compaction bytes (\d+)")
_SWITCH: Final = re.compile(r"\[([^\]]+)\] New memtable created with log file: #(\d+)\. Immutable memtables: (\d+)\.")
_MOVING: Final = re.compile(r"\[([^\]]+)\] Moving #(\d+) to level-(\d+) (\d+) bytes")
_MOVED: Final = re.compile(r"\[([^\]]+)\] Moved #\d+ files to level-\d+ \d+ bytes \S+: .*?files\[([\d ]+)\]")
_RELEASED: Final = re.compile(r"\[([^\]]+)\] Level-0 commit (?:flush result of )?table #(\d+).*: memtable #(\d+) done")
_SUMMARY: Final = re.compile(r"Compaction start summary: Base version (\d+) Base level (\d+)")
_IDLE: Final = re.compile(r"Compaction nothing to do")
_OPTION: Final = re.compile(r"^\s*Options\.([\w.\[\]]+)\s*: (.*)$")
_VERSION: Final = re.compile(r"RocksDB version: (\S+)")
_FIELD: Final = re.compile(r'"(\w+)": (-?\d+\.?\d*(?:[eE][-+]?\d+)?(?=[,}\]])|"(?:[^"\\]|\\.)*"|\[[^\]\[]*\]|\{)')
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ZONE_STEP_US: Final = 900 * 10**6  # time zones differ from UTC by multiples of a quarter of an hour


@dataclass(frozen=True, slots=True)
class Record:
    """What all records share."""

    time_us: int
    """When it happened: local wall clock in microseconds since 1970, as the line's own stamp has it."""
    thread: str
    line: int
    """Line number in the file, from 1."""


@dataclass(frozen=True, slots=True)
class Event(Record):
    """One EVENT_LOG_v1 line, such as flush_started or compaction_finished."""

    name: str
    job: int
    data: dict[str, Any]
    complete: bool = True
    """False if the JSON was cut off: `data` then holds the fields that could be recovered."""


@dataclass(frozen=True, slots=True)
class StallLine(Record):
    """One line of a stall recompute: Stalling, Stopping or Increasing (rocksdb.md §9.4)."""

    text: str
    """Without the column family, as `ThrottleState.line` has it; trailing blanks removed."""
    column_family: str = "default"

    @property
    def rate_bytes_per_s(self) -> int | None:
        """The delayed write rate that the line prints."""
        found = _RATE.search(self.text)
        return int(found[1]) if found else None

    @property
    def pending_bytes(self) -> int | None:
        """The estimated pending compaction bytes that the line prints."""
        found = _PENDING.search(self.text)
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class SwitchLine(Record):
    """A memtable became immutable."""

    immutables: int
    """Immutable memtables before this one."""
    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class ReleasedLine(Record):
    """An immutable memtable is gone: its file has become part of a version."""

    file: int
    place: int
    """1, 2, … among the memtables of one commit."""
    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class MovingLine(Record):
    """A file that a trivial move takes along; several such lines precede the trivial_move event."""

    file: int
    level: int
    size_bytes: int
    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class MovedLine(Record):
    """The end of a trivial move; follows its event on the same thread."""

    lsm_state: tuple[int, ...]
    """Files per level after the commit."""
    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class StartSummary(Record):
    """On which version a compaction was picked; precedes its compaction_started event on the same thread."""

    base_version: int
    start_level: int


@dataclass(frozen=True, slots=True)
class IdlePick(Record):
    """A compaction thread that found nothing to do."""


@dataclass
class RocksDbLog:
    """One LOG file."""

    source: str
    version: str = ""
    """Of the first open in the file, such as 7.8.3; empty if the file does not say."""
    options: dict[str, str] = field(default_factory=dict)
    """Option name to text, from the header of the first open; without the column families of later sections."""
    records: list[Record] = field(default_factory=list)
    """In time order."""
    opens: int = 0
    """How often the store was opened within the file."""

    def events(self, *names: str) -> Iterator[Event]:
        """Events of these names, in time order; all events without a name."""
        for record in self.records:
            if isinstance(record, Event) and (not names or record.name in names):
                yield record


def read_log(path: Path) -> RocksDbLog:
    """Read a LOG file, plain or compressed (.gz, .xz). Raises InputError if it cannot be read or is no LOG."""
    log = parse_log(read_text(path).splitlines(), str(path))
    if not log.version and not log.records:
        raise InputError(f"{path}: not a RocksDB LOG (neither a version line nor an event in it)")
    return log


def read_text(path: Path) -> str:
    """Content of a text file, plain or compressed by gzip or xz. Raises InputError if it cannot be read."""
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        elif raw[:6] == b"\xfd7zXZ\x00":
            raw = lzma.decompress(raw)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    return raw.decode("utf-8", errors="replace")


def parse_log(lines: Iterable[str], source: str) -> RocksDbLog:
    """Read the lines of a LOG. Lines that say nothing of interest are skipped."""
    log = RocksDbLog(source)
    zone_us: int | None = None
    for number, text in enumerate(lines, 1):
        stamped = _LINE.search(text)
        if not stamped:
            continue
        time_us = _microseconds(stamped[3] or stamped[1])
        thread, message = stamped[2], stamped[4]
        _read_header(log, message)
        event = _EVENT.search(message)
        if event is None:
            record = _read_line(message, time_us, thread, number)
        else:
            data, complete = parse_event(event[1])
            if "time_micros" in data:  # finer than the line's stamp, but UTC
                zone_us = _zone(data["time_micros"], time_us) if zone_us is None else zone_us
                time_us = data["time_micros"] + zone_us
            record = Event(
                time_us, thread, number, str(data.get("event", "")), int(data.get("job", -1)), data, complete
            )
        if record is not None:
            log.records.append(record)
    log.records.sort(key=lambda r: (r.time_us, r.line))
    return log


def parse_event(text: str) -> tuple[dict[str, Any], bool]:
    """Fields of an event's JSON, and whether it was whole; what follows the closing brace is ignored."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
        return dict(value), True
    except ValueError:
        pass
    data: dict[str, Any] = {}
    target = data
    for name, value in _FIELD.findall(text):
        if value == "{":  # the one nested object of an event, and its last field: table_properties
            target = data[name] = {}
            continue
        try:
            target[name] = json.loads(value)
        except ValueError:
            continue
    return data, False


def _read_header(log: RocksDbLog, message: str) -> None:
    version = _VERSION.search(message)
    if version:
        log.opens += 1
        log.version = log.version or version[1]
    option = _OPTION.match(message) if log.opens <= 1 else None
    if option:
        log.options.setdefault(option[1], option[2].strip())


def _read_line(message: str, time_us: int, thread: str, number: int) -> Record | None:
    if found := _STALL.search(message):
        return StallLine(time_us, thread, number, found[2].rstrip(), found[1])
    if found := _SWITCH.search(message):
        return SwitchLine(time_us, thread, number, int(found[3]), found[1])
    if found := _MOVING.search(message):
        return MovingLine(time_us, thread, number, int(found[2]), int(found[3]), int(found[4]), found[1])
    if found := _RELEASED.search(message):
        return ReleasedLine(time_us, thread, number, int(found[2]), int(found[3]), found[1])
    if found := _MOVED.search(message):
        return MovedLine(time_us, thread, number, tuple(int(n) for n in found[2].split()), found[1])
    if found := _SUMMARY.search(message):
        return StartSummary(time_us, thread, number, int(found[1]), int(found[2]))
    if _IDLE.search(message):
        return IdlePick(time_us, thread, number)
    return None


def _microseconds(stamp: str) -> int:
    """Microseconds since 1970 of a line's stamp, read as if it were UTC."""
    whole = datetime.strptime(stamp[:19], "%Y/%m/%d-%H:%M:%S").replace(tzinfo=UTC) - _EPOCH
    return (whole.days * 86_400 + whole.seconds) * 10**6 + int(stamp[20:])


def _zone(event_us: int, line_us: int) -> int:
    """What to add to UTC microseconds to get the local clock of the lines."""
    return round((line_us - event_us) / _ZONE_STEP_US) * _ZONE_STEP_US
