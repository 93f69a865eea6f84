"""A store that was filled before the run: its keys settled into levels."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from lsmlab.models.policies.decisions import MergedStream
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.workloads.base import Workload
from lsmlab.sim.store import Store

_FULLNESS: Final = 0.9
"""How full upper levels of a settled store are, as a share of their targets: between just compacted and just due."""


def settled_tree(
    store: Store, workload: Workload, sample: KeySample, rng: np.random.Generator
) -> list[tuple[int, list[SortedFile]]]:
    """Files per level of a store that holds the workload's preloaded keys once each, with no compaction due.

    The deepest level in use takes what the levels above, filled to 90 % of their targets, do not hold; which keys lie
    where is random, as after a load in random order.
    """
    keys = workload.preloaded(sample)
    if not len(keys):
        return []
    stream, entries = store.content.stream(keys, None)
    total = store.content.file_bytes(float(entries[-1]), float(stream.cumulative_bytes[-1]))
    sizes = _level_sizes(store, total)
    shares = np.array([size for _, size in sizes], dtype=np.float64)
    place = rng.choice(len(sizes), size=len(keys), p=shares / shares.sum()) if len(sizes) > 1 else np.zeros(len(keys), int)
    return [
        (level, _files(store, keys[place == i], level)) for i, (level, _) in enumerate(sizes) if bool((place == i).any())
    ]


def _level_sizes(store: Store, total_bytes: float) -> list[tuple[int, float]]:
    """(level, bytes) from shallow to deep."""
    options = store.options
    base, multiplier = options.max_bytes_for_level_base, options.max_bytes_for_level_multiplier
    last = options.num_levels - 1
    if last < 1:
        return [(0, total_bytes)]
    targets = store.engine.picker.level_targets(store.tree)
    if len(targets) > last and math.isfinite(targets[1]):  # targets of the picker's own, which no data can change
        return _filled([(level, float(targets[level])) for level in range(1, last + 1)], total_bytes)
    if options.level_compaction_dynamic_level_bytes:
        size, first = total_bytes, last
        while first > 1 and size > base:
            size, first = size / multiplier, first - 1
        upper = [(level, min(size, base) * multiplier ** (level - first) * _FULLNESS) for level in range(first, last)]
        return [*upper, (last, max(total_bytes - sum(b for _, b in upper), 0.5 * total_bytes))]
    return _filled([(level, base * multiplier ** (level - 1)) for level in range(1, last + 1)], total_bytes)


def _filled(targets: list[tuple[int, float]], total_bytes: float) -> list[tuple[int, float]]:
    """(level, bytes): each level of (level, target) takes its share, the first that can takes the rest."""
    sizes, left = [], total_bytes
    for level, target in targets:
        if left <= target or level == targets[-1][0]:
            sizes.append((level, left))
            break
        sizes.append((level, target * _FULLNESS))
        left -= target * _FULLNESS
    return sizes


def _files(store: Store, keys: KeyArray, level: int) -> list[SortedFile]:
    stream, entries = store.content.stream(keys, None)
    target = store.engine.target_file_bytes(store.tree, level)
    cuts = _even_cuts(stream, target)
    return store.content.files(stream, entries, None, cuts, store.file_numbers, 0.0)


def _even_cuts(stream: MergedStream, target_bytes: int) -> list[int]:
    data = stream.cumulative_bytes
    bounds = np.arange(target_bytes, float(data[-1]), target_bytes)
    return [int(i) for i in np.unique(np.searchsorted(data, bounds)) if 0 < i < len(stream.keys)]
