"""Levelled compaction whose levels may exceed their targets only by a limit: RocksDB with little debt, or none.

(background/rocksdb_io.md, What it changes): before a level can take what comes from above there must be room for it, so
a full tree needs a chain of compactions, from the deepest level up, before a batch of L0 files can go down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from lsmlab.models.options.options import CompactionStyle
from lsmlab.models.policies.decisions import NOTHING, Compaction, Link, Move, Pick, RunningJob, Scope, in_scope
from lsmlab.models.policies.parts import Base, Parts
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.parts import leveled_picker
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import quantity


@dataclass(frozen=True)
class Overflow:
    """`engine/picker=overflow`."""

    overflow_limit: int = quantity("bytes", 64 << 20)
    """Bytes by which a level may exceed its target; 0 = RocksDB-IO, without compaction debt."""

    def make(self, base: Base) -> OverflowPicker:
        """RocksDB's levelled picker with a limit."""
        inner = leveled_picker(base)
        common = {f.name: getattr(inner, f.name) for f in fields(LeveledPicker) if f.init}
        return OverflowPicker(**common, overflow_limit=self.overflow_limit)

    def refuses(self, parts: Parts, base: Base) -> str | None:  # noqa: ARG002
        """Only levels have targets that can be exceeded."""
        if base.options.compaction_style is not CompactionStyle.LEVEL:
            return f"an overflow limit needs levels with targets, not {base.options.compaction_style.value}"
        return None


@dataclass
class OverflowPicker(LeveledPicker):
    """Implements `decisions.Picker`: RocksDB's picks, in the order in which there is room for them."""

    overflow_limit: int = 0

    def pick(
        self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY  # noqa: ARG002
    ) -> Pick:
        """The deepest job that is due and has room, where a level is also due when the one above waits for its room."""
        targets = self._targets(tree)
        scores = self.rules.scores(tree, targets)
        due = [score >= 1 for score in scores] + [False]
        found: Pick = NOTHING
        for level in range(tree.num_levels - 1):
            if not due[level]:
                continue
            pick = self.pick_level(tree, running, level)
            if isinstance(pick, Compaction | Move) and not self._has_room(tree, running, pick):
                due[pick.output_level] = True
                continue
            if level == 0 and pick is NOTHING:  # blocked by locks, as in RocksDB
                pick = self._from_seed(tree, running, targets, self._intra_l0(tree, scores[0]))
            pick = in_scope(pick, scope)
            found = found if pick is NOTHING else pick
        return found

    def _has_room(self, tree: Tree, running: Sequence[RunningJob], pick: Compaction | Move) -> bool:
        """Whether the output level can take what comes from above; an empty one takes a batch of any size."""
        level = pick.output_level
        if level in (pick.start_level, tree.num_levels - 1):
            return True
        coming = sum(job.incoming_bytes for job in running if job.output_level == level)
        held = tree.size_bytes(level) + coming
        limit = self._targets(tree).size_bytes[level] + self.overflow_limit
        return held == 0 or held + incoming_bytes(pick) <= limit


def incoming_bytes(pick: Compaction | Move | Link) -> int:
    """Bytes that a job brings into its output level from above."""
    return sum(f.size_bytes for level, files in pick.inputs if level != pick.output_level for f in files)
