"""Lazy leveling: every level gathers sorted runs, only the last is kept as one run.

Dayan and Idreos: Dostoevsky, SIGMOD 2018; (behaviour/lazy-leveling.md, Lazy leveling rules) with K = T - 1 and Z = 1.
Level 1 of the paper is L0 here: each of its runs is a flushed file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsmlab.models.options.options import CompactionStyle
from lsmlab.models.policies.decisions import NOTHING, Compaction, Move, Pick, RunningJob, Scope, in_scope
from lsmlab.models.policies.parts import Base, Parts
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Placement, Tree


@dataclass(frozen=True)
class LazyLeveling:
    """`engine/picker=lazy_leveling`. The size ratio T is the option max_bytes_for_level_multiplier."""

    tiered_last_level: bool = False
    """Whether the last level gathers runs like the others (Z = T - 1: tiering) instead of keeping one (Z = 1)."""

    def make(self, base: Base) -> LazyLevelingPicker:
        """The picker of the options."""
        options = base.options
        ratio = round(options.max_bytes_for_level_multiplier)
        return LazyLevelingPicker(ratio, options.write_buffer_size, self.tiered_last_level)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """What it cannot work with, as a sentence for the user; None if it can."""
        options, ratio = base.options, base.options.max_bytes_for_level_multiplier
        if options.compaction_style is not CompactionStyle.LEVEL:
            return f"lazy leveling takes the place of {options.compaction_style.value}; choose engine/picker=rocksdb for it"
        if ratio < 2 or ratio % 1:
            return "the size ratio T, engine.options.max_bytes_for_level_multiplier, must be a whole number from 2 on"
        if ratio > options.level0_stop_writes_trigger:
            return f"writers would stop at {options.level0_stop_writes_trigger} files of L0, which is merged at {ratio:.0f}"
        return None


@dataclass(frozen=True)
class LazyLevelingPicker:
    """Implements `decisions.Picker`."""

    ratio: int
    """T."""
    buffer_bytes: int
    """b: size of a memtable."""
    tiered_last_level: bool = False

    def pick(self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY) -> Pick:  # noqa: ARG002
        """Move a last level that has outgrown its place; else merge the runs of L0, and of all full levels below it."""
        grown = in_scope(self._grow(tree), scope)
        return in_scope(self._compact(tree), scope) if grown is NOTHING else grown

    def _compact(self, tree: Tree) -> Pick:
        """: what arrives at a full level takes its runs along, so that everything is written once, where it stays.

        See (behaviour/lazy-leveling.md, Arrivals at a level).

        One merge at a time: all begin in L0, where a lookup looks first, and nothing may pass what one still holds there.
        """
        if len(tree.l0) < self.ratio or any(f.busy for f in tree.l0):
            return NOTHING
        last = tree.num_levels - 1 if self.tiered_last_level else max(1, tree.last_nonempty_level())
        inputs, output, placement = [(0, tuple(tree.l0))], 1, Placement.NEW_RUN
        while len(runs := free_runs(tree, output)) >= self._most_runs(output, last):
            inputs += [(output, run) for run in runs]
            if output == last:  # it keeps its place
                placement = Placement.REPLACE
                break
            output += 1
        return Compaction(0, output, tuple(inputs), "LevelFull", self.scores(tree)[0], placement=placement)

    def _most_runs(self, level: int, last: int) -> int:
        """Runs that leave no room for one more: K = T - 1, and Z in the last level."""
        return 1 if level == last and not self.tiered_last_level else self.ratio - 1

    def _grow(self, tree: Tree) -> Pick:
        """The last level moves down once its run exceeds its capacity, and becomes the first of a larger one."""
        last = tree.last_nonempty_level()
        run = tuple(tree.levels[last]) if last else ()
        if self.tiered_last_level or last in (0, tree.num_levels - 1) or any(f.busy for f in run):
            return NOTHING
        score = tree.size_bytes(last) / self.level_targets(tree)[last]
        return Move(last, last + 1, ((last, run),), "LevelGrows", score) if score > 1 else NOTHING

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:
        """Whether there is something to pick."""
        return self.pick(tree, (), now_s, scope) is not NOTHING

    def pending_bytes(self, tree: Tree) -> int:  # noqa: ARG002
        """No estimate of debt: always 0 (behaviour/lazy-leveling.md, Arrivals at a level)."""
        return 0

    def stall_run_count(self, tree: Tree) -> int:
        """Runs of the first level, busy or not: what the L0 triggers look at.

        See (behaviour/lazy-leveling.md, Arrivals at a level).
        """
        return len(tree.l0)

    def level_targets(self, tree: Tree) -> Sequence[float]:
        """Capacities: (T - 1) T^i b (behaviour/lazy-leveling.md, Fluid LSM-tree parameters)."""
        return [(self.ratio - 1) * self.ratio**level * self.buffer_bytes for level in range(tree.num_levels)]

    def settled_level(self, tree: Tree, size_bytes: float) -> int:
        """Where a store of that size has its last level."""
        capacities = self.level_targets(tree)
        return next((level for level in range(1, tree.num_levels) if size_bytes <= capacities[level]), tree.num_levels - 1)

    def scores(self, tree: Tree) -> Sequence[float]:
        """Runs by the number at which they are merged; the last level has no score."""
        counts = [len(tree.l0)]
        counts += [len(free_runs(tree, level)) for level in range(1, tree.num_levels - 1)]
        return [count / self.ratio for count in counts]


def free_runs(tree: Tree, level: int) -> list[tuple[SortedFile, ...]]:
    """The runs of a level that no job holds, newest first."""
    return [tuple(run) for run in tree.runs(level) if not run.any_busy(0, len(run))]
