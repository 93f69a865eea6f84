"""Lazy leveling: every level collects sorted runs, only the last level keeps a single run.

Dayan and Idreos: Dostoevsky, SIGMOD 2018; (behaviour/lazy-leveling.md, Lazy leveling rules) with K = T - 1 and Z = 1.
Level 1 of the paper is L0 here: each of its runs is a flushed file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsmlab.models.options.fields import CompactionStyle, RocksDbOptions
from lsmlab.models.policies.decisions import NOTHING, Compaction, Move, Pick, Picker, RunningJob, Scope, in_scope
from lsmlab.models.policies.parts import Base, Parts, PolicySettings
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Placement, Tree


@dataclass(frozen=True)
class LazyLeveling(PolicySettings[Picker]):
    """`engine/picker=lazy_leveling`. The size ratio T is the option max_bytes_for_level_multiplier."""

    tiered_last_level: bool = False
    """Whether the last level collects runs like the others (Z = T - 1: tiering) instead of keeping one (Z = 1)."""

    def make(self, base: Base) -> LazyLevelingPicker:
        """Build the picker of the options."""
        return LazyLevelingPicker(base.options, self.tiered_last_level)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Return the reason, in words for the user, if the picker does not support the options; else None."""
        options, ratio = base.options, base.options.max_bytes_for_level_multiplier
        if options.compaction_style is not CompactionStyle.LEVEL:
            return f"lazy leveling replaces {options.compaction_style.value}; choose engine/picker=rocksdb for this style"
        if ratio < 2 or ratio % 1:
            return "the size ratio T, engine.options.max_bytes_for_level_multiplier, must be a whole number from 2 on"
        if ratio > options.level0_stop_writes_trigger:
            return f"writes would stop at {options.level0_stop_writes_trigger} L0 files, but L0 compacts at {ratio:.0f}"
        return None


@dataclass(frozen=True)
class LazyLevelingPicker(Picker):
    """Implements `decisions.Picker`.

    There is no estimate of debt, and the L0 triggers compare L0 files (behaviour/lazy-leveling.md, Arrivals at a level).
    """

    options: RocksDbOptions
    tiered_last_level: bool = False

    @property
    def ratio(self) -> int:
        """T: size ratio of two levels."""
        return round(self.options.max_bytes_for_level_multiplier)

    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:  # noqa: ARG002
        """Move the last level down if it exceeds its capacity; else compact L0 and all full levels below it."""
        grown = in_scope(self._grow(tree), scope)
        return in_scope(self._compact(tree), scope) if grown is NOTHING else grown

    def _compact(self, tree: Tree) -> Pick:
        """Compact L0 into the first level with room, together with the runs of the full levels above.

        So each job writes its entries once, into their final level (behaviour/lazy-leveling.md, Arrivals at a level).
        One job at a time: all start in L0, and newer files must not overtake the inputs of a running job.
        """
        if len(tree.l0) < self.ratio or any(f.busy for f in tree.l0):
            return NOTHING
        last = tree.num_levels - 1 if self.tiered_last_level else max(1, tree.last_nonempty_level())
        inputs, output, placement = [(0, tuple(tree.l0))], 1, Placement.NEW_RUN
        while len(runs := free_runs(tree, output)) >= self._most_runs(output, last):
            inputs += [(output, run) for run in runs]
            if output == last:  # the single run of the last level stays in this level
                placement = Placement.REPLACE
                break
            output += 1
        return Compaction(0, output, tuple(inputs), "LevelFull", self.scores(tree)[0], placement=placement)

    def _most_runs(self, level: int, last: int) -> int:
        """Number of runs at which a level is full: K = T - 1, and Z in the last level."""
        return 1 if level == last and not self.tiered_last_level else self.ratio - 1

    def _grow(self, tree: Tree) -> Pick:
        """Move the last level down once its run exceeds its capacity; the run is then the first of the next level."""
        last = tree.last_nonempty_level()
        run = tuple(tree.levels[last]) if last else ()
        if self.tiered_last_level or last in (0, tree.num_levels - 1) or any(f.busy for f in run):
            return NOTHING
        score = tree.size_bytes(last) / self.level_targets(tree)[last]
        return Move(last, last + 1, ((last, run),), "LevelGrows", score) if score > 1 else NOTHING

    def level_targets(self, tree: Tree) -> Sequence[float]:
        """Capacity of each level: (T - 1) T^i b (behaviour/lazy-leveling.md, Fluid LSM-tree parameters)."""
        return [(self.ratio - 1) * self.ratio**level * self.options.write_buffer_size for level in range(tree.num_levels)]

    def scores(self, tree: Tree) -> Sequence[float]:
        """Free runs over T, the number at which a level compacts; the last level has no score."""
        counts = [len(tree.l0)]
        counts += [len(free_runs(tree, level)) for level in range(1, tree.num_levels - 1)]
        return [count / self.ratio for count in counts]

    def settled_level(self, tree: Tree, size_bytes: float) -> int:
        """Last level of a store of `size_bytes`."""
        capacities = self.level_targets(tree)
        return next((level for level in range(1, tree.num_levels) if size_bytes <= capacities[level]), tree.num_levels - 1)


def free_runs(tree: Tree, level: int) -> list[tuple[SortedFile, ...]]:
    """Runs of a level without busy files, newest first."""
    return [tuple(run) for run in tree.runs(level) if not run.any_busy(0, len(run))]
