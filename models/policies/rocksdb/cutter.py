"""RocksDB's cutter: the ends of the output files of a compaction (behaviour/compaction-jobs.md, Output cutting).

7.8+: CompactionOutputs::ShouldStopBefore. Before: CompactionJob::SubcompactionState::ShouldStopBefore.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.models import since
from lsmlab.models.options.fields import CompactionStyle, RocksDbOptions
from lsmlab.models.policies.decisions import CutContext, Cutter
from lsmlab.models.policies.rocksdb.boundaries import (
    BlockGrowth,
    Crossings,
    FinishedBlocks,
    OutputGrowth,
    SampledGrowth,
    crossings,
    ends,
)
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.merge import MergedStream
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

FIRST_SHARE: Final = 50
"""Percent of the target size from which a file may end at a boundary."""
SHARE_STEP: Final = 5
"""Percent added per boundary crossed since the start of the file, the current one included."""
MOST_STEPS: Final = 40
"""Maximum of the added percent."""
SKIPPABLE_DIVISOR: Final = 8
"""An output ends before a grandparent file without keys of the job if that file exceeds target size / this divisor."""


@dataclass(frozen=True, slots=True)
class RocksDbCutter(Cutter):
    """Implements `decisions.Cutter`."""

    options: RocksDbOptions
    version: Version
    aligned: bool = True
    """False: files of the target size in every release."""

    def guide_level(self, tree: Tree, output_level: int, lo: int, hi: int) -> int | None:
        """First level below that overlaps the job; at first the next one (behaviour/compaction-jobs.md, Output cutting)."""
        if self.options.compaction_style is not CompactionStyle.LEVEL:
            return None
        levels = range(output_level + 1, tree.num_levels)
        for level in levels if self.version >= since.GRANDPARENTS_OF_DEEPER_LEVELS else levels[:1]:
            first, last = tree.levels[level].overlapping(lo, hi)
            if last > first:
                return level
        return None

    def cuts(self, merged: MergedStream, context: CutContext) -> Sequence[int]:
        """Positions at which a new file starts, from the stream's cumulative bytes."""
        cumulative = merged.cumulative_bytes
        return self._cuts(merged.keys, context, lambda start: SampledGrowth(cumulative, start))

    def cuts_by_blocks(self, keys: KeyArray, context: CutContext, finished: FinishedBlocks) -> Sequence[int]:
        """Positions at which a new file starts, from the blocks of a file that begins at each cut.

        The result is exact, because each file starts with a new block. The arrays of `finished` may end once a file has
        twice the target size.
        """
        n = len(keys)
        return self._cuts(keys, context, lambda start: BlockGrowth(*finished(start), n))

    def _cuts(self, keys: KeyArray, context: CutContext, growth: Callable[[int], OutputGrowth]) -> list[int]:
        if context.output_level == 0 or not len(keys):
            return []
        if not self.aligned or self.version < since.ALIGNED_CUTS:
            every_key = self.version < since.OVERLAP_TEST_AT_BOUNDARIES
            return _cuts_by_overlap(keys, context, growth, every_key=every_key)
        return self._cuts_at_boundaries(keys, context, growth)

    def _cuts_at_boundaries(self, keys: KeyArray, context: CutContext, growth: Callable[[int], OutputGrowth]) -> list[int]:
        aligned = self.options.level_compaction_dynamic_file_size or self.version >= since.ALWAYS_ALIGNED_CUTS
        walk = crossings(keys, context)
        alone = context.bottommost or not len(context.grandparent_size) or not aligned
        most = context.target_bytes if alone else 2 * context.target_bytes
        n = len(keys)
        cuts: list[int] = []
        start, step = 0, 0
        while True:
            file = growth(start)
            limit = min(file.reach(most), n)
            at, step = _cut_at_boundary(walk, step, file, limit, context, aligned)
            if at >= n:
                return cuts
            cuts.append(at)
            start = at


def _cut_at_boundary(
    walk: Crossings, step: int, file: OutputGrowth, limit: int, context: CutContext, aligned: bool
) -> tuple[int, int]:
    """Return (end, next step): the first crossing before `limit` at which the file ends, else `limit`, and the next one.

    `step` is the first crossing after the start of the file. The overlap of a file is the grandparent file of its first
    key and the files that it enters later.
    """
    overlap = walk.inside_bytes[step - 1] if step else walk.first_inside_bytes
    target, room = context.target_bytes, context.max_compaction_bytes
    percent, skippable = (target + 99) // 100, target // SKIPPABLE_DIVISOR
    least, passed = percent * FIRST_SHARE, 0
    before, counts, entered, inside = file.before, walk.crossed, walk.entered_bytes, walk.inside_bytes
    for k in range(step, len(counts)):
        position = walk.position[k]
        if position >= limit:
            return limit, k + (position == limit)
        size = before(position)
        passed += counts[k]
        overlap += entered[k]
        if overlap + size > room:
            return position, k + 1
        if not aligned:
            continue
        if size >= least and size >= percent * (FIRST_SHARE + min(SHARE_STEP * passed, MOST_STEPS)):
            return position, k + 1
        if counts[k] > 1 and entered[k] > skippable and counts[k] >= (3 if inside[k] else 2):
            return position, k + 1
    return limit, len(counts)


def _cuts_by_overlap(
    keys: KeyArray, context: CutContext, growth: Callable[[int], OutputGrowth], *, every_key: bool
) -> list[int]:
    """Cut before `since.ALIGNED_CUTS`: files of the target size, cut early only where they overlap too many grandparent bytes.

    The overlap counts grandparent files whose end the stream has passed. Only a cut by overlap resets it. A step that
    ends a file for its size does not update the overlap: files that end in this step count one key later. `every_key`: test
    the limit at every key instead of where a grandparent file ends.
    """
    positions, passed = ends(keys, context, after=1)
    n, target, most = len(keys), context.target_bytes, context.max_compaction_bytes
    cuts: list[int] = []
    start, step, overlap = 0, 0, 0
    while True:
        file = growth(start)
        full = min(file.reach(target), n)
        at = full
        while True:  # over the grandparent ends that this file passes before it is full
            upto = positions[step] if step < len(positions) else n
            if every_key:
                first = max(file.exceed(most - overlap) if overlap <= most else 0, start + 1)
                if first < min(full, max(upto, start + 1)):
                    at, overlap = first, 0
                    break
            if upto >= full:
                break
            seen_at = max(upto, start + 1)
            while step < len(positions) and positions[step] <= seen_at:
                overlap += passed[step]
                step += 1
            if seen_at < full and overlap + file.before(seen_at) > most:
                at, overlap = seen_at, 0
                break
        if at >= n:
            return cuts
        cuts.append(at)
        start = at
