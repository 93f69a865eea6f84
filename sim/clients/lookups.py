"""Lookups in the order of `Version::Get`, and the sorted runs that a scan merges.

See (behaviour/reads.md, Lookups).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from lsmlab.models.tree.files import KeyArray, KeyRange, SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.models.tree.tree import Tree
from lsmlab.models.workloads.reads import NO_LEVEL, TableClass, false_positive_rate
from lsmlab.sim.store.column_family import ColumnFamily
from numpy.typing import NDArray

Marks = NDArray[np.bool_]


class FormatLookups(NamedTuple):
    """Searches of a lookup in tables of one format; means over a sample of lookups."""

    table_format: TableFormat
    false_positive: float
    """False-positive rate of the filters."""
    runs: float
    """Sorted runs whose range contains the key, up to the run that has it."""
    found: float
    """Share of lookups that find the key in these tables."""

    @property
    def false_positive_blocks(self) -> float:
        """Data blocks searched that do not have the key: false positives of the filters, and every such block without filters."""
        return self.false_positive * (self.runs - self.found)


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
    formats: Sequence[FormatLookups] = ()
    """The same searches by table format, one part per format of the column family."""


def look_up(family: ColumnFamily, codes: KeyArray) -> Lookups:
    """Look up sorted key codes in the memtables and files of a family, newest first.

    A lookup ends without an entry at the first range tombstone of its key (Version::Get).
    """
    missing = np.ones(len(codes), dtype=np.bool_)
    in_wal = 0
    missing &= ~_contains(family.memtables.kept_hot_keys.keys, codes)
    deleted = _end_in(family.memtables.ranges, codes, missing)
    for memtable in reversed(family.immutables):
        missing &= ~_contains(memtable.keys, codes)
        deleted += _end_in(memtable.ranges, codes, missing)
    n = len(codes)
    in_memory = n - int(missing.sum()) - deleted
    probed: list[TableClass] = []
    formats = family.table_formats
    opened = [table_format.opened(family.latest_options.reads_filters) for table_format in formats]
    rates = {
        table_format: false_positive_rate(one.bloom_bits, one.filter)
        for table_format, one in zip(formats, opened, strict=True)
    }
    searches: dict[TableFormat, list[float]] = {table_format: [] for table_format in formats}
    hits = dict.fromkeys(formats, 0)

    def add(level: int, table_format: TableFormat, tables: int, searched: int, found: int, size_bytes: int) -> None:
        blocks = table_format.block_size / formats[0].block_size
        probed.append(TableClass(tables, searched / n, found / n, size_bytes, rates[table_format], level, blocks))
        searches[table_format].append(searched / n)
        hits[table_format] += found

    for file in family.tree.l0:
        covered = missing & (codes >= file.lo) & (codes <= file.hi)
        here = covered & _contains(file.keys, codes)
        found = int(here.sum())
        add(0, file.table_format, 1, int(covered.sum()), found, file.size_bytes)
        missing &= ~here
        in_wal += found if file.wal_bytes else 0
        deleted += _end_in(file.ranges, codes, missing)
    in_slices: list[tuple[TableFormat, bool]] = []
    for level in range(1, family.tree.num_levels):
        for run in family.tree.runs(level):
            if family.tree.frozen:
                in_slices += _look_in_slices(run, codes, missing)
            for table_format, part in by_format(run, formats):
                left = int(missing.sum())
                searched = _look_in(part, codes, missing)
                add(level, table_format, len(part), searched, left - int(missing.sum()), part.size_bytes)
            if family.tree.has_ranges:
                deleted += _end_in([one for file in run for one in file.ranges], codes, missing)
    for table_format in formats:
        frozen = [file.size_bytes for file in family.tree.frozen.values() if file.table_format == table_format]
        if frozen:
            found_here = [found for one, found in in_slices if one == table_format]
            add(NO_LEVEL, table_format, len(frozen), len(found_here), sum(found_here), sum(frozen))
    parts = [FormatLookups(one, rates[one], sum(searches[one]), hits[one] / n) for one in formats]
    runs = sum(group.per_read for group in probed)
    return Lookups(runs, (n - in_memory - deleted - int(missing.sum())) / n, in_memory / n, in_wal / n, probed, parts)


def _end_in(ranges: Sequence[KeyRange], codes: KeyArray, missing: Marks) -> int:
    """End the lookups of the codes that are still `missing` and in the ranges; return their number."""
    left = int(missing.sum()) if ranges else 0
    for one in ranges:
        missing[slice(*codes.searchsorted((one.lo, one.hi + 1)).tolist())] = False
    return left - int(missing.sum()) if left else 0


def by_format(run: Level, formats: Sequence[TableFormat]) -> Iterator[tuple[TableFormat, Level]]:
    """Divide a sorted run into one sorted run per table format.

    `formats`: all formats that the files may have. The files of a run are disjoint, so a key is in the range of a file of
    at most one part.
    """
    if len(formats) == 1:
        yield formats[0], run
        return
    for table_format in formats:
        files = [file for file in run if file.table_format == table_format]
        if files:
            yield table_format, Level(files)


class ScannedRuns(NamedTuple):
    """Sorted runs of one size and one table format that a scan merges."""

    table_format: TableFormat
    size_bytes: float
    """Size of one run."""
    number: float
    tables: float
    """Tables of all of these runs."""
    table_bytes: float
    """Bytes of these tables."""
    level: int = NO_LEVEL
    covered: float = 1.0
    """Share of the read keys that are in the range of a file."""
    gaps: float = 0.0
    """Share of the read keys that are in no range and before a file."""


def scan_runs(tree: Tree, formats: Sequence[TableFormat], codes: KeyArray) -> list[ScannedRuns]:
    """Sorted runs that a scan merges: L0 files, runs of deeper levels, and the slices of an average file of a run.

    `formats`: all table formats that the files may have. Of a run with several, a scan begins in each with the probability
    of its part of the bytes. `codes`: sample of the keys that clients read, ascending.
    """
    runs = [(level, run) for level in range(1, tree.num_levels) for run in tree.runs(level)]
    found = [
        ScannedRuns(f.table_format, float(f.size_bytes), 1.0, 1.0, float(f.size_bytes), 0, *_places_in_file(f, codes))
        for f in tree.l0
    ]
    for level, run in runs:
        size_bytes, (covered, gaps) = float(run.size_bytes), _places_in_run(run, codes)
        for table_format, part in by_format(run, formats):
            part_bytes = float(part.size_bytes)
            begins = part_bytes / size_bytes
            found.append(ScannedRuns(table_format, size_bytes, begins, float(len(part)), part_bytes, level, covered, gaps))
    linked = [(len(run), [s for f in run for s in f.slices]) for _, run in runs] if tree.frozen else []
    total = sum(len(slices) for _, slices in linked)
    frozen_bytes = sum(file.size_bytes for file in tree.frozen.values())
    for number, slices in linked:
        for table_format in formats:
            sizes = [s.size_bytes for s in slices if s.source.table_format == table_format]
            if sizes:  # as many overlapping runs as a file has slices; together the slices span the run
                beside = len(sizes) / number
                begins = len(sizes) / total
                found.append(
                    ScannedRuns(table_format, sum(sizes) / beside, beside, len(tree.frozen) * begins, frozen_bytes * begins)
                )
    return found


def _places_in_file(file: SortedFile, codes: KeyArray) -> tuple[float, float]:
    """Return the shares of the sorted `codes` that are (in the range of a file, before it); (1, 0) without codes."""
    if not len(codes):
        return 1.0, 0.0
    before, until = int(codes.searchsorted(file.lo)), int(codes.searchsorted(file.hi, side="right"))
    return (until - before) / len(codes), before / len(codes)


def _places_in_run(run: Level, codes: KeyArray) -> tuple[float, float]:
    """Return the shares of `codes` that are (in the range of a file of a run, in no range and before a file)."""
    if not len(codes):
        return 1.0, 0.0
    place = run.hi.searchsorted(codes, side="left")
    until = place < len(run)
    covered = int((run.lo[place[until]] <= codes[until]).sum())
    return covered / len(codes), (int(until.sum()) - covered) / len(codes)


def _look_in_slices(run: Level, codes: KeyArray, missing: Marks) -> list[tuple[TableFormat, bool]]:
    """Look up the `missing` codes in the slices of their files, newest first.

    Returns, for each probe, the table format of the frozen file and whether the key was found.
    """
    wanted = np.flatnonzero(missing)
    place = np.minimum(run.hi.searchsorted(codes[wanted], side="left"), len(run) - 1)
    probed: list[tuple[TableFormat, bool]] = []
    for index, at in zip(wanted.tolist(), place.tolist(), strict=True):
        code = codes[index]
        for part in reversed(run.files[at].slices):
            if part.lo <= code <= part.hi:
                found = bool(part.keys[int(part.keys.searchsorted(code))] == code)
                probed.append((part.source.table_format, found))
                if found:
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
