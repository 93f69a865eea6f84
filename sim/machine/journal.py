"""Journal of the file system: an fsync may wait for the data of other files.

Model of ext4 with data=ordered, Linux's default (Linux fs/jbd2/commit.c `jbd2_journal_commit_transaction`, fs/ext4/inode.c
`ext4_map_blocks`, fs/ext4/fsync.c). Blocks of a buffered file are allocated when its pages are written back, at the
latest by its fsync; the file then belongs to the running transaction. An fsync writes the file's own pages, waits for
them, and commits that transaction. A commit first waits until the data of all files in the transaction are on the
device, so that no block is reachable before its content. Fsyncs whose data belong to the same transaction therefore
end together, and a small fsync (directory, MANIFEST) may wait for whole files of other jobs. One transaction commits
at a time; meanwhile the next one collects changes.

In LOGs of RocksDB 6.4 on such machines 38 % of the output files under a cap end within 2 ms of another job's output
file; independent fsyncs would give 1 %.

The part of a file that belongs to one transaction depends on the depth of the request queue. Behind a cap, and while
the queue of a drive has room, the kernel submits a whole file at once. SATA drives and hard disks queue 32 requests of
up to 1280 KiB (NCQ; BLK_DEF_MAX_SECTORS); on NVMe the kernel throttles writeback to 16 requests, and to more while nothing is
read (block/blk-wbt.c, RWB_DEF_DEPTH, scale_up): 31, one step up, are inferred from LOGs (docs/decisions/0052). Where the queue is
full, or where the caller copies (persistent memory), the kernel submits a file in portions of one extent, at most 8 MiB
(fs/ext4/inode.c MAX_WRITEPAGES_EXTENT_LEN, 2048 pages), each with a journal handle that stays open until the device has
written the portion.

Two parts of a commit hold up writers of the WAL, and RocksDB counts no stall (docs/decisions/0032). While the commit
waits for open handles the transaction is locked (T_LOCKED): no thread can open a handle, so no file can be created or
appended to. Then the commit submits the journal's blocks, behind all requests in the device's queue; until they are written,
an append waits, because the WAL's inode is among them (fs/jbd2/transaction.c `do_get_write_access`, BH_Shadow): every append
since the commit before has changed its size. The wait for the data and the flush with the commit record hold up no append.

A kernel thread of its own commits (fs/jbd2/journal.c `kjournald2`). It wakes all threads that wait for the commit at once, and
they continue on different cores in an order that nothing determines. So a flush and a compaction whose files belong to one
transaction end in either order (docs/decisions/0035).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import simpy
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.observers import Observers

_WAKE_S: Final = 50e-6
"""Time in s from the request of a commit until the kernel thread takes the transaction: the order of a wake-up on another core.
Fsyncs of threads that the same commit has woken join one transaction."""


@dataclass(slots=True, eq=False)
class Transaction:
    """Journal transaction: changes that become durable together."""

    done: simpy.Event
    """Fires when the commit is on the device."""
    data: list[simpy.Event] = field(default_factory=list)
    """Writes of file data that must reach the device before the commit."""
    pending_data: list[simpy.Event] = field(default_factory=list)
    """Writes of `data` that hold a journal handle open until they reach the device."""
    waiting: list[simpy.Event] = field(default_factory=list)
    """Fire for the threads that wait for the commit; the first of them requested it."""


class Journal:
    """Journal of the one file system that all databases of a run share."""

    def __init__(
        self,
        env: simpy.Environment,
        device: DeviceStation,
        portion_bytes: float = math.inf,
        queue_bytes: float = math.inf,
        *,
        behind_files: bool = True,
        rng: np.random.Generator | None = None,
    ) -> None:
        """`portion_bytes`: largest part of a file that one handle submits while the device's queue is full.

        `queue_bytes`: capacity of the device's queue. `behind_files`: the journal's blocks wait for the files in it: not where
        files are written before their fsync (bytes_per_sync), so that it is almost empty, nor where the I/O scheduler serves them
        first. `rng`: random numbers for the order in which a commit wakes threads (None: the order of their fsyncs).
        """
        self._env = env
        self._rng = rng
        self._device = device
        self._portion_bytes = portion_bytes
        self._queue_bytes = queue_bytes
        self._queues_blocks = behind_files and 0.0 < queue_bytes < math.inf
        """Whether the journal's blocks wait behind files: not where the caller copies (no queue), nor behind a cap, which delays
        files before the queue."""
        self._lock: simpy.Event | None = None
        """Fires when the committing transaction unlocks; None while no transaction is locked."""
        self._blocks_queued = False
        """Whether blocks of the journal, the WAL's inode among them, are in the device's queue."""
        self.lock_changed = Observers[[]]()
        """Observers of the lock: called when it is taken and when it is released."""
        self._running = Transaction(env.event())
        self._committing: Transaction | None = None

    def submitted(self, written: simpy.Event) -> Transaction:
        """Add a file whose pages were just submitted to the running transaction; `written` fires when they are on the device."""
        self._running.data.append(written)
        return self._running

    @property
    def locked(self) -> bool:
        """Whether no file can be appended to: a transaction is locked, or the journal's blocks are in the queue."""
        return self._lock is not None or self._blocks_queued

    def fsync_written(self, written: simpy.Event) -> Generator[simpy.Event, Any, float]:
        """Fsync a file whose last pages were submitted before. Return the time that its own pages took, in s."""
        since_s = self._env.now
        transaction = self.submitted(written)
        yield written
        own_s = self._env.now - since_s
        yield from self._commit(transaction)
        return own_s

    def fsync_file(self, size_bytes: float, consumer: int) -> Generator[simpy.Event, Any, float]:
        """Fsync a file whose pages are still in the page cache. Return the time that its own pages took, in s."""
        left, own_s = size_bytes, 0.0
        while True:
            while self._lock is not None:
                yield self._lock
            room = self._queue_bytes - self._device.queued_write_bytes
            portion = left if left <= max(room, self._portion_bytes) else max(room, self._portion_bytes)
            written = self._device.write(portion, consumer)
            transaction = self.submitted(written)
            if portion > room:
                transaction.pending_data.append(written)
            since_s = self._env.now
            yield written
            own_s += self._env.now - since_s
            left -= portion
            if left < 1.0:
                break
        yield from self._commit(transaction)
        return own_s

    def fsync(self) -> Events:
        """Fsync a directory or the MANIFEST, whose data are negligible."""
        yield from self._commit(self._running)

    def _commit(self, transaction: Transaction) -> Events:
        """Wait for the commit of a transaction, and request it if no other thread has done so."""
        if transaction.done.triggered:
            return
        woken = self._env.event()
        transaction.waiting.append(woken)
        if len(transaction.waiting) == 1:
            self._env.process(self._run_commit(transaction))
        yield woken

    def _run_commit(self, transaction: Transaction) -> Events:
        yield self._env.timeout(_WAKE_S)
        while self._committing is not None:
            yield self._committing.done
        self._committing = transaction
        self._running = Transaction(self._env.event())
        held = [written for written in transaction.pending_data if not written.processed]
        if held:
            yield from self._locked(_written(held))
        blocks = self._env.process(self._write_blocks())
        yield from _written([*transaction.data, blocks])
        yield from self._device.flush_cache()
        self._committing = None
        transaction.done.succeed()
        waiting = transaction.waiting
        if self._rng is not None and len(waiting) > 1:
            waiting = [waiting[i] for i in self._rng.permutation(len(waiting))]
        for woken in waiting:
            woken.succeed()

    def _write_blocks(self) -> Events:
        """Write the journal's blocks behind the requests that are in the device's queue now."""
        ahead_bytes = self._device.queued_write_bytes if self._queues_blocks else 0.0
        if ahead_bytes > 0.0:
            self._blocks_queued = True
            self.lock_changed()
            yield self._env.timeout(ahead_bytes * self._device.alone_s_per_byte()[1])
            self._blocks_queued = False
            self.lock_changed()

    def _locked(self, steps: Events) -> Events:
        """Run a part of a commit during which no file can be created or appended to."""
        lock = self._lock = self._env.event()
        self.lock_changed()
        yield from steps
        self._lock = None
        lock.succeed()
        self.lock_changed()


def _written(data: list[simpy.Event]) -> Events:
    """Wait until all of these writes are on the device."""
    for written in data:
        if not written.processed:
            yield written
