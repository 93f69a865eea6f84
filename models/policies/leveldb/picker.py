"""LevelDB's picker: levels by score, files round-robin by key, growth of inputs, compactions after many seeks.

Spec:
(behaviour/leveldb.md, LevelDB flush; LevelDB level and file choice; LevelDB inputs; LevelDB moves and cutting; LevelDB seeks)
(VersionSet::PickCompaction, SetupOtherInputs, Version::UpdateStats and PickLevelForMemTableOutput). The LDC paper calls
this upper-level driven compaction, UDC.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import NOTHING, Compaction, Move, Pick, Picker, RunningJob, Scope, first_pick
from lsmlab.models.policies.parts import Base, Parts, PolicySettings
from lsmlab.models.policies.rocksdb.inputs import conflicts, key_range, overlapping
from lsmlab.models.policies.rocksdb.l0 import closure
from lsmlab.models.policies.rocksdb.levels import LevelRules
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

GRANDPARENT_FILES: Final = 10
"""Maximum overlap with the level after next, in files of target size (MaxGrandParentOverlapBytes)."""
EXPANDED_FILES: Final = 25
"""Upper bound on the inputs after their growth, in files of target size (ExpandedCompactionByteSizeLimit)."""
DEEPEST_FLUSH: Final = 2
"""Deepest level for a flushed file (config::kMaxMemCompactLevel)."""
SEEK_BYTES: Final = 16384
"""Bytes whose compaction costs about as much as one seek (VersionSet::Builder::Apply)."""
LEAST_SEEKS: Final = 100
"""Minimum number of allowed seeks of a file."""
ORDERS: Final = ("round_robin", "min_overlap")

Files = tuple[SortedFile, ...]


@dataclass(frozen=True)
class LevelDbPicking(PolicySettings[Picker]):
    """`engine/picker=leveldb`. Level targets, file size and the L0 trigger are those of the options."""

    levels_only: ClassVar[str] = (
        "LevelDB's picker needs levels, not {style}; set engine.options.compaction_style to level"
    )
    order: str = "round_robin"
    """Order of the files of a level: "round_robin" by key, or "min_overlap" with the next level (an ablation)."""
    seek_compaction: bool = True
    """Whether LevelDB compacts files in which many lookups miss."""

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise InputError(f"picker.order: {self.order!r} is not one of {', '.join(ORDERS)}")

    def make(self, base: Base) -> LevelDbPicker:
        """Build the picker of the options."""
        return LevelDbPicker(base.options, base.version, self)

    def refuses(self, parts: Parts, base: Base) -> str | None:
        """Refuse options without levels."""
        if base.options.num_levels < 2:
            return "LevelDB's picker needs a level below L0; set engine.options.num_levels to 2 or more"
        return super().refuses(parts, base)


@dataclass(frozen=True)
class LevelDbPicker(Picker):
    """Implements `decisions.Picker`."""

    options: RocksDbOptions
    version: Version
    settings: LevelDbPicking

    @cached_property
    def rules(self) -> LevelRules:
        """Level rules with static targets, the only ones of LevelDB, at any setting of the options."""
        return LevelRules(replace(self.options, level_compaction_dynamic_level_bytes=False), self.version)

    # --- scores and debt ----------------------------------------------------------------------------------------------

    def scores(self, tree: Tree) -> list[float]:
        """Score of L0 by files, of others by bytes (Finalize), without busy files: LevelDB runs one job at a time."""
        result = [sum(not f.busy for f in tree.l0) / self.options.level0_file_num_compaction_trigger]
        targets = self.level_targets(tree)
        for number in range(1, tree.num_levels - 1):
            level = tree.levels[number]
            result.append((level.size_bytes - sum(f.size_bytes for f in level.busy)) / targets[number])
        return result

    def level_targets(self, tree: Tree) -> Sequence[float]:
        """Target bytes per level: with LevelDB's options 10 MiB for L1 and ten times more per level."""
        return self.rules.targets(tree).size_bytes

    def pending_bytes(self, tree: Tree) -> int:
        """Compute RocksDB's estimate of the debt, for tuners and reports; LevelDB has none and its throttle ignores it."""
        return self.rules.pending_bytes(tree, self.rules.targets(tree))

    def needs_compaction(self, tree: Tree, now_s: float, scope: Scope = Scope.ANY) -> bool:
        """Return whether a level is over its target or a file over its allowed seeks (VersionSet::NeedsCompaction)."""
        if self.options.disable_auto_compactions:
            return False
        if scope is not Scope.ANY or tree.exhausted:
            return self.pick(tree, (), now_s, scope) is not NOTHING
        return max(self.scores(tree)) >= 1.0

    # --- picks --------------------------------------------------------------------------------------------------------

    def pick(
        self, tree: Tree, running: Sequence[RunningJob], now_s: float, scope: Scope = Scope.ANY  # noqa: ARG002
    ) -> Pick:
        """Pick from the level with the highest score, the shallower of two equal ones; else a file over its allowed seeks."""
        return first_pick(self._picks(tree, running), scope)

    def _picks(self, tree: Tree, running: Sequence[RunningJob]) -> Iterator[Pick]:
        """Yield the jobs in the order of preference, NOTHING for a level or file that a running job blocks."""
        scores = self.scores(tree)
        for level in sorted(range(len(scores)), key=lambda i: -scores[i]):
            if scores[level] < 1.0:
                break
            yield self._size_pick(tree, running, level, scores[level])
        for level, file in tree.exhausted:
            if not file.busy and (file in tree.l0 if level == 0 else tree.levels[level].holds(file)):
                yield self._seek_pick(tree, running, level, file)

    def _size_pick(self, tree: Tree, running: Sequence[RunningJob], level: int, score: float) -> Pick:
        if level == 0:
            return self._l0_pick(tree, running, self.first_of_l0(tree), "LevelL0FilesNum", score)
        files = self.candidates(tree, level)
        return first_pick(self._pick_file(tree, running, level, (file,), "LevelMaxLevelSize", score) for file in files)

    def _seek_pick(self, tree: Tree, running: Sequence[RunningJob], level: int, file: SortedFile) -> Pick:
        if level == 0:
            return self._l0_pick(tree, running, file, "SeekCompaction", 0.0)
        return self._pick_file(tree, running, level, (file,), "SeekCompaction", 0.0)

    def _l0_pick(
        self, tree: Tree, running: Sequence[RunningJob], first: SortedFile, reason: str, score: float
    ) -> Pick:
        """Pick a file of L0 and all files that overlap it, directly or through others."""
        if any(job.start_level == 0 for job in running):
            return NOTHING
        return self._pick_file(tree, running, 0, tuple(closure(tree.l0, first.lo, first.hi)), reason, score)

    def first_of_l0(self, tree: Tree) -> SortedFile:
        """Return the first file of L0 in key order that ends after the cursor, else the first file."""
        ordered = sorted(tree.l0, key=lambda f: (f.lo, f.number))
        return next((f for f in ordered if f.hi >= tree.round_robin_key[0]), ordered[0])

    def candidates(self, tree: Tree, level: int) -> Iterator[SortedFile]:
        """Return the files of a level in the order of picks, without busy files."""
        run = tree.levels[level]
        if self.settings.order == "min_overlap":
            order = sorted(range(len(run)), key=lambda i: _overlap_ratio(run.files[i], tree.levels[level + 1]))
        else:
            first = int(run.hi.searchsorted(tree.round_robin_key[level], side="left"))
            order = [*range(first, len(run)), *range(first)]
        return (run.files[i] for i in order if not run.files[i].busy)

    def _pick_file(
        self, tree: Tree, running: Sequence[RunningJob], level: int, upper: Files, reason: str, score: float
    ) -> Pick:
        """Complete the inputs of a job of `upper`; NOTHING if a running job conflicts (behaviour/leveldb.md, LevelDB inputs)."""
        below = tree.levels[level + 1]
        lo, hi = key_range(upper)
        i, j = below.overlapping(lo, hi)
        lower = tuple(below.files[i:j])
        if lower:
            upper = self._grown(tree, level, upper, lower)
        lo, hi = key_range((*upper, *lower))
        if conflicts(running, level + 1, lo, hi) or any(f.busy for f in (*upper, *lower)):
            return NOTHING
        next_key = max(f.hi for f in upper) + 1
        if len(upper) == 1 and not lower and self._grandparents(tree, level, lo, hi) <= self._most_grandparents:
            return Move(level, level + 1, ((level, upper),), reason, score, next_key=next_key)
        inputs = ((level, upper), (level + 1, lower)) if lower else ((level, upper),)
        return Compaction(level, level + 1, inputs, reason, score, next_key=next_key)

    def _grown(self, tree: Tree, level: int, upper: Files, lower: Files) -> Files:
        """Add files of the upper level if they add none of the lower one."""
        lo, hi = key_range((*upper, *lower))
        grown = tuple(overlapping(tree, level, lo, hi))
        if len(grown) <= len(upper):
            return upper
        size = sum(f.size_bytes for f in (*grown, *lower))
        if size >= EXPANDED_FILES * self.options.target_file_size_base or any(f.busy for f in grown):
            return upper
        i, j = tree.levels[level + 1].overlapping(*key_range(grown))
        return grown if j - i == len(lower) else upper

    @property
    def _most_grandparents(self) -> int:
        return GRANDPARENT_FILES * self.options.target_file_size_base

    def _grandparents(self, tree: Tree, level: int, lo: int, hi: int) -> int:
        """Bytes of the level after next that overlap [lo, hi]."""
        if level + 2 >= tree.num_levels:
            return 0
        below = tree.levels[level + 2]
        return below.bytes_of(*below.overlapping(lo, hi))

    # --- flushes and seeks ----------------------------------------------------------------------------------------------

    def flush_level(self, tree: Tree, lo: int, hi: int) -> int:
        """Return the deepest level, down to L2, above which no file overlaps the new one (PickLevelForMemTableOutput).

        Returns L0 also if a running job could write into the file's key range, and while the tree has linked slices,
        whose owners' key ranges the file would change.
        """
        if tree.frozen or _between_busy(tree, lo, hi) or any(f.lo <= hi and lo <= f.hi for f in tree.l0):
            return 0
        level = 0
        while level < min(DEEPEST_FLUSH, tree.num_levels - 1):
            below = tree.levels[level + 1]
            i, j = below.overlapping(lo, hi)
            if j > i or self._grandparents(tree, level, lo, hi) > self._most_grandparents:
                break
            level += 1
        return level

    def allowed_seeks(self, size_bytes: int) -> float:
        """Misses that a file may have before its compaction; infinity without seek compactions."""
        return float(max(LEAST_SEEKS, size_bytes // SEEK_BYTES)) if self.settings.seek_compaction else float("inf")


def _between_busy(tree: Tree, lo: int, hi: int) -> bool:
    """Return whether [lo, hi] overlaps the common range of all busy files."""
    held = [f for f in tree.l0 if f.busy]
    for level in tree.levels[1:]:
        held += level.busy
    if not held:
        return False
    first, last = key_range(held)
    return first <= hi and lo <= last


def _overlap_ratio(file: SortedFile, below: Level) -> float:
    return below.bytes_of(*below.overlapping(file.lo, file.hi)) / max(1, file.size_bytes)
