"""Set of 64-bit hashes that takes 12 to 24 bytes for each; Python's set takes 80."""

from __future__ import annotations

from array import array
from typing import Final

_LEAST: Final = 1024
"""Smallest number of places; a power of two."""
_FULLEST: Final = 0.7
"""Share of the places in use from which the table is doubled."""


class HashSet:
    """Hashes in a table with open addressing. 0 marks a free place, so 0 and 1 count as the same hash."""

    def __init__(self) -> None:
        self._table = array("q", bytes(8 * _LEAST))
        self._count = 0

    def __contains__(self, value: int) -> bool:
        return self._table[self._place(value or 1)] != 0

    def add(self, value: int) -> None:
        """Add a hash, as `hash` returns it."""
        value = value or 1
        at = self._place(value)
        if self._table[at] == 0:
            self._table[at] = value
            self._count += 1
        if self._count > _FULLEST * len(self._table):
            old, self._table = self._table, array("q", bytes(16 * len(self._table)))
            for other in filter(None, old):
                self._table[self._place(other)] = other

    def _place(self, value: int) -> int:
        """Return the place of a hash, or the free place for it."""
        table, mask = self._table, len(self._table) - 1
        at = value & mask
        while (found := table[at]) != value and found != 0:
            at = (at + 1) & mask
        return at
