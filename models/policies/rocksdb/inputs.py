"""Inputs of a RocksDB compaction, from its first file (behaviour/leveled-compaction.md, Growing the inputs)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.models import since
from lsmlab.models.options.fields import CompactionPri, RocksDbOptions
from lsmlab.models.policies.decisions import RunningJob
from lsmlab.models.policies.rocksdb import l0
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

MAX_TRIVIAL_MOVE_FILES: Final = 4
"""Maximum number of files of one trivial move from a level >= 1 (kMaxMultiTrivialMove, 7.5+)."""
NO_LIMIT: Final = 2**64
"""No limit: more bytes than any store has."""


@dataclass(slots=True)
class Seed:
    """Start of a compaction: its level and first files (SetupInitialFiles)."""

    level: int
    output: int
    files: list[SortedFile]
    score: float
    cursor: int | None = None
    disjoint: bool = False
    """Whether `files` are L0 files that the picker has tested to be disjoint."""
    first: int = 0
    """Levels >= 1: index in the level of the first of `files`."""
    first_reason: str = ""
    """RocksDB's compaction_reason of a job that no score asks for; empty: a score does."""

    @property
    def reason(self) -> str:
        """Return RocksDB's compaction_reason."""
        return self.first_reason or ("LevelL0FilesNum" if self.level == 0 else "LevelMaxLevelSize")


@dataclass(frozen=True, slots=True)
class InputRules:
    """Rules that select the further inputs of a compaction."""

    options: RocksDbOptions
    version: Version

    @property
    def round_robin(self) -> bool:
        """Return whether the files of a level are picked in key order."""
        return self.options.compaction_pri is CompactionPri.ROUND_ROBIN

    @property
    def expands_round_robin(self) -> bool:
        """Return whether a pick in key order takes the files that follow too, and grows to the right only."""
        return self.round_robin and self.version >= since.ROUND_ROBIN_EXPANSION

    def extend_move(self, tree: Tree, seed: Seed) -> None:
        """Add neighbours to a file that overlaps no file below (TryExtendNonL0TrivialMove; later releases: on both sides)."""
        if self.version < since.MOVE_OF_SEVERAL_FILES or self.options.compression_per_level or len(self.options.db_paths) > 1:
            return
        below, files = tree.levels[seed.output], tree.levels[seed.level].files
        start, at = seed.files[0], seed.first
        total = start.size_bytes
        steps = [range(at + 1, len(files))]
        if self.version >= since.MOVE_TO_BOTH_SIDES and not self.round_robin:
            steps.append(range(at - 1, -1, -1))
        for step in steps:
            for i in step:
                file = files[i]
                if len(seed.files) >= MAX_TRIVIAL_MOVE_FILES or file.busy:
                    break
                a, b = below.overlapping(min(start.lo, file.lo), max(start.hi, file.hi))
                if b > a:
                    break
                total += file.size_bytes
                if total > self.options.max_compaction_bytes:
                    break
                seed.files.insert(len(seed.files) if i > at else 0, file)
                seed.first = min(seed.first, i)

    def expand_round_robin(self, tree: Tree, running: Sequence[RunningJob], target: float, seed: Seed) -> None:
        """Add the next files until the level is below `target` bytes (SetupOtherFilesWithRoundRobinExpansion)."""
        level, below = tree.levels[seed.level], tree.levels[seed.output]
        if len(seed.files) > 1:
            return  # a trivial move
        excess = max(0.0, level.size_bytes - sum(f.size_bytes for f in level.busy) - target)
        total = seed.files[0].size_bytes
        if total >= excess:
            return
        for file in level.files[seed.first + 1 :]:
            lo, hi = seed.files[0].lo, file.hi
            if file.busy or conflicts(running, seed.output, lo, hi):
                return
            a, b = below.overlapping(lo, hi)
            total += file.size_bytes
            if below.any_busy(a, b) or total + below.bytes_of(a, b) > self.options.max_compaction_bytes:
                return
            seed.files.append(file)
            if total > excess:
                return

    def growth_limit(self) -> int:
        """Upper bound in bytes on the inputs of both levels (behaviour/leveled-compaction.md, Growing the inputs)."""
        if self.version >= since.GROWTH_LIMIT_DOUBLED:
            return 2 * self.options.max_compaction_bytes
        optional = self.version >= since.GROWTH_OPTION and self.options.ignore_max_compaction_bytes_for_input
        return NO_LIMIT if optional or self.version >= since.GROWTH_WITHOUT_LIMIT else self.options.max_compaction_bytes

    def grow(self, tree: Tree, seed: Seed, a: int, b: int) -> None:
        """Add files of the start level if they add none of the output level, whose input files are [a, b).

        First tries all files that overlap the range of both levels, then only the files inside it (levels >= 1).
        """
        below = tree.levels[seed.output]
        lo, hi = key_range(seed.files)
        all_lo, all_hi = min(lo, below.files[a].lo), max(hi, below.files[b - 1].hi)
        room = self.growth_limit() - below.compensated_bytes_of(a, b)
        from_lo = lo if self.expands_round_robin and seed.level else all_lo
        grown = overlapping(tree, seed.level, from_lo, all_hi)
        if self._fits(grown, seed, room):
            c, d = below.overlapping(*key_range(grown))
            if d - c == b - a and not below.any_busy(c, d):
                seed.files = grown
                return
        if seed.level == 0:
            return
        level = tree.levels[seed.level]
        i, j = level.inside(all_lo, all_hi)
        grown = level.files[i:j]
        if self._fits(grown, seed, room):
            seed.files = grown

    @staticmethod
    def _fits(grown: Sequence[SortedFile], seed: Seed, room: int) -> bool:
        """Return whether the files are more than before, all free, and their compensated bytes below `room`."""
        if len(grown) <= len(seed.files) or any(f.busy for f in grown):
            return False
        return sum(f.compensated_bytes for f in grown) < room


def overlapping(tree: Tree, level: int, lo: int, hi: int) -> list[SortedFile]:
    """Files of a level that overlap [lo, hi]; those of L0 directly or through others, newest first."""
    if level == 0:
        return l0.closure(tree.l0, lo, hi)
    i, j = tree.levels[level].overlapping(lo, hi)
    return tree.levels[level].files[i:j]


def key_range(files: Sequence[SortedFile]) -> tuple[int, int]:
    """Smallest and largest key of `files`, in any order."""
    if len(files) == 1:
        return files[0].lo, files[0].hi
    return min(f.lo for f in files), max(f.hi for f in files)


def conflicts(running: Sequence[RunningJob], output: int, lo: int, hi: int) -> bool:
    """Return whether a running job writes to level `output` within [lo, hi] (RangeOverlapWithCompaction)."""
    return any(output in (job.output_level, job.proximal_level) and lo <= job.hi and hi >= job.lo for job in running)
