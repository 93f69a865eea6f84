"""Subcompactions: the parts of a compaction that run in parallel (behaviour/compaction-jobs.md, Subcompactions).

Source: CompactionJob::GenSubcompactionBoundaries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.models.version import Version
from numpy.typing import NDArray

ANCHORS: Final = 128
"""Maximum number of anchors per table (kMaxNumAnchors in BlockBasedTable::ApproximateKeyAnchors)."""
FILL: Final = 4.0 / 5
"""Smallest expected output size as a share of the target size (min_file_fill_percent, up to 7.5)."""

Inputs = Sequence[tuple[int, Sequence[SortedFile]]]


def subcompaction_cuts(
    inputs: Inputs, keys: KeyArray, max_subcompactions: int, target_file_bytes: int, version: Version
) -> list[int]:
    """Ascending positions in `keys`, the merged keys of the job, at which the next part begins; empty = one part.

    Only jobs from L0 to a deeper level split. `inputs` is `Compaction.inputs` with the output level last.
    """
    bounds = subcompaction_keys(inputs, max_subcompactions, target_file_bytes, version)
    positions = sorted({int(keys.searchsorted(key, side="left")) for key in bounds})
    return [p for p in positions if 0 < p < len(keys)]


def subcompaction_keys(
    inputs: Inputs, max_subcompactions: int, target_file_bytes: int, version: Version
) -> list[int]:
    """Smallest possible key of each part but the first."""
    if max_subcompactions <= 1 or inputs[0][0] != 0:
        return []
    if version >= (7, 6):
        bounds = _by_anchors(inputs, max_subcompactions, target_file_bytes)
        return [] if len(bounds) == 1 and version < (8, 4) else bounds  # 7.6 to 8.3 run a job of two parts as one
    if len(inputs) == 1 and version < (7, 5):
        return []  # Compaction::IsOutputLevelEmpty; in the LOGs of 6.4 no L0 job without L1 files splits
    return _by_file_bounds(inputs, max_subcompactions, target_file_bytes)


def _by_anchors(inputs: Inputs, most: int, target_file_bytes: int) -> list[int]:
    """Cut where the sizes before the anchors of all files add up to the next multiple of a part's size (7.6+).

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


def _by_file_bounds(inputs: Inputs, most: int, target_file_bytes: int) -> list[int]:
    """Group the ranges between file bounds until each group has the mean size (5.7 to 7.5)."""
    ends: set[int] = set()
    for level, files in inputs:
        if level == 0:
            ends.update(f.lo for f in files)
            ends.update(f.hi for f in files)
        elif files:
            ends.update(f.lo for f in files)
            ends.add(files[-1].hi)
    bounds = np.array(sorted(ends), dtype=np.int64)
    sizes = np.diff(_bytes_before(inputs, bounds))
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
