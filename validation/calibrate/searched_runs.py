"""Sorted runs that the gets of a recorded run search: the ranges and sizes of their files, and the searches.

`searches` has the rule of `sim.clients.lookups.look_up` for a tree of which only the ranges and sizes of its files are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from lsmlab.models.units import parse_quantity
from lsmlab.models.workloads.reads import TableClass
from lsmlab.validation.logs.bench_output import find_file
from lsmlab.validation.logs.manifest import AddedFile, read_manifest
from lsmlab.validation.logs.records import RocksDbLog
from numpy.typing import NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

_NUMBER_BYTES: Final = 8
"""Bytes at the beginning of a key that have its number (db_bench's GenerateKeyFromInt)."""
_HALVINGS: Final = 60
_ROUNDING: Final = 1e-9
"""Relative rounding error of a sum of shares."""


class FileRange(NamedTuple):
    """SST file: a read probes it only for keys of its range."""

    first: float
    """Smallest key as a share of the key space, 0 to 1."""
    last: float
    """Largest key."""
    size_bytes: float


class SortedRun(NamedTuple):
    """Sorted run of a recorded run's tree."""

    files: tuple[FileRange, ...]
    """Its files, with disjoint ranges."""
    number: float = 1.0
    """How many such runs the tree has on average."""

    @property
    def size_bytes(self) -> float:
        """Bytes of all files."""
        return sum(file.size_bytes for file in self.files)


def whole_run(size_bytes: float) -> SortedRun:
    """Return a sorted run whose ranges are unknown: it counts as covering all keys."""
    return SortedRun((FileRange(0.0, 1.0, size_bytes),))


def sorted_runs(folder: Path, log: RocksDbLog, config: Mapping[str, Any], *, idle: bool) -> tuple[SortedRun, ...]:
    """Return the sorted runs at the end of a run, newest first (of L0 files in the statistics the order is unknown).

    The MANIFEST dump (`manifest_of`) tells the ranges of the files if the tree was `idle`. Without it, each run in the last
    statistics dump counts as covering all keys.
    """
    dump = manifest_of(folder) if idle else None
    if dump is not None:
        return _of_files(dump, parse_quantity(config["workload"]["num"], "count"))
    table = log.dumps[-1].families.get("default") if log.dumps else None
    found: list[SortedRun] = []
    for row in table.levels if table is not None else ():
        level, files, size_bytes = str(row["Level"]), int(str(row["Files"]).partition("/")[0]), float(row["Size"])
        if level[1:].isdigit() and files:
            number = files if level == "L0" else 1
            found += [whole_run(size_bytes / number)] * number
    return tuple(found)


def manifest_of(folder: Path) -> Path | None:
    """Return the path of the MANIFEST dump of a repeat's tree; None without one.

    `lsmlab record` keeps that of the first repeat; the prefill of the others wrote the same keys.
    """
    return find_file(folder, "MANIFEST.txt") or find_file(folder.parent / "1", "MANIFEST.txt")


def searches(runs: Sequence[SortedRun], found_share: float, false_positive: float) -> list[TableClass]:
    """Return the searches of a get in each sorted run, newest first: one class of tables per run.

    A get searches a run if the range of a file covers its key and no newer run has the key. `found_share` of the gets find their
    key; `false_positive`: that of the filters. A file holds a part of the keys of its range in proportion to its bytes,
    independently of the files of other runs, as after a load of random keys.
    """
    ends = np.unique([0.0, 1.0, *(end for run in runs for file in run.files for end in file[:2])])
    width, middle = np.diff(ends), (ends[1:] + ends[:-1]) / 2.0
    files = [_files_at(run, middle) for run in runs]
    covered, density = [file >= 0 for file in files], [_density(run, file) for run, file in zip(runs, files, strict=True)]

    def held(scale: float) -> list[Array]:
        return [np.minimum(1.0, scale * bytes_per_key) for bytes_per_key in density]

    def missing(scale: float) -> Array:
        return np.asarray(np.prod([1.0 - part for part in held(scale)], axis=0))

    if any(part.any() for part in density):
        parts = held(_smallest(lambda scale: 1.0 - float(width @ missing(scale)), found_share, np.concatenate(density)))
    else:  # unknown sizes: the last run has most keys
        parts = [*(np.zeros_like(middle) for _ in runs[1:]), np.full_like(middle, found_share)]
    found: list[TableClass] = []
    left = width
    for run, inside, part in zip(runs, covered, parts, strict=True):
        per_read = float(left @ np.maximum(run.number * inside, part))
        found.append(TableClass(1.0, per_read, float(left @ part), run.size_bytes, false_positive))
        left = left * (1.0 - part)
    return found


def _files_at(run: SortedRun, places: Array) -> IntArray:
    """Return the index of the file of a run whose range has each place of the key space; -1 between files."""
    index = np.full(len(places), -1, dtype=np.int64)
    for number, file in enumerate(run.files):
        index[(places > file.first) & (places < file.last)] = number
    return index


def _density(run: SortedRun, index: IntArray) -> Array:
    """Return the bytes per unit of key space of the files with these indices (`_files_at`); 0 between files."""
    widths = [file.last - file.first for file in run.files]
    known = [file.size_bytes / width if width else 0.0 for file, width in zip(run.files, widths, strict=True)]
    return np.array([*known, 0.0])[index]  # index -1 is the 0 at the end


def _smallest(share_at: Callable[[float], float], share: float, density: Array) -> float:
    """Return the smallest scale at which a growing share reaches `share`, or else at which all files hold all their keys."""
    low, high = 0.0, 1.0 / float(density[density > 0.0].min())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if share_at(middle) < share * (1.0 - _ROUNDING):
            low = middle
        else:
            high = middle
    return high


def _of_files(dump: Path, keys: float) -> tuple[SortedRun, ...]:
    """Return the sorted runs of the files that a MANIFEST leaves, newest first, with `keys` keys in the key space."""
    files: dict[int, AddedFile] = {}
    for edit in read_manifest(dump):
        for _, number in edit.deleted:
            files.pop(number, None)
        files |= {file.number: file for file in edit.added}
    levels: dict[int, list[AddedFile]] = {}
    for file in files.values():
        levels.setdefault(file.level, []).append(file)
    l0 = [_run([file], keys) for file in sorted(levels.pop(0, []), key=lambda file: file.number, reverse=True)]
    return (*l0, *(_run(levels[level], keys) for level in sorted(levels)))


def _run(files: Sequence[AddedFile], keys: float) -> SortedRun:
    return SortedRun(tuple(
        FileRange(min(1.0, _number(file.smallest) / keys), min(1.0, _number(file.largest) / keys), float(file.size_bytes))
        for file in sorted(files, key=lambda file: file.smallest)
    ))  # fmt: skip


def _number(key: bytes) -> int:
    return int.from_bytes(key[:_NUMBER_BYTES], "big")
