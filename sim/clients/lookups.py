"""Where reads find what they ask for: lookups by `Version::Get`'s order, and the runs that a scan merges.

See (behaviour/reads.md, Lookups).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.tree import Tree
from lsmlab.models.workloads.reads import Searched
from lsmlab.sim.store.column_family import ColumnFamily
from numpy.typing import NDArray

Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lookups:
    """Averages over sampled lookups."""

    runs: float
    """Sorted runs whose range holds the key, until it was found."""
    found: float
    """Share of lookups that found their key in a file."""
    in_memory: float
    """Share found in a memtable."""
    in_wal: float = 0.0
    """Share found in a file of L0 that holds an offset: the value is one more read away, in the log."""
    searched: Sequence[Searched] = ()
    """Tables that were searched, filters included."""


def look_up(family: ColumnFamily, codes: KeyArray) -> Lookups:
    """Look for sorted codes in a store's memtables and files, newest first."""
    missing = np.ones(len(codes), dtype=np.bool_)
    in_wal = 0
    missing &= ~_contains(family.memtables.kept.keys, codes)
    for memtable in reversed(family.immutables):
        missing &= ~_contains(memtable.keys, codes)
    in_memory = len(codes) - int(missing.sum())
    probed: list[tuple[int, int]] = []  # (tables of a run, how many of them were searched)
    for file in family.tree.l0:
        covered = missing & (codes >= file.lo) & (codes <= file.hi)
        probed.append((1, int(covered.sum())))
        here = covered & _contains(file.keys, codes)
        missing &= ~here
        in_wal += int(here.sum()) if file.wal_bytes else 0
    in_slices = 0
    for level in range(1, family.tree.num_levels):
        for run in family.tree.runs(level):
            if family.tree.frozen:
                in_slices += _look_in_slices(run, codes, missing)
            probed.append((len(run), _look_in(run, codes, missing)))
    probed.append((len(family.tree.frozen), in_slices))
    n = len(codes)
    return Lookups(
        sum(count for _, count in probed) / n, (n - in_memory - int(missing.sum())) / n, in_memory / n, in_wal / n,
        [Searched(tables, count / n) for tables, count in probed if tables],
    )  # fmt: skip


class Runs(NamedTuple):
    """Alike sorted runs that a scan has to merge."""

    size_bytes: float
    """Of one."""
    number: float
    tables: float
    """All together."""


def scan_runs(tree: Tree) -> list[Runs]:
    """What a scan has to merge: files of L0, runs, the slices that a run's average file has."""
    runs = [run for level in range(1, tree.num_levels) for run in tree.runs(level)]
    found = [Runs(float(f.size_bytes), 1.0, 1.0) for f in tree.l0]
    found += [Runs(float(np.sum(run.size)), 1.0, float(len(run))) for run in runs]
    linked = [(len(run), [s.size_bytes for f in run for s in f.slices]) for run in runs] if tree.frozen else []
    total = sum(len(slices) for _, slices in linked)
    for files, slices in linked:
        if slices:  # as many side by side as a file has: together they span the run
            beside = len(slices) / files
            found.append(Runs(sum(slices) / beside, beside, len(tree.frozen) * len(slices) / total))
    return found


def _look_in_slices(run: Level, codes: KeyArray, missing: Marks) -> int:
    """Look for the `codes` still `missing` in the slices of the responsible files, newest first; how many were probed."""
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
    """Look for the sorted `codes` still `missing` in the files of a run; how many were probed."""
    wanted = np.flatnonzero(missing)
    place = run.hi.searchsorted(codes[wanted], side="left")
    inside = place < len(run)
    inside[inside] = run.lo[place[inside]] <= codes[wanted][inside]
    probed = int(inside.sum())
    for index, at in zip(wanted[inside].tolist(), place[inside].tolist(), strict=True):
        keys, code = run.files[at].keys, codes[index]
        position = int(keys.searchsorted(code))
        if position < len(keys) and keys[position] == code:
            missing[index] = False
    return probed


def _contains(keys: KeyArray, codes: KeyArray) -> Marks:
    if not len(keys):
        return np.zeros(len(codes), dtype=np.bool_)
    at = np.minimum(keys.searchsorted(codes), len(keys) - 1)
    result: Marks = keys[at] == codes
    return result
