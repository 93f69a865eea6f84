"""When the active memtable of each store is full, counted in writes so far to the average store."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator

import numpy as np


class Filling:
    """The active memtables of all stores. With several stores, keys fall unevenly on them."""

    def __init__(self, stores: int, entries: float, rng: np.random.Generator) -> None:
        """`entries`: writes that fill a memtable."""
        self._stores = stores
        self._rng = rng
        self._entries = [entries] * stores
        self._holds = [entries] * stores
        """Entries of each active memtable when it will be switched."""
        self._began = [0.0] * stores
        self._full_at = [(self._width(number), number) for number in range(stores)]
        heapq.heapify(self._full_at)

    @property
    def next_at(self) -> float:
        """Writes after which the next memtable is full."""
        return self._full_at[0][0]

    @property
    def entries(self) -> float:
        """Writes that fill a memtable of the first store."""
        return self._entries[0]

    def switched(self, written: float) -> Iterator[tuple[int, float]]:
        """(store, entries) of every memtable that is full after `written` writes; the next one begins to fill."""
        tolerance = 1e-9 * max(1.0, written) + 1e-6
        while self._full_at[0][0] <= written + tolerance:
            at, number = self._full_at[0]
            heapq.heapreplace(self._full_at, (at + self._width(number), number))
            held, self._holds[number] = self._holds[number], self._entries[number]
            self._began[number] = at
            yield number, held

    def keep(self, number: int, entries: float) -> None:
        """A store's memtable, which has just begun, holds so many entries already."""
        self._holds[number] = max(1.0, self._entries[number] - entries)
        taken = self._entries[number] - self._holds[number]
        self._full_at = [(at - taken if n == number else at, n) for at, n in self._full_at]
        heapq.heapify(self._full_at)

    def resize(self, number: int, entries: float, written: float) -> None:
        """Change a store's memtable; the active one too, which may be full with what it has."""
        if entries == self._entries[number]:
            return
        self._entries[number] = self._holds[number] = entries
        began = self._began[number]
        at = began + self._width(number)
        if at < written:
            at = written
            self._holds[number] = max(1.0, written - began)
        self._full_at = [(at if n == number else other, n) for other, n in self._full_at]
        heapq.heapify(self._full_at)

    def unflushed(self, written: float) -> list[float]:
        """Entries in the active memtable of each store."""
        left = {number: at - written for at, number in self._full_at}
        return [min(full, max(0.0, full - left[number])) for number, full in enumerate(self._entries)]

    def _width(self, number: int) -> float:
        """Writes until a store's memtable is full, as counted by the average store."""
        entries = self._entries[number]
        if self._stores == 1:
            return entries
        spread = math.sqrt(entries * (1.0 - 1.0 / self._stores))
        return max(1.0, entries + spread * float(self._rng.standard_normal()))
