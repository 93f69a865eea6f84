"""A store that was filled before the run: its keys settled into levels."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from lsmlab.models.policies.optional import DividesLevels, SettlesElsewhere
from lsmlab.models.sums import float_sum
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.merge import MergedStream
from lsmlab.models.workloads.base import Workload
from lsmlab.sim.store.column_family import ColumnFamily

_FULLNESS: Final = 0.9
"""How full upper levels of a settled store are, as a share of their targets: between just compacted and just due."""


def settled_tree(
    family: ColumnFamily, workload: Workload, sample: KeySample, rng: np.random.Generator
) -> list[tuple[int, list[SortedFile]]]:
    """Files per level of a store that holds the workload's preloaded keys once each, with no compaction due.

    The deepest level in use takes what the levels above, filled to 90 % of their targets, do not hold; which keys lie
    where is random, as after a load in random order.
    """
    keys = workload.preloaded(sample)
    if not len(keys):
        return []
    stream, entries = family.content.stream(keys, None)
    total = family.content.file_bytes(float(entries[-1]), float(stream.cumulative_bytes[-1]))
    sizes = _level_sizes(family, total)
    shares = np.array([size for _, size in sizes], dtype=np.float64)
    place = rng.choice(len(sizes), size=len(keys), p=shares / shares.sum()) if len(sizes) > 1 else np.zeros(len(keys), int)
    return [
        (level, _files(family, keys[place == i], level)) for i, (level, _) in enumerate(sizes) if bool((place == i).any())
    ]


def _level_sizes(family: ColumnFamily, total_bytes: float) -> list[tuple[int, float]]:
    """(level, bytes) from shallow to deep."""
    options, picker = family.options, family.latest_options.picker
    last = options.num_levels - 1
    if last < 1:
        return [(0, total_bytes)]
    if isinstance(picker, SettlesElsewhere):
        return [(picker.settled_level(family.tree, total_bytes), total_bytes)]
    targets = list(picker.level_targets(family.tree))
    if options.level_compaction_dynamic_level_bytes or not all(map(math.isfinite, targets[1:])):
        return _from_the_last_level(family, total_bytes)
    sizes, left = [], total_bytes
    for level in range(1, last + 1):
        if left <= targets[level] or level == last:
            sizes.append((level, left))
            break
        sizes.append((level, targets[level] * _FULLNESS))
        left -= targets[level] * _FULLNESS
    return sizes


def _from_the_last_level(family: ColumnFamily, total_bytes: float) -> list[tuple[int, float]]:
    """Dynamic levels: the last holds most, each one above it a share.

    See (behaviour/leveled-compaction.md, Dynamic targets).
    """
    options = family.options
    base, multiplier, last = options.max_bytes_for_level_base, options.max_bytes_for_level_multiplier, options.num_levels - 1
    size, first = total_bytes, last
    while first > 1 and size > base:
        size, first = size / multiplier, first - 1
    upper = [(level, min(size, base) * multiplier ** (level - first) * _FULLNESS) for level in range(first, last)]
    return [*upper, (last, max(total_bytes - float_sum(b for _, b in upper), 0.5 * total_bytes))]


def _files(family: ColumnFamily, keys: KeyArray, level: int) -> list[SortedFile]:
    stream, entries = family.content.stream(keys, None)
    target = family.latest_options.target_file_bytes(family.tree, level)
    cuts = set(_even_cuts(stream, target))
    picker = family.latest_options.picker
    if isinstance(picker, DividesLevels):
        borders = picker.borders(keys, float(entries[-1]) / len(keys), level)
        cuts |= {i for i in keys.searchsorted(borders).tolist() if 0 < i < len(keys)}
    return family.content.files(stream, entries, None, sorted(cuts), family.database.file_numbers, 0.0)


def _even_cuts(stream: MergedStream, target_bytes: int) -> list[int]:
    data = stream.cumulative_bytes
    bounds = np.arange(target_bytes, float(data[-1]), target_bytes)
    return [int(i) for i in np.unique(np.searchsorted(data, bounds)) if 0 < i < len(stream.keys)]
