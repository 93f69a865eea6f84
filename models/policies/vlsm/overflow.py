"""Levelled compaction with a limit on the bytes of each level over its target: RocksDB with little or no debt.

A level must have room for the inputs from above before a compaction into it starts. So a full tree needs a chain of
compactions, from the deepest level up, before a batch of L0 files can move down.
See (background/rocksdb_io.md, What it changes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from lsmlab.models.policies.decisions import NOTHING, Compaction, Link, Move, Pick, Picker, RunningJob, Scope, in_scope
from lsmlab.models.policies.parts import Base, PolicySettings
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import quantity


@dataclass(frozen=True)
class Overflow(PolicySettings[Picker]):
    """`engine/picker=overflow`."""

    levels_only: ClassVar[str] = (
        "an overflow limit needs levels with targets, not {style}; set engine.options.compaction_style to level"
    )
    overflow_limit: int = quantity("bytes", 64 << 20)
    """Bytes by which a level may exceed its target; 0 = RocksDB-IO, without compaction debt."""

    def make(self, base: Base) -> OverflowPicker:
        """Build RocksDB's levelled picker with the limit."""
        return OverflowPicker(base.options, base.version, self.overflow_limit)


@dataclass
class OverflowPicker(LeveledPicker):
    """Implements `decisions.Picker`: RocksDB's picks, delayed until their output level has room."""

    overflow_limit: int

    def pick(
        self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY  # noqa: ARG002
    ) -> Pick:
        """Pick the deepest job with room from the levels with a score >= 1 and those that must make room for the level above."""
        targets = self._targets(tree)
        scores = self.rules.scores(tree, targets)
        due = [score >= 1 for score in scores] + [False]
        deepest: Pick = NOTHING
        for level in range(tree.num_levels - 1):
            if not due[level]:
                continue
            pick = self.pick_level(tree, running, level)
            if isinstance(pick, Compaction | Move) and not self._has_room(tree, running, pick):
                due[pick.output_level] = True
                continue
            if level == 0 and pick is NOTHING and self._l0_waits_for_room(tree, running):
                due[1] = True  # locked by a job that makes room in L1; others may run beside it
                continue
            if level == 0 and pick is NOTHING:  # blocked by locks, as in RocksDB
                pick = self._from_seed(tree, running, targets, self._intra_l0(tree, scores[0]))
            pick = in_scope(pick, scope)
            deepest = deepest if pick is NOTHING else pick
        return deepest

    def _l0_waits_for_room(self, tree: Tree, running: Sequence[RunningJob]) -> bool:
        """Return whether L1, after the jobs that leave it, lacks room for the files of L0."""
        coming = sum(file.size_bytes for file in tree.l0 if not file.busy)
        return coming > 0 and not self._fits(tree, 1, staying_l1_bytes(tree, running), coming)

    def _has_room(self, tree: Tree, running: Sequence[RunningJob], pick: Compaction | Move) -> bool:
        """Return whether the output level has room for the inputs from above."""
        level = pick.output_level
        if level in (pick.start_level, tree.num_levels - 1):
            return True
        coming = sum(job.incoming_bytes for job in running if job.output_level == level)
        return self._fits(tree, level, tree.size_bytes(level) + coming, incoming_bytes(pick))

    def _fits(self, tree: Tree, level: int, held_bytes: int, coming_bytes: int) -> bool:
        """Return whether a level that holds `held_bytes` has room for `coming_bytes`; an empty level has room for any."""
        limit = self._targets(tree).size_bytes[level] + self.overflow_limit
        return held_bytes <= 0 or held_bytes + coming_bytes <= limit


def staying_l1_bytes(tree: Tree, running: Sequence[RunningJob]) -> int:
    """Bytes of L1 that no running job moves out of it."""
    return tree.size_bytes(1) - sum(job.incoming_bytes for job in running if job.start_level == 1)


def incoming_bytes(pick: Compaction | Move | Link) -> int:
    """Bytes that a job moves into its output level from above."""
    return sum(f.size_bytes for level, files in pick.inputs if level != pick.output_level for f in files)
