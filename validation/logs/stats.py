"""RocksDB's statistics dumps: compaction tables, DB statistics and stall counters, from a LOG or db_bench's output.

Reads the formats of RocksDB 5.7 to 11.8 (behaviour/log-and-statistics.md, Compaction Stats table). Tables are read by
header name, because new versions insert columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lsmlab.models.engines.make import DEFAULT_FAMILY
from lsmlab.models.policies.decisions import THROTTLE_CAUSES, StallCause
from lsmlab.validation.logs.bench import NUMBER, BenchReader, ImpossibleNumber, number_of

_UNITS: Final = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_COUNTS: Final = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
"""RocksDB prints counts of entries with decimal suffixes (util/string_util.cc:NumberToString)."""
_MOST_FILES: Final = 10**9
"""Largest number of files of a level."""
_SECTION: Final = re.compile(
    r"\*\* (?:(?:DB Stats|File Read Latency Histogram By Level.*?) \*\*|(Compaction Stats)(?: \[(.*?)\] \*\*| \[(.*)$| \*\*))"
)
"""Begin of a section. The name of a column family may have a line feed; releases before 3.0 print none."""
_MAY_FALL: Final = "Wnew(GB)"
"""Column that is negative where compactions drop more than they write."""
_UPTIME: Final = re.compile(rf"Uptime\(secs\): ({NUMBER}) total, ({NUMBER}) interval")
_HEADER: Final = re.compile(r"(Level|Priority)\s+Files\s+Size.*")
_ROW: Final = re.compile(r"(?:^|\s)(L\d{1,2}|Sum|Int|Low|High|User|Bottom)\s+(\d+/\d+\s.*)")
_ROW_START: Final = re.compile(r"\s*(?:L\d+|Sum|Int|Low|High|User|Bottom)\s")
_DB: Final = tuple(
    re.compile(f"(Cumulative|Interval) {line}".replace("BYTES", "N [KMGT]?B").replace("COUNT", "N[KMGT]?").replace("N", NUMBER))
    for line in (
        r"writes: (?P<writes>COUNT) writes, (?P<keys>COUNT) keys, (?P<commit_groups>COUNT) (?:commit groups|batches), "
        r"N writes per (?:commit group|batch), ingest: (?P<ingest_bytes>BYTES), (?P<ingest_bytes_per_s>BYTES)/s",
        r"writes: (?P<writes>COUNT) writes, (?P<keys>COUNT) keys, COUNT batches, N writes per batch, "
        r"(?P<ingest_bytes>BYTES) user ingest, stall micros: (?P<stall_micros>COUNT)",
        r"WAL: (?P<wal_writes>COUNT) writes, (?P<wal_syncs>COUNT) syncs, N writes per sync, written: (?P<wal_bytes>BYTES)",
        r"stall: (?P<stall_s>\d+:\d\d:N) H:M:S, (?P<stall_percent>N) percent",
        r"compaction: (?P<compaction_write_bytes>BYTES) write, BYTES/s write, (?P<compaction_read_bytes>BYTES) read, "
        r"BYTES/s read, (?P<compaction_s>N) seconds",
    )
)
"""Lines of the DB statistics; the groups are the names of `StatsDump.db`."""
_FLUSH: Final = re.compile(rf"Flush\(GB\): (?:ac)?cumulative ({NUMBER}), interval {NUMBER}")
_INGESTED: Final = re.compile(rf"AddFile\((GB|Total Files|L0 Files|Keys)\): (?:ac)?cumulative ({NUMBER}), interval {NUMBER}")
_INGESTED_NAMES: Final = {"GB": "bytes", "Total Files": "files", "L0 Files": "l0_files", "Keys": "keys"}
"""Numbers of `FamilyStats.ingested` by their names in the lines "AddFile"."""
_BLOBS: Final = re.compile(
    rf"Blob file count: (\d+), total size: ({NUMBER}) GB(?:, garbage size: ({NUMBER}) GB, space amp: ({NUMBER}))?"
)
_STALLS: Final = re.compile(r"Stalls\(count\): (?P<old>.*)|^(?:.*\s)?Write Stall \(count\): (?P<new>.*)")
_MANAGER_STOPS: Final = re.compile(r"write-buffer-manager-limit-stops: (\d{1,18})(?!\d)")
_CAUSES: Final = {
    "level0_slowdown": "l0_slowdown",
    "level0_numfiles": "l0_stop",
    "stop for pending_compaction_bytes": "pending_stop",
    "slowdown for pending_compaction_bytes": "pending_slowdown",
    "memtable_compaction": "memtable_stop",
    "memtable_slowdown": "memtable_slowdown",
    "l0-file-count-limit-delays": "l0_slowdown",
    "l0-file-count-limit-stops": "l0_stop",
    "memtable-limit-delays": "memtable_slowdown",
    "memtable-limit-stops": "memtable_stop",
    "pending-compaction-bytes-delays": "pending_slowdown",
    "pending-compaction-bytes-stops": "pending_stop",
}
"""Causes by their names in the lines "Stalls(count)" before 8.1 and "Write Stall (count)" since then."""


@dataclass
class FamilyStats:
    """Statistics of one column family in a dump, cumulative since the store was opened."""

    levels: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the table by level, as column name to value. "Level" is L0, L1, …, Sum or Int; "Size" is in bytes."""
    priorities: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the table by thread priority: Low (compactions), High (flushes)."""
    flush_bytes: float | None = None
    """"Flush(GB): cumulative" in bytes; RocksDB prints it to 0.001 GB."""
    ingested: dict[str, float] = field(default_factory=dict)
    """Files that the application ingested (IngestExternalFile): bytes, files, l0_files and keys."""
    blobs: dict[str, float] = field(default_factory=dict)
    """Blob files of the present version: files, bytes, and since 7.0 garbage_bytes and space_amplification."""
    stall_counts: dict[str, int] = field(default_factory=dict)
    """Cumulative stall counters by cause, with the cause names of summary.json."""

    def row(self, name: str) -> dict[str, Any] | None:
        """Return the row of the table by level with this name, such as "Sum"; None if there is none."""
        return next((r for r in self.levels if r.get("Level") == name), None)


@dataclass
class StatsDump:
    """One statistics dump. Numbers are cumulative since the store was opened, except those named interval."""

    time_us: int | None
    """Time of the last line with a time stamp before the dump; None in db_bench's output, which has no time stamps."""
    opening: int = 0
    line: int = 0
    """Number of its first line."""
    manager_stops: int = 0
    """Cumulative stops by the write buffer manager, in the statistics of the whole database (since 8.1)."""
    uptime_s: float | None = None
    interval_s: float | None = None
    db: dict[str, float] = field(default_factory=dict)
    """DB statistics: cumulative_writes, …_keys, …_ingest_bytes, …_wal_bytes, …_stall_s, …_stall_percent, and the same
    names with interval_."""
    families: dict[str, FamilyStats] = field(default_factory=dict)
    unreadable: int = 0
    """Number of rows that do not fit their header, and of damaged lines."""
    impossible: tuple[int, str] | None = None
    """Line and text of the first number that no store can have."""


class StatsReader:
    """Line-by-line reader of statistics dumps and db_bench's results; it ignores all other lines."""

    def __init__(self) -> None:
        self.dumps: list[StatsDump] = []
        self.bench = BenchReader()
        """Reader of db_bench's results."""
        self._dump: StatsDump | None = None
        self._family: FamilyStats | None = None
        self._header: list[str] = []
        self._rows: list[dict[str, Any]] = []
        self._database_first = False
        """Whether the statistics of the database precede those of the column families in the current dump."""
        self._loose = False
        """Whether the current dump has no "DUMPING STATS" line, as in db_bench's output."""

    def begin(self, time_us: int | None, opening: int, line: int, *, loose: bool = False) -> None:
        """Begin a dump, at its line "DUMPING STATS" or (`loose`) at its first section if that line is absent."""
        self._dump, self._loose = StatsDump(time_us, opening, line), loose
        self.dumps.append(self._dump)
        self._family, self._header, self._database_first = None, [], False

    def take(self, text: str, time_us: int | None, opening: int, line: int = 0) -> bool:
        """Read one line; return True if it belongs to a dump or to db_bench's results."""
        try:
            return self._take(text, time_us, opening, line)
        except ImpossibleNumber as error:
            if self._dump is not None:
                self._dump.impossible = self._dump.impossible or (line, str(error))
            return True

    def _take(self, text: str, time_us: int | None, opening: int, line: int) -> bool:
        for mark, reader in _READERS:
            if mark in text:
                if self._dump is None or (mark == "Stats" and self._complete(text)):
                    self.begin(time_us, opening, line, loose=True)
                return reader(self, text)
        if self._header and (row := _ROW.search(text)):
            self._row(row[1], row[2])
            return True
        if self._header and _ROW_START.match(text) and text.count(" ") > 10:
            self._damaged()
            return True
        return self.bench.take(text, time_us, opening)

    def _complete(self, text: str) -> bool:
        """Whether the current dump has no "DUMPING STATS" line and is complete: the section of this line begins another."""
        dump = self._dump
        if dump is None or not self._loose:
            return False
        if "DB Stats" in text and not dump.db.keys().isdisjoint(("cumulative_writes", "cumulative_stall_s")):
            return True
        return bool(dump.families) and "cumulative_stall_s" in dump.db and not self._database_first

    def _section(self, text: str) -> bool:
        found = _SECTION.search(text)
        if not found:
            return False
        assert self._dump is not None
        self._header = []
        name = next((name for name in found.groups()[1:] if name is not None), DEFAULT_FAMILY)
        self._family = self._dump.families.setdefault(name, FamilyStats()) if found[1] else None
        self._database_first |= "DB Stats" in text and not self._dump.families
        return True

    def _uptime(self, text: str) -> bool:
        found = _UPTIME.search(text)
        assert self._dump is not None
        if not found:
            return self._damaged()
        total_s, interval_s = number_of(found[1]), number_of(found[2])
        if self._dump.uptime_s is None:
            self._dump.uptime_s, self._dump.interval_s = total_s, interval_s
        return True

    def _table(self, text: str) -> bool:
        found = _HEADER.search(text)
        if found and self._family is not None:
            self._header = found[0].split()
            self._rows = self._family.levels if found[1] == "Level" else self._family.priorities
        return bool(found)

    def _row(self, name: str, rest: str) -> None:
        assert self._dump is not None
        cells = rest.split()
        values: dict[str, Any] = {self._header[0]: name}
        at = 0
        try:
            for column in self._header[1:]:
                words = 2 if column == "Size" and at + 1 < len(cells) and cells[at + 1] in _UNITS else 1
                values[column] = _files(cells[at]) if column == "Files" else float(_amount(" ".join(cells[at : at + words])))
                at += words
        except ImpossibleNumber:
            raise
        except (IndexError, ValueError):
            at = -1
        negative = any(isinstance(value, float) and value < 0.0 for name, value in values.items() if name != _MAY_FALL)
        if at != len(cells) or negative:
            self._damaged()
            return
        if "Size(MB)" in values:
            values["Size"] = values["Size(MB)"] * _UNITS["MB"]
        same = next((row for row in self._rows if row[self._header[0]] == name), None)
        if same is None:
            self._rows.append(values)
        elif same != values and self._loose and self._rows[0] is same:  # 6.x prints every table twice, this is another one
            self._next_table(values)

    def _next_table(self, row: dict[str, Any]) -> None:
        """Begin a dump with the first row of a table of the present family, where two dumps are not told apart otherwise."""
        assert self._dump is not None
        name, header = next(name for name, family in self._dump.families.items() if family is self._family), self._header
        self.begin(self._dump.time_us, self._dump.opening, self._dump.line, loose=True)
        self._family, self._header = self._dump.families.setdefault(name, FamilyStats()), header
        self._rows = self._family.levels if header[0] == "Level" else self._family.priorities
        self._rows.append(row)

    def _db(self, text: str) -> bool:
        assert self._dump is not None
        db = self._dump.db
        for line in _DB:
            if found := line.search(text):
                prefix = found[1].lower()
                amounts = {name: _amount(value) for name, value in found.groupdict().items()}
                if (micros := amounts.pop("stall_micros", None)) is not None:  # before 3.10
                    amounts["stall_s"] = micros / 1e6
                values = {f"{prefix}_{name}": amount for name, amount in amounts.items()}
                if min(values.values()) < 0:
                    return self._damaged()
                db |= values
                return True
        if not re.search(r"(?:Cumulative|Interval) (?:compaction|writes_|WAL_)", text):
            return self._damaged()
        return True

    def _family_line(self, text: str) -> bool:
        assert self._dump is not None
        family = self._family or next(iter(self._dump.families.values()), FamilyStats())
        if found := _FLUSH.search(text):
            family.flush_bytes = number_of(found[1]) * _UNITS["GB"]
        elif (found := _INGESTED.search(text)) and number_of(found[2]) >= 0:
            family.ingested[_INGESTED_NAMES[found[1]]] = number_of(found[2]) * (_UNITS["GB"] if found[1] == "GB" else 1)
        elif found := _BLOBS.search(text):
            family.blobs = {"files": int(found[1]), "bytes": number_of(found[2]) * _UNITS["GB"]}
            if found[3] is not None:
                family.blobs |= {"garbage_bytes": number_of(found[3]) * _UNITS["GB"], "space_amplification": number_of(found[4])}
        elif found := _STALLS.search(text):
            if found["old"] is None and "cf-l0" not in text and "memtable-limit" not in text:
                if stops := _MANAGER_STOPS.search(text):  # of the whole database
                    self._dump.manager_stops = int(stops[1])
                return True
            counts = {name: int(n) for n, name in re.findall(r"(?<!\d)(\d{1,18}) ([\w ]+?)(?=,|$)", found["old"] or "")}
            counts |= {name: int(n) for name, n in re.findall(r"([\w-]+): (\d{1,18})(?!\d)", found["new"] or "")}
            family.stall_counts = {ours: counts[theirs] for theirs, ours in _CAUSES.items() if theirs in counts}
            if len(family.stall_counts) < len(THROTTLE_CAUSES):
                self._damaged()
        else:
            return self._damaged()
        if not self._dump.families:  # the table above was left out
            self._dump.families[DEFAULT_FAMILY] = family
        return True

    def _damaged(self) -> bool:
        assert self._dump is not None
        self._dump.unreadable += 1
        return True


_READERS: Final = (
    ("Stats", StatsReader._section),
    ("Uptime(secs)", StatsReader._uptime),
    ("Rd(MB/s)", StatsReader._table),
    ("Cumulative ", StatsReader._db),
    ("Interval ", StatsReader._db),
    ("Flush(GB)", StatsReader._family_line),
    ("AddFile(", StatsReader._family_line),
    ("Blob file count: ", StatsReader._family_line),
    ("Stalls(count)", StatsReader._family_line),
    ("Write Stall (count)", StatsReader._family_line),
)
"""Text that identifies a kind of line, and the method that reads it."""


def _files(cell: str) -> str:
    """Return the cell "files/files in compaction". Raises ImpossibleNumber for more than a store can have."""
    for number in cell.split("/"):
        if number_of(number) > _MOST_FILES:
            raise ImpossibleNumber(number)
    return cell


def _amount(text: str) -> float:
    """Convert a number with a decimal suffix (139K), a unit of bytes (64.00 MB), or hours and minutes before the seconds.

    Raises ValueError for a text that is no number, and for one that no counter can have.
    """
    if ":" in text:
        hours, minutes, seconds = map(number_of, text.split(":"))
        return int(hours) * 3600 + int(minutes) * 60 + seconds
    number, _, unit = text.partition(" ")
    if unit:
        return number_of(number) * _UNITS[unit]
    factor = _COUNTS.get(number[-1:])
    digits = number[:-1] if factor else number
    value = number_of(digits)
    return (int(digits) if digits.isdigit() else value) * (factor or 1)


def blob_state(dump: StatsDump) -> dict[str, float | None]:
    """Return files, bytes and garbage_bytes of the blob files of all families; None for what the dump does not tell."""
    told = [family.blobs for family in dump.families.values() if family.blobs]
    return {
        name: sum(one[name] for one in told) if told and all(name in one for one in told) else None
        for name in ("files", "bytes", "garbage_bytes")
    }


def blob_space_amplification(state: Mapping[str, float | None]) -> float | None:
    """Return bytes / (bytes - garbage) of a `blob_state`, as RocksDB prints it; None if a number is unknown."""
    size, garbage = state["bytes"], state["garbage_bytes"]
    return size / (size - garbage) if size and garbage is not None and size > garbage else None


def total_stalls(dump: StatsDump) -> dict[str, int]:
    """Return the stall counters of a dump by cause, summed over column families; that of the write buffer manager if not 0."""
    result: dict[str, int] = {}
    for family in dump.families.values():
        for cause, count in family.stall_counts.items():
            result[cause] = result.get(cause, 0) + count
    return result | ({StallCause.WRITE_BUFFER_MANAGER_LIMIT.value: dump.manager_stops} if dump.manager_stops else {})
