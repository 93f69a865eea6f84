"""Write stalls from a LOG: which cause held writers back from when to when.

RocksDB prints a line at every recompute of its stall state that yields a condition, and none when writers may go on freely
(behaviour/log-and-statistics.md, Stall lines). A recompute happens at each memtable switch and at each commit; the line
of a recompute stands right after the switch's line, or before the commit's event, on the same thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from lsmlab.models.policies.decisions import StallCause
from lsmlab.validation.logs.records import (
    Event,
    MovedLine,
    Record,
    ReleasedLine,
    RocksDbLog,
    StallLine,
    SwitchLine,
)

_COMMITS: Final = frozenset({"flush_finished", "compaction_finished", "trivial_move"})
_NEAR_US: Final = 10**6
"""A line belongs to a commit on its thread that follows within this time, or to none (then it counts for itself)."""


@dataclass(frozen=True, slots=True)
class StallState:
    """What one recompute found."""

    time_us: int
    opening: int
    column_family: str
    cause: StallCause | None
    """None: writers may go on."""
    rate_bytes_per_s: int | None = None
    pending_bytes: int | None = None
    l0_files: int | None = None
    """Files in level 0 at the recompute, where it is told."""
    immutables: int | None = None
    """Immutable memtables at the recompute, where it is told."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A stretch of time in which one cause held writers back, over all column families."""

    cause: StallCause
    start_us: int
    end_us: int
    opening: int


@dataclass
class LogStalls:
    """All that a log says about stalls."""

    states: list[StallState] = field(default_factory=list)
    """In time order."""
    intervals: list[Stall] = field(default_factory=list)
    lines: list[tuple[int, int, StallCause]] = field(default_factory=list)
    """(time, opening, cause) of every Stalling or Stopping line."""

    def counts(self, start_us: int | None = None, end_us: int | None = None) -> dict[str, int]:
        """Stall lines by cause between two moments: what RocksDB's stall counters count."""
        result = dict.fromkeys((cause.value for cause in StallCause), 0)
        for time_us, _, cause in self.lines:
            if (start_us is None or time_us >= start_us) and (end_us is None or time_us <= end_us):
                result[cause.value] += 1
        return result

    def seconds(self, start_us: int | None = None, end_us: int | None = None) -> dict[str, float]:
        """Seconds in which each cause held, between two moments."""
        result = dict.fromkeys((cause.value for cause in StallCause), 0.0)
        for stall in self.intervals:
            first = stall.start_us if start_us is None else max(stall.start_us, start_us)
            last = stall.end_us if end_us is None else min(stall.end_us, end_us)
            result[stall.cause.value] += max(0, last - first) / 1e6
        return result


def cause_of(text: str) -> StallCause | None:
    """The cause that a stall line names; None for one that only asks for more compaction threads."""
    stops = text.startswith("Stopping")
    if not stops and not text.startswith("Stalling"):
        return None
    if "immutable memtables" in text:
        return StallCause.MEMTABLE_STOP if stops else StallCause.MEMTABLE_SLOWDOWN
    if "level-0 files" in text:
        return StallCause.L0_STOP if stops else StallCause.L0_SLOWDOWN
    return StallCause.PENDING_STOP if stops else StallCause.PENDING_SLOWDOWN


def stalls_of(log: RocksDbLog) -> LogStalls:
    """Follow the stall state through a log."""
    result = LogStalls()
    result.states = _states(log, result)
    result.intervals = _intervals(result.states, log)
    return result


def _states(log: RocksDbLog, result: LogStalls) -> list[StallState]:
    states: list[StallState] = []
    switched: dict[str, SwitchLine] = {}
    pending: dict[str, StallLine] = {}
    families: dict[str, str] = {}
    committed: set[str] = set()
    releases = any(isinstance(record, ReleasedLine) for record in log.records)
    for record in sorted(log.records, key=lambda r: r.line):  # file order: a thread's lines are neighbours there
        thread = record.thread
        if isinstance(record, SwitchLine):
            _flush_switch(switched, thread, states)
            switched[thread] = record
        elif isinstance(record, StallLine):
            cause = cause_of(record.text)
            if cause is not None:
                result.lines.append((record.time_us, record.opening, cause))
            state = _state(record, cause)
            if thread in switched:
                switched.pop(thread)
                states.append(state)
            else:
                if thread in pending:
                    states.append(_state(pending[thread], cause_of(pending[thread].text)))
                pending[thread] = record
        elif isinstance(record, Event) and record.name in _COMMITS:
            _flush_switch(switched, thread, states)
            line = pending.pop(thread, None)
            if line is not None:
                states.append(_state(line, cause_of(line.text)))
                families[thread] = line.column_family
            # a flush that another thread committed with its own recomputes nothing
            own = record.name != "flush_finished" or thread in committed or not releases
            committed.discard(thread)
            if own and (line is None or abs(line.time_us - record.time_us) > _NEAR_US):
                family = str(record.data.get("cf_name") or families.get(thread, "default"))
                files, waiting = record.counts("lsm_state"), record.whole("immutable_memtables")
                l0_files = files[0] if files else None
                states.append(
                    StallState(record.time_us, record.opening, family, None, l0_files=l0_files, immutables=waiting)
                )
        elif isinstance(record, ReleasedLine):
            committed.add(thread)
        elif isinstance(record, MovedLine):
            families[thread] = record.column_family
    for thread in list(switched):
        _flush_switch(switched, thread, states)
    states += [_state(line, cause_of(line.text)) for line in pending.values()]
    states.sort(key=lambda s: (s.time_us, s.cause is not None))
    result.lines.sort(key=lambda entry: entry[0])
    return states


def _flush_switch(switched: dict[str, SwitchLine], thread: str, states: list[StallState]) -> None:
    """A switch after which no line stands left writers free."""
    record = switched.pop(thread, None)
    if record is not None:
        waiting = record.immutables + 1
        states.append(StallState(record.time_us, record.opening, record.column_family, None, immutables=waiting))


def _state(line: StallLine, cause: StallCause | None) -> StallState:
    return StallState(line.time_us, line.opening, line.column_family, cause, line.rate_bytes_per_s, line.pending_bytes)


def _intervals(states: list[StallState], log: RocksDbLog) -> list[Stall]:
    intervals: list[Stall] = []
    held: dict[str, StallCause | None] = {}
    current: StallCause | None = None
    since, opening = 0, 0

    def close(at_us: int) -> None:
        if current is not None and at_us > since:
            intervals.append(Stall(current, since, at_us, opening))

    last: Record | None = log.records[-1] if log.records else None
    for state in states:
        if state.opening != opening:
            close(_end_of(log, opening))
            held, current, opening = {}, None, state.opening
        held[state.column_family] = state.cause
        cause = _worst(held)
        if cause is not current:
            close(state.time_us)
            current, since = cause, state.time_us
    close(last.time_us if last is not None else since)
    return intervals


def _end_of(log: RocksDbLog, opening: int) -> int:
    return max((r.time_us for r in log.records if r.opening == opening), default=0)


def _worst(held: dict[str, StallCause | None]) -> StallCause | None:
    """The cause that binds: a stop before a slowdown."""
    causes = [cause for cause in held.values() if cause is not None]
    return next((c for c in causes if c.stops), causes[0] if causes else None)
