"""Reader of a store's files: its LOG, its options, and db_bench's per-second report."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.engines.make import DEFAULT_FAMILY
from lsmlab.models.errors import InputError
from lsmlab.models.options.ignored import IgnoredOption, merged_ignored
from lsmlab.models.options.options_file import OptionsFile, points, read_options
from lsmlab.models.options.values import option_types, plain
from lsmlab.models.text.files import TextLines
from lsmlab.models.text.plain_lines import PlainLines
from lsmlab.models.version import Version
from lsmlab.models.workloads.trace import TraceColumn, read_trace
from lsmlab.validation.importer.plausible import refuse_impossible
from lsmlab.validation.logs.files import log_files, newest_options
from lsmlab.validation.logs.history.builder import jobs_of
from lsmlab.validation.logs.history.checks import check_log
from lsmlab.validation.logs.history.fills import Fill, memtable_fills, until_closes
from lsmlab.validation.logs.history.jobs import LogJobs
from lsmlab.validation.logs.history.stalls import LogStalls, stalls_of
from lsmlab.validation.logs.history.summary import origin_us, summarise_log
from lsmlab.validation.logs.reader import read_history
from lsmlab.validation.logs.records import Event, LogPart, OptionsChange, RocksDbLog
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_INTERVALS: Final = 400_000
"""Largest number of rows per table: 400,000 s (4.6 days) with a row per second. For a longer LOG a row covers several
seconds."""
_MICROSECONDS: Final = 1e5
"""A report whose last time is above this number is in microseconds. In seconds it would be 28 hours long; in
microseconds rows are at least 0.1 s apart."""
_OTHER_RUN: Final = 0.2
"""Largest relative difference between a report's operations and the entries in the LOG's flushes. If the difference is
larger, and exceeds the content of `_MEMTABLES` memtables too, the report belongs to another run."""
_MOST_PER_SYNC: Final = 100.0
"""Most writes per fsync of the WAL for which writes count as synced; more are occasional calls of SyncWAL."""
_MEMTABLES: Final = 3
"""Number of memtables whose entries may not be flushed yet."""
_OF_JOBS: Final = (
    "flush_count", "flush_bytes", "compaction_count", "compaction_read_bytes", "compaction_write_bytes", "trivial_move_count",
    "drop_count", "write_amplification", "live_bytes",
)  # fmt: skip
"""Numbers of summary.json that a LOG without events does not have."""
_AT_SWITCH_US: Final = 10_000
"""Longest time between a memtable switch and the line of the stop that it causes."""
_MOSTLY: Final = 0.5
"""Share of the time after the last write from which stops explain that there was no other."""
_SETTING: Final = re.compile(r"(?<!\w)(?:\w{1,80}(?:\.|->))?([a-z]\w{1,80}) {0,3}= {0,3}[\w\"'-]")
"""Setting of an option in prose or code."""
_FIRST_LINES: Final = 2_000
"""Lines of a text that are searched for such settings: they stand above what was pasted with them."""
_FEW_OPENS: Final = 3
"""Largest number of opens that a note lists."""
_TOLD: Final = 0.5
"""Least share of the time that statistics without a stall must cover to say that there was none."""
_BAD_LINE: Final = re.compile(r"^options text:(\d+): (.*)", re.DOTALL)
_MOST_BAD_OPTIONS: Final = 50
"""Largest number of damaged option lines to leave out; a header with more is not read."""


@dataclass
class Reading:
    """Parsed and checked files of a store."""

    path: Path
    """The LOG, or the folder of several LOG files."""
    log: RocksDbLog
    jobs: LogJobs
    stalls: LogStalls
    options: OptionsFile | None
    """Options of the column family that wrote most; None if neither the LOG nor an OPTIONS file has options."""
    family_options: Mapping[str, OptionsFile] = field(default_factory=dict)
    """Options of every column family that the files have, by name."""
    problems: Counter[str] = field(default_factory=Counter)
    """Number of gaps and contradictions by kind (`jobs.PROBLEMS`)."""
    notes: list[str] = field(default_factory=list)
    rate_limited: bool = False
    """Whether the store has a rate limiter. An OPTIONS file does not say it, but the LOG's header does."""
    report: tuple[Floats, Floats] | None = None
    """db_bench's report: starts of intervals in seconds, and operations per second in each interval."""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Values of summary.json that the LOG has; stalls are those up to the last write, after which they delay nobody.

        Without a line of a stall, stalls are unknown (None) unless the statistics say that there were none.
        """
        found = summarise_log(self.log, jobs=self.jobs, stalls=self.stalls, writes_until_s=self.stalls_until_s)
        if found.get("counted_from") == "tables":
            return found
        if next(self.log.records.of(Event), None) is None:
            for part in (found, *found.get("column_families", {}).values()):
                part |= dict.fromkeys(_OF_JOBS)
        measured = found["stall_measured"]
        told = measured is not None and measured["until_s"] >= _TOLD * found["stall_until_s"]
        if not (told or any(found["stall_count"].values()) or found["stall_fraction"]):
            found |= {"stall_fraction": None, "stall_seconds": dict.fromkeys(found["stall_seconds"]), "longest_stall_s": None}
        return found

    @cached_property
    def fills(self) -> list[Fill]:
        """Memtable fills: start, end and entries."""
        return until_closes(memtable_fills(self.log, self.jobs.done("flush")), self.log)

    @cached_property
    def writes_per_sync(self) -> float | None:
        """Number of writes for each fsync of the WAL, from the last statistics; None if writes are not synced."""
        for dump in reversed(self.log.dumps):
            writes, syncs = dump.db.get("cumulative_wal_writes"), dump.db.get("cumulative_wal_syncs")
            if writes and syncs is not None:
                return writes / syncs if writes <= _MOST_PER_SYNC * syncs else None
        return None

    @property
    def from_tables(self) -> bool:
        """Whether the numbers are those of statistics since the store's open, because the LOG shows next to nothing else."""
        return self.summary.get("counted_from") == "tables"

    @property
    def writes_until_s(self) -> float:
        """Time of the last write in seconds after the origin; infinite if the LOG has no memtable fills."""
        return max((self.seconds(fill.end_us) for fill in self.fills), default=math.inf)

    @property
    def stalls_until_s(self) -> float:
        """Time up to which stalls delayed writers, in seconds after the origin; infinite without memtable fills.

        A write switches the memtable, also the last one, whose flush the LOG may not show; a stop that begins with the switch
        then delays it. So do stops that take most of the rest of a LOG in which the store stays open.
        """
        if not self.fills:
            return math.inf
        closing_us = next((one.closing_us for one in reversed(self.log.openings) if one.closing_us is not None), None)
        closed_us = self.end_us if closing_us is None else closing_us
        switched_us = [record.time_us for record in self.log.switches() if record.time_us <= closed_us]
        last_us = max([*(fill.end_us for fill in self.fills), *switched_us])
        for stall in self.stalls.intervals:
            if stall.cause.stops and stall.start_us <= last_us + _AT_SWITCH_US and stall.end_us > last_us:
                last_us = min(stall.end_us, closed_us)
        later = [stall for stall in self.stalls.intervals if stall.cause.stops and stall.start_us > last_us]
        if closing_us is None and sum(s.end_us - s.start_us for s in later) > _MOSTLY * (self.end_us - last_us):
            last_us = later[-1].end_us
        return self.seconds(last_us)

    @property
    def families(self) -> Sequence[str]:
        """Column families of the files' options and of the LOG's jobs, default first."""
        names = {*self.family_options, *families(self.jobs)}
        return [DEFAULT_FAMILY, *(name for name in sorted(names) if name != DEFAULT_FAMILY)]

    @property
    def busiest_family(self) -> str:
        """Column family whose jobs wrote most."""
        return _busiest_family(self.jobs)

    @property
    def origin_us(self) -> int:
        """Origin of time: local time in microseconds from which seconds are counted."""
        return origin_us(self.log)

    @property
    def begins_us(self) -> int:
        """Local time from which the numbers of the summary count: of statistics alone, the open that the last uptime tells."""
        dump = next((d for d in reversed(self.log.dumps) if d.time_us is not None and d.uptime_s), None)
        if not self.from_tables or dump is None or dump.time_us is None or dump.uptime_s is None:
            return self.origin_us
        return dump.time_us - round(dump.uptime_s * 1e6)

    @property
    def end_us(self) -> int:
        """Local time of the last line in microseconds."""
        last = self.log.records.last
        return max(self.origin_us, last.time_us if last is not None else 0, self.log.last_us or 0)

    def seconds(self, time_us: int) -> float:
        """Convert a local time to seconds after the origin."""
        return (time_us - self.origin_us) / 1e6

    @property
    def unreadable(self) -> int:
        """Number of reading errors and gaps, without harmless ones such as cut-off events that were recovered."""
        harmless = {"cut_events", "duplicate_lines", "backward_steps"}
        broken = sum(n for kind, n in self.log.troubles.items() if kind not in harmless)
        return broken + sum(n for kind, n in self.problems.items() if kind not in ("unfinished", "no_end", "no_events"))

    @property
    def version(self) -> Version | None:
        """Release of RocksDB that wrote the files; None if they do not contain it."""
        try:
            if self.log.version:
                return Version.parse(self.log.version)
        except ValueError:
            pass
        return self.options.version if self.options is not None else None

    def option(self, name: str) -> Any:
        """Return the value of an option; None if the files do not have it."""
        return self.options.overrides.get(name) if self.options is not None else None

    @property
    def not_simulated(self) -> list[IgnoredOption]:
        """Options of all column families that matter and are not simulated."""
        return merged_ignored(options.not_simulated for options in self.family_options.values())

    @property
    def rate_limiter_unknown(self) -> bool:
        """Whether the store has a rate limiter of unknown rate: a LOG prints only the limiter's address."""
        return self.rate_limited and not self.option("rate_limiter_bytes_per_sec")


def grid(length_s: float) -> Floats:
    """Return the borders of at most `MOST_INTERVALS` equal intervals that cover a time; each is 1 s or longer."""
    step_s = max(1.0, math.ceil(length_s / MOST_INTERVALS))
    return np.arange(max(1, math.ceil(length_s / step_s)) + 1, dtype=np.float64) * step_s


def read(
    logs: Path | Sequence[Path], options_path: Path | None = None, report_path: Path | None = None
) -> Reading:
    """Read a LOG, or several of one store as one history, and, if given, an OPTIONS file and db_bench's report.

    `logs`: files, or folders with LOG and LOG.old.* files. Without `options_path` the headers of the LOG files give the
    options; where they have none, the newest OPTIONS file of the folder. Raises InputError if a file is unreadable or of
    the wrong kind.
    """
    places = [logs] if isinstance(logs, Path) else list(logs)
    files = log_files(places)
    log = read_history(files)
    jobs, stalls = jobs_of(log), stalls_of(log)
    notes: list[str] = []
    busiest = _busiest_family(jobs)
    if options_path is None and not log.options:
        options_path = next((file for place in places if place.is_dir() and (file := newest_options(place))), None)
        notes += [f"options: those of {options_path.name}, as no LOG contains any"] if options_path is not None else []
    options = _file_families(options_path) if options_path is not None else _header(log, busiest, files, notes)
    chosen = options.get(busiest) or options.get(DEFAULT_FAMILY)
    notes += dict.fromkeys(note for family in options.values() for note in (*family.notes, *family.untold.values()))
    notes += _families_without_options(options, jobs)
    found = Reading(_whole_path(places), log, jobs, stalls, chosen, options, check_log(log, jobs, stalls), notes)
    found.rate_limited = points(log.options.get("rate_limiter", "")) or (chosen is not None and chosen.rate_limited)
    found.report = _report(report_path, found)
    notes += [*_other_stores(found), *_options_changes(found), *_options_of_later_opens(found), *_earlier_uptimes(found)]
    refuse_impossible(log, jobs, stalls)
    return found


def _pasted_options(files: Sequence[Path]) -> OptionsFile | None:
    """Return the options that someone has pasted beside lines of a LOG or statistics; None without any that can be read."""
    lines = [
        line
        for file in files
        for _, line in islice(PlainLines(TextLines(file)), _FIRST_LINES)
        if any(found[1] in option_types() for found in _SETTING.finditer(line))
    ]
    try:
        return read_options("\n".join([*lines, ""])) if lines else None
    except InputError:
        return None


def _whole_path(places: Sequence[Path]) -> Path:
    """Return the path that stands for all files: the one file or folder, or the folder of several files."""
    if len(places) > 1:
        return places[0].resolve().parent
    return places[0].resolve() if places[0].is_dir() else places[0]


def _other_stores(reading: Reading) -> list[str]:
    """Return notes on opens and options of another release than the first, and on opens of an empty store after flushes."""
    opens = reading.log.openings
    flushed_us = [job.end_us for job in reading.jobs.done("flush") if job.end_us is not None and job.outputs]
    emptied = sum(1 for one in opens[1:] if one.sst_files == 0 and any(time < one.ready_us for time in flushed_us))
    releases = list(dict.fromkeys(one.version for one in opens if one.version))
    notes = []
    if emptied:
        notes.append(
            f"{emptied} {'open' if emptied == 1 else 'opens'} found no files, although flushes had written some before: this is "
            "more than one store; give the LOG files of one"
        )
    if len(releases) > 1:
        notes.append(f"the store was opened by RocksDB {', '.join(releases)}; the rules of {releases[0]} apply")
    given = reading.options.version if reading.options is not None else None
    if given not in (None, reading.version):
        notes.append(f"the options are of RocksDB {given}, the LOG of RocksDB {reading.version}, whose rules apply")
    return notes


def _earlier_uptimes(reading: Reading) -> list[str]:
    """Return a note on statistics of earlier opens, where only those of the last one count: the uptime falls between them."""
    uptimes = [dump.uptime_s for dump in reading.log.dumps if dump.uptime_s is not None]
    ended = [before for before, after in pairwise(uptimes) if after < before]
    if not reading.from_tables or not ended:
        return []
    lengths = ", ".join(f"{uptime_s:,.0f} s" for uptime_s in ended[:_FEW_OPENS])
    return [f"statistics of earlier opens (uptime {lengths}) are left out: the numbers are those of the last one"]


def _options_of_later_opens(reading: Reading) -> list[str]:
    """Return a note on each open with other options than the first, which are those of the configuration."""
    first = reading.family_options.get(DEFAULT_FAMILY)
    notes = []
    for part in reading.log.parts[1:] if first is not None else ():
        later = _Header(part.header).options(DEFAULT_FAMILY) if part.opens else None
        changes = [
            f"{name} {_text(first.overrides[name])} -> {_text(value)}"
            for name, value in (later.overrides if later is not None else {}).items()
            if first is not None and name in first.overrides and first.overrides[name] != value
        ]
        if changes:
            notes.append(
                f"{part.path.name}: the store was opened with other options ({', '.join(changes[:6])}"
                f"{', …' if len(changes) > 6 else ''}); the configuration has those of the first open"
            )
    return notes


def _text(value: Any) -> str:
    """Return the value of an option as the configuration writes it."""
    shown = plain(value)
    return str(shown).lower() if isinstance(shown, bool) else str(shown)


def _options_changes(reading: Reading) -> list[str]:
    """Return a note if options changed while the store was open; the configuration has the options of the open."""
    changes = list(reading.log.records.of(OptionsChange))
    if not changes:
        return []
    first_s = reading.seconds(changes[0].time_us)
    return [
        f"options changed while the store was open ({len(changes)} x SetOptions, first after {first_s:,.0f} s): "
        "the configuration has the options of the open"
    ]


def _families_without_options(options: Mapping[str, OptionsFile], jobs: LogJobs) -> list[str]:
    """Return a note on the column families that the LOG shows at work, but whose options were not read."""
    unknown = [name for name in families(jobs) if name not in options] if options else []
    if not unknown:
        return []
    return [
        f"no options of column family {', '.join(unknown)}: those of default are taken; a LOG has options only of the families "
        "in its header, within its first 4 MiB: give the OPTIONS file as well"
    ]


def _busiest_family(jobs: LogJobs) -> str:
    """Return the column family to simulate: the one whose jobs wrote the most bytes."""
    written: dict[str, int] = defaultdict(int)
    for job in jobs.jobs:
        written[job.column_family] += job.write_bytes
    return max(written, key=lambda name: (written[name], name == DEFAULT_FAMILY)) if written else DEFAULT_FAMILY


def _file_families(path: Path) -> dict[str, OptionsFile]:
    """Read the options of all column families from an OPTIONS file or LOG."""
    first = read_options(path)
    return {name: first if name == first.column_family else read_options(path, name) for name in first.families}


def _header(log: RocksDbLog, busiest: str, files: Sequence[Path], notes: list[str]) -> dict[str, OptionsFile]:
    """Read the options of all column families in the header of the first open, else those beside the LOG.

    Damaged lines are left out and noted.
    """
    if not log.options and (pasted := _pasted_options(files)) is not None:
        notes.append(f"options: {len(pasted.overrides)} of the lines beside the LOG; all others have their defaults")
        return {DEFAULT_FAMILY: pasted}
    if not log.options:
        notes.append("the LOG contains no options (it begins after the store's open): give the OPTIONS file as well")
        return {}
    first_open: LogPart = next((part for part in log.parts if "Options." in part.header), log.parts[0])
    header = _Header(first_open.header)
    first = header.options(DEFAULT_FAMILY) or header.options(busiest)
    if first is None:
        notes.append("the options in the LOG's header cannot be read: give the OPTIONS file as well")
        log.troubles["unreadable_options"] += 1
        return {}
    read = {name: first if name == first.column_family else header.options(name) for name in first.families}
    if header.left_out:
        log.troubles["unreadable_options"] += len(header.left_out)
        notes.append(f"{len(header.left_out)} damaged options left out: {'; '.join(header.left_out[:3])}")
    return {name: options for name, options in read.items() if options is not None}


class _Header:
    """Text of a LOG from which damaged lines of options are removed as they are met."""

    def __init__(self, text: str) -> None:
        self._text = text + "\n"
        self.left_out: list[str] = []
        """Errors of the removed lines."""

    def options(self, family: str) -> OptionsFile | None:
        """Options of a column family; None if the header has no readable section of it."""
        for _ in range(_MOST_BAD_OPTIONS):
            try:
                return read_options(self._text, family)
            except InputError as error:
                damaged = _BAD_LINE.match(str(error))
                if damaged is None or not self._remove(int(damaged[1]) - 1):
                    return None
                self.left_out.append(damaged[2])
        return None

    def _remove(self, number: int) -> bool:
        """Empty a line; whether it had any text."""
        lines = self._text.split("\n")
        line, lines[number] = lines[number], ""
        self._text = "\n".join(lines)
        return bool(line)


def _report(path: Path | None, found: Reading) -> tuple[Floats, Floats] | None:
    """Read db_bench's report: starts in seconds and operations per second; None and a note if it is from another run.

    The report's operations must agree with the entries in the LOG's flushes, both up to the report's end and in total.
    """
    if path is None:
        return None
    try:
        trace = read_trace(path, TraceColumn.OPERATIONS)
    except InputError as error:
        raise InputError(f"{error}; leave out --report-csv to take the rate from the LOG") from None
    scale = 1e-6 if trace.starts_s[-1] > _MICROSECONDS else 1.0  # db_bench of some releases writes now_micros
    starts, rates = np.array(trace.starts_s) * scale, np.array(trace.rates_per_s) / scale
    end_s = trace.length_s * scale
    operations = float((rates * np.diff(np.append(starts, end_s))).sum())
    flushes = [job for job in found.jobs.done("flush") if job.entries_in]
    by_then = sum(job.entries_in for job in flushes if found.seconds(job.start_us) <= end_s)
    in_all = sum(job.entries_in for job in flushes)
    in_memory = _MEMTABLES * max((job.entries_in for job in flushes), default=0)
    if any(abs(operations - n) > _OTHER_RUN * n + in_memory for n in (by_then, in_all) if n):
        found.notes.append(
            f"{path.name} is not used: it has {operations:,.0f} operations in {end_s:,.0f} s, but the LOG's flushes wrote "
            f"{by_then:,} entries in this time ({in_all:,} in all): it is from another run or benchmark, or includes reads"
        )
        return None
    return starts, rates


def families(jobs: LogJobs) -> Sequence[str]:
    """Return the names of the column families, default first."""
    return sorted(jobs.families, key=lambda name: (name != DEFAULT_FAMILY, name))
