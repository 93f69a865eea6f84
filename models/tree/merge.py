"""K-way merge of sorted runs: the newest version of each key stays (behaviour/compaction-jobs.md, Dropped entries)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from lsmlab.models.tree.files import NO_KEYS, KeyArray, KeyRange, SortedFile
from lsmlab.models.tree.tree import Tree
from numpy.typing import NDArray

Tombstones = NDArray[np.bool_] | None


class MergedStream(NamedTuple):
    """Output of a job's k-way merge: its distinct keys, and the cumulative size of the entries before each."""

    keys: KeyArray
    """Ascending. Shape (n,)."""
    cumulative_bytes: NDArray[np.float64]
    """Data bytes of the first i entries; in an exact run, of the blocks complete at that point. Shape (n + 1,)."""


def unique_sorted(keys: KeyArray, *, of_runs: bool = False) -> KeyArray:
    """Distinct values of `keys` in ascending order. `keys` is sorted in place.

    `of_runs`: `keys` are sorted runs, one after the other. Timsort merges runs in a fifth of the time of a quicksort, but
    takes twice its time for keys in random order.
    """
    if len(keys) < 2:
        return keys
    keys.sort(kind="stable" if of_runs else "quicksort")
    return keys[first_of_equal(keys)]


def first_of_equal(keys: KeyArray) -> NDArray[np.bool_]:
    """Return the mask of the first of equal keys among sorted ones."""
    keep = np.empty(len(keys), dtype=np.bool_)
    keep[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=keep[1:])
    return keep


def merge_runs(
    runs: Sequence[tuple[KeyArray, Tombstones]], *, single_deletes: bool = False
) -> tuple[KeyArray, Tombstones]:  # fmt: skip
    """Merge sorted runs, newest first; of equal keys the newest stays, put or tombstone.

    `single_deletes`: tombstones go together with the put that they meet (SingleDelete).
    """
    runs = [run for run in runs if len(run[0])]
    if not runs:
        return NO_KEYS, None
    if len(runs) == 1:
        return runs[0]
    keys = np.concatenate([k for k, _ in runs])
    if all(t is None for _, t in runs):
        return unique_sorted(keys, of_runs=True), None
    flags = np.concatenate([np.zeros(len(k), dtype=np.bool_) if t is None else t for k, t in runs])
    order = keys.argsort(kind="stable")  # stable: among equal keys the newest run's comes first
    keys, flags = keys[order], flags[order]
    keep = first_of_equal(keys)
    if single_deletes:
        keep &= ~(flags & np.isin(keys, keys[~flags]))  # of two tombstones in a row the first is skipped
    keys, flags = keys[keep], flags[keep]
    return keys, (flags if flags.any() else None)


def uncovered(keys: KeyArray, tombstones: Tombstones, ranges: Sequence[KeyRange]) -> tuple[KeyArray, Tombstones]:
    """Return the entries that no one of the newer `ranges` deletes."""
    if not ranges:
        return keys, tombstones
    keep = np.ones(len(keys), dtype=np.bool_)
    for one in ranges:
        start, end = keys.searchsorted((one.lo, one.hi + 1)).tolist()
        keep[start:end] = False
    return keys[keep], None if tombstones is None else tombstones[keep]


def merge_files(
    inputs: Sequence[tuple[int, Sequence[SortedFile]]], *, single_deletes: bool = False
) -> tuple[KeyArray, Tombstones]:  # fmt: skip
    """Merge the inputs of a job, (level, files) newest first; the slices of a file are newer than its own keys.

    `single_deletes`: as for `merge_runs`.
    """
    runs: list[tuple[KeyArray, Tombstones]] = []
    ranges: list[KeyRange] = []
    for _, files in inputs:
        for file in files:
            if file.slices:
                runs += [(s.keys, s.tombstones) for s in reversed(file.slices)]
            run = file.keys, file.tombstones
            runs.append(uncovered(*run, ranges) if ranges else run)
            if file.ranges:
                ranges += file.ranges
    return merge_runs(runs, single_deletes=single_deletes)


def live_keys(files: Sequence[SortedFile], most_keys: int = 1 << 18) -> Iterator[KeyArray]:
    """Merge all files, newest first, and yield the keys that a read finds, in ascending order and in several parts.

    A part merges about `most_keys` keys of the files, so that the memory does not grow with the store.
    """
    lows, highs = (np.array(ends, dtype=np.int64) for ends in ([f.lo for f in files], [f.hi for f in files]))
    sizes = np.array([len(f.keys) for f in files], dtype=np.int64)
    order = lows.argsort(kind="stable")
    places = np.cumsum(sizes[order]).searchsorted(np.arange(most_keys, int(sizes.sum()), most_keys))
    bounds = [None, *sorted(set(lows[order[places]].tolist())), None]
    for start, end in itertools.pairwise(bounds):
        here = np.ones(len(files), dtype=np.bool_)
        if start is not None:
            here &= highs >= start
        if end is not None:
            here &= lows < end
        runs: list[tuple[KeyArray, Tombstones]] = []
        ranges: list[KeyRange] = []
        for i in np.flatnonzero(here).tolist():
            runs.append(uncovered(*_between(files[i], start, end), ranges))
            ranges += files[i].ranges
        keys, tombstones = merge_runs(runs)
        yield keys if tombstones is None else keys[~tombstones]


def _between(file: SortedFile, start: int | None, end: int | None) -> tuple[KeyArray, Tombstones]:
    """Return the keys of a file from `start` up to but not including `end`; None: from the first, to the last."""
    if (start is None or start <= file.lo) and (end is None or file.hi < end):
        return file.keys, file.tombstones
    part = slice(
        None if start is None else int(file.keys.searchsorted(start)),
        None if end is None else int(file.keys.searchsorted(end)),
    )
    return file.keys[part], None if file.tombstones is None else file.tombstones[part]


def without_dead_tombstones(
    keys: KeyArray, tombstones: Tombstones, tree: Tree, output_level: int, inputs: Sequence[SortedFile]
) -> tuple[KeyArray, Tombstones]:
    """Drop tombstones whose key is in the range of no other file of the output level or below (`held_elsewhere`).

    Intra-L0 outputs keep their tombstones (`CompactionIterator`, KeyNotExistsBeyondOutputLevel).
    """
    if tombstones is None or output_level == 0:
        return keys, tombstones
    keep = ~tombstones | held_elsewhere(keys, tree, output_level, inputs)
    keys, tombstones = keys[keep], tombstones[keep]
    return keys, (tombstones if tombstones.any() else None)


def held_elsewhere(keys: KeyArray, tree: Tree, output_level: int, inputs: Sequence[SortedFile]) -> NDArray[np.bool_]:
    """Return the mask of the keys that are in the range of a file of the output level or below, beside the job's own `inputs`."""
    held = np.zeros(len(keys), dtype=np.bool_)
    own = set(map(id, inputs))
    for number in range(output_level, tree.num_levels):
        for run in tree.runs(number):
            place = run.hi.searchsorted(keys, side="left")
            inside = place < len(run)
            inside[inside] = run.lo[place[inside]] <= keys[inside]
            if number == output_level and inside.any():
                first, last = place[inside][[0, -1]].tolist()
                foreign = np.array([id(f) not in own for f in run.files[first : last + 1]])
                inside[inside] = foreign[place[inside] - first]
            held |= inside
    for file in tree.frozen.values():
        held |= (keys >= file.lo) & (keys <= file.hi)
    return held
