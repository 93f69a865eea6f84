"""RocksDB's universal picker: compaction_picker_universal.cc (behaviour/universal-and-fifo.md, Universal and FIFO compaction)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.models import since
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions, StopStyle, UniversalOptions
from lsmlab.models.policies.decisions import (
    NOTHING,
    Compaction,
    Move,
    Pick,
    Picker,
    RunningJob,
    Scope,
    first_pick,
    in_scope,
)
from lsmlab.models.policies.rocksdb.delete_triggered import delete_triggered, has_marked
from lsmlab.models.policies.rocksdb.inputs import conflicts, key_range
from lsmlab.models.policies.rocksdb.l0 import disjoint
from lsmlab.models.policies.rocksdb.places import NO_LEVEL, proximal_level
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

UNLIMITED_BYTES: Final = 2**63 - 1
"""Target file size of a compaction into level 0: always one output file."""
_OF_SIMILAR_RUNS: Final = ("UniversalSizeRatio", "UniversalSortedRunNum")
"""Reasons of jobs that merge some runs of similar size (PickCompactionToReduceSortedRuns)."""
_UNLIMITED_PERCENT: Final = 2**32 - 1
"""Size ratio of compactions that reduce the number of runs: any run fits."""


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Sorted run: one file of level 0, or all files of a deeper level."""

    level: int
    files: tuple[SortedFile, ...]
    size_bytes: int
    compensated_bytes: int
    busy: bool


def sorted_runs(tree: Tree) -> list[SortedRun]:
    """Return all sorted runs, newest first: CalculateSortedRuns (behaviour/universal-and-fifo.md, Sorted runs)."""
    runs = [SortedRun(0, (f,), f.size_bytes, f.compensated_bytes, f.busy) for f in tree.l0]
    for number in range(1, tree.num_levels):
        level = tree.levels[number]
        if len(level):
            busy = level.any_busy(0, len(level))
            runs.append(SortedRun(number, tuple(level.files), level.size_bytes, level.compensated_bytes, busy))
    return runs


@dataclass(frozen=True)
class UniversalPicker(Picker):
    """Implements `decisions.Picker`. Raises InputError for a max_read_amp below the trigger.

    See (behaviour/universal-and-fifo.md, Universal options).
    """

    options: RocksDbOptions
    version: Version

    def __post_init__(self) -> None:
        trigger, most = self.options.level0_file_num_compaction_trigger, self._style.max_read_amp
        if 0 < most < trigger:
            raise InputError(
                f"compaction_options_universal.max_read_amp: {most} may not be below "
                f"level0_file_num_compaction_trigger {trigger}; or use 0 or -1"
            )

    @property
    def _style(self) -> UniversalOptions:
        return self.options.compaction_options_universal

    @property
    def _similar_size(self) -> bool:
        return self._style.stop_style is StopStyle.SIMILAR_SIZE

    # ---- queries at every install ----

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:  # noqa: ARG002
        """Return whether enough runs are free, a file has reached the periodic age or is marked: NeedsCompaction.

        See (behaviour/universal-and-fifo.md, When a universal compaction is tried).
        """
        if self.options.disable_auto_compactions:
            return False
        return self._score(tree) >= 1 or self._is_periodic_due(tree, now_s) or has_marked(tree, self.version)

    def stall_run_count(self, tree: Tree) -> int:
        """Number of sorted runs, busy ones included (behaviour/universal-and-fifo.md, Stalls under universal compaction)."""
        return len(tree.l0) + sum(len(level) > 0 for level in tree.levels[1:])

    def scores(self, tree: Tree) -> Sequence[float]:
        """Score of level 0; 0 for other levels (behaviour/universal-and-fifo.md, When a universal compaction is tried)."""
        return [self._score(tree)] + [0.0] * (tree.num_levels - 2)

    def _score(self, tree: Tree) -> float:
        """Compute the score (ComputeCompactionScore): a deeper level counts as free if its first file is free."""
        free = sum(not f.busy for f in tree.l0)
        free += sum(len(level) > 0 and not level.files[0].busy for level in tree.levels[1:])
        return free / self.options.level0_file_num_compaction_trigger

    def compresses(self, tree: Tree, pick: Compaction | None) -> bool:
        """Return whether RocksDB compresses the outputs of `pick`, just chosen on `tree` (compression_size_percent).

        See (behaviour/universal-and-fifo.md, Compression of universal outputs).
        """
        if self._style.compression_size_percent < 0:
            return True
        if pick is None:
            return False
        if pick.reason not in _OF_SIMILAR_RUNS:
            return True
        runs = sorted_runs(tree)
        older = sum(run.size_bytes for run in runs[_end(runs, pick) :])
        total = sum(run.compensated_bytes for run in runs)
        return older * 100 < total * self._style.compression_size_percent

    def estimated_run_bytes(self, tree: Tree, pick: Compaction) -> int:
        """Size of the inputs, and of all newer runs for a job that merges runs of similar size (estimated_total_size)."""
        if pick.reason not in _OF_SIMILAR_RUNS:
            return sum(f.size_bytes for _, files in pick.inputs for f in files)
        runs = sorted_runs(tree)
        return sum(run.size_bytes for run in runs[: _end(runs, pick)])

    # ---- picking ----

    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:
        """Choose the next job, PickCompaction (behaviour/universal-and-fifo.md, Order of universal checks)."""
        runs = sorted_runs(tree)
        if self._is_periodic_due(tree, now_s):
            span = self._periodic(runs, now_s)
            if span is not None and scope is not Scope.L0:
                return self._job(tree, runs, span, "PeriodicCompaction")
        if len(runs) < self.options.level0_file_num_compaction_trigger:
            return self._of_marked(tree, running, scope)
        spans = (
            ("UniversalSizeAmplification", self._size_amplification(runs)),
            ("UniversalSizeRatio", self._merge_runs(runs, self._style.size_ratio, self._style.max_merge_width)),
            ("UniversalSortedRunNum", self._run_number(runs)),
        )
        free = ((reason, span) for reason, span in spans if span is not None and not self._conflicts(runs, span, running))
        pick = first_pick((self._job(tree, runs, span, reason) for reason, span in free), scope)
        return self._of_marked(tree, running, scope) if pick is NOTHING else pick

    def _of_marked(self, tree: Tree, running: Sequence[RunningJob], scope: Scope) -> Pick:
        return in_scope(delete_triggered(tree, running, self.options, self.version, self._score(tree)), scope)

    def _is_periodic_due(self, tree: Tree, now_s: float) -> bool:
        limit_s = now_s - self.options.periodic_compaction_seconds
        if self.version < since.UNIVERSAL_PERIODIC or self.options.periodic_compaction_seconds == 0 or limit_s <= 0:
            return False
        levels = (tree.l0, *(level.files for level in tree.levels[1:]))
        return any(f.created_s < limit_s and not f.busy for files in levels for f in files)

    def _periodic(self, runs: Sequence[SortedRun], now_s: float) -> tuple[int, int] | None:
        """Select the free runs up to the oldest one (PickPeriodicCompaction)."""
        n = start = len(runs)
        while start > 0 and not runs[start - 1].busy:
            start -= 1
        if start == n - 1:  # the oldest run alone, unless none of its files is old
            limit_s = now_s - self.options.periodic_compaction_seconds
            return (start, n) if any(f.created_s < limit_s for f in runs[start].files) else None
        return (start, n) if start < n else None

    def _size_amplification(self, runs: Sequence[SortedRun]) -> tuple[int, int] | None:
        """Select all runs if the newer ones are large compared with the oldest (PickCompactionToReduceSizeAmp)."""
        base = self._oldest_run(runs)
        if base < 1 or runs[base].busy:
            return None
        runs = runs[: base + 1]
        start = self._amplification_start(runs)
        if start is None:
            return None
        candidates = sum(run.compensated_bytes for run in runs[start:base])
        if self.version >= since.LEAVES_OUT_NEWEST:
            excluded = self._leave_out_newest(runs, start, candidates)
            candidates -= sum(run.compensated_bytes for run in runs[start : start + excluded])
            start += excluded
        if candidates * 100 < self._style.max_size_amplification_percent * runs[base].size_bytes:
            return None
        return start, base + 1

    def _oldest_run(self, runs: Sequence[SortedRun]) -> int:
        """Return the index of the run with which the newer ones are compared: not the last level if young data stay above it."""
        last = self.options.num_levels - 1
        apart = self.version >= since.YOUNG_RUNS_APART and self.options.preclude_last_level_data_seconds > 0 and last > 1
        return len(runs) - (2 if apart and len(runs) > 1 and runs[-1].level == last else 1)

    def _amplification_start(self, runs: Sequence[SortedRun]) -> int | None:
        """Newest run of the contiguous free runs before the oldest; None without any, and before 8.7 if a later one is busy."""
        base = len(runs) - 1
        if self.version < since.LEAVES_OUT_NEWEST:
            start = next((i for i in range(base) if not runs[i].busy), base)
            return None if start == base or any(run.busy for run in runs[start:base]) else start
        start = base
        while start > 0 and not runs[start - 1].busy:
            start -= 1
        return None if start == base else start

    def _leave_out_newest(self, runs: Sequence[SortedRun], start: int, candidates: int) -> int:
        """Number of the newest L0 files to leave out of the job (MightExcludeNewL0sToReduceWriteStop).

        See (behaviour/universal-and-fifo.md, Newest files left out).
        """
        base = len(runs) - 1
        in_l0 = sum(run.level == 0 for run in runs[start:base])
        if in_l0 == 0:
            return 0
        room = max(0, self.options.level0_stop_writes_trigger - (base - start + 1))
        widths = self._style.min_merge_width, self._style.max_merge_width
        least, most = (min(max(0, width - room), in_l0 - 1) for width in widths)
        left, excluded = candidates - sum(run.compensated_bytes for run in runs[start : start + least]), 0
        for newest in range(least, most + 1):
            if left * 100 < self._style.max_size_amplification_percent * runs[base].size_bytes or left < candidates * 9 // 10:
                break
            excluded = newest
            left -= runs[start + newest].compensated_bytes
        return excluded

    def _run_number(self, runs: Sequence[SortedRun]) -> tuple[int, int] | None:
        """Select the newest runs, enough to bring the number of free runs down to the limit."""
        free = sum(not run.busy for run in runs)
        limit = self.run_limit(max(run.size_bytes for run in runs))
        if free <= limit:
            return None
        return self._merge_runs(runs, _UNLIMITED_PERCENT, free - limit + 1)

    def run_limit(self, largest_run_bytes: int) -> int:
        """Limit on free runs if the largest has `largest_run_bytes` (max_read_amp, 9.4+; before: the trigger)."""
        trigger = self.options.level0_file_num_compaction_trigger
        if self.version < since.MAX_READ_AMP or self._style.max_read_amp < 0:
            return trigger
        if self._style.max_read_amp > 0:
            return self._style.max_read_amp
        if self._similar_size:
            return trigger
        limit, level_bytes, total = 1, float(self.options.write_buffer_size), 0.0
        while level_bytes < largest_run_bytes:
            total += level_bytes
            level_bytes = (100.0 + self._style.size_ratio) / 100.0 * total
            limit += 1
        return limit

    def _merge_runs(self, runs: Sequence[SortedRun], ratio: int, most: int) -> tuple[int, int] | None:
        """Select runs of similar size from the newest on (PickCompactionToReduceSortedRuns)."""
        most = min(self._style.max_merge_width, most)
        fewest = max(2, self._style.min_merge_width)
        for start, first in enumerate(runs):
            if first.busy:
                continue
            collected, end = first.compensated_bytes, start + 1
            while end < len(runs) and end - start < most:
                run = runs[end]
                if run.busy or collected * (100.0 + ratio) / 100.0 < run.size_bytes:
                    break
                if not self._similar_size:
                    collected += run.compensated_bytes
                elif run.size_bytes * (100.0 + ratio) / 100.0 < collected:
                    break
                else:
                    collected = run.compensated_bytes
                end += 1
            if end - start >= fewest:
                return start, end
        return None

    # ---- the job ----

    def output_level(self, runs: Sequence[SortedRun], end: int) -> int:
        """Deepest output level that keeps the runs in order of age if the last input run is runs[end - 1].

        See (behaviour/universal-and-fifo.md, Universal output level).
        """
        if end == len(runs):
            return self.options.num_levels - 1
        return max(0, runs[end].level - 1)

    def _conflicts(self, runs: Sequence[SortedRun], span: tuple[int, int], running: Sequence[RunningJob]) -> bool:
        """Return whether a running job writes to the same level in the same key range."""
        output = self.output_level(runs, span[1])
        files = [f for run in runs[span[0] : span[1]] for f in run.files]
        if output > 0 and conflicts(running, output, *key_range(files)):
            return True
        empty = all(run.level != output - 1 for run in runs)
        proximal = proximal_level(self.options, self.version, runs[span[0]].level, output, empty=empty)
        return proximal != NO_LEVEL and conflicts(running, proximal, *key_range(files))

    def _job(self, tree: Tree, runs: Sequence[SortedRun], span: tuple[int, int], reason: str) -> Compaction | Move:
        start, end = span
        output, first = self.output_level(runs, end), runs[start].level
        inputs: dict[int, tuple[SortedFile, ...]] = {}
        for run in runs[start:end]:
            inputs[run.level] = inputs.get(run.level, ()) + run.files
        groups, score = tuple(inputs.items()), self._score(tree)
        if self._style.allow_trivial_move and output > 0 and reason != "PeriodicCompaction" and _disjoint(tree, groups):
            moved = tuple(group for group in groups if group[0] != output)
            return Move(first, output, moved, reason, score)
        full = True if reason in ("UniversalSizeAmplification", "PeriodicCompaction") else None
        size_limit = UNLIMITED_BYTES if output == 0 else None
        return Compaction(first, output, groups, reason, score, max_output_bytes=size_limit, deferrable=full)


def _end(runs: Sequence[SortedRun], pick: Compaction) -> int:
    """Return the number of runs up to the oldest input."""
    oldest = pick.inputs[-1][1][-1]
    return 1 + next(i for i, run in enumerate(runs) if any(f is oldest for f in run.files))


def _disjoint(tree: Tree, groups: Sequence[tuple[int, Sequence[SortedFile]]]) -> bool:
    """Return whether no two input files overlap and, for a start at level 0, no two files of level 0.

    See (behaviour/universal-and-fifo.md, Universal trivial move).
    """
    files = [f for _, group in groups for f in group]
    return disjoint(files) and (groups[0][0] != 0 or disjoint(tree.l0))
