"""Subcompactions: the parts of a compaction that run in parallel (behaviour/compaction-jobs.md, Subcompactions).

Sources: Compaction::ShouldFormSubcompactions, CompactionJob::GenSubcompactionBoundaries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.models import since
from lsmlab.models.options.fields import CompactionPri, CompactionStyle, RocksDbOptions
from lsmlab.models.policies.decisions import Compaction
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.models.version import Version
from numpy.typing import NDArray

MANUAL: Final = "ManualCompaction"
"""Reason of manual compactions, which split at every level (`is_manual_compaction_`)."""
ANCHORS: Final = 128
"""Maximum number of anchors per table (kMaxNumAnchors in BlockBasedTable::ApproximateKeyAnchors)."""
FILL: Final = 4.0 / 5
"""Smallest expected output size as a share of the target size (min_file_fill_percent), without anchors."""

Inputs = Sequence[tuple[int, Sequence[SortedFile]]]


def planned_parts(options: RocksDbOptions, pick: Compaction, version: Version, free_slots: int) -> int:
    """Return the largest number of parts of a job; 1 = no split.

    `free_slots`: compactions that could start now; with kRoundRobin further parts take them.
    """
    most, files = options.max_subcompactions, len(pick.inputs[0][1])
    if pick.output_level == 0:
        return 1
    if options.compaction_style is CompactionStyle.UNIVERSAL:
        return most
    if options.compaction_pri is CompactionPri.ROUND_ROBIN and version >= since.ROUND_ROBIN_PARTS:
        return max(most, min(files, most + free_slots))
    if pick.start_level > 0:
        return most if pick.reason == MANUAL else 1
    output_is_empty = pick.inputs[-1][0] != pick.output_level  # in the LOGs of 6.4 no such job splits
    return 1 if output_is_empty and version < since.PARTS_WITHOUT_OUTPUT_FILES else most


def subcompaction_cuts(pick: Compaction, keys: KeyArray, most: int, target_file_bytes: int, version: Version) -> list[int]:
    """Ascending positions in `keys`, the merged keys of the job, at which the next part begins; empty = one part.

    `most`: `planned_parts`.
    """
    bounds = subcompaction_keys(pick, most, target_file_bytes, version)
    positions = sorted({int(keys.searchsorted(key, side="left")) for key in bounds})
    return [p for p in positions if 0 < p < len(keys)]


def subcompaction_keys(pick: Compaction, most: int, target_file_bytes: int, version: Version) -> list[int]:
    """Smallest possible key of each part but the first."""
    if most <= 1:
        return []
    if version < since.PARTS_BY_ANCHORS:
        return _by_file_bounds(pick, most, target_file_bytes)
    bounds = _by_anchors(pick.inputs, most, target_file_bytes)
    return [] if len(bounds) == 1 and version < since.TWO_PARTS else bounds


def _by_anchors(inputs: Inputs, most: int, target_file_bytes: int) -> list[int]:
    """Cut where the sizes before the anchors of all files add up to the next multiple of a part's size.

    RocksDB drops one of two equal anchors together with its size. Real files hardly ever have equal anchors, but
    sampled files do, because they draw from one sample; so here the sizes of equal anchors add up.
    """
    files = [f for _, level in inputs for f in level]
    anchors = [_anchors(f) for f in files]
    sizes = np.concatenate([np.full(len(a), f.size_bytes / len(a)) for a, f in zip(anchors, files, strict=True)])
    total = sum(f.size_bytes for f in files)
    part = max(total // most, target_file_bytes)
    if part >= total:
        return []
    keys, place = np.unique(np.concatenate(anchors), return_inverse=True)
    before = np.cumsum(np.bincount(place, weights=sizes))
    bounds: list[int] = []
    threshold, at = part, -1
    while len(bounds) + 1 < most:
        at = max(at + 1, int(before.searchsorted(threshold, side="right")))
        if at >= len(keys):
            break
        bounds.append(int(keys[at]))
        threshold += part
    return bounds


def _anchors(file: SortedFile) -> NDArray[np.int64]:
    """Keys that divide the file evenly, the last key included; evenly spaced between the bounds of a file without keys."""
    n = len(file.keys)
    if n == 0:
        return np.linspace(file.lo, file.hi, ANCHORS + 1)[1:].astype(np.int64)
    count = min(n, ANCHORS)
    return file.keys[(np.arange(1, count + 1) * n) // count - 1]


def _by_file_bounds(pick: Compaction, most: int, target_file_bytes: int) -> list[int]:
    """Group the ranges between file bounds until each group has the mean size.

    Bounds are both ends of L0 files and of deeper levels, and the first keys of the files of the output level.
    """
    ends: set[int] = set()
    for level, files in pick.inputs:
        if level == 0:
            ends.update(f.lo for f in files)
            ends.update(f.hi for f in files)
        elif files:
            ends.update((files[0].lo, files[-1].hi))
            if level == pick.output_level:
                ends.update(f.lo for f in files)
    bounds = np.array(sorted(ends), dtype=np.int64)
    sizes = np.diff(_bytes_before(pick.inputs, bounds))
    total = float(sizes.sum())
    parts = min(len(sizes), most, math.ceil(total / FILL / target_file_bytes))
    if parts <= 1:
        return []
    mean, group = total / parts, 0.0
    chosen: list[int] = []
    for i, size in enumerate(sizes[:-1].tolist()):
        group += size
        if group >= mean and len(chosen) + 1 < parts:
            chosen.append(int(bounds[i + 1]))
            group = 0.0
    return chosen


def _bytes_before(inputs: Inputs, bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Approximate bytes of the inputs before each of `bounds` (ApproximateSize)."""
    before = np.zeros(len(bounds))
    for _, files in inputs:
        for file in files:
            n = len(file.keys)
            if n:
                share = file.keys.searchsorted(bounds, side="left") / n
            else:
                share = np.clip((bounds - file.lo) / max(file.hi - file.lo, 1), 0.0, 1.0)
            before += share * file.size_bytes
    return before
