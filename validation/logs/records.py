"""Records of a RocksDB LOG: lines and events with their time, thread and line number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lsmlab.validation.logs.record_list import RecordList

if TYPE_CHECKING:
    from lsmlab.validation.logs.bench import Benchmark
    from lsmlab.validation.logs.stats import StatsDump

_RATE: Final = re.compile(r" rate (\d+)$")
_PENDING: Final = re.compile(r"estimated pending compaction bytes (\d+)")


@dataclass(frozen=True, slots=True)
class Record:
    """Fields that all records have."""

    time_us: int
    """Time of the record: local wall clock in microseconds since 1970, from the line's own time stamp."""
    thread: str
    line: int
    """Line number in the file, from 1."""
    opening: int = field(default=0, kw_only=True)
    """Number of the open of the store that wrote the record, from 0. Job ids and file numbers are unique within one
    open."""


@dataclass(frozen=True, slots=True)
class Event(Record):
    """One EVENT_LOG_v1 line, such as flush_started or compaction_finished."""

    name: str
    job: int
    data: dict[str, Any]
    complete: bool = True
    """False if the JSON was cut off: `data` then has the fields that could be recovered."""

    def whole(self, name: str) -> int | None:
        """Return an integer field; None if the field is missing or not an integer."""
        value = self.data.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def counts(self, name: str) -> tuple[int, ...] | None:
        """Return a field that is a list of integers, such as lsm_state or files_L0; None if it is not such a list."""
        value = self.data.get(name)
        if not isinstance(value, list) or not all(isinstance(n, int) for n in value):
            return None
        return tuple(value)


@dataclass(frozen=True, slots=True)
class StallLine(Record):
    """Line "Stalling", "Stopping" or "Increasing", printed when RocksDB recomputes its write-stall state.

    Source: (behaviour/log-and-statistics.md, Stall lines).
    """

    text: str
    """Text without the column family and trailing blanks, in the form of `ThrottleState.line`."""
    column_family: str = "default"

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
class SwitchLine(Record):
    """Line "New memtable created": the active memtable became immutable."""

    immutables: int
    """Number of immutable memtables before the switch."""
    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class ReleasedLine(Record):
    """Line "Level-0 commit ... done": a memtable was released because its SST file was committed."""

    file: int
    place: int
    """Position among the memtables of one commit: 1, 2, …"""
    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class MovingLine(Record):
    """Line "Moving #...": one file of a trivial move. One line per file precedes the trivial_move event."""

    file: int
    level: int
    size_bytes: int
    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class MovedLine(Record):
    """Line "Moved #...": end of a trivial move. The line follows the event on the same thread."""

    lsm_state: tuple[int, ...]
    """Files per level after the commit."""
    column_family: str = "default"
    files: int = 0
    size_bytes: int = 0
    level: int = -1
    """Level to which the files were moved."""


@dataclass(frozen=True, slots=True)
class DeletedLine(Record):
    """Line "Deleted n files" of FIFO compaction. One `DroppingLine` per file precedes it on the same thread."""

    files: int
    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class DroppingLine(Record):
    """Line "FIFO compaction: picking file ...": one file that FIFO compaction is about to delete."""

    file: int
    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class OptionsChange(Record):
    """A successful SetOptions() call: options of a column family changed while the store was open."""

    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class StartSummary(Record):
    """Line "Compaction start summary"; precedes the compaction_started event on the same thread."""

    base_version: int
    """Number of the version in which the compaction was picked."""
    start_level: int
    inputs: str = ""
    """File numbers with rounded sizes by input level, such as "[19(6632KB) 18(6632KB)], [12(8233KB)]"."""


@dataclass(frozen=True, slots=True)
class IdlePick(Record):
    """Line "Compaction nothing to do": a compaction thread found no compaction to pick."""


@dataclass(frozen=True, slots=True)
class JobLine(Record):
    """Text line of a job. It repeats numbers of the job's events, so the two can be compared."""

    job: int
    column_family: str
    text: str
    """Text after "[JOB n] ", such as "Compacted 4@0 + 4@1 files to L1 => 51719312 bytes"."""


@dataclass(frozen=True, slots=True)
class InstalledLine(Record):
    """Line "compacted to:" at the end of a compaction; the compaction_finished event follows on the same thread."""

    column_family: str
    lsm_state: tuple[int, ...]
    text: str


@dataclass(slots=True)
class Opening:
    """One open of the store, and the part of the file that belongs to it."""

    line: int
    time_us: int
    version: str
    """RocksDB version, such as 7.8.3; empty if the file begins after the open."""
    sst_files: int | None = None
    """Number of SST files that the open found; None if the LOG does not print it."""


@dataclass
class RocksDbLog:
    """Content of one LOG file."""

    source: str
    """Path of the file."""
    version: str = ""
    """RocksDB version of the first open in the file, such as 7.8.3; empty if the file does not print it."""
    options: dict[str, str] = field(default_factory=dict)
    """Option name to text, from the header of the first open. Of a repeated name the first value is kept, so the values
    are those of the first column family."""
    records: RecordList[Record] = field(default_factory=RecordList)
    """In time order."""
    opens: int = 0
    """Number of opens of the store that the file shows."""
    openings: list[Opening] = field(default_factory=list)
    """Opens in file order. The first has no version if the file begins after the open."""
    ready_us: list[int] = field(default_factory=list)
    """By open: time of the "DB pointer" line (the store is ready for use); without that line, time of the open's first
    line."""
    dumps: list[StatsDump] = field(default_factory=list)
    """Statistics dumps, in file order."""
    benchmarks: list[Benchmark] = field(default_factory=list)
    """Result lines of db_bench, if the file is db_bench's output."""
    bench_setup: dict[str, str] = field(default_factory=dict)
    """Head of db_bench's output: RocksDB (version), Keys, Values (bytes each), Entries."""
    tickers: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, dict[str, float]] = field(default_factory=dict)
    first_us: int | None = None
    """Time of the earliest line with a time stamp."""
    last_us: int | None = None
    """Time of the latest line with a time stamp."""
    closing_us: dict[int, int] = field(default_factory=dict)
    """By open: time at which the store began to close."""
    shutdowns: int = 0
    """Number of "Shutdown complete" lines."""
    troubles: Counter[str] = field(default_factory=Counter)
    """Number of reading errors by kind; `TROUBLES` explains the kinds."""
    lines: int = 0
    """Number of lines of the file."""
    zone_us: int = 0
    """Local time minus UTC, from the events' time_micros."""
    wrapped: bool = False
    """Whether the program that embeds RocksDB put its own prefix before the messages, in place of RocksDB's time
    stamp."""

    def events(self, *names: str) -> Iterator[Event]:
        """Yield the events with these names in time order; all events if no name is given."""
        for record in self.records.of(Event):
            if not names or record.name in names:
                yield record

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
