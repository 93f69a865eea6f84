"""Reader of RocksDB's LOG file: events, stall lines and options, as records in time order.

Reads the formats of RocksDB 5.7 to 11.8 (behaviour/log-and-statistics.md, LOG lines; Events). Lines logged under the DB
mutex reach the file late and have their original time as "(Original Log Time …)"; records are sorted by that time. If
the logger cut off the JSON of an event, its fields are recovered one by one, because a strict parser would lose the
largest compactions. Unreadable input is counted (`RocksDbLog.troubles`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from sys import intern
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.text.files import TextLines
from lsmlab.models.text.plain_lines import PlainLines
from lsmlab.validation.logs.clock import DAY_US, DISORDER_US, Clock
from lsmlab.validation.logs.event_times import EventTimes
from lsmlab.validation.logs.files import GAP_US, POINTER, VERSION, LogHead, apart, in_time_order
from lsmlab.validation.logs.hash_set import HashSet
from lsmlab.validation.logs.lines import KNOWN_EVENTS, Line, looks_damaged, parse_event, read_line, split_line
from lsmlab.validation.logs.records import LARGEST, Event, JobLine, LogPart, Opening, RocksDbLog, StallLine, SwitchLine
from lsmlab.validation.logs.stats import StatsReader

_LEVELDB: Final = re.compile(r"^\S+ [0-9a-f]+ (?:Level-0 table #\d+|Delete type=\d #\d+)", re.MULTILINE)
_OPTION: Final = re.compile(r"^\s*Options\.([\w.\[\]]+)\s*: ?(.*)$")
_WHOLE_SECOND_US: Final = 10**6
_LINES_TO_BEGIN: Final = 1_000_000
"""Lines of a file, of which at least one must belong to a LOG: the LOG of a host program begins with its own messages."""
_LEAST_FALLS, _MOST_FALLS = 10, 4
"""In a text whose newest line comes first: least number of stamps that are before the one above them, and least multiple of those
that are after it. Threads write some lines of a LOG slightly out of order."""
_LINES_TO_CONFIRM: Final = 3
"""Lines after a version line within which the clock has accepted its time."""
_SST_FILES: Final = re.compile(r"SST files in (.*) dir, Total Num: (\d{1,9})(?!\d)")


def read_log(path: Path) -> RocksDbLog:
    """Read a LOG file, plain or compressed (.gz, .xz, .bz2). Raises InputError if it is unreadable or not a LOG."""
    return read_history([path])


def read_history(paths: Sequence[Path]) -> RocksDbLog:
    """Read the LOG files of a store, in any order, as one history in time order.

    Times run over the files only: a gap between two files is left out, and `RocksDbLog.parts` has its length. Raises
    InputError if a file is unreadable, or the files are no LOG.
    """
    heads = in_time_order(paths)
    log = _read(heads)
    if len(heads) == 1:
        _refuse_other_stores(log)
    begins = [opening.line for opening in log.openings if opening.line]
    if len(heads) == 1 and _out_of_order(log):  # several LOGs in one file, such as LOG before LOG.old
        log = _read(apart(heads[0].path, begins))
    first = log.parts[0]
    return _checked(log, first.path, first.header, not log.troubles["cut_input"])


def _read(heads: Sequence[LogHead]) -> RocksDbLog:
    """Read LOGs in this order, which is that of their times."""
    parser = _Parser(str(heads[0].path))
    for head in heads:
        source, count, first = TextLines(head.path), 0, head.lines.start if head.lines is not None else 1
        lines = PlainLines(source)
        parser.begin(head)
        for number, text in lines:
            if head.lines is None or number in head.lines:
                count = number - first + 1
                parser.take(text, parser.log.lines + count)
                if count == _LINES_TO_BEGIN and not parser.begun:
                    raise InputError(
                        f"{head.path}: no line of RocksDB among the first {_LINES_TO_BEGIN:,}; give its LOG, or extract "
                        "RocksDB's lines, such as with grep rocksdb"
                    )
        parser.end(count, source, lines)
    return parser.finish()


def _refuse_other_stores(log: RocksDbLog) -> None:
    """Raise InputError with the line at which the LOG of another store begins in the same file."""
    known = [opening for opening in log.openings if opening.folder]
    other = next((opening for opening in known if opening.folder != known[0].folder), None)
    if other is not None:
        raise InputError(
            f"{log.place(other.line)}: the LOG of another store begins here ({other.folder}, before it {known[0].folder}); give "
            "each store's LOG as a file of its own"
        )


def _out_of_order(log: RocksDbLog) -> bool:
    """Whether an open is earlier than the one before it in the file."""
    times = [opening.opened_us for opening in log.openings]
    return any(later < earlier - DISORDER_US for earlier, later in pairwise(times))


def log_of(path: Path, text: str, whole: bool = True) -> RocksDbLog:
    """Read the text of a LOG file. `whole`: whether the file was decompressed completely.

    Raises InputError if the text is not a LOG.
    """
    log = parse_log(text.removesuffix("\n").split("\n"), str(path))
    return _checked(log, path, text, whole and (not text or text.endswith("\n")))


def _checked(log: RocksDbLog, path: Path, text: str, whole: bool) -> RocksDbLog:
    if not whole:
        log.troubles["cut_input"] = max(1, log.troubles["cut_input"])
    if not _is_rocksdb_log(log):
        reason = (
            "it looks like LevelDB's LOG, which has no events" if _LEVELDB.search(text)
            else "it has results of db_bench, but not the statistics that its benchmark stats prints" if log.benchmarks
            else "it contains no version, event or statistics"
        )  # fmt: skip
        raise InputError(f"{path}: not a RocksDB LOG ({reason}); give the file LOG in the database's folder")
    return log


def _is_rocksdb_log(log: RocksDbLog) -> bool:
    """Whether the text was a RocksDB LOG, a part of one, or db_bench's output."""
    if log.version or next(log.records.of(Event, StallLine, SwitchLine, JobLine), None) is not None:
        return True
    return bool(log.tickers) or any(d.db or any(f.levels or f.flush_bytes for f in d.families.values()) for d in log.dumps)


def parse_log(lines: Iterable[str], source: str) -> RocksDbLog:
    """Read the lines of a LOG. Lines of other kinds than `RocksDbLog` has are skipped."""
    parser = _Parser(source)
    plain, number = PlainLines(lines), 0
    for number, text in plain:
        parser.take(text, number)
    parser.log.lines = number
    parser.count(plain)
    return parser.finish()


class _Parser:
    """Line-by-line reader of a LOG."""

    def __init__(self, source: str) -> None:
        self.log = RocksDbLog(source)
        self.clock = Clock()
        self.stats = StatsReader()
        self.seen = HashSet()
        self.times = EventTimes(self.log, self.clock)
        self.opens = 0
        """Number of version lines."""
        self.opening = 0
        self.pointer = self.session = ""
        """Address and name of the last open; empty if unknown."""
        self.closed = False
        """Whether the last open has ended."""
        self.first_write_us: dict[int, int] = {}
        """By open: time of the first event or line that shows that its memtables were written to."""
        self.goes_on = False
        """Whether the header of the current file repeats that of the last open, because RocksDB only changed the file."""
        self.lines: range | None = None
        """Numbers of the lines of the current LOG, if its file has several."""
        self.skipping = False
        """Whether the current lines belong to a repeated statistics dump; they have no time stamp of their own to show
        it."""

    @property
    def begun(self) -> bool:
        """Whether a line belonged to a LOG, or to db_bench's output."""
        return bool(self.log.records or self.log.openings or self.stats.dumps or self.stats.bench.setup)

    def begin(self, head: LogHead) -> None:
        """Begin the next file of a history."""
        part = LogPart(head.path, head.first_us, first_line=head.lines.start if head.lines is not None else 1)
        clock, parts = self.clock, self.log.parts
        self.lines = head.lines
        self.goes_on = bool(parts) and head.continues(self.session, self.pointer, closed=self.closed)
        if parts and head.first_us is not None and clock.latest_us is not None:
            gap_us = head.first_us - clock.stated(clock.latest_us)
            if gap_us >= GAP_US:
                part.gap_us, part.closed = gap_us, self.closed
                clock.cut(gap_us)
                self.times.after_gap()
        part.opens = not parts or (bool(head.version) and not self.goes_on)
        self.session = head.session or self.session
        parts.append(part)

    def count(self, lines: PlainLines) -> None:
        """Add what the reader of plain lines met in a file."""
        self.log.troubles["undecodable_lines"] += lines.undecodable
        self.log.wrapped |= lines.wrapped

    def end(self, lines: int, text: TextLines, plain: PlainLines) -> None:
        """End the file after its lines were read."""
        self.count(plain)
        part, clock = self.log.parts[-1], self.clock
        self.log.lines += lines
        self.log.troubles["cut_input"] += not text.whole
        part.lines, part.offset_us = lines, clock.stated(0)
        if clock.latest_us is not None:
            part.ends_us = clock.stated(clock.latest_us)
        if part.begins_us is None and clock.first_us is not None:
            part.begins_us = clock.stated(clock.first_us)
        if part.opens:
            head = text.head
            if self.lines is not None:
                head = "\n".join(head.split("\n")[self.lines.start - 1 : self.lines.stop - 1])
            part.header = head if len(self.log.parts) == 1 else head.partition("DB pointer ")[0]

    def take(self, text: str, number: int) -> None:
        """Read one plain line of the file. Raises InputError if time goes back by more than a day inside an open."""
        clock, before_us = self.clock, self.clock.last_us
        parts = split_line(text, clock)
        if len(parts) > 1:
            self.log.troubles["joined_lines"] += 1
        for part in parts:
            self._line(part, number)
        if abs(clock.last_us - before_us) > DAY_US and before_us:
            self._jump(before_us, number)

    def _jump(self, before_us: int, number: int) -> None:
        """Record a time of more than a day without a line, or refuse a step back of more than a day."""
        after_us, opened = self.clock.last_us, self.log.openings[-1].line if self.log.openings else 0
        if after_us > before_us:
            self.log.silences.append((before_us, after_us, number))
        elif number - opened > _LINES_TO_CONFIRM:
            days = (before_us - after_us) / DAY_US
            raise InputError(
                f"{self.log.place(number)}: the time goes back by {days:,.0f} days: these are LOGs of several stores or "
                "times; give one of them, or each as a file of its own"
            )

    def finish(self) -> RocksDbLog:
        """Return the LOG after all lines were read. Raises InputError if the newest line comes first."""
        log = self.log
        if self.clock.falls >= _LEAST_FALLS and self.clock.falls > _MOST_FALLS * self.clock.rises:
            raise InputError(
                f"{log.source}: the newest line comes first; export it in the order of time, or turn it round with tac"
            )
        log.records.sort()
        first = next(iter(log.records), None)
        if log.openings and not log.openings[0].version and first is not None:  # its first line may be a later one
            log.openings[0].ready_us = log.openings[0].opened_us = min(log.openings[0].ready_us, first.time_us)
        for number, time_us in self.first_write_us.items():  # a store is written to only once it is ready
            opening = log.openings[number]
            opening.ready_us = min(opening.ready_us, time_us)
        log.troubles["unreadable_stamps"] += self.clock.unreadable
        log.troubles["backward_steps"] += self.clock.backwards
        log.zone_us = self.times.zone_us or 0
        log.first_us, log.last_us = self.clock.first_us, self.clock.latest_us
        log.dumps = self.stats.dumps
        log.troubles["unreadable_rows"] += sum(d.unreadable for d in log.dumps)
        log.troubles = type(log.troubles)({kind: n for kind, n in log.troubles.items() if n})
        log.step_us = self.clock.step_us
        bench = self.stats.bench
        log.benchmarks, log.statistics = bench.benchmarks, bench.statistics
        log.bench_setup = bench.setup
        log.version = log.version or log.bench_setup.get("RocksDB", "")
        if not log.openings and (log.records or log.dumps or log.statistics):
            self._opened(log.first_us or 0, "")
        return log

    def _line(self, line: Line, number: int) -> None:
        log = self.log
        message = line.message
        at = message.find("EVENT_LOG_v1 ")
        if at >= 0:
            if not self._repeated(line):
                self._event(message[at + 13 :], line, number)
            return
        if not line.stamped:
            self._unstamped(line, number)
            return
        if "Options" in message and "SetOptions()" not in message:
            self._option(message)
            return
        if self._mark(line, number):
            return
        record = read_line(message, line.time_us, line.thread, number, self.opening)
        if record is not None:
            if not self._repeated(line):
                self._before()
                log.records.append(record)
                if isinstance(record, SwitchLine):
                    self._written(record.time_us)
        elif looks_damaged(message):
            log.troubles["unreadable_lines"] += 1
        elif not message.startswith("["):  # a collector's stamp on each line of a dump
            self._statistics(line, number)

    def _unstamped(self, line: Line, number: int) -> None:
        if self._statistics(line, number):
            return
        if "Options" in line.message or "RocksDB version" in line.message:
            self._option(line.message)
            self._mark(line, number)
        elif looks_damaged(line.message):
            self.log.troubles["unreadable_lines"] += 1

    def _statistics(self, line: Line, number: int) -> bool:
        if self.skipping:
            return False
        return self.stats.take(line.message, self.clock.last_us if self.clock.any else None, self.opening, number)

    def _mark(self, line: Line, number: int) -> bool:
        """Read a line that marks an open, a shutdown or a statistics dump; return False for other lines."""
        message = line.message
        if "RocksDB version" in message and (version := VERSION.search(message)):
            if not self.goes_on and not self._repeated(line):
                self._opened(line.stated_us if line.stamped else line.time_us, version[1], number)
            return True
        if "DUMPING STATS" in message:
            self.skipping = self._repeated(line)
            if not self.skipping:
                self.stats.begin(line.time_us, self.opening, number)
            return True
        if "DB pointer " in message:
            if self.log.openings and not self.goes_on:
                self.log.openings[-1].ready_us = line.time_us
                found = POINTER.search(message)
                self.pointer = found[1] if found else ""
            return True
        if message.startswith("SST files in ") and (files := _SST_FILES.search(message)) and self.log.openings:
            if self.goes_on:
                return True
            opening = self.log.openings[-1]
            opening.sst_files = (opening.sst_files or 0) + int(files[2])
            opening.folder = opening.folder or files[1]
            return True
        if "Shutdown: canceling" in message:
            self._before()
            self.log.openings[self.opening].closing_us = line.time_us
            return True
        if "Shutdown complete" in message:
            self.log.shutdowns += not self._repeated(line)
            self.closed = True
            return True
        return False

    def _opened(self, time_us: int, version: str, number: int = 0) -> None:
        log = self.log
        self.opens += bool(version)
        self.closed = False
        log.version = log.version or version
        log.openings.append(Opening(version, time_us, number, time_us))
        self.opening = len(log.openings) - 1

    def _written(self, time_us: int) -> None:
        """Record that the memtables of the present open were written to."""
        self.first_write_us.setdefault(self.opening, time_us)

    def _before(self) -> None:
        """Begin an open without a version if there is none: records before the first version line belong to it."""
        if not self.log.openings:
            self._opened(self.clock.first_us or 0, "")

    def _option(self, message: str) -> None:
        option = _OPTION.search(message) if self.opens <= 1 else None
        if option:
            self.log.options.setdefault(option[1], option[2].strip())

    def _repeated(self, line: Line) -> bool:
        """Whether the same line with the same time stamp was read before; whole seconds do not tell."""
        exact = "time_micros" in line.message  # tells the time better than a stamp of milliseconds
        if self.clock.step_us >= _WHOLE_SECOND_US and not exact:
            return False
        key = hash((0 if exact else line.time_us, line.thread, line.message))
        if key in self.seen and (line.stamped or exact):
            self.log.troubles["duplicate_lines"] += 1
            return True
        self.seen.add(key)
        return False

    def _event(self, text: str, line: Line, number: int) -> None:
        data, complete = parse_event(text)
        troubles = self.log.troubles
        self.log.events_seen += 1
        self.log.first_event = self.log.first_event or number
        name, job = data.get("event"), data.get("job", -1)
        if not complete:
            troubles["cut_events"] += 1
        if not isinstance(name, str) or not isinstance(job, int) or not -1 <= job < LARGEST:
            troubles["unreadable_events"] += 1
            return
        if name not in KNOWN_EVENTS:
            troubles["unknown_events"] += 1
        self._before()
        time_us = self.times.of(data.get("time_micros"), line)
        if name == "flush_started":
            self._written(time_us)
        self.log.records.append(Event(time_us, intern(line.thread), number, self.opening, name, job, data))
