"""Preloaded trees that this process has built: runs of a sweep that start with the same tree share its keys."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import repeat
from typing import Final

from lsmlab.models.tree.files import SortedFile

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
