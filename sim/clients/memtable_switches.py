"""Switches of memtables: because one is full, because WALs are too large, or because all memtables together are.

`DBImpl::PreprocessWrite` looks at WALs first, then at the write buffer manager, then at full memtables.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from lsmlab.models import since
from lsmlab.models.tree.memtable import INLINE_BYTES, arena_bytes
from lsmlab.models.tree.memtable_history import NO_MEMORY, MemtableMemory
from lsmlab.sim.clients.memtable_fill import MemtableFill
from lsmlab.sim.store.column_family import ColumnFamily, MemtableSwitch
from lsmlab.sim.store.database import Database
from lsmlab.sim.store.memtables import MANAGER_FULL, WAL_FULL, WRITE_BUFFER_FULL
from lsmlab.sim.store.write_buffer_manager import ActiveMemtables
from lsmlab.sim.store.write_shape import WriteShape

_NEVER: Final = math.inf
_ROUNDING: Final = 1e-6
"""Entries: less than this is rounding."""
_FLUSHABLE: Final = 1.0
"""Entries from which a memtable is not empty (`MemTable::IsEmpty`): the write buffer manager flushes it, and it keeps a WAL."""


def _reached(written: float) -> float:
    """Writes that count as done after `written`: an alarm rings a rounding error too early."""
    return written * (1.0 + 1e-9) + _ROUNDING


class MemtableSwitches:
    """Decides which memtables of one database are switched after a number of writes."""

    def __init__(self, database: Database, fill: MemtableFill, shapes: Sequence[WriteShape], shares: Sequence[float]) -> None:
        """`shapes` and `shares` of the writes, by family of the database."""
        self._database = database
        self._fill = fill
        self._families = dict(zip((f.number for f in database.families), database.families, strict=True))
        self._shapes = dict(zip(self._families, shapes, strict=True))
        self._in_wal = dict.fromkeys(self._families, 0.0)
        """Entries of each active memtable that lie in closed WALs."""
        weighed = list(zip(shapes, shares, strict=True))
        self._wal_bytes = sum(shape.wal_bytes * share for shape, share in weighed)
        options = database.families[0].options
        memtables = sum(f.options.write_buffer_size * f.options.max_write_buffer_number for f in database.families)
        self.wal_limit = float(options.max_total_wal_size or 4 * memtables) if len(self._families) > 1 else _NEVER
        """`max_total_wal_size`; a database of one family has no limit."""
        self.bounded = self.wal_limit < _NEVER
        """Whether WALs can switch memtables that are not full."""

    def next_at(self, written: float) -> float:
        """Writes to the database after which WALs switch memtables; infinity if never as things are."""
        if self._wal_bytes > 0.0 and self.bounded and self._database.wals.may_flush_oldest:
            return written + max(0.0, self.wal_limit - self._total_wal_bytes(written)) / self._wal_bytes
        return _NEVER

    def full(self, number: int, entries: float, written: float) -> list[int]:
        """Switch a family's memtable, which is full with `entries`; with atomic_flush, those of all families.

        Return the families whose memtables have a new size.
        """
        own = self._switch(number, entries, written, WRITE_BUFFER_FULL)
        others = (n for n in self._families if n != number) if self._database.atomic_flush else ()
        return self._begin_wal([own, *self._unfilled(others, written, WRITE_BUFFER_FULL)], written)

    def flush(self, numbers: Collection[int], written: float, reason: str) -> list[int]:
        """Switch the memtables of some families, with atomic_flush of all, and flush them at once; return as `full`."""
        chosen = [number for number in self._families if number in numbers]
        if not chosen:
            return []
        resized = self._force(chosen, written, reason)
        self._database.force_flushes(chosen)
        return resized or []

    def switch_if_required(self, written: float) -> list[int] | None:
        """Switch memtables if WALs ask for it; return as `full`, None if no memtable was switched."""
        wals, reached = self._database.wals, _reached(written)
        if self._wal_bytes > 0.0 and wals.may_flush_oldest and self._total_wal_bytes(reached) >= self.wal_limit:
            oldest = wals.oldest
            wals.flush_oldest()
            chosen = [number for number, needed in self._database.oldest_wals().items() if needed <= oldest]
            return self._force(chosen, written, WAL_FULL)
        return None

    def switch_for_memory(self, written: float) -> list[int] | None:
        """Switch the memtable that the write buffer manager flushes; return as `full`, None if there is none.

        It is the oldest active memtable that is not empty, of a family without a flush that is pending or running
        (`HandleWriteBufferManagerFlush`).
        """
        flushable = [
            family
            for number, family in self._families.items()
            if self._has_entries(number, written) and not self._left_out(family)
        ]
        picked = min(flushable, key=lambda f: self._fill.began(f.number), default=None)
        return None if picked is None else self._force([picked.number], written, MANAGER_FULL)

    def _left_out(self, family: ColumnFamily) -> bool:
        """Return whether the write buffer manager flushes no further memtable of a family now."""
        skips = family.latest_options.version >= since.MANAGER_LEAVES_OUT_FLUSHES and not self._database.atomic_flush
        return skips and family.flush_pending_or_running

    @property
    def keep_history(self) -> bool:
        """Return whether a family keeps flushed memtables, which go while it is written to."""
        return any(family.history.keeps for family in self._families.values())

    @property
    def block_bytes(self) -> list[float]:
        """Bytes of an arena block of the memtables, by column family.

        An entry larger than a quarter of a block takes a block of its own size.
        """
        return [
            float(size if 4.0 * shape.memtable_bytes <= size else shape.memtable_bytes)
            for shape, size in zip(self._shapes.values(), self._arena_blocks, strict=True)
        ]

    @property
    def _arena_blocks(self) -> list[int]:
        return [family.memtable_options.options.arena_block_size for family in self._families.values()]

    def active_memtables(self, written: float, writes_per_s: float) -> ActiveMemtables:
        """Return the active memtables after a number of writes; `writes_per_s`: mean over all databases."""
        self.trim_history(written)
        places = [(number, self._shapes[number].memtable_bytes) for number in self._families]
        return ActiveMemtables(
            [self._fill.active(number, written) * size for number, size in places],
            [self._fill.rate(number) * size * writes_per_s for number, size in places],
            [_NEVER if self._left_out(self._families[number]) else _FLUSHABLE * size for number, size in places],
            sum(family.inactive_bytes for family in self._families.values()),
        )

    def _force(self, chosen: Sequence[int], written: float, reason: str) -> list[int] | None:
        numbers = list(self._families) if self._database.atomic_flush else chosen
        switches = list(self._unfilled(numbers, written, reason))
        resized = self._begin_wal(switches, written)
        if reason == WAL_FULL:
            self._database.force_flushes(chosen)
        return resized if switches else None

    def _begin_wal(self, switches: Sequence[MemtableSwitch], written: float) -> list[int]:
        """Switch memtables; families without data keep no WAL before the new one (SwitchMemtable). Return as `full`."""
        resized = self._database.switch_memtables(switches)
        for number, family in self._families.items():
            if not family.immutables and not self._has_entries(number, written):
                self._database.wals.release_empty(number)
        return resized

    def _has_entries(self, number: int, written: float) -> bool:
        return self._fill.active(number, written) > _FLUSHABLE - _ROUNDING

    def _unfilled(self, numbers: Iterable[int], written: float, reason: str) -> Iterator[MemtableSwitch]:
        for number in numbers:
            if self._fill.active(number, written) > _ROUNDING or self._families[number].memtables.ranges:
                yield self._switch(number, self._fill.switch(number, written), written, reason)

    def _switch(self, number: int, entries: float, written: float, reason: str) -> MemtableSwitch:
        """Make the switch; the WAL that it closes holds what all families have written since the last one."""
        wal_bytes = (entries - self._in_wal[number]) * self._shapes[number].wal_bytes
        for other in self._families:
            if other != number:
                active = self._fill.active(other, written)
                wal_bytes += (active - self._in_wal[other]) * self._shapes[other].wal_bytes
                self._in_wal[other] = active
        self._in_wal[number] = 0.0
        return MemtableSwitch(number, entries, wal_bytes, self._memory(number, entries), reason)

    def _memory(self, number: int, entries: float) -> MemtableMemory:
        """Memory of a family's memtable, where a write buffer manager or the history of the family counts it."""
        if self._database.shared_memtables is None and not self._families[number].history.keeps:
            return NO_MEMORY
        used = entries * self._shapes[number].memtable_bytes
        block_bytes = self.block_bytes[list(self._families).index(number)]
        return MemtableMemory(float(arena_bytes(used, block_bytes)), INLINE_BYTES + used)

    def trim_history(self, written: float) -> None:
        """Drop flushed memtables that the writes so far have made superfluous (`TrimMemtableHistory`)."""
        for number, family in self._families.items():
            if len(family.history):
                family.trim_history(self._memory(number, self._fill.active(number, written)))

    def _total_wal_bytes(self, written: float) -> float:
        """Bytes of all WALs that are not deleted (`total_log_size_`)."""
        return self._database.wals.closed_bytes + self.current_wal_bytes(written)

    def current_wal_bytes(self, written: float) -> float:
        """Return the bytes of the current WAL after a number of writes."""
        return sum((self._fill.active(n, written) - self._in_wal[n]) * self._shapes[n].wal_bytes for n in self._families)
