"""Tree at the start of a run from a table of files (`initial_tree`): measured on a real database, or made up."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import KeyArray, SortedFile
from lsmlab.sim.phase import Phase
from lsmlab.sim.setting import OPEN_ENDED, TreeFile
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.jobs.blobs import blobs_of_preload, writes_blobs


def place_files(phase: Phase, rows: Sequence[TreeFile], seed: np.random.SeedSequence) -> None:
    """Start with the files of `rows`.

    L0 files are listed from newest to oldest. Each shard gets all files. The keys of a file are drawn at random between
    its bounds. The open of the store may move files to deeper levels (`Picker.levels_at_open`). Raises InputError that names
    the row.
    """
    families = [database.families[0] for database in phase.databases]
    for family, place in zip(families, seed.spawn(len(families)), strict=True):
        _place(family, phase, rows, np.random.default_rng(place))


def _place(family: ColumnFamily, phase: Phase, rows: Sequence[TreeFile], rng: np.random.Generator) -> None:
    codes = phase.setup.families[0].sample.codes()
    levels: list[tuple[int, list[SortedFile]]] = []
    for level in sorted({row.level for row in rows}):
        if level >= family.tree.num_levels:
            raise InputError(
                f"initial_tree: level {level} does not exist; the last level is {family.tree.num_levels - 1} "
                "(engine.options.num_levels - 1)"
            )
        in_level = [(i, one) for i, row in enumerate(rows) if row.level == level for one in _one_row_per_file(row)]
        ranges = _ranges(in_level, phase.setup.families[0].sample.population, level)
        files = [_file(family, codes, i, row, span, rng) for (i, row), span in zip(in_level, ranges, strict=True)]
        if level > 0:
            files.sort(key=lambda f: f.lo)
            for before, after in itertools.pairwise(files):
                if after.lo <= before.hi:
                    raise InputError(
                        f"initial_tree: two files of level {level} overlap; change their bounds (only L0 files may overlap)"
                    )
        levels.append((level, files))
    for level, files in reversed(levels):
        for file in reversed(files):
            blobs = blobs_of_preload(family, file.keys, level, rng)
            if blobs is not None:
                file.set_blobs(blobs)
    newest = next(family.database.file_numbers)
    for number, file in enumerate(reversed([f for _, files in levels for f in files]), newest):
        file.number = number  # L0's newest file, listed first, gets the highest number
        newest = next(family.database.file_numbers)
    opened = family.picker.levels_at_open([level for level, _ in levels])
    family.preload([(opened[level], files) for level, files in levels])


def _one_row_per_file(row: TreeFile) -> list[TreeFile]:
    """Return one row per file of `row`. Below L0, files with bounds divide the keys between the bounds evenly."""
    if row.level == 0 or OPEN_ENDED in (row.smallest, row.largest):
        return [row] * row.files
    keys = row.largest + 1 - row.smallest
    cuts = [row.smallest + i * keys // row.files for i in range(row.files + 1)]
    return [replace(row, smallest=first, largest=after - 1) for first, after in itertools.pairwise(cuts)]


def _ranges(rows: list[tuple[int, TreeFile]], population: int, level: int) -> list[tuple[int, int]]:
    """Return the numbers of the first and last key of each file of a level.

    Without bounds, an L0 file spans all keys, and the files of a deeper level divide the keys in proportion to their
    sizes, in the order of the table.
    """
    total = sum(row.size_bytes for _, row in rows)
    done, ranges = 0.0, []
    for i, row in rows:
        first = int(done / total * population) if level > 0 else 0
        done += row.size_bytes
        last = (int(done / total * population) if level > 0 else population) - 1
        first = first if row.smallest == OPEN_ENDED else row.smallest
        last = last if row.largest == OPEN_ENDED else row.largest
        if not 0 <= first <= last < population:
            raise InputError(
                f"initial_tree[{i}]: keys {first} to {last} are outside the key space; choose keys from 0 to {population - 1}"
            )
        ranges.append((first, last))
    return ranges


def _file(
    family: ColumnFamily, codes: KeyArray, row_number: int, row: TreeFile, span: tuple[int, int],
    rng: np.random.Generator,
) -> SortedFile:  # fmt: skip
    content = family.content
    apart = content.apart if writes_blobs(family, row.level) else None
    one = (content if apart is None else apart).levels[row.level]
    entries = max(1.0, (row.size_bytes - one.fixed) / (one.put + one.tail))
    begin, end = np.searchsorted(codes, (span[0] << 1, (span[1] << 1) | 1), side="left")
    if end == begin:  # no sampled key between the bounds: take the sampled key before them
        begin, end = max(0, int(begin) - 1), max(1, int(begin))
    inside = codes[begin:end]
    per_key = content.entries(inside) / len(inside)
    wanted = max(1, round(entries / per_key))
    if wanted > len(inside) * 1.05 + 1:
        raise InputError(
            f"initial_tree[{row_number}]: a file of {row.size_bytes:.0f} bytes contains {entries:.0f} entries, but there are "
            f"only {content.entries(inside):.0f} keys between its bounds; widen the bounds or raise workload.num"
        )
    keys = np.sort(rng.choice(inside, size=min(wanted, len(inside)), replace=False))
    return SortedFile(
        number=0, lo=int(keys[0]), hi=int(keys[-1]), size_bytes=round(row.size_bytes), entries=content.entries(keys),
        keys=keys, table_format=one.table_format,
    )  # fmt: skip
