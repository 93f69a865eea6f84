"""Preload: a tree with the preloaded keys of a workload, built without a simulation; runs of a sweep share equal trees."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from itertools import repeat
from typing import Final

import numpy as np
from lsmlab.models.tree.files import BlobNumbers, KeyArray, SortedFile
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.merge import MergedStream
from lsmlab.models.workloads.base import Workload
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.jobs.blobs import blobs_of_preload

Levels = list[tuple[int, list[SortedFile]]]
"""(level, files) of a tree, files in key order."""
_MOST_KEYS: Final = 1 << 23
"""Sampled keys of all trees that a process keeps: 64 MiB, a store of 1 TB."""


class KeptTrees:
    """Trees by what determines them. A tree is kept from its second use on, so a process with one run keeps none."""

    def __init__(self, most_keys: int = _MOST_KEYS) -> None:
        self._most_keys = most_keys
        self._seen: set[Hashable] = set()
        """Hashes of what determines the trees that were built once."""
        self._trees: dict[Hashable, Levels] = {}
        self._keys = 0

    def __len__(self) -> int:
        return len(self._trees)

    def find(self, known: Hashable, numbers: Iterator[int]) -> Levels | None:
        """Return a kept tree with new files, whose numbers come from `numbers`; None if the process has not kept it."""
        levels = self._trees.get(known)
        return None if levels is None else _copies(levels, numbers)

    def add(self, known: Hashable, levels: Levels) -> None:
        """Keep a tree that was built before, in place of the oldest ones; its arrays of keys become read-only."""
        if hash(known) not in self._seen:
            self._seen.add(hash(known))
            return
        keys = _count(levels)
        if keys > self._most_keys:
            return
        while self._keys + keys > self._most_keys:
            self._keys -= _count(self._trees.pop(next(iter(self._trees))))
        for _, files in levels:
            for file in files:
                file.keys.setflags(write=False)
        self._trees[known] = _copies(levels, repeat(0))
        self._keys += keys


def _count(levels: Levels) -> int:
    return sum(len(file.keys) for _, files in levels for file in files)


def _copies(levels: Sequence[tuple[int, Sequence[SortedFile]]], numbers: Iterator[int]) -> Levels:
    return [
        (
            level,
            [
                SortedFile(
                    next(numbers), f.lo, f.hi, f.size_bytes, f.entries, f.keys, created_s=f.created_s, table_format=f.table_format
                )
                for f in files
            ],
        )
        for level, files in levels
    ]


_FULLNESS: Final = 0.9
"""Size of the upper levels of a settled tree as a share of their level targets: a compaction starts at 1."""
_TREES: Final = KeptTrees()


def settled_tree(
    family: ColumnFamily, workload: Workload, sample: KeySample, rng: np.random.Generator
) -> list[tuple[int, list[SortedFile]]]:
    """Return (level, files) of a tree that contains each preloaded key once, with no compaction due.

    Upper levels are filled to 90 % of their targets; the deepest level in use holds the rest. Keys are assigned to levels
    at random, as after a load in random order. Runs of one process share the keys of equal trees.
    """
    count = sample.count(workload.shard().preload_keys)
    if not count:
        return []
    total = family.content.bytes_of(count)
    picker = family.latest_options.picker
    if total is None or picker.divides_levels or not isinstance(sample.order, Hashable):
        keys = workload.preloaded(sample)
        return _tree(family, keys, _level_sizes(family, family.content.total_bytes([keys])), rng)
    sizes = _level_sizes(family, total)
    known = _known(family, sample, count, sizes, rng)
    tree = _TREES.find(known, family.database.file_numbers)
    if tree is None:
        tree = _tree(family, workload.preloaded(sample), sizes, rng)
        _TREES.add(known, tree)
    return tree


def _tree(
    family: ColumnFamily, keys: KeyArray, sizes: list[tuple[int, float]], rng: np.random.Generator
) -> list[tuple[int, list[SortedFile]]]:
    shares = np.array([size for _, size in sizes], dtype=np.float64)
    place = rng.choice(len(sizes), size=len(keys), p=shares / shares.sum()) if len(sizes) > 1 else np.zeros(len(keys), int)
    parts = [keys[place == i] for i in range(len(sizes))]
    levels = [(level, part) for (level, _), part in zip(sizes, parts, strict=True) if len(part)]
    blobs = {level: blobs_of_preload(family, part, level, rng) for level, part in reversed(levels)}  # the deepest are the oldest
    return [(level, _files(family, part, level, blobs[level])) for level, part in levels]


def _known(
    family: ColumnFamily, sample: KeySample, keys: int, sizes: list[tuple[int, float]], rng: np.random.Generator
) -> Hashable:
    """Return all that determines a settled tree of keys with values of one size."""
    entry, engine = family.content.entry, family.latest_options
    targets = tuple(engine.target_file_bytes(family.tree, level) for level, _ in sizes)
    formats = (entry.put, *((one.tail, one.fixed, one.table_format) for one in family.content.levels))
    of_keys = (sample.population, sample.rate, sample.order, keys, str(rng.bit_generator.state))
    return of_keys, formats, tuple(sizes), targets


def _level_sizes(family: ColumnFamily, total_bytes: float) -> list[tuple[int, float]]:
    """Return (level, bytes) from the shallowest to the deepest level in use."""
    options, picker = family.options, family.latest_options.picker
    last = options.num_levels - 1
    if last < 1:
        return [(0, total_bytes)]
    settled = picker.settled_level(family.tree, total_bytes)
    if settled is not None:
        return [(settled, total_bytes)]
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
    """Return (level, bytes) with dynamic level targets: the last level holds most bytes, each level above a fraction.

    See (behaviour/leveled-compaction.md, Dynamic targets).
    """
    options = family.options
    base, multiplier, last = options.max_bytes_for_level_base, options.max_bytes_for_level_multiplier, options.num_levels - 1
    size, first = total_bytes, last
    while first > 1 and size > base:
        size, first = size / multiplier, first - 1
    upper = [(level, min(size, base) * multiplier ** (level - first) * _FULLNESS) for level in range(first, last)]
    return [*upper, (last, max(total_bytes - sum(b for _, b in upper), 0.5 * total_bytes))]


def _files(family: ColumnFamily, keys: KeyArray, level: int, blobs: BlobNumbers | None) -> list[SortedFile]:
    stream, entries = family.content.stream(keys, None, blobs=blobs)
    target = family.latest_options.target_file_bytes(family.tree, level)
    cuts = set(_even_cuts(stream, target))
    picker = family.latest_options.picker
    if picker.divides_levels:
        borders = picker.borders(keys, float(entries[-1]) / len(keys), level)
        cuts |= {i for i in keys.searchsorted(borders).tolist() if 0 < i < len(keys)}
    return family.content.files(
        stream, entries, None, sorted(cuts), family.database.file_numbers, 0.0, level=level, blobs=blobs
    )


def _even_cuts(stream: MergedStream, target_bytes: int) -> list[int]:
    data = stream.cumulative_bytes
    bounds = np.arange(target_bytes, float(data[-1]), target_bytes)
    return [i for i in dict.fromkeys(data.searchsorted(bounds).tolist()) if 0 < i < len(stream.keys)]
