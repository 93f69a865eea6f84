"""What a RocksDB LOG says, as records: lines and events with their time, thread and place in the file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lsmlab.validation.logs.bench import Benchmark
    from lsmlab.validation.logs.stats import StatsDump

_RATE: Final = re.compile(r" rate (\d+)$")
_PENDING: Final = re.compile(r"estimated pending compaction bytes (\d+)")


@dataclass(frozen=True, slots=True)
class Record:
    """What all records share."""

    time_us: int
    """When it happened: local wall clock in microseconds since 1970, as the line's own stamp has it."""
    thread: str
    line: int
    """Line number in the file, from 1."""
    opening: int = field(default=0, kw_only=True)
    """Which open of the store it belongs to, from 0; job ids and file numbers mean something within one only."""


@dataclass(frozen=True, slots=True)
class Event(Record):
    """One EVENT_LOG_v1 line, such as flush_started or compaction_finished."""

    name: str
    job: int
    data: dict[str, Any]
    complete: bool = True
    """False if the JSON was cut off: `data` then holds the fields that could be recovered."""

    def whole(self, name: str) -> int | None:
        """A field that is a whole number; None if it is missing, or no number."""
        value = self.data.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def counts(self, name: str) -> tuple[int, ...] | None:
        """A field that is a list of whole numbers, such as lsm_state or files_L0."""
        value = self.data.get(name)
        if not isinstance(value, list) or not all(isinstance(n, int) for n in value):
            return None
        return tuple(value)


@dataclass(frozen=True, slots=True)
class StallLine(Record):
    """One line of a stall recompute: Stalling, Stopping or Increasing.

    See (behaviour/log-and-statistics.md, Stall lines).
    """

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
    files: int = 0
    size_bytes: int = 0
    level: int = -1
    """Where the files went."""


@dataclass(frozen=True, slots=True)
class DeletedLine(Record):
    """FIFO threw files away; lines that name them precede it on the same thread."""

    files: int
    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class DroppingLine(Record):
    """A file that FIFO is about to throw away."""

    file: int
    column_family: str = "default"


@dataclass(frozen=True, slots=True)
class StartSummary(Record):
    """On which version a compaction was picked; precedes its compaction_started event on the same thread."""

    base_version: int
    start_level: int
    inputs: str = ""
    """Such as "[19(6632KB) 18(6632KB)], [12(8233KB)]": file numbers with rounded sizes."""


@dataclass(frozen=True, slots=True)
class IdlePick(Record):
    """A compaction thread that found nothing to do."""


@dataclass(frozen=True, slots=True)
class JobLine(Record):
    """A line of a job that repeats what its events say: a second witness."""

    job: int
    column_family: str
    text: str
    """What follows "[JOB n] ", such as "Compacted 4@0 + 4@1 files to L1 => 51719312 bytes"."""


@dataclass(frozen=True, slots=True)
class InstalledLine(Record):
    """The "compacted to:" line at the end of a compaction; its event follows on the same thread."""

    column_family: str
    lsm_state: tuple[int, ...]
    text: str


@dataclass(slots=True)
class Opening:
    """One open of the store within the file."""

    line: int
    time_us: int
    version: str
    """Such as 7.8.3; empty if the file begins after its open."""
    sst_files: int | None = None
    """Table files that the store had, as its open says; None if it does not say."""


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
    openings: list[Opening] = field(default_factory=list)
    """One per part of the file that belongs to one open; the first has no version if the file begins after its open."""
    ready_us: list[int] = field(default_factory=list)
    """By open: when the store was ready for use (its "DB pointer" line), or the time of the first line if it is not told."""
    dumps: list[StatsDump] = field(default_factory=list)
    """Statistics dumps, in file order."""
    benchmarks: list[Benchmark] = field(default_factory=list)
    """Result lines of db_bench, where the file is its output."""
    bench_setup: dict[str, str] = field(default_factory=dict)
    """What db_bench's output says first: RocksDB (version), Keys, Values (bytes each), Entries."""
    tickers: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, dict[str, float]] = field(default_factory=dict)
    first_us: int | None = None
    """Of the earliest stamped line."""
    last_us: int | None = None
    """Of the latest stamped line."""
    closing_us: dict[int, int] = field(default_factory=dict)
    """By open: when the store began to close."""
    shutdowns: int = 0
    """How often the store said that it was closed."""
    troubles: Counter[str] = field(default_factory=Counter)
    """How often something could not be read, by kind; `TROUBLES` explains the kinds."""
    lines: int = 0
    """Lines of the file."""
    zone_us: int = 0
    """Local time less UTC, from the events' own times."""
    wrapped: bool = False
    """Whether a host program's own prefix stands before the messages, in place of RocksDB's stamp."""

    def events(self, *names: str) -> Iterator[Event]:
        """Events of these names, in time order; all events without a name."""
        for record in self.records:
            if isinstance(record, Event) and (not names or record.name in names):
                yield record


TROUBLES: Final = {
    "cut_events": "events whose JSON is cut off (recovered field by field)",
    "unreadable_events": "events of which not even the name, job or time could be recovered",
    "unknown_events": "events of a kind that is not known",
    "unreadable_lines": "lines that begin or end like a known message, but are damaged",
    "unreadable_stamps": "lines whose time cannot be read, or contradicts the event's own",
    "backward_steps": "places where time runs backwards",
    "unreadable_rows": "rows of statistics that do not fit their header",
    "undecodable_lines": "lines with bytes that are no text",
    "joined_lines": "lines that hold more than one message",
    "duplicate_lines": "lines that stand in the file twice (counted once)",
    "unreadable_options": "options of the header that cannot be read (left out)",
    "cut_input": "the file ends early (compressed data or its last line is cut off)",
}
"""What `RocksDbLog.troubles` counts."""
