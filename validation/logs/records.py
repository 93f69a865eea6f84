"""Records of a RocksDB LOG: lines and events with their time, thread and line number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeGuard

from lsmlab.validation.logs.record_list import Record, RecordList

if TYPE_CHECKING:
    from pathlib import Path

    from lsmlab.validation.logs.bench import Benchmark, StoreStatistics
    from lsmlab.validation.logs.stats import StatsDump

_FULL: Final = (
    r"we have \d+ (?:immutable memtables \(waiting for flush\), max_write_buffer_number is set to \d+|level-0 files)|"
    r"of estimated pending compaction bytes \d+"
)
"""Conditions of which RocksDB slows down or stops writes."""
LARGEST: Final = 10**18
"""Bound of the numbers of a store: counts, bytes and microseconds. A larger one is damaged, or -1 without a sign."""
MOST_LEVELS: Final = 100
"""Bound of the levels of a store."""
_MOST_DIGITS: Final = 19
_RATE: Final = re.compile(r" rate (\d+)$")
_PENDING: Final = re.compile(r"estimated pending compaction bytes (\d+)")


def whole_number(text: object) -> int | None:
    """Return the whole number that a text is; None for other texts, and for one that no store can have.

    >>> whole_number("12"), whole_number("\u00b2"), whole_number("9" * 30)
    (12, None, None)
    """
    short = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS
    return int(str(text)) if short else None


def is_count(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number that a store can have."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


@dataclass(frozen=True, slots=True)
class Event(Record):
    """One EVENT_LOG_v1 line, such as flush_started or compaction_finished."""

    name: str
    job: int
    data: dict[str, Any]
    """Fields of the JSON; if it was cut off, those that could be recovered."""

    def whole(self, name: str) -> int | None:
        """Return an integer field; None if the field is missing, not an integer, or no number that a store can have."""
        value = self.data.get(name)
        return value if is_count(value) else None

    def level(self, name: str) -> int | None:
        """Return the number of a level; None if the field is missing, or no store has so many levels."""
        value = self.whole(name)
        return value if value is not None and value < MOST_LEVELS else None

    def number(self, name: str) -> float | None:
        """Return a number, such as a score; None if the field is missing, or no number that a store can have."""
        value = self.data.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
            return None
        return float(value)

    def counts(self, name: str) -> tuple[int, ...] | None:
        """Return a field that is a list of integers, such as lsm_state or files_L0; None if it is not such a list."""
        value = self.data.get(name)
        if not isinstance(value, list) or not all(map(is_count, value)):
            return None
        return tuple(value)


@dataclass(frozen=True, slots=True)
class TextLine(Record):
    """A line without JSON. `PATTERN` matches its text after source, column family; its groups are the fields of the class."""

    column_family: str

    PATTERN: ClassVar[re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class StallLine(TextLine):
    """Line "Stalling", "Stopping" or "Increasing", printed when RocksDB recomputes its write-stall state.

    Source: (behaviour/log-and-statistics.md, Stall lines).
    """

    text: str
    """Text without trailing blanks, in the form of `ThrottleState.line`."""

    PATTERN: ClassVar = re.compile(
        rf"(?P<text>Stalling writes because (?:{_FULL}) rate \d+|"
        rf"Stopping writes because (?:{_FULL})|"
        r"Increasing compaction threads because (?:we have \d+ (?:level-0 files|files marked for compaction)|"
        r"of estimated pending compaction bytes \d+))\s*$"
    )

    @property
    def rate_bytes_per_s(self) -> int | None:
        """Delayed write rate in the line; None if the line has none."""
        found = _RATE.search(self.text)
        return int(found[1]) if found else None

    @property
    def pending_bytes(self) -> int | None:
        """Estimated pending compaction bytes in the line; None if the line has none."""
        found = _PENDING.search(self.text)
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class SwitchLine(TextLine):
    """The active memtable became immutable."""

    immutables: int
    """Number of immutable memtables before the switch."""

    PATTERN: ClassVar = re.compile(r"New memtable created with log file: #\d+\. Immutable memtables: (?P<immutables>\d+)\.")


@dataclass(frozen=True, slots=True)
class ReleasedLine(TextLine):
    """A memtable was released because its SST file was committed."""

    file: int
    place: int
    """Position among the memtables of one commit: 1, 2, …"""

    PATTERN: ClassVar = re.compile(
        r"Level-0 commit (?:flush result of )?table #(?P<file>\d+).*: memtable #(?P<place>\d+) done"
    )


@dataclass(frozen=True, slots=True)
class MovingLine(TextLine):
    """One file of a trivial move. One line per file precedes the trivial_move event."""

    file: int
    level: int
    size_bytes: int

    PATTERN: ClassVar = re.compile(r"Moving #(?P<file>\d+) to level-(?P<level>\d{1,2}) (?P<size_bytes>\d+) bytes")


@dataclass(frozen=True, slots=True)
class MovedLine(TextLine):
    """End of a trivial move. The line follows the event on the same thread."""

    files: int
    size_bytes: int
    lsm_state: tuple[int, ...]
    """Files per level after the commit."""

    PATTERN: ClassVar = re.compile(
        r"Moved #(?P<files>\d+) files to level-\d+ (?P<size_bytes>\d+) bytes \S+: .*?files\[(?P<lsm_state>[\d ]+)\]"
    )


@dataclass(frozen=True, slots=True)
class DeletedLine(TextLine):
    """End of FIFO compaction. One `DroppingLine` per file precedes it on the same thread."""

    files: int

    PATTERN: ClassVar = re.compile(r"Deleted (?P<files>\d+) files\s*$")


@dataclass(frozen=True, slots=True)
class DroppingLine(TextLine):
    """One file that FIFO compaction is about to delete."""

    file: int

    PATTERN: ClassVar = re.compile(r"FIFO compaction: picking file (?P<file>\d+) with")


@dataclass(frozen=True, slots=True)
class OptionsChange(TextLine):
    """A successful SetOptions() call: options of a column family changed while the store was open."""

    PATTERN: ClassVar = re.compile(r"SetOptions\(\) succeeded\s*$")


@dataclass(frozen=True, slots=True)
class StartSummary(TextLine):
    """Line before the compaction_started event on the same thread."""

    base_version: int
    """Number of the version in which the compaction was picked."""
    inputs: str
    """File numbers with rounded sizes by input level, such as "[19(6632KB) 18(6632KB)], [12(8233KB)]"."""

    PATTERN: ClassVar = re.compile(
        r"Compaction start summary: Base version (?P<base_version>\d+) Base level \d+, inputs: (?P<inputs>.*)"
    )


@dataclass(frozen=True, slots=True)
class IdlePick(TextLine):
    """A compaction thread found no compaction to pick."""

    PATTERN: ClassVar = re.compile(r"Compaction .*nothing to do")


@dataclass(frozen=True, slots=True)
class JobLine(TextLine):
    """Text line of a job. It repeats numbers of the job's events, so the two can be compared."""

    job: int
    text: str
    """Text after "[JOB n] ", such as "Compacted 4@0 + 4@1 files to L1 => 51719312 bytes"."""

    PATTERN: ClassVar = re.compile(
        r"\[JOB (?P<job>\d+)\] (?P<text>(?:Compact(?:ing|ed)|Generated|Flush(?:ing)?|Level-0 flush)(?: .*)?)$"
    )


@dataclass(frozen=True, slots=True)
class InstalledLine(TextLine):
    """End of a compaction; the compaction_finished event follows on the same thread."""

    text: str
    lsm_state: tuple[int, ...]

    PATTERN: ClassVar = re.compile(r"(?P<text>compacted to: .*?files\[(?P<lsm_state>[\d ]+)\].*)")


@dataclass(slots=True)
class Opening:
    """One open of the store, and the part of the file that belongs to it."""

    version: str
    """RocksDB version, such as 7.8.3; empty if the file begins after the open."""
    ready_us: int
    """Time of the "DB pointer" line (the store is ready for use), and not after the first write; without that line, time of the
    open's first line."""
    line: int = 0
    """Number of the version line; of the first record without one."""
    opened_us: int = 0
    """Time of the version line."""
    closing_us: int | None = None
    """Time at which the store began to close; None if the LOG does not show it."""
    folder: str = ""
    """Folder of the store; "" if the LOG does not print it. A store has further ones where its db_paths are set."""
    sst_files: int | None = None
    """Number of SST files that the open found; None if the LOG does not print it."""


@dataclass(slots=True)
class LogPart:
    """One file of a history."""

    path: Path
    begins_us: int | None
    """Time of its first line by the LOG's own clock; None without time stamps."""
    gap_us: int = 0
    """Time between the end of the file before it and its begin, if that is a gap, which is left out of all times."""
    closed: bool = False
    """Whether the store was closed before this file began."""
    opens: bool = False
    """Whether the store was opened in this file, or the file is the first."""
    offset_us: int = 0
    """What is subtracted from the times of this file's lines: the gaps up to here, and changes of the clock."""
    ends_us: int | None = None
    """Time of its last line by the LOG's own clock."""
    lines: int = 0
    first_line: int = 1
    """Number of its first line in the file, which may have LOGs of several times."""
    header: str = ""
    """Beginning of the file, which has the options, if the store was opened in this file."""


@dataclass
class RocksDbLog:
    """Content of one LOG file, or of the LOG files of one store."""

    source: str
    """Path of the first file."""
    parts: list[LogPart] = field(default_factory=list)
    """Files in time order; empty for text that is no file."""
    version: str = ""
    """RocksDB version of the first open in the file, such as 7.8.3; empty if the file does not print it."""
    options: dict[str, str] = field(default_factory=dict)
    """Option name to text, from the header of the first open. Of a repeated name the first value is kept, so the values
    are those of the first column family."""
    records: RecordList[Record] = field(default_factory=RecordList)
    """In time order."""
    openings: list[Opening] = field(default_factory=list)
    """Opens in file order. The first has no version if the file begins after the open."""
    dumps: list[StatsDump] = field(default_factory=list)
    """Statistics dumps, in file order."""
    benchmarks: list[Benchmark] = field(default_factory=list)
    """Result lines of db_bench, if the file is db_bench's output."""
    bench_setup: dict[str, str] = field(default_factory=dict)
    """Head of db_bench's output: RocksDB (version), Keys, Values (bytes each), Entries."""
    statistics: list[StoreStatistics] = field(default_factory=list)
    """Last tickers and histograms of each open that has them."""
    first_us: int | None = None
    """Time of the earliest line with a time stamp."""
    last_us: int | None = None
    """Time of the latest line with a time stamp."""
    shutdowns: int = 0
    """Number of "Shutdown complete" lines."""
    troubles: Counter[str] = field(default_factory=Counter)
    """Number of reading errors by kind; `TROUBLES` explains the kinds."""
    lines: int = 0
    """Number of lines of the files."""
    zone_us: int = 0
    """Local time minus UTC, from the events' time_micros."""
    events_seen: int = 0
    """Number of lines with an event."""
    first_event: int = 0
    """Number of the first of them."""
    silences: list[tuple[int, int, int]] = field(default_factory=list)
    """(time before, time after, line after) of each time without a line that is longer than a day."""
    step_us: int = 1
    """Coarsest resolution of the time stamps; 1,000,000 for whole seconds."""
    wrapped: bool = False
    """Whether the program that embeds RocksDB put its own prefix before the messages, in place of RocksDB's time
    stamp."""

    def place(self, line: int) -> str:
        """Return file and line of a line of the history, such as "LOG:57"."""
        for part in self.parts:
            if line <= part.lines or part is self.parts[-1]:
                return f"{part.path}:{line + part.first_line - 1}"
            line -= part.lines
        return f"{self.source}:{line}"

    def events(self, *names: str) -> Iterator[Event]:
        """Yield the events with these names in time order; all events if no name is given."""
        for record in self.records.of(Event):
            if not names or record.name in names:
                yield record

    @property
    def tickers(self) -> Mapping[str, float]:
        """Tickers of the last open that has them."""
        return self.statistics[-1].tickers if self.statistics else {}

    def ticker_sum(self, name: str) -> float:
        """Return a ticker, summed over the opens; 0 if no open has it."""
        return sum(one.tickers.get(name, 0.0) for one in self.statistics)

    def switches(self) -> Iterator[SwitchLine]:
        """Yield the memtable switches in time order."""
        return self.records.of(SwitchLine)


TROUBLES: Final = {
    "cut_events": "events with truncated or damaged JSON (fields that can be read are used)",
    "unreadable_events": "events without a readable name or job number (left out)",
    "unknown_events": "events of an unknown kind",
    "unreadable_lines": "damaged lines that begin or end like a known message",
    "unreadable_stamps": "lines whose timestamp cannot be read or contradicts that of the event",
    "backward_steps": "places where timestamps decrease",
    "unreadable_rows": "rows of statistics that do not match the header of their table",
    "undecodable_lines": "lines with bytes that are not text",
    "joined_lines": "lines that contain more than one message",
    "duplicate_lines": "lines that the file contains twice (counted once)",
    "unreadable_options": "options of the header that cannot be read (left out)",
    "cut_input": "truncated file (its compressed data or its last line is incomplete)",
}
"""Meaning of each kind that `RocksDbLog.troubles` counts."""
