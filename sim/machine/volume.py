"""Volume of the machine: a device with its file system, through which jobs read and write their files."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import simpy
from lsmlab.models.devices.capped import FILE_PIECES, FILE_READS, FILE_WRITES, PAGE_BYTES, SYNC_WRITES
from lsmlab.sim.machine.core_station import CoreStation
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.journal import Journal
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.machine.space import DeviceSpace
from lsmlab.sim.machine.steps import BUFFER_BYTES, PIECES_PER_BURST, JobWaits


class Consumer(IntEnum):
    """Consumers of device bandwidth in the series per second."""

    CLIENT = 0
    FLUSH = 1
    L0 = 2
    """Compactions that start at L0."""
    DEEPER = 3


@dataclass(slots=True)
class IoStyle:
    """I/O mode of background jobs, from the options of the engine."""

    overlap_writes: bool
    """Buffered writes with bytes_per_sync: the kernel writes back while the job computes."""
    whole_files: bool
    """Buffered writes without bytes_per_sync: the fsync at the end of a file writes all its data to the device.

    See (behaviour/device-and-kernel.md, Writes of tables).
    """
    overlap_reads: bool
    """Buffered reads: the kernel reads ahead while the job computes."""
    readahead_bytes: float
    """Bytes of one read of an input file."""
    burst_bytes: float | None
    """Bytes that a cap or a rate limiter lets pass before requests wait; None: no cap and no rate limiter."""

    @property
    def piece_bytes(self) -> float | None:
        """Bytes that a step of a job writes: an eighth of a burst, at least one buffer; None: no cap and no rate limiter."""
        return None if self.burst_bytes is None else max(BUFFER_BYTES, self.burst_bytes / PIECES_PER_BURST)


class Volume:
    """Device with its file system."""

    def __init__(
        self, env: simpy.Environment, device: DeviceStation, cores: CoreStation, style: IoStyle, journal: Journal | None = None
    ) -> None:
        """Start idle. `journal`: of the file system, for buffered writes; None: direct I/O."""
        self._env = env
        self.device = device
        self._cores = cores
        self._style = style
        self.journal = journal
        self.space = DeviceSpace()
        self.read_alone, self.write_alone = device.alone_s_per_byte()
        """Time per byte of a job that has the idle device to itself, in s."""
        copies = device.device.copies_in_caller
        self._copies = copies and not device.writes_in_order
        """Whether the thread of a job copies data to the device itself; writes that queue for a cap are copied by a kernel
        thread."""
        self._worker_copies = copies and device.writes_in_order
        """Whether a kernel thread copies the writes that a cap has let pass."""
        self._queued_writes = 0
        """Number of jobs with writes that wait for a cap."""
        self._worker_share = 0.0
        """Present share of a core of the kernel thread that copies these writes to the device."""
        self.sleeps_in_fsync = journal is not None and not self._copies
        """Whether the thread of a job sleeps during the fsync of a file."""
        self._read_request_bytes = math.inf
        """Maximum bytes of a read that waits in the queue of a cap: its thread submits the next one when it has arrived."""
        if device.reads_in_order:
            self._read_request_bytes = max(style.readahead_bytes, (style.burst_bytes or 0.0) / PIECES_PER_BURST)
        self.wal_fsync_share = 1.0
        """Time of an fsync of the WAL divided by that of an fsync of a directory or the MANIFEST."""

    @property
    def _pages_count(self) -> bool:
        """Whether small requests matter: a cap on bytes binds, or there is one on operations."""
        return self.device.bursty or self.device.device.counts_operations

    @property
    def wal_fsync_s(self) -> float:
        """Time of an fsync of a WAL here alone on the device."""
        return self.wal_fsync_share * self.device.device.fsync_s(self.device.state)

    def submit_read(self, size_bytes: float, consumer: Consumer) -> Generator[simpy.Event, Any, simpy.Event]:
        """Submit a read and return its event; of requests that queue for a cap, wait for all but the last one."""
        count = max(1, math.ceil(size_bytes / self._read_request_bytes))
        for _ in range(count - 1):
            yield self.device.read(size_bytes / count, consumer)
        return self.device.read(size_bytes / count, consumer)

    def write(
        self, size_bytes: float, consumer: Consumer, pending: simpy.Event | None, waits: JobWaits, *,
        overlapped_s: float = 0.0, ends_file: bool = False,
    ) -> Events:  # fmt: skip
        """Write bytes, or wait for the `pending` write, beside which the job has computed for `overlapped_s`.

        `ends_file`: they are the last ones of a file, whose fsync follows if it is buffered.
        """
        env, since_s = self._env, self._env.now
        journal = self.journal if ends_file else None
        copies = self._copies and pending is None
        if copies:
            self._cores.copying(1.0)
        self._queue_writes(1)
        if journal is None:
            yield self.device.write(size_bytes, consumer) if pending is None else pending
            waits.device_s += env.now - since_s
        else:
            own_s = yield from (
                journal.fsync_file(size_bytes, consumer) if pending is None else journal.fsync_written(pending)
            )
            waits.device_s += own_s
            waits.sync_wait_s += env.now - since_s - own_s
        waits.device_alone_s += max(0.0, size_bytes * self.write_alone - overlapped_s)
        if copies:
            self._cores.copying(-1.0)
        self._queue_writes(-1)

    def _queue_writes(self, change: int) -> None:
        """Change the number of jobs with writes that wait for a cap; while there are any, a kernel thread copies."""
        if not self._worker_copies:
            return
        self._queued_writes += change
        if change > 0 and self._queued_writes == 1:
            self._worker_share = self.device.device.worker_share(self.write_alone)
            self._cores.copying(self._worker_share)
        elif self._queued_writes == 0:
            self._cores.copying(-self._worker_share)

    def point_reads(self, count: float, size_bytes: float, consumer: Consumer, waits: JobWaits) -> Events:
        """Read values one after the other: takes the sum of their latencies, or the transfer time if longer."""
        since_s, waiting_s = self._env.now, count * self.device.grant.client_read_latency_s
        yield self._env.all_of([self.device.read(count * size_bytes, consumer), self._env.timeout(waiting_s)])
        waits.device_s += self._env.now - since_s
        waits.device_alone_s += self._env.now - since_s  # a read of one block has the same latency alone

    def end_file(self, consumer: Consumer) -> Events:
        """Write the metadata of a file that ends."""
        self.device.count_small(writes=FILE_PIECES)
        yield from self._small_writes(FILE_WRITES, consumer)

    def finish_files(self, count: int) -> Events:
        """Open `count` new files, and fsync their tails and their directory."""
        yield from self._open_files(count)
        if self.journal is not None:
            yield from self.journal.fsync()
        yield from self._small_writes(SYNC_WRITES, Consumer.FLUSH)

    def _open_files(self, count: int) -> Events:
        """Read footer and index of new files: RocksDB opens each file before the commit (BuildTable, CompactionJob::Run).

        Buffered reads hit the page cache. With direct reads under a cap, each of these small reads waits behind the
        requests that compactions have submitted, even if the cap still allows writes.
        """
        if self._pages_count and not self._style.overlap_reads:
            self.device.count_small(reads=count * FILE_PIECES)
            for _ in range(count * FILE_READS):
                if (waiting := self.device.small_read(Consumer.FLUSH)) is not None:
                    yield waiting
                self.device.count_small(reads=1.0 - PAGE_BYTES / self.device.request_bytes[0])  # its bytes count already

    def commit(self) -> Events:
        """Append a version edit to the MANIFEST and fsync it."""
        if self.journal is not None:
            # the page of the edit queues behind all writes that wait for the cap
            if self.device.writes_in_order and (waiting := self.device.small_write(Consumer.FLUSH)) is not None:
                yield waiting
            yield from self.journal.fsync()
        yield from self._small_writes(SYNC_WRITES, Consumer.FLUSH)
        if self.journal is None:
            yield self._env.timeout(self.device.device.fsync_s(self.device.state))

    def _small_writes(self, count: int, consumer: Consumer) -> Events:
        """Write the `count` small requests of an fsync on a capped device.

        Without a journal (direct I/O) each one waits behind the requests that other jobs have submitted, and for the next
        slice if the allowance of the cap is used up. With a journal, `Journal` has simulated the wait already, and the cap
        only counts the requests.
        """
        if not self._pages_count:
            return
        if self.journal is not None:
            self.device.count_small(writes=count)
            return
        if not self.device.device.counts_operations and self.device.small_writes_pass(count, consumer):
            return
        for _ in range(count):
            if (waiting := self.device.small_write(consumer)) is not None:
                yield waiting
            self.device.count_small(writes=1.0 - PAGE_BYTES / self.device.request_bytes[1])  # its bytes count already

    def discard(self, size_bytes: float, files: int = 0) -> None:
        """Trim the bytes of deleted files, or of the unfinished files of a job that committed nothing."""
        self.space.free(size_bytes)
        self.device.trim(size_bytes)
        if files and (discards := self.device.device.file_discards):
            self.device.count_small(writes=discards * files)
