"""Fill levels of active memtables, and the number of writes after which each is full.

Points in time are numbers of writes per database (the mean over all databases).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np


class MemtableFill:
    """Active memtables of all column families, numbered by database, then by family.

    With several databases, the number of writes to each varies at random. Within a database, each column family gets its
    share of the writes.
    """

    def __init__(
        self, parts: Sequence[float], entries: Sequence[float], shares: Sequence[float], rng: np.random.Generator
    ) -> None:
        """Start with empty memtables.

        `parts`: writes to each database, relative to the mean over all. The other sequences have one item per column family
        of a database. `entries`: writes that fill its memtable; `shares`: its share of the writes to the database (sum 1).
        """
        self._databases = databases = len(parts)
        self._rng = rng
        self._family_shares = list(shares)
        self._shares = [part * share for part in parts for share in shares]
        self._rates = list(self._shares)
        """Entries of each active memtable per mean write to a database: its share of them, and chance."""
        self._entries = list(entries) * databases
        self._holds = list(self._entries)
        """New entries that each active memtable will contain at its next switch, without hot keys kept from before."""
        self._began = [0.0] * len(self._entries)
        self._full_at = [self._width(number) for number in range(len(self._entries))]
        """Number of writes after which each active memtable is full."""
        self.entries = self.slowest_entries = 0.0
        """Mean number of writes that fill a memtable, weighted by the write shares of the first database's families; and
        writes to this database until its slowest memtable is full (column families without writes do not count)."""
        self._measure()

    @property
    def next_at(self) -> float:
        """Number of writes after which the next memtable is full."""
        return min(self._full_at)

    def _measure(self) -> None:
        """Compute `entries` and `slowest_entries`, at the start and after each change of a memtable's size."""
        pairs = list(zip(self._family_shares, self._entries, strict=False))
        self.entries = sum(share * full for share, full in pairs)
        self.slowest_entries = max((full / share for share, full in pairs if share > 0.0), default=math.inf)

    def switch_full(self, written: float) -> Iterator[tuple[int, float]]:
        """Switch every memtable that is full after `written` writes; yield (family number, entries) of each."""
        tolerance = 1e-9 * max(1.0, written) + 1e-6
        while (at := min(self._full_at)) <= written + tolerance:
            number = self._full_at.index(at)
            self._full_at[number] = at + self._width(number)
            held, self._holds[number] = self._holds[number], self._entries[number]
            self._began[number] = at
            yield number, held

    def switch(self, number: int, written: float) -> float:
        """Switch a memtable that is not full. Return its number of entries."""
        held = self.active(number, written)
        self._holds[number] = self._entries[number]
        self._began[number] = written
        self._full_at[number] = written + self._width(number)
        return held

    def active(self, number: int, written: float) -> float:
        """Return the entries in the active memtable of a column family after `written` writes."""
        if self._shares[number] == 0.0:
            return 0.0
        full = self._entries[number]
        return min(full, max(0.0, full - (self._full_at[number] - written) * self._rates[number]))

    def mean_active(self, written: float, writing: bool, number: int) -> float:
        """Return the mean entries in the active memtable of a column family: half of a full one while clients write."""
        if self._shares[number] == 0.0:
            return 0.0
        return self._entries[number] / 2.0 if writing else self.active(number, written)

    def rate(self, number: int) -> float:
        """Return the entries in the active memtable of a column family per mean write to a database."""
        return self._rates[number]

    def began(self, number: int) -> float:
        """Return the number of writes per database before the active memtable of a column family was created."""
        return self._began[number]

    def add_hot_keys(self, number: int, entries: float) -> None:
        """Count `entries` hot keys with which the new active memtable of a column family starts."""
        self._holds[number] = max(1.0, self._entries[number] - entries)
        taken = self._entries[number] - self._holds[number]
        self._full_at[number] -= taken

    def resize(self, number: int, entries: float, written: float) -> None:
        """Set the entries that fill a column family's memtables; the active memtable may be full at once."""
        if entries == self._entries[number]:
            return
        self._entries[number] = self._holds[number] = entries
        self._measure()
        began = self._began[number]
        at = began + self._width(number)
        if at < written:
            at = written
            self._holds[number] = max(1.0, written - began)
        self._full_at[number] = at

    def unflushed(self, written: float) -> list[float]:
        """Return the entries in each active memtable."""
        return [self.active(number, written) for number in range(len(self._entries))]

    def _width(self, number: int) -> float:
        """Return the writes per database that fill an empty memtable of a column family; random with several databases.

        The random part is spread over the whole memtable.
        """
        entries, share = self._entries[number], self._shares[number]
        if share == 0.0:
            return math.inf
        if self._databases == 1:
            return entries / share
        spread = math.sqrt(entries * (1.0 - 1.0 / self._databases))
        width = max(1.0, entries + spread * float(self._rng.standard_normal())) / share
        self._rates[number] = entries / width
        return width
