"""Order of the memtable switches, picks and commits of a recorded store.

The lines of a LOG are not in this order: a compaction logs its start after it has released the DB mutex. The order
comes from the times of the events, from the base version that a compaction logs, and from the MANIFEST
(behaviour/measurements.md, Replays of recorded runs).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from lsmlab.validation.logs.history.builder import jobs_of
from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.manifest import VersionEdit
from lsmlab.validation.logs.records import Event, IdlePick, RocksDbLog, StallLine, StartSummary, SwitchLine
from lsmlab.validation.replays.commits import Committer
from lsmlab.validation.replays.steps import Commit, Idle, LoggedPick, ReplayStep, SwitchStep


@dataclass
class ReplayTimeline:
    """Steps in order, and the LOG events that a replay looks up by job."""

    steps: list[ReplayStep] = field(default_factory=list)
    created: dict[int, list[Event]] = field(default_factory=dict)
    """table_file_creation events by job."""
    flushes: dict[int, Event] = field(default_factory=dict)
    """flush_started events by job."""


def build_timeline(log: RocksDbLog, edits: Sequence[VersionEdit], num_levels: int) -> ReplayTimeline:
    """Order the records of `log` and the `edits` that change files by the time at which they took effect."""
    timeline = ReplayTimeline()
    created: dict[int, list[Event]] = defaultdict(list)
    for event in log.events("table_file_creation"):
        created[event.job].append(event)
    timeline.created = dict(created)
    timeline.flushes = {event.job: event for event in log.events("flush_started")}
    moves = {job.job: job for job in jobs_of(log).done("trivial_move")}
    commits = Committer(edits, timeline.created, moves, num_levels).commits(log)
    switches = [SwitchStep(r.time_us, r.thread) for r in log.records if isinstance(r, SwitchLine)]
    lines = [r for r in log.records if isinstance(r, StallLine)]
    _give_lines([*switches, *(c for c in commits if c.recomputes)], lines)
    picks = _picks(log, moves)
    idle = [Idle(r.time_us) for r in log.records if isinstance(r, IdlePick)]
    timeline.steps = _ordered([*switches, *commits, *idle], picks)
    return timeline


def _give_lines(steps: Sequence[SwitchStep | Commit], lines: Sequence[StallLine]) -> None:
    """Assign each stall line to the recompute that logged it: the last one of the same thread before the line."""
    by_thread: dict[str, list[SwitchStep | Commit]] = defaultdict(list)
    for step in sorted(steps, key=lambda s: s.time_us):
        by_thread[step.thread].append(step)
    for line in lines:
        place = by_thread[line.thread]
        before = [s for s in place if s.time_us <= line.time_us]
        after = next((s for s in place if s.time_us > line.time_us), None)
        if isinstance(after, Commit) and after.since_us is not None and line.time_us >= after.since_us:
            after.time_us = line.time_us
            after.line = line
        elif before and before[-1].line is None:
            before[-1].line = line
            if isinstance(before[-1], SwitchStep):  # logged without the DB mutex, but performed with it
                before[-1].time_us = line.time_us


def _picks(log: RocksDbLog, moves: dict[int, LogJob]) -> list[LoggedPick]:
    ends = {event.job: event for event in log.events("compaction_finished")}
    summary: dict[str, StartSummary] = {}
    picks = []
    for record in log.records:
        if isinstance(record, StartSummary):
            summary[record.thread] = record
        elif isinstance(record, Event) and record.name == "compaction_started":
            start = summary.pop(record.thread, None)
            end = ends.get(record.job)
            files = {int(key[7:]): tuple(value) for key, value in record.data.items() if key.startswith("files_L")}
            picks.append(
                LoggedPick(
                    start.time_us if start else record.time_us, record.job, False,
                    str(record.data.get("compaction_reason", "")), files,
                    end.data.get("output_level") if end else None, record.data.get("score"),
                    start.base_version + 1 if start else None,
                )
            )  # fmt: skip
    for job, move in moves.items():
        files = {-1: tuple(sorted(move.inputs[move.start_level]))}
        picks.append(LoggedPick(move.start_us, job, True, "", files, move.output_level, None))
    return picks


def _ordered(steps: Sequence[SwitchStep | Commit | Idle], picks: Sequence[LoggedPick]) -> list[ReplayStep]:
    """Order all steps by time, but each pick before the commit that replaced the version of the pick."""
    commit_us = {step.version: step.time_us for step in steps if isinstance(step, Commit) and step.edits}
    keyed: list[tuple[int, int, int, ReplayStep]] = [(step.time_us, 1, i, step) for i, step in enumerate(steps)]
    for i, pick in enumerate(sorted(picks, key=lambda p: p.time_us)):
        end_us = commit_us.get(pick.before_version or -1)
        keyed.append((pick.time_us if end_us is None else min(pick.time_us, end_us), 0, i, pick))
    return [step for *_, step in sorted(keyed, key=lambda k: k[:3])]
