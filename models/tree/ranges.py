"""Range tombstones: their parts in output files, and the bytes that they cover. The merge drops what they delete."""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.models.tree.files import KeyRange, SortedFile
from lsmlab.models.tree.tree import Tree


def joined(ranges: Sequence[KeyRange]) -> list[KeyRange]:
    """Return the union of ranges as disjoint ones, ascending."""
    found: list[KeyRange] = []
    for one in sorted(ranges, key=lambda r: r.lo):
        if found and one.lo <= found[-1].hi + 1:
            found[-1] = KeyRange(found[-1].lo, max(found[-1].hi, one.hi))
        else:
            found.append(one)
    return found


def clipped(ranges: Sequence[KeyRange], lo: int, hi: int) -> tuple[KeyRange, ...]:
    """Return the parts of ranges within [lo, hi]."""
    return tuple(KeyRange(max(r.lo, lo), min(r.hi, hi)) for r in ranges if r.lo <= hi and r.hi >= lo)


def divide(ranges: Sequence[KeyRange], files: Sequence[SortedFile]) -> None:
    """Give each of the new files of one job its part of the `ranges`, and extend its bounds to it (AddRangeDels).

    `files` in key order: the first one takes what is before it, each one what is between it and the next.
    """
    if not ranges:
        return
    least, most = min(r.lo for r in ranges), max(r.hi for r in ranges)
    starts = [min(least, files[0].lo), *(f.lo for f in files[1:])]
    ends = [*(f.lo - 1 for f in files[1:]), max(most, files[-1].hi)]
    for file, start, end in zip(files, starts, ends, strict=True):
        file.ranges = clipped(ranges, start, end)
        file.lo = min(file.lo, *(r.lo for r in file.ranges), file.lo)
        file.hi = max(file.hi, *(r.hi for r in file.ranges), file.hi)


def bottommost(tree: Tree, level: int, lo: int, hi: int) -> bool:
    """Return whether no file below a level has keys in [lo, hi]."""
    for below in range(level + 1, tree.num_levels):
        for run in tree.runs(below):
            i, j = run.overlapping(lo, hi)
            if j > i:
                return False
    return True


def covered_bytes(tree: Tree, ranges: Sequence[KeyRange], from_level: int) -> int:
    """Return the bytes of the files of `from_level` and below whose keys are in the ranges (VersionSet::ApproximateSize)."""
    total = 0.0
    for level in range(from_level, tree.num_levels):
        for file in tree.files_of(level):
            for one in ranges:
                if one.lo <= file.hi and one.hi >= file.lo:
                    total += file.size_bytes * _share(file, one)
    return round(total)


def _share(file: SortedFile, one: KeyRange) -> float:
    if len(file.keys):
        start, end = file.keys.searchsorted((one.lo, one.hi + 1)).tolist()
        return float(end - start) / len(file.keys)
    return (min(one.hi, file.hi) - max(one.lo, file.lo) + 1) / (file.hi - file.lo + 1)
