"""Write stalls from a LOG: start, end and cause of each interval in which RocksDB slowed or stopped writers.

RocksDB recomputes its stall state at each memtable switch and at each commit. It prints a line if the result is a stall
condition, and none if writers are not stalled (behaviour/log-and-statistics.md, Stall lines). The line follows the line
of the switch, or precedes the event of the commit, on the same thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lsmlab.models.policies.decisions import THROTTLE_CAUSES, StallCause
from lsmlab.validation.logs.record_list import Record
from lsmlab.validation.logs.records import Event, MovedLine, ReleasedLine, RocksDbLog, StallLine, SwitchLine

_COMMITS: Final = frozenset({"flush_finished", "compaction_finished", "trivial_move"})
_NEAR_US: Final = 10**6
"""A stall line belongs to the commit that follows on its thread within this time. Otherwise it is a recompute by
itself."""
_STAMP_ERROR: Final = 0.1
"""Largest error of the stalled time, relative to it, by stamps of whole seconds or milliseconds."""


@dataclass(frozen=True, slots=True)
class StallState:
    """Result of one recompute of the stall state."""

    time_us: int
    opening: int
    column_family: str
    cause: StallCause | None
    """Cause of the stall; None if writers are not stalled."""
    rate_bytes_per_s: int | None = None
    """Delayed write rate; None if the LOG does not show it."""
    pending_bytes: int | None = None
    """Estimated pending compaction bytes; None if the LOG does not show them."""
    l0_files: int | None = None
    """Number of L0 files; None if the LOG does not show it."""
    immutables: int | None = None
    """Number of immutable memtables; None if the LOG does not show it."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Interval in which one cause stalled writers, over all column families."""

    cause: StallCause
    start_us: int
    end_us: int
    opening: int
    column_family: str = "default"
    """The family whose state held writers back."""


@dataclass
class LogStalls:
    """Stall states, stall intervals and stall lines of a LOG."""

    states: list[StallState]
    """Stall states in time order."""
    intervals: list[Stall]
    lines: list[tuple[int, int, StallCause, str]]
    """(time in microseconds, opening, cause, column family) of every line "Stalling" or "Stopping"."""
    timed: bool = True
    """Whether the LOG shows when stalls ended; if not, `intervals` is empty."""

    def counts(self, end_us: int, column_family: str | None = None) -> dict[str, int]:
        """Return the number of stall lines by cause up to a time, of one column family or of all.

        RocksDB's stall counters count the same.
        """
        result = dict.fromkeys((cause.value for cause in THROTTLE_CAUSES), 0)
        for time_us, _, cause, family in self.lines:
            if column_family in (None, family) and time_us <= end_us:
                result[cause.value] += 1
        return result

    def seconds(self, end_us: int, opening: int | None = None) -> dict[str, float]:
        """Return the seconds of stall by cause up to a time, of one open of the store or of all."""
        result = dict.fromkeys((cause.value for cause in THROTTLE_CAUSES), 0.0)
        for stall in self.intervals:
            if opening not in (None, stall.opening):
                continue
            result[stall.cause.value] += max(0, min(stall.end_us, end_us) - stall.start_us) / 1e6
        return result


def cause_of(text: str) -> StallCause | None:
    """Return the stall cause in a line; None for a line that only asks for more compaction threads ("Increasing")."""
    stops = text.startswith("Stopping")
    if not stops and not text.startswith("Stalling"):
        return None
    if "immutable memtables" in text:
        return StallCause.MEMTABLE_STOP if stops else StallCause.MEMTABLE_SLOWDOWN
    if "level-0 files" in text:
        return StallCause.L0_STOP if stops else StallCause.L0_SLOWDOWN
    return StallCause.PENDING_STOP if stops else StallCause.PENDING_SLOWDOWN


def stalls_of(log: RocksDbLog) -> LogStalls:
    """Derive stall states and intervals from the records of a LOG."""
    reader = _StateReader(releases=next(log.records.of(ReleasedLine), None) is not None)
    kinds = (SwitchLine, StallLine, Event, ReleasedLine, MovedLine)
    for record in log.records.in_file_order(*kinds):  # in file order the lines of a thread are adjacent
        reader.take(record)
    states = reader.finish()
    intervals, lines = _intervals(states, log), sorted(reader.lines, key=lambda entry: entry[0])
    timed = not lines or _shows_ends(log, intervals)
    return LogStalls(states, intervals if timed else [], lines, timed)


def _shows_ends(log: RocksDbLog, intervals: list[Stall]) -> bool:
    """Whether the LOG shows the lengths of its stalls: it has what ends them, and stamps that are fine enough.

    Switches and commits end stalls. A LOG from its open on has all that there were, of a part they may be left out.
    """
    ends = (r for r in log.records.of(SwitchLine, Event) if not isinstance(r, Event) or r.name in _COMMITS)
    whole = any(opening.version for opening in log.openings)
    if not intervals or not (whole or next(ends, None)):
        return False
    return len(intervals) * (log.step_us - 1) <= _STAMP_ERROR * sum(stall.end_us - stall.start_us for stall in intervals)


class _StateReader:
    """Reader of stall states from records in file order: assigns stall lines to switches or commits of their thread."""

    def __init__(self, *, releases: bool) -> None:
        self.states: list[StallState] = []
        self.lines: list[tuple[int, int, StallCause, str]] = []
        self._releases = releases
        """Whether the LOG has `ReleasedLine` records."""
        self._switched: dict[str, SwitchLine] = {}
        self._pending: dict[str, StallLine] = {}
        self._families: dict[str, str] = {}
        self._committed: set[str] = set()
        """Threads that released memtables since their last commit."""
        self._released: set[int] = set()
        """Files whose memtables were released."""
        self._files: dict[tuple[int, int], int] = {}
        """By (opening, job) of the jobs at work: their last file."""

    def take(self, record: Record) -> None:
        """Read the next record in file order."""
        if isinstance(record, SwitchLine):
            self._flush_switch(record.thread)
            self._switched[record.thread] = record
        elif isinstance(record, StallLine):
            self._stall(record)
        elif isinstance(record, Event) and record.name in _COMMITS:
            self._commit(record)
        elif isinstance(record, Event) and record.name == "table_file_creation":
            self._files[record.opening, record.job] = record.whole("file_number") or 0
        elif isinstance(record, ReleasedLine):
            self._committed.add(record.thread)
            self._released.add(record.file)
        elif isinstance(record, MovedLine):
            self._families[record.thread] = record.column_family

    def finish(self) -> list[StallState]:
        """Return all states in time order, after all records were read."""
        for thread in list(self._switched):
            self._flush_switch(thread)
        self.states += [_state(line) for line in self._pending.values()]
        return sorted(self.states, key=lambda s: (s.time_us, s.cause is not None))

    def _stall(self, record: StallLine) -> None:
        cause, thread = cause_of(record.text), record.thread
        if cause is not None:
            self.lines.append((record.time_us, record.opening, cause, record.column_family))
        if thread in self._switched:
            self._switched.pop(thread)
            self.states.append(_state(record))
            return
        if thread in self._pending:
            self.states.append(_state(self._pending[thread]))
        self._pending[thread] = record

    def _commit(self, record: Event) -> None:
        thread = record.thread
        self._flush_switch(thread)
        line = self._pending.pop(thread, None)
        if line is not None:
            self.states.append(_state(line))
            self._families[thread] = line.column_family
        # if another thread commits a flush together with its own, the flush's thread recomputes nothing
        file = self._files.pop((record.opening, record.job), 0)
        own = record.name != "flush_finished" or thread in self._committed or not self._releases or file not in self._released
        self._committed.discard(thread)
        if own and (line is None or abs(line.time_us - record.time_us) > _NEAR_US):
            family = str(record.data.get("cf_name") or self._families.get(thread, "default"))
            files, waiting = record.counts("lsm_state"), record.whole("immutable_memtables")
            l0_files = files[0] if files else None
            self.states.append(StallState(record.time_us, record.opening, family, None, l0_files=l0_files, immutables=waiting))

    def _flush_switch(self, thread: str) -> None:
        """Add the unstalled state of a switch that no stall line follows."""
        record = self._switched.pop(thread, None)
        if record is not None:
            waiting = record.immutables + 1
            self.states.append(StallState(record.time_us, record.opening, record.column_family, None, immutables=waiting))


def _state(line: StallLine) -> StallState:
    cause = cause_of(line.text)
    return StallState(line.time_us, line.opening, line.column_family, cause, line.rate_bytes_per_s, line.pending_bytes)


def _intervals(states: list[StallState], log: RocksDbLog) -> list[Stall]:
    intervals: list[Stall] = []
    held: dict[str, StallCause | None] = {}
    current: StallCause | None = None
    holder = ""
    since, opening = 0, 0

    def close(at_us: int) -> None:
        if current is not None and at_us > since:
            intervals.append(Stall(current, since, at_us, opening, holder))

    last = log.records.last
    for state in states:
        if state.opening != opening:
            close(_end_of(log, opening))
            held, current, opening = {}, None, state.opening
        held[state.column_family] = state.cause
        family, cause = _worst(held)
        if cause is not current:
            close(state.time_us)
            current, holder, since = cause, family, state.time_us
    close(last.time_us if last is not None else since)
    return intervals


def _end_of(log: RocksDbLog, opening: int) -> int:
    return max((r.time_us for r in log.records if r.opening == opening), default=0)


def _worst(held: dict[str, StallCause | None]) -> tuple[str, StallCause | None]:
    """Return the strictest cause of all column families, a stop before a slowdown, and its column family."""
    causes = [(family, cause) for family, cause in held.items() if cause is not None]
    return next(((f, c) for f, c in causes if c.stops), causes[0] if causes else ("", None))
