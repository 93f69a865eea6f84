"""Memory of memtables that share a buffer, and the flushes and stops that it asks for (RocksDB's `WriteBufferManager`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import simpy
from lsmlab.models.policies.decisions import StallCause
from lsmlab.models.tree.memtable import INLINE_BYTES, arena_bytes, next_block_at
from lsmlab.sim.machine.queues import Alarm
from lsmlab.sim.store.jobs.context import DatabaseContext
from numpy.typing import NDArray

MUTABLE_SHARE: Final = 7 / 8
"""Share of the buffer that active memtables may take (`WriteBufferManager::mutable_limit_`)."""
_ALMOST: Final = 1e-6
"""Entries: less than this is missing due to rounding."""
_AGAIN_S: Final = 1e-6
"""Time until the next look if a memtable was not flushed, although it may be: its clients count entries with another rounding."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WriteBufferManager:
    """Bound on the memory of memtables of all databases that share it.

    A memtable is flushed when active memtables take 7/8 of the buffer, or when the buffer is full and active memtables
    take at least half of it (`ShouldFlush`). The memory of a memtable is its arena's, in whole blocks, and counts until it is
    deleted: at the end of its flush, or once its history no longer keeps it.
    """

    buffer_bytes: float
    """`db_write_buffer_size`; 0 = no bound."""
    allow_stall: bool = False
    """Whether a full buffer stops the writers of all databases (`ShouldStall`)."""

    def room_bytes(self, active_bytes: float, inactive_bytes: float) -> float:
        """Return the growth of active memtables after which one must be flushed; infinity without a bound."""
        if self.buffer_bytes == 0.0:
            return math.inf
        until_full = self.buffer_bytes - inactive_bytes - active_bytes
        until_half = self.buffer_bytes / 2 - active_bytes
        return min(self.buffer_bytes * MUTABLE_SHARE - active_bytes, max(until_full, until_half))

    def stops(self, memory_bytes: float) -> bool:
        """Return whether writers wait until a flush has freed memory (`IsStallThresholdExceeded`)."""
        return self.allow_stall and memory_bytes >= self.buffer_bytes


class ActiveMemtables(NamedTuple):
    """Active memtables of one database now, one item per column family."""

    used_bytes: Sequence[float]
    """Bytes of their entries."""
    bytes_per_s: Sequence[float]
    """Growth of `used_bytes`; 0 while the database accepts no write."""
    flushable_at: Sequence[float]
    """`used_bytes` from which the manager may flush a memtable; infinity while its family has a flush pending or running."""
    inactive_bytes: float
    """Memory of the immutable memtables of the database, and of the flushed ones that it keeps."""


class _Member(NamedTuple):
    database: DatabaseContext
    place: slice
    """Of its column families in the arrays."""
    flush: Callable[[], ActiveMemtables | None]
    refresh: Callable[[], None]
    look: Callable[[], ActiveMemtables] | None


class SharedMemtables:
    """Memtables of the databases of one write buffer manager, in simulated time.

    Their clients tell it how fast the active memtables grow (`update`). When a flush is due, the database that writes next
    flushes one of its own memtables (`DBImpl::PreprocessWrite`): not the largest or the oldest of all databases.
    """

    def __init__(self, env: simpy.Environment, manager: WriteBufferManager, rng: np.random.Generator) -> None:
        """`rng`: choice of the database that writes next."""
        self._env = env
        self.manager = manager
        self._rng = rng
        self._members: list[_Member] = []
        self._block: Floats = np.empty(0)
        """Bytes of an arena block, by memtable."""
        self._used, self._growth, self._from_s, self._flushable = (np.empty(0) for _ in range(4))
        """Active memtables at the last `update` of their database, and its time."""
        self._inactive: Floats = np.empty(0)
        """By member."""
        self._alarm = Alarm(env, self._act)
        self._stopped = False
        """Whether the writers of all databases are stopped."""

    def join(
        self, database: DatabaseContext, block_bytes: Sequence[float], flush: Callable[[], ActiveMemtables | None],
        refresh: Callable[[], None], look: Callable[[], ActiveMemtables] | None = None,
    ) -> int:  # fmt: skip
        """Add a database; return its number here.

        `block_bytes`: arena blocks of each column family. `flush` switches a memtable of the database and requests its flush;
        it returns the active memtables after it, None if the database has none to flush. `refresh` lets the clients of the
        database plan again after flushes, and `update`. `look` returns the memtables of a database that drops flushed ones while
        it is written to, None: it does not.
        """
        first = len(self._block)
        self._members.append(_Member(database, slice(first, first + len(block_bytes)), flush, refresh, look))
        self._block = np.append(self._block, block_bytes)
        none = np.zeros(len(block_bytes))
        self._used, self._growth = np.append(self._used, none), np.append(self._growth, none)
        self._from_s, self._flushable = np.append(self._from_s, none), np.append(self._flushable, none + math.inf)
        self._inactive = np.append(self._inactive, 0.0)
        return len(self._members) - 1

    def update(self, changed: Iterable[tuple[int, ActiveMemtables]]) -> None:
        """Note the memtables of databases, by number, after each change of them or of their growth."""
        for member, now in changed:
            self._note(member, now)
        self._alarm.set(self._next_s())

    def _note(self, member: int, now: ActiveMemtables) -> None:
        place = self._members[member].place
        self._used[place], self._growth[place], self._flushable[place] = now.used_bytes, now.bytes_per_s, now.flushable_at
        self._from_s[place] = self._env.now
        self._inactive[member] = now.inactive_bytes

    @property
    def memory_bytes(self) -> float:
        """Memory of all memtables now (`memory_usage`)."""
        return self._active_bytes(self._used_now()) + float(self._inactive.sum())

    def _used_now(self) -> Floats:
        used: Floats = self._used + self._growth * (self._env.now - self._from_s)
        return used

    def _active_bytes(self, used: Floats) -> float:
        return float(arena_bytes(used, self._block).sum())

    def _next_s(self) -> float:
        """Return the seconds until the manager may have to act: never later than the moment at which it must."""
        used, growing = self._used_now(), self._growth > 0.0
        active, inactive = self._active_bytes(used), float(self._inactive.sum())
        stops = self.manager.stops(active + inactive)
        if stops != self._stopped or (stops and growing.any()):
            return 0.0
        if not growing.any():
            return math.inf
        growth, room = self._growth[growing], self.manager.room_bytes(active, inactive)
        if room > 0.0:
            soonest_s = self._until_s(used, active + room)
        else:  # a flush is due: as soon as a memtable may be flushed
            soonest_s = max(0.0, float(((self._flushable[growing] - used[growing]) / growth).min()))
        if self.manager.allow_stall:
            soonest_s = min(soonest_s, self._until_s(used, self.manager.buffer_bytes - inactive))
        return soonest_s

    def _until_s(self, used: Floats, limit_bytes: float) -> float:
        """Return seconds in which active memtables do not reach a limit: an arena is at most one block ahead of its entries."""
        growing = self._growth > 0.0
        most = float((used + self._block).sum()) + len(used) * INLINE_BYTES
        blocks = next_block_at(used[growing], self._block[growing]) - used[growing]
        return max(float((blocks / self._growth[growing]).min()), (limit_bytes - most) / float(self._growth.sum()))

    def _act(self) -> None:
        """Flush memtables while a flush is due, and stop or release the writers."""
        waits, flushed = False, []
        for number, member in enumerate(self._members):
            if member.look is not None:
                self._note(number, member.look())
        for number in self._in_order_of_writes():
            used = self._used_now()
            if self.manager.room_bytes(self._active_bytes(used), float(self._inactive.sum())) > 0.0:
                break
            place = self._members[number].place
            if (used[place] >= self._flushable[place] - _ALMOST).any():
                now = self._members[number].flush()
                if now is None:
                    waits = True
                else:
                    flushed.append(self._members[number].refresh)
                    self._note(number, now)
        for refresh in dict.fromkeys(flushed):
            refresh()
        self._stop_or_release()
        self._alarm.set(max(self._next_s(), _AGAIN_S if waits else 0.0))

    def _in_order_of_writes(self) -> list[int]:
        """Return the numbers of the databases that accept writes, in the random order in which their next writes come."""
        rates = [float(self._growth[m.place].sum()) for m in self._members]
        writing = [number for number, rate in enumerate(rates) if rate > 0.0]
        if len(writing) < 2:
            return writing
        waits = self._rng.exponential(size=len(writing)) / np.array([rates[number] for number in writing])
        return [writing[at] for at in np.argsort(waits).tolist()]

    def _stop_or_release(self) -> None:
        stops = self.manager.stops(self.memory_bytes)
        if not stops and not self._stopped:
            return
        self._stopped = stops
        for member in self._members:
            if stops:
                member.database.stop_writes(StallCause.WRITE_BUFFER_MANAGER_LIMIT)
            else:
                member.database.resume_writes(StallCause.WRITE_BUFFER_MANAGER_LIMIT)
