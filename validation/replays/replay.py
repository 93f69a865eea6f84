"""Replay a recorded run and compare the decisions of the model's policies with those of RocksDB on the same tree.

    python -m lsmlab.validation.replays.replay DIRECTORY [...]

prints one table per recording (`validation/recordings/<name>`, or another directory with the same files). At each step
the tree comes from the MANIFEST. So one wrong answer counts once and does not affect later steps
(behaviour/measurements.md, Replays of recorded runs).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.policies.decisions import NOTHING, Compaction, DoNothing, Move, Pick, RunningJob, StallInputs
from lsmlab.models.policies.rocksdb.manual import ManualStep, after, manual_pick
from lsmlab.models.policies.rocksdb.subcompactions import MANUAL
from lsmlab.models.tree.blocks import ID_BYTES
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.validation.logs.history.file_properties import StoreProperties
from lsmlab.validation.logs.manifest import AddedFile, VersionEdit
from lsmlab.validation.replays.commits import FIRST_VERSION
from lsmlab.validation.replays.contents import Contents
from lsmlab.validation.replays.match_counts import CONTENT_CHECKS, Check, MatchCount, ReplayResult
from lsmlab.validation.replays.recording import Recording, load_recording
from lsmlab.validation.replays.steps import Commit, Idle, LoggedPick, SwitchStep
from lsmlab.validation.replays.timeline import ReplayTimeline, build_timeline

MOST_HIDDEN_US: Final = 100_000
"""Longest time between a trivial move's pick and its LOG line; in between the move waits for the DB mutex."""


class Replay:
    """State of the recorded store at one step, and the checks so far."""

    def __init__(self, recording: Recording) -> None:
        self.engine = recording.engine()
        self.tree = Tree(self.engine.options.num_levels)
        self.timeline: ReplayTimeline = build_timeline(recording.log, recording.edits, self.tree.num_levels)
        known = [check for check in Check if check not in CONTENT_CHECKS or recording.workload is not None]
        self.checks: dict[str, MatchCount] = {name: MatchCount(name) for name in known}
        self.properties = StoreProperties(recording.log.events("table_file_creation"))
        self.throttle = self.engine.throttle.initial()
        self.immutables = 0
        self.changed = False
        self.version = FIRST_VERSION
        self.waiting = {step.job: step for step in self.timeline.steps if isinstance(step, LoggedPick)}
        self.running: dict[int, RunningJob] = {}
        self.inputs: dict[int, tuple[tuple[int, tuple[SortedFile, ...]], ...]] = {}
        self.dated = all(added.created_s for edit in recording.edits for added in edit.added)
        """Whether the ages of files are known."""
        self.now_s = 0.0
        self.manual: ManualStep | None = None
        """Rest of the step of the present manual compaction."""
        self.manual_from = 0
        """Number of the first file that is younger than it."""
        self.contents = Contents(recording.workload, self.engine, self.timeline) if recording.workload else None

    def run(self) -> dict[str, MatchCount]:
        """Process all steps in order and return the checks."""
        for step in self.timeline.steps:
            match step:
                case SwitchStep():
                    self.immutables += 1
                    self._recompute(step)
                case Commit():
                    self._commit(step)
                case LoggedPick():
                    while step.job in self.waiting:
                        self._take(self._manual(step) if step.reason == MANUAL else self._ask(step.time_us), step)
                case Idle():
                    pick = self._settle(step.time_us)
                    explanation = f"at {step.time_us}: model picks {_show(pick)}"
                    self.checks[Check.IDLE].add_answer(isinstance(pick, DoNothing), explanation)
        return self.checks

    # ---- stalls ----

    def _recompute(self, step: SwitchStep | Commit) -> None:
        self.changed = False
        picker = self.engine.picker
        pending = picker.pending_bytes(self.tree)
        inputs = StallInputs(
            self.immutables, picker.stall_run_count(self.tree), pending, picker.bottommost_bytes(self.tree)
        )
        self.throttle = self.engine.throttle.recompute(self.throttle, inputs)
        recorded = step.line.text if step.line else None
        expected = self.throttle.line.rstrip() if self.throttle.line else None
        if recorded is not None or expected is not None:
            self.checks[Check.LINES].add_answer(recorded == expected, f"at {step.time_us}: LOG {recorded!r}, model {expected!r}")
        if step.line is not None and step.line.pending_bytes is not None:
            in_log = step.line.pending_bytes
            self.checks[Check.PENDING].add_answer(
                in_log == pending, f"at {step.time_us}: LOG {in_log}, model {pending}; {self._state()}"
            )
        if step.line is not None and step.line.rate_bytes_per_s is not None:  # continue with the recorded rate
            self.throttle = self.throttle._replace(rate_bytes_per_s=step.line.rate_bytes_per_s)

    def _state(self) -> str:
        return f"files {self.tree.files_per_level()}"

    # ---- picks ----

    def _ask(self, time_us: int) -> Pick:
        self.now_s = time_us / 1e6 if self.dated else 0.0
        return self.engine.picker.pick(self.tree, list(self.running.values()), self.now_s)

    def _manual(self, step: LoggedPick) -> Pick:
        """Return the model's next job of the recorded manual compaction; its steps are those of the LOG.

        A step within a level leaves out the files that the call has written itself (kForceOptimized). The LOG does not say when a
        call began: it is a new one if its first step would have nothing to do otherwise.
        """
        level = self._really_picked(step)[0][0]
        output = level + 1 if step.output_level is None else step.output_level
        calls = [self.manual]
        if self.manual is None or self.manual.level != level:
            newest = 1 + max(f.number for f in self.tree.files())
            self.manual_from = self.manual_from if level == output and self.manual_from else newest
            calls = [ManualStep(level, output, before=n if level == output else None) for n in (self.manual_from, newest)]
        for one in calls:
            assert one is not None
            found = manual_pick(self.tree, self.engine.picker, list(self.running.values()), one, self.now_s)
            if found.pick is not None:
                self.manual_from = one.before or self.manual_from
                self.manual = after(one, found)
                return found.pick
        return NOTHING

    def _settle(self, time_us: int) -> Pick:
        """Process all picks that RocksDB made before `time_us` but logged later; return the model's next pick."""
        while True:
            pick = self._ask(time_us)
            hidden = self._hidden(pick, time_us)
            if hidden is None:
                return pick
            self._take(pick, hidden)

    def _hidden(self, pick: Pick, time_us: int) -> LoggedPick | None:
        """Return the recorded pick that equals `pick` and was made on this version but logged later, or None.

        The LOG gives the version of a compaction; a trivial move may be any that is logged within MOST_HIDDEN_US.
        """
        if isinstance(pick, DoNothing):
            return None
        numbers = {number for files in _numbers(pick).values() for number in files}
        for other in self.waiting.values():
            if other.before_version is not None:
                fits = other.before_version == self.version + 1
            else:
                fits = other.time_us - time_us <= MOST_HIDDEN_US
            if fits and numbers == {number for files in other.files.values() for number in files}:
                return other
        return None

    def _take(self, pick: Pick, step: LoggedPick) -> None:
        step = self._hidden(pick, step.time_us) or step
        del self.waiting[step.job]
        inputs = self._really_picked(step)
        level = inputs[0][0]
        same = (
            isinstance(pick, Move if step.move else Compaction)
            and step.before_version in (None, self.version + 1)
            and _numbers(pick) == _number_map(inputs)
            and (step.output_level is None or pick.output_level == step.output_level)
            and (step.move or pick.reason == step.reason)
            and (step.score is None or float(f"{pick.score:.6g}") == step.score)
        )
        recorded = f"{_number_map(inputs)} to L{step.output_level}, score {step.score}"
        self.checks[Check.MOVES if step.move else Check.PICKS].add_answer(
            same, f"job {step.job}: LOG {recorded}; model {_show(pick)}; {self._state()}"
        )
        if isinstance(pick, Compaction | Move) and same and pick.cursor is not None:
            self.tree.cursor[level] = pick.cursor
        output = step.output_level
        if output is None:  # the job did not finish: it only marks its inputs as being compacted
            output = pick.output_level if isinstance(pick, Compaction | Move) else level + 1
        for number, files in inputs:
            self.tree.mark(number, files, True)
        everything = [f for _, files in inputs for f in files]
        lo, hi = min(f.lo for f in everything), max(f.hi for f in everything)
        self.running[step.job] = RunningJob(level, output, lo, hi)
        self.inputs[step.job] = inputs
        if self.contents is not None and not step.move:
            self.contents.picked(step.job, self.tree, inputs, output, lo, hi)

    def _really_picked(self, step: LoggedPick) -> tuple[tuple[int, tuple[SortedFile, ...]], ...]:
        """Return the recorded inputs as files of the tree, by the level that contains them."""
        chosen = {number for numbers in step.files.values() for number in numbers}
        levels: list[tuple[int, tuple[SortedFile, ...]]] = []
        for level in range(self.tree.num_levels):
            files = self.tree.l0 if level == 0 else self.tree.levels[level].files
            taken = tuple(f for f in files if f.number in chosen)
            if taken:
                levels.append((level, taken))
        if sum(len(files) for _, files in levels) != len(chosen):
            raise InputError(f"job {step.job}: its inputs in the LOG are not in the MANIFEST; record the run again")
        return tuple(levels)

    # ---- commits ----

    def _commit(self, step: Commit) -> None:
        self.immutables -= step.released
        self.changed = self.changed or step.released > 0 or bool(step.edits)
        for job, edit in zip(step.jobs, step.edits, strict=True):
            self._apply(job, edit)
        if step.lsm_state:
            recorded = list(step.lsm_state)
            self.checks[Check.STATE].add_answer(
                recorded == self.tree.files_per_level(), f"at {step.time_us}: LOG {recorded}, model {self._state()}"
            )
        if step.immutables is not None:
            self.checks[Check.IMMUTABLES].add_answer(
                step.immutables == self.immutables,
                f"at {step.time_us}: LOG {step.immutables}, model {self.immutables}",
            )
        if step.recomputes and self.changed:
            self._recompute(step)
        self.version = step.version

    def _apply(self, job: int, edit: VersionEdit) -> None:
        deleted: dict[int, list[SortedFile]] = {}
        for level, number in edit.deleted:
            files = self.tree.l0 if level == 0 else self.tree.levels[level].files
            deleted.setdefault(level, []).append(next(f for f in files if f.number == number))
        deleted_by_number = {f.number: f for files in deleted.values() for f in files}
        for added in edit.added:
            if added.number not in deleted_by_number:
                self.properties.opened(added.number, added.size_bytes)
        new = [deleted_by_number.get(added.number) or self._file(added) for added in edit.added]
        if self.contents is not None and not edit.moved:
            for name, same, explanation in self.contents.committed(job, new):
                self.checks[name].add_answer(same, f"job {job}: {explanation}")
        by_level: dict[int, list[SortedFile]] = {}
        for added, file in zip(edit.added, new, strict=True):
            by_level.setdefault(added.level, []).append(file)
        removed = [(level, files) for level, files in sorted(deleted.items())]
        added_files = [(level, sorted(files, key=lambda f: f.lo)) for level, files in sorted(by_level.items())]
        self.running.pop(job, None)
        self.inputs.pop(job, None)
        self.tree.install(removed, added_files)

    def _file(self, added: AddedFile) -> SortedFile:
        lo, hi = (int.from_bytes(key[:ID_BYTES], "big") for key in (added.smallest, added.largest))
        ranked = self.properties.compensated_bytes(added.number, added.size_bytes)
        return SortedFile(
            added.number, lo, hi, added.size_bytes, compensated_bytes=ranked, created_s=added.created_s,
            data_from_s=added.data_from_s or math.inf,
        )  # fmt: skip


def replay(recording: Recording) -> ReplayResult:
    """Replay one recording. Raises InputError if LOG and MANIFEST contradict each other, or for several column families."""
    families = {switch.column_family for switch in recording.log.switches()}
    if len(families) > 1:
        raise InputError(f"{len(families)} column families: a replay follows one tree; replay a store with one column family")
    return ReplayResult(recording.name, Replay(recording).run())


def _number_map(inputs: Sequence[tuple[int, Sequence[SortedFile]]]) -> dict[int, list[int]]:
    return {level: sorted(f.number for f in files) for level, files in inputs}


def _numbers(pick: Pick) -> dict[int, list[int]]:
    return {} if isinstance(pick, DoNothing) else _number_map(pick.inputs)


def _show(pick: Pick) -> str:
    if not isinstance(pick, Compaction | Move):
        return "nothing"
    verb = "moves" if isinstance(pick, Move) else "compacts"
    return f"{verb} {_numbers(pick)} to L{pick.output_level}, score {pick.score:.6g}"


def main(arguments: Sequence[str]) -> int:
    """Print a table per directory. Returns 0 if all answers equal RocksDB's, 1 if any differs, 2 for bad input."""
    if not arguments:
        sys.stderr.write("usage: python -m lsmlab.validation.replays.replay DIRECTORY [...]\n")
        return 2
    same = True
    for directory in arguments:
        try:
            result = replay(load_recording(Path(directory)))
        except InputError as error:
            sys.stderr.write(f"{error}\n")
            return 2
        sys.stdout.write(result.table() + "\n")
        same = same and all(check.matched == check.total for check in result.checks.values())
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
