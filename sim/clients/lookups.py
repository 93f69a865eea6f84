"""Lookups in the order of `Version::Get`, and the sorted runs that a scan merges.

See (behaviour/reads.md, Lookups).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from lsmlab.models.sums import float_sum
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.workloads.reads import TableClass
from lsmlab.sim.store.column_family import ColumnFamily
from numpy.typing import NDArray

Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lookups:
    """Averages over a sample of lookups."""

    runs: float
    """Sorted runs whose range contains the key, up to the run that has it."""
    found: float
    """Share of lookups that find the key in a file."""
    in_memory: float
    """Share of lookups that find the key in a memtable."""
    in_wal: float = 0.0
    """Share of lookups that find a WAL offset in an L0 file: one more read gets the value from the WAL."""
    searched: Sequence[TableClass] = ()
    """Tables whose filter or index was searched."""


def look_up(family: ColumnFamily, codes: KeyArray) -> Lookups:
    """Look up sorted key codes in the memtables and files of a family, newest first."""
    missing = np.ones(len(codes), dtype=np.bool_)
    in_wal = 0
    missing &= ~_contains(family.memtables.kept_hot_keys.keys, codes)
    for memtable in reversed(family.immutables):
        missing &= ~_contains(memtable.keys, codes)
    in_memory = len(codes) - int(missing.sum())
    n, probed = len(codes), []
    for file in family.tree.l0:
        covered = missing & (codes >= file.lo) & (codes <= file.hi)
        here = covered & _contains(file.keys, codes)
        probed.append(TableClass(1, int(covered.sum()) / n, int(here.sum()) / n, file.size_bytes))
        missing &= ~here
        in_wal += int(here.sum()) if file.wal_bytes else 0
    in_slices = found_in_slices = 0
    for level in range(1, family.tree.num_levels):
        for run in family.tree.runs(level):
            if family.tree.frozen:
                left = int(missing.sum())
                in_slices += _look_in_slices(run, codes, missing)
                found_in_slices += left - int(missing.sum())
            left = int(missing.sum())
            searched = _look_in(run, codes, missing)
            if len(run):
                probed.append(TableClass(len(run), searched / n, (left - int(missing.sum())) / n, run.size_bytes))
    if frozen := family.tree.frozen:
        size_bytes = sum(file.size_bytes for file in frozen.values())
        probed.append(TableClass(len(frozen), in_slices / n, found_in_slices / n, size_bytes))
    runs = float_sum(group.per_read for group in probed)
    return Lookups(runs, (n - in_memory - int(missing.sum())) / n, in_memory / n, in_wal / n, probed)


class Runs(NamedTuple):
    """Sorted runs of one size that a scan merges."""

    size_bytes: float
    """Size of one run."""
    number: float
    tables: float
    """Tables of all of these runs."""
    table_bytes: float
    """Bytes of these tables."""


def scan_runs(tree: Tree) -> list[Runs]:
    """Sorted runs that a scan merges: L0 files, runs of deeper levels, and the slices of an average file of a run."""
    runs = [run for level in range(1, tree.num_levels) for run in tree.runs(level)]
    found = [Runs(float(f.size_bytes), 1.0, 1.0, float(f.size_bytes)) for f in tree.l0]
    found += [Runs(float(run.size_bytes), 1.0, float(len(run)), float(run.size_bytes)) for run in runs]
    linked = [(len(run), [s.size_bytes for f in run for s in f.slices]) for run in runs] if tree.frozen else []
    total = sum(len(slices) for _, slices in linked)
    frozen_bytes = sum(file.size_bytes for file in tree.frozen.values())
    for files, slices in linked:
        if slices:  # as many overlapping runs as a file has slices; together the slices span the run
            beside = len(slices) / files
            part = len(slices) / total
            found.append(Runs(float_sum(slices) / beside, beside, len(tree.frozen) * part, frozen_bytes * part))
    return found


def _look_in_slices(run: Level, codes: KeyArray, missing: Marks) -> int:
    """Look up the `missing` codes in the slices of their files, newest first; return the number of probes."""
    wanted = np.flatnonzero(missing)
    place = np.minimum(run.hi.searchsorted(codes[wanted], side="left"), len(run) - 1)
    probed = 0
    for index, at in zip(wanted.tolist(), place.tolist(), strict=True):
        code = codes[index]
        for part in reversed(run.files[at].slices):
            if part.lo <= code <= part.hi:
                probed += 1
                position = int(part.keys.searchsorted(code))
                if part.keys[position] == code:
                    missing[index] = False
                    break
    return probed


def _look_in(run: Level, codes: KeyArray, missing: Marks) -> int:
    """Look up the sorted `codes` that are still `missing` in the files of a run; return the number of probes."""
    wanted = np.flatnonzero(missing)
    place = run.hi.searchsorted(codes[wanted], side="left")
    inside = place < len(run)
    inside[inside] = run.lo[place[inside]] <= codes[wanted][inside]
    wanted, place, files = wanted[inside], place[inside], run.files
    for index, at, code in zip(wanted.tolist(), place.tolist(), codes[wanted].tolist(), strict=True):
        keys = files[at].keys.data  # one key is found faster in a buffer of numbers than by searchsorted
        position = bisect_left(keys, code)
        if position < len(keys) and keys[position] == code:
            missing[index] = False
    return len(wanted)


def _contains(keys: KeyArray, codes: KeyArray) -> Marks:
    if not len(keys):
        return np.zeros(len(codes), dtype=np.bool_)
    at = np.minimum(keys.searchsorted(codes), len(keys) - 1)
    result: Marks = keys[at] == codes
    return result
