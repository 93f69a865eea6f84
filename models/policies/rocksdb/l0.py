"""RocksDB's rules for level 0: overlaps, moves, intra-L0 compactions (behaviour/leveled-compaction.md, L0 compactions)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from lsmlab.models.policies.rocksdb.levels import multiply
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level

MIN_INTRA_L0_FILES: Final = 4
"""Minimum number of files of a cost-based intra-L0 compaction (kMinFilesForIntraL0Compaction)."""


def closure(l0: Sequence[SortedFile], lo: int, hi: int) -> list[SortedFile]:
    """Return all L0 files that overlap [lo, hi] directly or through others, newest first (GetOverlappingInputs)."""
    chosen = [False] * len(l0)
    grown = True
    while grown:
        grown = False
        for i, file in enumerate(l0):
            if not chosen[i] and file.hi >= lo and file.lo <= hi:
                chosen[i] = grown = True
                lo, hi = min(lo, file.lo), max(hi, file.hi)
    return [file for file, taken in zip(l0, chosen, strict=True) if taken]


def disjoint(files: Sequence[SortedFile]) -> bool:
    """Return whether no two files overlap (GenerateLevel0NonOverlapping)."""
    ordered = sorted(files, key=lambda f: f.lo)
    return all(left.hi < right.lo for left, right in pairwise(ordered))


def movable(l0: Sequence[SortedFile], output: Level) -> list[SortedFile]:
    """Files that can move to `output` trivially: from the oldest on, in key order (TryPickL0TrivialMove, 7.5+).

    The range of each file must be before or after that of all files taken before, and the output level must have no
    file in their common range.
    """
    taken: list[SortedFile] = []
    if not len(output):
        return taken
    lo = hi = 0
    for file in reversed(l0):
        if not taken:
            lo, hi = file.lo, file.hi
        elif file.hi < lo:
            lo = file.lo
        elif file.lo > hi:
            hi = file.hi
        else:
            break
        i, j = output.overlapping(lo, hi)
        if j > i or file.busy:
            break
        taken.append(file)
    return sorted(taken, key=lambda f: f.lo)


def cost_based(l0: Sequence[SortedFile], trigger: int, max_bytes: int | None) -> list[SortedFile]:
    """Newest L0 files to compact into one while an L0 to base compaction is blocked (FindIntraL0Compaction).

    Adds files while the bytes per removed file do not rise. `max_bytes` limits their compensated sum; None is no
    limit.
    """
    if len(l0) < trigger + 2 or l0[0].busy:
        return []
    total, compensated = l0[0].size_bytes, l0[0].compensated_bytes
    previous: int | None = None
    end = 1
    for end in range(1, len(l0)):
        total += l0[end].size_bytes
        compensated += l0[end].compensated_bytes
        per_file = total // end
        if l0[end].busy or (previous is not None and per_file > previous):
            break
        if max_bytes is not None and compensated > max_bytes:
            break
        previous = per_file
    else:
        end = len(l0)
    return list(l0[:end]) if end >= MIN_INTRA_L0_FILES else []


def size_based(l0: Sequence[SortedFile], trigger: int, base: Level, multiplier: float) -> list[SortedFile]:
    """Newest free L0 files to compact while L0 is small against the base level (PickSizeBasedIntraL0Compaction, 9.0+)."""
    fewest = max(2, trigger)
    if len(l0) < fewest:
        return []
    l0_bytes = sum(f.compensated_bytes for f in l0)
    if base.size_bytes <= multiply(l0_bytes, 2 * max(10.0, multiplier)):
        return []
    taken: list[SortedFile] = []
    for file in l0:
        if file.busy:
            break
        taken.append(file)
    return taken if len(taken) >= fewest else []
