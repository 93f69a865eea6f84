"""Sorted runs that the reads of a recorded run search: how much of the key space their files cover, and their sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from lsmlab.models.units import parse_quantity
from lsmlab.validation.logs.manifest import AddedFile, read_manifest
from lsmlab.validation.logs.records import RocksDbLog

_NUMBER_BYTES: Final = 8
"""Bytes at the beginning of a key that have its number (db_bench's GenerateKeyFromInt)."""


class SortedRun(NamedTuple):
    """Sorted run at the end of a recorded run."""

    covered: float
    """Share of the key space between the smallest and the largest key of each file; a read probes no file for other keys."""
    size_bytes: float


def sorted_runs(folder: Path, log: RocksDbLog, config: Mapping[str, Any], *, idle: bool) -> tuple[SortedRun, ...]:
    """Return the sorted runs at the end of a run, L0 files first.

    The MANIFEST dump tells the ranges of the files if the tree was `idle`. `lsmlab record` keeps that of the first repeat; the
    prefill of the others wrote the same keys. Without it, each run in the last statistics dump counts as covering all keys.
    """
    kept = [place / name for place in (folder, folder.parent / "1") for name in ("MANIFEST.txt", "MANIFEST.txt.xz")]
    dump = next((path for path in kept if path.is_file()), None)
    if idle and dump is not None:
        return _of_files(dump, parse_quantity(config["workload"]["num"], "count"))
    table = log.dumps[-1].families.get("default") if log.dumps else None
    found: list[SortedRun] = []
    for row in table.levels if table is not None else ():
        level, files, size_bytes = str(row["Level"]), int(str(row["Files"]).partition("/")[0]), float(row["Size"])
        if level[1:].isdigit() and files:
            number = files if level == "L0" else 1
            found += [SortedRun(1.0, size_bytes / number)] * number
    return tuple(found)


def _of_files(dump: Path, keys: float) -> tuple[SortedRun, ...]:
    """Return the sorted runs of the files that a MANIFEST leaves, with `keys` keys in the key space."""
    files: dict[int, AddedFile] = {}
    for edit in read_manifest(dump):
        for _, number in edit.deleted:
            files.pop(number, None)
        files |= {file.number: file for file in edit.added}
    levels: dict[int, list[AddedFile]] = {}
    for file in files.values():
        levels.setdefault(file.level, []).append(file)
    l0 = [_run([file], keys) for file in levels.pop(0, [])]
    return (*l0, *(_run(levels[level], keys) for level in sorted(levels)))


def _run(files: Sequence[AddedFile], keys: float) -> SortedRun:
    covered = sum(_number(file.largest) - _number(file.smallest) for file in files) / keys
    return SortedRun(min(1.0, covered), float(sum(file.size_bytes for file in files)))


def _number(key: bytes) -> int:
    return int.from_bytes(key[:_NUMBER_BYTES], "big")
