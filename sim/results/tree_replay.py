"""Reconstruction of the tree at any time of a run from its version edits (events.parquet)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class FileState:
    """File or slice of a file; `smallest` and `largest` are fractions of the key space."""

    number: int
    smallest: float
    largest: float
    size_bytes: int
    entries: int
    created_by: int
    """Job that wrote the file or linked the slice; -1: in the tree at the start of the run."""


@dataclass(slots=True)
class BlobFileState:
    """Blob file of a store with `enable_blob_files`."""

    number: int
    size_bytes: int
    blobs: int
    """Values that it was written with."""
    created_by: int
    """Job that wrote it; -1: there at the start of the run."""
    garbage_bytes: int = 0
    """Bytes of its records that no SST file refers to any more; up to a sixteenth of the file too low."""


@dataclass(slots=True)
class TreeState:
    """Files of one shard's column family."""

    levels: dict[int, list[FileState]] = field(default_factory=dict)
    """Files by level. L0: newest first. Deeper levels: in the order of their edits, so of two overlapping files the later
    one is newer."""
    frozen: dict[int, FileState] = field(default_factory=dict)
    """Frozen files by number: in no level, with slices that are not compacted yet (LDC)."""
    slices: dict[int, list[FileState]] = field(default_factory=dict)
    """Slices of frozen files by the number of the file that they are linked to, oldest first."""
    blob_files: dict[int, BlobFileState] = field(default_factory=dict)
    """Blob files by number."""

    def files_of(self, level: int) -> list[FileState]:
        """Return the files of a level."""
        return self.levels.get(level, [])


def tree_at(
    events: Mapping[str, NDArray[Any]], time_s: float = math.inf, shard: int = 0, family: str = "default"
) -> TreeState:
    """Return the tree of a shard's column family after all version edits up to and including `time_s`.

    `events`: columns of events.parquet; `family` has no effect if there is no column `column_family`.
    """
    rows_wanted = (events["shard"] == shard) & (events["time_s"] <= time_s)
    if "column_family" in events:
        rows_wanted &= events["column_family"] == family
    names = (
        "time_s", "job", "kind", "file", "from_level", "to_level", "smallest", "largest", "bytes", "entries", "linked_to",
    )  # fmt: skip
    rows = zip(*(events[name][rows_wanted].tolist() for name in names), strict=True)
    tree = TreeState()
    edit, place = (np.nan, -1), 0
    for time, job, kind, number, source, level, smallest, largest, size, entries, linked in rows:
        if (time, job) != edit:
            edit, place = (time, job), 0
        if kind in ("delete", "move", "freeze"):
            place = _remove(tree, number, source, place)
        if kind in ("create", "move", "freeze", "link"):
            file = FileState(number, smallest, largest, size, entries, job)
            if kind == "link":
                tree.slices.setdefault(linked, []).append(file)
            elif kind == "freeze":
                tree.frozen[number] = file
            else:
                place = _add(tree, file, level, place)
        elif kind == "delete":
            tree.slices.pop(number, None)
        elif kind == "blob_create":
            tree.blob_files[number] = BlobFileState(number, size, entries, job)
        elif kind == "blob_garbage":
            tree.blob_files[number].garbage_bytes = size
        elif kind == "blob_delete":
            del tree.blob_files[number]
    return tree


def _remove(tree: TreeState, number: int, level: int, place: int) -> int:
    """Remove a file. Return the position in L0 at which the same version edit inserts its new files."""
    if level < 0:
        tree.frozen.pop(number, None)
        return place
    files = tree.levels[level]
    at = next(i for i, f in enumerate(files) if f.number == number)
    del files[at]
    return at if level == 0 else place


def _add(tree: TreeState, file: FileState, level: int, place: int) -> int:
    files = tree.levels.setdefault(level, [])
    if level > 0:
        files.append(file)
        return place
    files.insert(place, file)
    return place + 1
