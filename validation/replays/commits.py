"""Commit times of the version edits of a MANIFEST, from the LOG.

Several commits may share one MANIFEST write and therefore one version. Several versions may be installed before a
thread logs its own. The files per level in the LOG decide between the possibilities
(behaviour/measurements.md, Replays of recorded runs).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.manifest import VersionEdit
from lsmlab.validation.logs.record_list import Record
from lsmlab.validation.logs.records import DeletedLine, DroppingLine, Event, ReleasedLine, RocksDbLog
from lsmlab.validation.replays.steps import Commit

FIRST_VERSION: Final = 2
"""Version number of a new store; its first commit creates version 3."""
_FINISHES: Final = ("flush_finished", "compaction_finished", "trivial_move")
_SAME_WRITE_US: Final = 150  # shorter than a MANIFEST write with fsync, longer than a thread's wake-up
_MOST_GROUPED: Final = 8  # largest number of commits tried for one MANIFEST write; recordings have no more


Moment = ReleasedLine | DeletedLine | Event
"""Records of a LOG that report a commit."""


@dataclass(slots=True)
class LoggedDrop:
    """One FIFO deletion: time of its pick, its last line and the numbers of the deleted files."""

    picked_us: int
    line: DeletedLine
    files: frozenset[int]


def drops(records: Iterable[Record]) -> dict[DeletedLine, LoggedDrop]:
    """Return the FIFO deletions by their last line in the LOG."""
    waiting: dict[str, list[DroppingLine]] = defaultdict(list)
    found: dict[DeletedLine, LoggedDrop] = {}
    for record in records:
        if isinstance(record, DroppingLine):
            waiting[record.thread].append(record)
        elif isinstance(record, DeletedLine):
            lines = waiting.pop(record.thread, [])
            files = frozenset(line.file for line in lines)
            found[record] = LoggedDrop(min((x.time_us for x in lines), default=record.time_us), record, files)
    return found


class Committer:
    """Finds the version edits that each finish event committed."""

    def __init__(
        self,
        edits: Sequence[VersionEdit],
        created: Mapping[int, Sequence[Event]],
        moves: Mapping[int, LogJob],
        num_levels: int,
    ) -> None:
        """`created` are the table_file_creation events by job, `moves` the trivial moves."""
        self.edits = edits
        self.moves = moves
        self.counts = [0] * num_levels
        self.done = 0
        self.creator: dict[int, int] = {}
        for job, events in created.items():
            self.creator.update({event.data["file_number"]: job for event in events})
        moved_by = {(m.output_level, frozenset(m.inputs[m.start_level])): job for job, m in moves.items()}
        self.job_of_edit = [_job_of(edit, self.creator, moved_by) for edit in edits]
        self.edit_of_job = {job: index for index, job in enumerate(self.job_of_edit)}
        self.edit_of_drop = {frozenset(n for _, n in e.deleted): i for i, e in enumerate(edits) if not e.added}
        self.drops: dict[DeletedLine, LoggedDrop] = {}

    def commits(self, log: RocksDbLog) -> list[Commit]:
        """Return commits in time order: of a flush at the release of its memtables, of others at their event."""
        self.drops = drops(log.records)
        moments = [r for r in log.records if isinstance(r, ReleasedLine | DeletedLine) or _finishes(r)]
        found: list[Commit] = []
        version = FIRST_VERSION
        for i, moment in enumerate(moments):
            state = self._state(moment)
            own = self._own(moment, moments[i + 1 :])
            if own is None:
                continue  # the store was closed before the commit
            if isinstance(moment, ReleasedLine):
                edits = self._apply(own, self._state_after(moment, moments[i + 1 :]))
            elif isinstance(moment, Event) and moment.name == "flush_finished":
                # the thread of an older flush commits this flush later
                edits = range(0)
            else:
                edits = self._apply(own, state)
            version += bool(edits)
            commit = Commit(
                moment.time_us, tuple(self.edits[e] for e in edits), tuple(self.job_of_edit[e] for e in edits), version
            )
            if isinstance(moment, ReleasedLine):
                commit.released = 1
            elif isinstance(moment, DeletedLine):
                commit.recomputes, commit.thread = True, moment.thread
                commit.since_us = self.drops[moment].picked_us
            else:
                move = self.moves.get(moment.job)
                commit.recomputes, commit.thread, commit.lsm_state = True, moment.thread, state
                commit.immutables = moment.data.get("immutable_memtables")
                commit.since_us = move.start_us if move else None
            found.append(commit)
        return found

    def _own(self, moment: Moment, later: Sequence[Moment]) -> int | None:
        """Return the index of the edit that `moment` commits; the last of several for a flush; None if unknown."""
        if isinstance(moment, Event):
            return self.edit_of_job.get(moment.job)
        if isinstance(moment, DeletedLine):
            return self.edit_of_drop.get(self.drops[moment].files)
        files = [moment.file]
        for other in later:
            if other.thread == moment.thread:
                if not isinstance(other, ReleasedLine) or other.place == 1:
                    break
                files.append(other.file)
        return max((self.edit_of_job[self.creator[f]] for f in files if f in self.creator), default=None)

    def _state_after(self, released: ReleasedLine, later: Sequence[Moment]) -> tuple[int, ...]:
        """Return the files per level after the flush's MANIFEST write, with other threads' edits; empty if unknown.

        This is the next state in the LOG if the flush's own thread logs it, or if the time in between is too short for
        another MANIFEST write.
        """
        other = next((m for m in later if not isinstance(m, ReleasedLine) or m.place == 1), None)
        if isinstance(other, Event) and (
            other.thread == released.thread or other.time_us - released.time_us < _SAME_WRITE_US
        ):
            return self._state(other)
        return ()

    def _state(self, moment: Moment) -> tuple[int, ...]:
        if not isinstance(moment, Event):
            return ()
        move = self.moves.get(moment.job)
        return (move.lsm_state or ()) if move else tuple(moment.data.get("lsm_state", ()))

    def _apply(self, own: int, state: tuple[int, ...]) -> range:
        """Return the newly committed edits: all up to `own`, then further ones until the tree has the shape `state`."""
        least = max(0, own + 1 - self.done)
        tries = range(least, min(least + _MOST_GROUPED, len(self.edits) - self.done) + 1)
        count = next((n for n in tries if not state or self._after(n) == state), least)
        applied = range(self.done, self.done + count)
        self.counts = list(self._after(count))
        self.done += count
        return applied

    def _after(self, count: int) -> tuple[int, ...]:
        counts = list(self.counts)
        for edit in self.edits[self.done : self.done + count]:
            for file in edit.added:
                counts[file.level] += 1
            for level, _ in edit.deleted:
                counts[level] -= 1
        return tuple(counts)


def _finishes(record: Record) -> TypeGuard[Event]:
    return isinstance(record, Event) and record.name in _FINISHES


def _job_of(edit: VersionEdit, creator: dict[int, int], moved_by: dict[tuple[int, frozenset[int]], int]) -> int:
    if edit.moved:
        return moved_by.get((edit.added[0].level, edit.moved), -1)
    return next((creator[file.number] for file in edit.added if file.number in creator), -1)
