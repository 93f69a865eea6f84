"""When the active memtable of each column family is full, counted in writes so far to the average database."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence

import numpy as np
from lsmlab.models.sums import float_sum


class Filling:
    """The active memtables of all column families, numbered database by database.

    With several databases, keys fall unevenly on them. Within a database each family takes its share of the writes.
    """

    def __init__(
        self, databases: int, entries: Sequence[float], shares: Sequence[float], rng: np.random.Generator
    ) -> None:
        """`entries`: writes that fill a memtable, by family; `shares`: of a database's writes, by family, sum 1."""
        self._databases = databases
        self._rng = rng
        self._shares = list(shares) * databases
        self._entries = list(entries) * databases
        self._holds = list(self._entries)
        """Entries of each active memtable when it will be switched."""
        self._began = [0.0] * len(self._entries)
        self._full_at = [(self._width(number), number) for number in range(len(self._entries))]
        heapq.heapify(self._full_at)

    @property
    def next_at(self) -> float:
        """Writes after which the next memtable is full."""
        return self._full_at[0][0]

    @property
    def entries(self) -> float:
        """Writes that fill a memtable, averaged over the writes of the first database."""
        families = len(self._entries) // self._databases
        return float_sum(share * full for share, full in zip(self._shares[:families], self._entries, strict=False))

    @property
    def slowest_entries(self) -> float:
        """Writes to the first database while its slowest memtable fills; families without writes are left out."""
        families = len(self._entries) // self._databases
        pairs = zip(self._shares[:families], self._entries, strict=False)
        return max(full / share for share, full in pairs if share > 0.0)

    def switched(self, written: float) -> Iterator[tuple[int, float]]:
        """(family, entries) of every memtable that is full after `written` writes; the next one begins to fill."""
        tolerance = 1e-9 * max(1.0, written) + 1e-6
        while self._full_at[0][0] <= written + tolerance:
            at, number = self._full_at[0]
            heapq.heapreplace(self._full_at, (at + self._width(number), number))
            held, self._holds[number] = self._holds[number], self._entries[number]
            self._began[number] = at
            yield number, held

    def switch(self, number: int, written: float) -> float:
        """Switch a memtable that is not full; the entries that it holds."""
        held = self.active(number, written)
        self._holds[number] = self._entries[number]
        self._began[number] = written
        self._move(number, written + self._width(number))
        return held

    def active(self, number: int, written: float) -> float:
        """Entries in the active memtable of a family after `written` writes."""
        share = self._shares[number]
        if share == 0.0:
            return 0.0
        at = next(at for at, n in self._full_at if n == number)
        full = self._entries[number]
        return min(full, max(0.0, full - (at - written) * share))

    def began(self, number: int) -> float:
        """Writes to the average database before the active memtable of a family was created."""
        return self._began[number]

    def keep(self, number: int, entries: float) -> None:
        """Count `entries` that a family's memtable, which has just begun, holds already."""
        self._holds[number] = max(1.0, self._entries[number] - entries)
        taken = self._entries[number] - self._holds[number]
        at = next(at for at, n in self._full_at if n == number)
        self._move(number, at - taken)

    def resize(self, number: int, entries: float, written: float) -> None:
        """Change a family's memtable; the active one too, which may be full with what it has."""
        if entries == self._entries[number]:
            return
        self._entries[number] = self._holds[number] = entries
        began = self._began[number]
        at = began + self._width(number)
        if at < written:
            at = written
            self._holds[number] = max(1.0, written - began)
        self._move(number, at)

    def unflushed(self, written: float) -> list[float]:
        """Entries in the active memtable of each family."""
        return [self.active(number, written) for number in range(len(self._entries))]

    def _move(self, number: int, at: float) -> None:
        self._full_at = [(at if n == number else other, n) for other, n in self._full_at]
        heapq.heapify(self._full_at)

    def _width(self, number: int) -> float:
        """Writes until a family's memtable is full, as counted by the average database."""
        entries, share = self._entries[number], self._shares[number]
        if share == 0.0:
            return math.inf
        if self._databases == 1:
            return entries / share
        spread = math.sqrt(entries * (1.0 - 1.0 / self._databases))
        return max(1.0, entries + spread * float(self._rng.standard_normal())) / share
