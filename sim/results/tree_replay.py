"""The tree at any time of a run, from its version edits (events.parquet)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class FileState:
    """A file, or a slice of one: key range as fractions of the key space, size in bytes, entries."""

    number: int
    smallest: float
    largest: float
    size_bytes: int
    entries: int
    created_by: int
    """Job that wrote the file, or linked the slice; -1: it was there at the start."""


@dataclass(slots=True)
class TreeState:
    """The files of one shard."""

    levels: dict[int, list[FileState]] = field(default_factory=dict)
    """L0 newest first; deeper levels in the order in which files came: of two that overlap the later is newer."""
    frozen: dict[int, FileState] = field(default_factory=dict)
    """Files in no level, of which slices wait to be compacted (LDC)."""
    slices: dict[int, list[FileState]] = field(default_factory=dict)
    """By file number, slices of frozen files that are linked to the file, oldest first."""

    def files_of(self, level: int) -> list[FileState]:
        """Files of a level."""
        return self.levels.get(level, [])


def tree_at(
    events: Mapping[str, NDArray[Any]], time_s: float = math.inf, shard: int = 0, family: str = "default"
) -> TreeState:
    """Apply the edits of a shard's column family up to `time_s`, its own included.

    `events` are the columns of events.parquet; `family` counts where they have a column `column_family`.
    """
    mine = (events["shard"] == shard) & (events["time_s"] <= time_s)
    if "column_family" in events:
        mine &= events["column_family"] == family
    names = (
        "time_s", "job", "kind", "file", "from_level", "to_level", "smallest", "largest", "bytes", "entries", "linked_to",
    )  # fmt: skip
    rows = zip(*(events[name][mine].tolist() for name in names), strict=True)
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
    return tree


def _remove(tree: TreeState, number: int, level: int, place: int) -> int:
    """Take a file out; returns the position in L0 for the files that the same edit adds there."""
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
