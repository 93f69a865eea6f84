"""LDC, lower-level driven compaction: links files into the next level; a file there merges its slices later.

Chai et al., LDC: A Lower-Level Driven Compaction Method to Optimize SSD-Oriented Key-Value Stores, ICDE 2019; the rules
D1 to D5 (behaviour/ldc.md, LDC rules). Built on LevelDB; no code was released.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import NOTHING, Compaction, Link, Move, Pick, RunningJob, Scope, first_pick
from lsmlab.models.policies.leveldb.picker import LevelDbPicker, LevelDbPicking
from lsmlab.models.policies.parts import Base, Parts, PolicySettings
from lsmlab.models.policies.rocksdb.inputs import key_range
from lsmlab.models.policies.tuning import Changes, Interval, Tuner
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import quantity

_LEAST_THRESHOLD: Final = 1
_MOST_THRESHOLD_FANOUTS: Final = 2
"""Range in which the adaptive threshold moves: 1 to twice the fan-out; the paper gives none (background/ldc.md, Assumptions)."""


@dataclass(frozen=True)
class LdcPicking(LevelDbPicking):
    """`engine/picker=ldc`. `order` and `seek_compaction` are LevelDB's: files are linked, or compacted if they have slices."""

    threshold: int | None = quantity("count", None, low=1)
    """SliceLink threshold T_s: number of slices at which a file compacts; None: the fan-out, the paper's best value."""
    l0_links: bool = False
    """Whether L0 files are linked to L1; else they compact with L1 as in LevelDB, and links begin at L1. The paper does not say
    (background/ldc.md, Assumptions)."""

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
            for i in (level.links >= self.threshold).nonzero()[0].tolist():
                yield number, level.files[i]

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
        full = bool((below.links[i:j] >= self.threshold).any())
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
    """`engine/tuner=ldc_adaptive`: D5, hill climbing on throughput. Step, window and range are choices of this model.

    See (background/ldc.md, Assumptions).
    """

    window_operations: float = quantity("count", 100_000, low=1)
    """Number of operations over which the tuner measures throughput."""
    step: int = quantity("count", 1, low=1)
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
    """Implements `tuning.Tuner`: keeps its direction while throughput grows, reverses it when throughput falls."""

    settings: LdcAdapting
    interval_s: float
    threshold: int
    most: int
    operations: float = field(default=0.0, init=False)
    elapsed_s: float = field(default=0.0, init=False)
    """Length of the current window so far."""
    direction: int = field(default=0, init=False)
    """Sign of the next step; 0 before the first measurement."""
    throughput: float = field(default=0.0, init=False)
    """Operations per second of the last window."""
    reads: float = field(default=0.0, init=False)

    def observe(self, interval: Interval) -> Changes:
        """Return the next threshold at the end of a window. The first step is down if most operations are reads, else up."""
        self.operations += interval.read_ops + interval.write_ops
        self.reads += interval.read_ops
        self.elapsed_s += interval.end_s - interval.start_s
        if self.operations < self.settings.window_operations:
            return {}
        measured = self.operations / self.elapsed_s
        if self.direction == 0:
            self.direction = -1 if 2.0 * self.reads > self.operations else 1
        elif measured < self.throughput:
            self.direction = -self.direction
        self.throughput, self.operations, self.reads, self.elapsed_s = measured, 0.0, 0.0, 0.0
        before = self.threshold
        self.threshold = min(self.most, max(_LEAST_THRESHOLD, before + self.direction * self.settings.step))
        return {"picker.threshold": self.threshold} if self.threshold != before else {}
