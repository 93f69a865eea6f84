"""Manual compaction of all keys: DBImpl::CompactRange (behaviour/manual-compaction.md, Manual compaction)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lsmlab.models import since
from lsmlab.models.options.compact_range import BottommostLevelCompaction, CompactRangeOptions
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import (
    NOTHING,
    Compaction,
    DoNothing,
    Drop,
    Move,
    Picker,
    RunningJob,
    StallInputs,
    Throttle,
    ThrottleState,
)
from lsmlab.models.policies.rocksdb.fifo import FifoPicker
from lsmlab.models.policies.rocksdb.inputs import Seed, conflicts, key_range
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.subcompactions import MANUAL
from lsmlab.models.policies.rocksdb.universal import UNLIMITED_BYTES, UniversalPicker
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class ManualStep:
    """Compaction of the whole key range from one level, in as many jobs as `max_compaction_bytes` makes of it."""

    level: int
    output: int
    """Output level; -1: the base level at the time of the job."""
    from_key: int = 0
    """Smallest key that is not compacted yet."""
    before: int | None = None
    """Number of the first file that is younger than the manual compaction and left out; None: none is left out."""
    moves: bool = True
    """Whether a file may move to the next level unread."""


@dataclass(frozen=True, slots=True)
class ManualPick:
    """Next job of a step."""

    pick: Compaction | Move | Drop | None = None
    """None: the step is done, or must wait (`conflict`)."""
    next_key: int | None = None
    """Smallest key of the job after it; None: there is none."""
    conflict: bool = False
    """Whether a running job has files or a range that the next job needs."""


def flush_would_stall(throttle: Throttle, state: ThrottleState, inputs: StallInputs, options: RocksDbOptions) -> bool:
    """Return whether a flush waits because a further memtable and L0 file would stall writers.

    Below the triggers of flushes and compactions it does not wait, for nothing would end the wait
    (`DBImpl::WaitUntilFlushWouldNotStallWrites`).
    """
    idle = inputs.l0_files < options.level0_file_num_compaction_trigger
    if idle and inputs.immutables < options.min_write_buffer_number_to_merge:
        return False
    further = inputs._replace(immutables=inputs.immutables + 1, l0_files=inputs.l0_files + 1)
    return throttle.recompute(state, further).cause is not None


_DONE: Final = ManualPick()
_CONFLICT: Final = ManualPick(conflict=True)


def can_compact_range(picker: Picker) -> bool:
    """Return whether the picker is one of RocksDB's, whose manual compaction is known."""
    return isinstance(picker, LeveledPicker | UniversalPicker | FifoPicker)


def manual_steps(
    tree: Tree, picker: Picker, request: CompactRangeOptions, next_file: int, *, has_filter: bool
) -> list[ManualStep]:  # fmt: skip
    """Return the steps of a manual compaction of all keys, in their order (DBImpl::CompactRange).

    `next_file`: number of the next file that the store writes; `has_filter`: whether the store has a compaction filter.
    """
    filled = [level for level in range(tree.num_levels) if tree.file_count(level)]
    if not filled:
        return []
    if not isinstance(picker, LeveledPicker):  # universal compaction takes all levels at once, FIFO has one
        last = tree.num_levels - 1 if isinstance(picker, UniversalPicker) else 0
        return [ManualStep(filled[0], last)]
    version, deepest, steps = picker.version, filled[-1], []
    bottommost = request.bottommost(version)
    for level in range(filled[0], deepest + 1):
        if level < deepest or level == 0:
            output = -1 if level == 0 and picker.rules.dynamic else level + 1
            rewrites = level == deepest and bottommost.forced and version >= since.MANUAL_REWRITES_L0
            steps.append(ManualStep(level, output, moves=not rewrites and not has_filter))
        elif bottommost.forced or (bottommost is BottommostLevelCompaction.IF_HAVE_FILTER and has_filter):
            before = next_file if bottommost is BottommostLevelCompaction.FORCE_OPTIMIZED else None
            steps.append(ManualStep(level, level, before=before))
    return steps


def manual_pick(tree: Tree, picker: Picker, running: Sequence[RunningJob], step: ManualStep, now_s: float) -> ManualPick:
    """Return the next job of a step (CompactionPicker::CompactRange)."""
    if isinstance(picker, UniversalPicker):
        return _whole_tree(tree, running, step)
    if isinstance(picker, FifoPicker):
        found = picker.pick(tree, running, now_s)
        return _DONE if isinstance(found, DoNothing) else ManualPick(found)  # type: ignore[arg-type]
    assert isinstance(picker, LeveledPicker)
    return _of_level(tree, picker, running, step)


def _whole_tree(tree: Tree, running: Sequence[RunningJob], step: ManualStep) -> ManualPick:
    inputs = tuple(
        (level, tuple(tree.files_of(level))) for level in range(step.level, tree.num_levels) if tree.file_count(level)
    )
    files = [f for _, group in inputs for f in group]
    if not files:
        return _DONE
    in_l0 = inputs[0][0] == 0 and any(job.start_level == 0 for job in running)
    if in_l0 or any(f.busy for f in files) or conflicts(running, step.output, *key_range(files)):
        return _CONFLICT
    limit = UNLIMITED_BYTES if step.output == 0 else None
    return ManualPick(Compaction(inputs[0][0], step.output, inputs, MANUAL, -1.0, max_output_bytes=limit))


def _of_level(tree: Tree, picker: LeveledPicker, running: Sequence[RunningJob], step: ManualStep) -> ManualPick:
    level, output = step.level, step.output
    files = [f for f in tree.files_of(level) if level == 0 or f.hi >= step.from_key]
    if not files:
        return _DONE
    if level == 0 and any(job.start_level == 0 for job in running):
        return _CONFLICT
    if output == -1:
        output = picker.rules.targets(tree).base_level
    chosen = files if level == 0 else files[: _end_of_shot(tree, picker, files, output)]
    if step.before is not None:
        chosen = _older(chosen, step.before)
        if not chosen:
            return _DONE
    if any(f.busy for f in chosen):
        return _CONFLICT
    next_key = None if level == 0 else next((f.lo for f in files if f.lo > chosen[-1].hi), None)
    if step.before is not None and not any(f.number < step.before for f in files if f.lo > chosen[-1].hi):
        next_key = None
    moves = step.moves and step.level != output
    pick = picker.complete(tree, running, Seed(level, output, chosen, -1.0, first_reason=MANUAL), moves=moves)
    return _CONFLICT if isinstance(pick, DoNothing) else ManualPick(pick, next_key)


def _end_of_shot(tree: Tree, picker: LeveledPicker, files: Sequence[SortedFile], output: int) -> int:
    """Return how many of `files` one job takes: up to `max_compaction_bytes`, the file that passes it included."""
    limit, total = picker.options.max_compaction_bytes, 0
    below = tree.levels[output]
    with_output = picker.version >= since.MANUAL_COUNTS_OUTPUT and output <= tree.last_nonempty_level()
    for i, file in enumerate(files[:-1]):
        total += file.size_bytes if picker.version >= since.MANUAL_COUNTS_OUTPUT else file.compensated_bytes
        others = below.bytes_of(*below.overlapping(files[0].lo, file.hi)) if with_output else 0
        if total + others >= limit:
            return i + 1
    return len(files)


def _older(files: Sequence[SortedFile], before: int) -> list[SortedFile]:
    """Return the first neighbours among `files` with numbers below `before`."""
    start = next((i for i, f in enumerate(files) if f.number < before), len(files))
    end = next((i for i in range(start, len(files)) if files[i].number >= before), len(files))
    return list(files[start:end])


def after(step: ManualStep, pick: ManualPick) -> ManualStep | None:
    """Return the rest of a step after a job; None: it is done."""
    return None if pick.next_key is None else replace(step, from_key=pick.next_key)


def refit_level(tree: Tree, picker: LeveledPicker, target_level: int) -> Move | DoNothing:
    """Return the move of the deepest level's files by `change_level` (DBImpl::ReFitLevel); NOTHING if it is not possible."""
    level, targets = tree.last_nonempty_level(), picker.level_targets(tree)
    target = target_level
    if target < 0:
        target = level
        while target > 1 and not tree.file_count(target - 1) and targets[target - 1] >= tree.size_bytes(level):
            target -= 1
    between = range(level + 1, target + 1) if target > level else range(target, level)
    files = tuple(tree.files_of(level))
    if target in (0, level) or level == 0 or target >= tree.num_levels or any(tree.file_count(n) for n in between):
        return NOTHING
    return Move(level, target, ((level, files),), MANUAL)


def files_in_range(tree: Tree, lo: int, hi: int) -> Drop | DoNothing:
    """Return the drop of all free files below L0 with keys in [lo, hi] only (DBImpl::DeleteFilesInRanges)."""
    inputs = tuple(
        (level, files)
        for level in range(1, tree.num_levels)
        if (files := tuple(f for f in tree.files_of(level) if lo <= f.lo and f.hi <= hi and not f.busy))
    )
    return Drop(inputs, "DeleteFilesInRange") if inputs else NOTHING
