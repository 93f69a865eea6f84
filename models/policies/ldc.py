"""LDC, lower-level driven compaction: links files into the next level; a file there merges its slices later.

Chai et al., LDC: A Lower-Level Driven Compaction Method to Optimize SSD-Oriented Key-Value Stores, ICDE 2019; the rules
D1 to D5 (behaviour/ldc.md, LDC rules). Built on LevelDB; no code was released.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import NOTHING, Compaction, Link, Move, Pick, RunningJob, Scope, first_pick
from lsmlab.models.policies.leveldb.picker import LevelDbPicker, LevelDbPicking
from lsmlab.models.policies.parts import Base, Parts, PolicySettings
from lsmlab.models.policies.rocksdb.inputs import key_range
from lsmlab.models.policies.tuning import Changes, Interval, Tuner
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import quantity
from numpy.typing import NDArray

_DUE_AT: Final = ("slices", "bytes")
_LEAST_THRESHOLD: Final = 1
_MOST_THRESHOLD_FANOUTS: Final = 2
"""Range in which the adaptive threshold moves: 1 to twice the fan-out; the paper gives none (background/ldc.md, Assumptions)."""


@dataclass(frozen=True)
class LdcPicking(LevelDbPicking):
    """`engine/picker=ldc`. `order` and `seek_compaction` are LevelDB's: files are linked, or compacted if they have slices."""

    threshold: int | None = quantity("count", None, low=1)
    """SliceLink threshold T_s: number of slices at which a file compacts; None: the fan-out, the paper's best value."""
    l0_links: bool = True
    """Whether L0 files are linked to L1, as the paper exempts no level; else they compact with L1 as in LevelDB.

    See (background/ldc.md, Assumptions).
    """
    due_at: str = "slices"
    """What counts towards T_s: "slices", their number, or "bytes", in files of the owner's size over the fan-out.

    With bytes and T_s at the fan-out, a file compacts when its slices are as large as itself (background/ldc.md, Assumptions).
    """

    def __post_init__(self) -> None:
        """Raise InputError for another `order` or `due_at`."""
        LevelDbPicking.__post_init__(self)
        if self.due_at not in _DUE_AT:
            raise InputError(f"picker.due_at: {self.due_at!r} is not one of {', '.join(_DUE_AT)}")

    def make(self, base: Base) -> LdcPicker:
        """Build the picker of the options."""
        return LdcPicker(base.options, base.version, self)


@dataclass(frozen=True)
class LdcPicker(LevelDbPicker):
    """Implements `decisions.Picker`: levels and order of LevelDB, links instead of compactions.

    A file with slices is not linked itself (links are one level deep). A file with `threshold` slices compacts before any
    further link, as `link` calls `merge` in the paper; this delays links from L0 when compactions cannot keep up.
    """

    settings: LdcPicking
    holds_blobs: ClassVar[bool] = False

    @property
    def threshold(self) -> int:
        """T_s: number of slices at which a file compacts."""
        return self.settings.threshold or fan_out(self.options)

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:
        """Return whether a level is over its target, or a file has `threshold` slices or is over its allowed seeks."""
        if not self.options.disable_auto_compactions and tree.frozen and next(self._ripe(tree), None) is not None:
            return scope is Scope.ANY or self.pick(tree, (), now_s, scope) is not NOTHING
        return super().needs_compaction(tree, now_s, scope)

    def _picks(self, tree: Tree, running: Sequence[RunningJob]) -> Iterator[Pick]:
        """Yield the files with `threshold` slices, the next link of each level over its target, and files over their seeks."""
        for level, file in self._ripe(tree) if tree.frozen else ():
            if not file.busy:
                yield _merged(level, file, "SliceLinks", len(file.slices) / self.threshold)
        yield from super()._picks(tree, running)

    def _ripe(self, tree: Tree) -> Iterator[tuple[int, SortedFile]]:
        """Yield (level, file) of the files with at least `threshold` slices, shallow levels first."""
        for number in range(1, tree.num_levels):
            level = tree.levels[number]
            for i in self._due(level).nonzero()[0].tolist():
                yield number, level.files[i]

    def _due(self, level: Level) -> NDArray[np.bool_]:
        """Return the files that have enough slices for their compaction. Shape (n,)."""
        if self.settings.due_at == "bytes":
            return level.fills >= self.threshold / fan_out(self.options)
        return level.links >= self.threshold

    def _size_pick(self, tree: Tree, running: Sequence[RunningJob], level: int, score: float) -> Pick:
        if level == 0:
            if not self.settings.l0_links or not len(tree.levels[1]):
                return super()._size_pick(tree, running, level, score)
            return self._linked(tree, 0, tuple(reversed(tree.l0)), "LevelL0FilesNum", score)
        files = (file for file in self.candidates(tree, level) if not file.slices)
        pick = first_pick(self._passed_on(tree, level, file, "LevelMaxLevelSize", score) for file in files)
        return self._most_linked(tree, level, score) if pick is NOTHING else pick

    def _seek_pick(self, tree: Tree, running: Sequence[RunningJob], level: int, file: SortedFile) -> Pick:
        if level == 0:
            return self._size_pick(tree, running, 0, 0.0)
        if file.slices:
            return _merged(level, file, "SeekCompaction", 0.0)
        return self._passed_on(tree, level, file, "SeekCompaction", 0.0)

    def _passed_on(self, tree: Tree, level: int, file: SortedFile, reason: str, score: float) -> Pick:
        """Link a file to the next level, or move it there if that level is empty."""
        if len(tree.levels[level + 1]):
            return self._linked(tree, level, (file,), reason, score)
        return Move(level, level + 1, ((level, (file,)),), reason, score, next_key=file.hi + 1)

    def _linked(
        self, tree: Tree, level: int, files: tuple[SortedFile, ...], reason: str, score: float
    ) -> Pick:
        """Link files, oldest first, to the owners of their keys, if none of these files is busy (D2).

        A file with `threshold` slices takes no more before its compaction.
        """
        below = tree.levels[level + 1]
        i, j = below.responsible(*key_range(files))
        full = bool(self._due(below)[i:j].any())
        if full or below.any_busy(i, j) or any(f.busy for f in files):
            return NOTHING
        next_key = max(f.hi for f in files) + 1
        owners = tuple(below.files[i:j])
        return Link(level, level + 1, ((level, files), (level + 1, owners)), reason, score, next_key=next_key)

    def _most_linked(self, tree: Tree, level: int, score: float) -> Pick:
        """Compact the file with the most slices if every file of the level has some (behaviour/ldc.md, LDC rules)."""
        run = tree.levels[level]
        if not len(run) or int(run.links.min()) == 0 or run.busy:
            return NOTHING
        return _merged(level, run.files[int(run.links.argmax())], "AllLinked", score)


def fan_out(options: RocksDbOptions) -> int:
    """Return the size ratio of two levels as a whole number."""
    return max(1, round(options.max_bytes_for_level_multiplier))


def _merged(level: int, file: SortedFile, reason: str, score: float) -> Compaction:
    """Build the compaction of a file and its slices within their level (D3); in L1 not deferrable, as L0 waits for it."""
    return Compaction(level, level, ((level, (file,)),), reason, score, deferrable=level > 1)


# --- adaptive threshold -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LdcAdapting(PolicySettings[Tuner | None]):
    """`engine/tuner=ldc_adaptive`: D5, a step per window in the direction of the mix. All numbers are choices of this model.

    See (background/ldc.md, Assumptions).
    """

    window_operations: float = quantity("count", 100_000, low=1)
    """Number of operations over which the tuner measures throughput."""
    step: int = quantity("count", 1, low=1)
    scan_pairs: float = quantity("count", 100, low=1)
    """Pairs that a scan counts for, when pairs read are compared with pairs written."""
    dominant: float = quantity("ratio", 0.6, low=0.5, high=1)
    """Share of the pairs from which reads, or writes, dominate."""
    tolerance: float = quantity("ratio", 0.1, low=0, high=1)
    """Loss of throughput after a step, against the mean of the windows before, that takes the step back."""
    mean_windows: float = quantity("count", 4, low=1)
    """Number of windows to which the mean of throughput reaches back (exponential weights)."""
    retry_windows: int = quantity("count", 1, low=1)
    """Windows for which the threshold stays after a step was taken back; twice as many each time that the next step is, too."""
    interval: float = quantity("seconds", 1.0, low=1e-3)
    """Time between two counts of operations; a window ends with the first count that fills it."""

    def make(self, base: Base) -> LdcTuner:
        """Build a tuner that begins at the fan-out."""
        start = fan_out(base.options)
        return LdcTuner(self, self.interval, start, _MOST_THRESHOLD_FANOUTS * start)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Refuse pickers without a threshold, and a threshold other than the fan-out."""
        if not isinstance(parts.picker, LdcPicking):
            return "ldc_adaptive changes the SliceLink threshold; choose engine/picker=ldc, which has it, or another tuner"
        if parts.picker.threshold is not None:
            return "ldc_adaptive starts at the fan-out; leave engine.picker.threshold at null"
        return None


@dataclass(slots=True)
class LdcTuner:
    """Implements `tuning.Tuner`: a smaller threshold while reads dominate, a larger one while writes do (D5).

    A step that lowers throughput clearly is taken back, and the next one waits. A store that grows is slower in every window than
    in the one before; so a small loss does not count as the effect of a step.
    """

    settings: LdcAdapting
    interval_s: float
    threshold: int
    most: int
    operations: float = field(default=0.0, init=False)
    elapsed_s: float = field(default=0.0, init=False)
    """Length of the current window so far."""
    written: float = field(default=0.0, init=False)
    """Pairs written in the current window."""
    pairs: float = field(default=0.0, init=False)
    """Pairs read and written in the current window."""
    mean: float | None = field(default=None, init=False)
    """Mean of the operations per second of the windows before."""
    direction: int = field(default=0, init=False)
    """Sign of the step at the end of the last window; 0 if there was none."""
    waiting: int = field(default=0, init=False)
    """Windows left without a step."""
    losses: int = field(default=0, init=False)
    """Number of steps taken back since a step was kept."""
    mix: int = field(default=0, init=False)
    """Sign of the steps that the mix of the last window asked for."""

    def observe(self, interval: Interval) -> Changes:
        """Return the next threshold at the end of a window."""
        read = interval.read_ops + (self.settings.scan_pairs - 1.0) * interval.scan_ops
        self.operations += interval.read_ops + interval.write_ops
        self.written += interval.write_ops
        self.pairs += read + interval.write_ops
        self.elapsed_s += interval.end_s - interval.start_s
        if self.operations < self.settings.window_operations:
            return {}
        before = self.threshold
        self._step(self.operations / self.elapsed_s, self.written / self.pairs)
        self.operations = self.elapsed_s = self.written = self.pairs = 0.0
        return {"picker.threshold": self.threshold} if self.threshold != before else {}

    def _step(self, measured: float, write_share: float) -> None:
        """Move the threshold at the end of a window with this throughput."""
        settings, mean, before = self.settings, self.mean, self.threshold
        self.mean = measured if mean is None else mean + (measured - mean) / settings.mean_windows
        mix = (write_share >= settings.dominant) - (1.0 - write_share >= settings.dominant)
        if mix != self.mix:
            self.mix, self.waiting, self.losses = mix, 0, 0
        if self.waiting:
            self.waiting -= 1
            return
        step = self.mix
        if mean is not None and self.direction and measured < (1.0 - settings.tolerance) * mean:
            step, self.waiting = -self.direction, settings.retry_windows << self.losses
            self.losses += 1
        elif self.direction:
            self.losses = 0
        self.threshold = min(self.most, max(_LEAST_THRESHOLD, before + step * settings.step))
        self.direction = 0 if self.threshold == before or self.waiting else step
