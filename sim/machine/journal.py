"""The file system's journal: why an fsync waits for the data of other files.

Model of ext4 with data=ordered, Linux's default (Linux fs/jbd2/commit.c `jbd2_journal_commit_transaction`, fs/ext4/inode.c
`ext4_map_blocks`, fs/ext4/fsync.c). Blocks of a buffered file are allocated when its pages are written back, at the
latest by its fsync; the file then belongs to the running transaction. An fsync writes the file's own pages, waits for
them, and has that transaction committed. A commit first waits until the data of all files in the transaction are on the
device, so that no block is reachable before its content. So fsyncs whose data were handed over in the same transaction
end together, and a small fsync (directory, manifest) may wait for whole files of others. One transaction commits at a
time; meanwhile the next one collects.

In LOGs of RocksDB 6.4 on such machines 38 % of the output files under a cap are finished within 2 ms of another job's,
where chance would give 1 %.

How much of a file belongs to a transaction depends on how deep requests queue. Behind a cap all of a file is handed over
at once, and so it is while a drive's own queue has room (SATA under CFQ or BFQ: 128 requests of up to 1.25 MiB). Where it
has none, where writeback is throttled by depth (block/blk-wbt.c, on NVMe: 8 to 16 requests) or where the caller copies
(persistent memory), a file goes in portions of one extent, at most 8 MiB (fs/ext4/inode.c MAX_WRITEPAGES_EXTENT_LEN, 2048
pages), each with a journal handle that stays open until the device has taken it. A commit then waits for the portions in
hand, and while it does, the transaction is locked (T_LOCKED): nobody can open a handle, so no file can be created or
appended to. Writers of the log stand still without RocksDB counting a stall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import simpy
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.observers import Observers


@dataclass(slots=True, eq=False)
class Transaction:
    """Changes that become durable together."""

    done: simpy.Event
    """The commit is on the device."""
    data: list[simpy.Event] = field(default_factory=list)
    """Writes of file data that must be on the device first."""
    held: list[simpy.Event] = field(default_factory=list)
    """Those of them whose journal handle is open until they are."""
    wanted: bool = False
    """Somebody has asked for the commit."""


class Journal:
    """The journal of the one file system that all stores of a run share."""

    def __init__(
        self,
        env: simpy.Environment,
        device: DeviceStation,
        portion_bytes: float = math.inf,
        queue_bytes: float = math.inf,
    ) -> None:
        """`portion_bytes`: most of a file that a handle hands over at a time where the device's queue has no room left.

        `queue_bytes`: what the queue takes.
        """
        self._env = env
        self._device = device
        self._portion_bytes = portion_bytes
        self._queue_bytes = queue_bytes
        self._lock: simpy.Event | None = None
        """Ends with the lock of the committing transaction."""
        self.lock_changed = Observers[[]]()
        """Handles cannot be opened any more, or can again."""
        self._running = Transaction(env.event())
        self._committing: Transaction | None = None

    def submitted(self, written: simpy.Event) -> Transaction:
        """A file's pages were handed to the device just now; `written` fires when they are on it."""
        self._running.data.append(written)
        return self._running

    @property
    def locked(self) -> bool:
        """Whether nobody can open a handle: files cannot be appended to."""
        return self._lock is not None

    def fsync_written(self, written: simpy.Event) -> Events:
        """Fsync of a file whose last pages were handed over before."""
        transaction = self.submitted(written)
        yield written
        yield from self._commit(transaction)

    def fsync_file(self, size_bytes: float, consumer: int) -> Events:
        """Fsync of a file that is in the page cache so far."""
        left = size_bytes
        while True:
            while self._lock is not None:
                yield self._lock
            room = self._queue_bytes - self._device.queued_write_bytes
            portion = left if left <= max(room, self._portion_bytes) else max(room, self._portion_bytes)
            written = self._device.write(portion, consumer)
            transaction = self.submitted(written)
            if portion > room:
                transaction.held.append(written)
            yield written
            left -= portion
            if left < 1.0:
                break
        yield from self._commit(transaction)

    def fsync(self) -> Events:
        """Fsync of what changed little: a directory, a manifest."""
        yield from self._commit(self._running)

    def _commit(self, transaction: Transaction) -> Events:
        if transaction.wanted:
            if not transaction.done.triggered:
                yield transaction.done
            return
        transaction.wanted = True
        while self._committing is not None:
            yield self._committing.done
        self._committing = transaction
        self._running = Transaction(self._env.event())
        held = [written for written in transaction.held if not written.processed]
        if held:
            lock = self._lock = self._env.event()
            self.lock_changed()
            for written in held:
                if not written.processed:
                    yield written
            self._lock = None
            lock.succeed()
            self.lock_changed()
        for written in transaction.data:
            if not written.processed:
                yield written
        yield from self._device.flush_cache()
        self._committing = None
        transaction.done.succeed()
