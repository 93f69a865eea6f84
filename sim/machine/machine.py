"""The machine under a run: device, cores, page cache, rate limiter, and how a job's work passes through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import simpy
from lsmlab.models.costs.cores import wake_ups
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.jobs import deletions, file_ends, job_start
from lsmlab.models.devices.throttled import FILE_READS, FILE_WRITES, SYNC_WRITES, copies_in_caller
from lsmlab.models.policies.rate_limiter import Priority
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.machine.core_station import CoreStation
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.gate import Gate
from lsmlab.sim.machine.journal import Journal
from lsmlab.sim.machine.limiter import LimiterStation
from lsmlab.sim.machine.page_cache import PageCache
from lsmlab.sim.machine.queues import Events as Events
from lsmlab.sim.machine.steps import BUFFER_BYTES, Progress, Step

PORTIONS_PER_REFILL: Final = 4.0
"""Requests to the rate limiter per refill of a writer that has all of it: finer ones find the bucket empty no oftener."""
PAGE_BYTES: Final = 4096.0
"""Least that the kernel writes back, and that a small read brings."""


class Consumer(IntEnum):
    """Who uses the device, for the series by consumer."""

    CLIENT = 0
    FLUSH = 1
    L0 = 2
    """Compactions that start at L0."""
    DEEPER = 3


@dataclass(slots=True)
class IoStyle:
    """How background jobs do I/O, from the store's options."""

    overlap_writes: bool
    """bytes_per_sync > 0 and buffered: writeback runs while the merge goes on."""
    whole_files: bool
    """Buffered without bytes_per_sync: a file's data reach the device with the fsync at its end, all at once.

    See (behaviour/device-and-kernel.md, Writes of tables).
    """
    overlap_reads: bool
    """Buffered reads: the kernel reads ahead while the merge goes on."""
    readahead_bytes: float
    """What a merge reads of a file at once."""
    burst_bytes: float | None
    """What a cap or a rate limiter lets pass at once before it makes writers or readers wait; None: neither is there."""


class Machine:
    """Everything that all stores of a run share."""

    def __init__(
        self, env: simpy.Environment, device: DeviceStation, cores: CoreStation, cache: PageCache, host: Host,
        style: IoStyle, limiter: LimiterStation | None, journal: Journal | None = None,
    ) -> None:  # fmt: skip
        """`journal`: of the file system, where files are written through the page cache."""
        self.env = env
        self.device = device
        self.cores = cores
        self.cache = cache
        self.host = host
        self._job_start_s = job_start().seconds(host)
        self.style = style
        self.limiter = limiter
        self.journal = journal
        copies = copies_in_caller(device.device)
        self._copies = copies and not device.in_order
        """Whether a job's thread copies to the device itself; what waits for a cap is copied by a thread of the kernel."""
        self.sleeps_in_fsync = journal is not None and not self._copies
        """Whether it sleeps while a file's fsync lasts."""
        self._sleeps = not (style.overlap_reads or style.overlap_writes or style.whole_files)
        """Whether a job's thread sleeps for each buffer that it reads or writes, as with direct I/O, and needs a core again
        afterwards."""
        self.limits_reads = False
        """Whether background reads pass the limiter as well."""
        self.wals_on_device = False
        """Whether log bytes reach the device before their log is deleted."""

    def run_parts(
        self, parts: Sequence[Sequence[Step]], consumer: Consumer, priority: Priority, progress: Progress,
        gate: Gate | None = None,
    ) -> Events:  # fmt: skip
        """Run subcompactions side by side, each in a thread of its own; ends with the slowest.

        See (behaviour/compaction-jobs.md, Subcompactions).
        """
        if len(parts) == 1:
            yield from self.run_steps(parts[0], consumer, priority, progress, gate)
            return
        threads = [self.env.process(self.run_steps(steps, consumer, priority, progress, gate)) for steps in parts]
        yield self.env.all_of(threads)

    def run_steps(
        self, steps: Sequence[Step], consumer: Consumer, priority: Priority, progress: Progress, gate: Gate | None = None
    ) -> Events:
        """Run the steps of one thread, with its I/O priority; `gate` may halt it between two of them, or end it."""
        style, device = self.style, self.device
        for step in steps:
            if gate is not None and gate.closed:
                yield from gate.wait()
                if gate.discarded:
                    break
            pending: simpy.Event | None = None
            if step.read_bytes > 0:
                if self.limits_reads and self.limiter is not None:
                    yield self.limiter.request(step.read_bytes, priority)
                reading = device.read(step.read_bytes, consumer)
                if style.overlap_reads and step.cpu_s > 0:
                    yield from self._compute(step, priority)
                    yield reading
                else:
                    yield reading
                    yield from self._compute(step, priority)
            elif step.write_bytes > 0 and style.overlap_writes and self.limiter is None:
                pending = device.write(step.write_bytes, consumer)
                yield from self._compute(step, priority)
            else:
                yield from self._compute(step, priority)
            if pending is not None or step.write_bytes > 0:
                yield from self._write(step, consumer, pending)
            if self._sleeps and (taken := self.cores.taken) > 0.0:
                requests = step.write_bytes / BUFFER_BYTES + step.read_bytes / style.readahead_bytes
                yield self.env.timeout(wake_ups(requests, taken).seconds(self.host))
            if step.point_reads > 0.0:
                yield self._point_reads(step.point_reads, consumer)
            if step.ends_file and step.write_bytes > 0:
                yield from self._small_writes(FILE_WRITES, consumer)
            progress.done(step)
        if gate is not None:
            gate.finished()

    def _write(self, step: Step, consumer: Consumer, pending: simpy.Event | None) -> Events:
        """Write the bytes of a step, or wait for the write that is `pending`; the last step of a buffered file fsyncs it."""
        journal = self.journal if step.ends_file else None
        if pending is not None:
            if journal is not None:
                yield from journal.fsync_written(pending)
            else:
                yield pending
            return
        if self._copies:
            self.cores.copying(1)
        if journal is not None:
            yield from journal.fsync_file(step.write_bytes, consumer)
        else:
            yield self.device.write(step.write_bytes, consumer)
        if self._copies:
            self.cores.copying(-1)

    def _compute(self, step: Step, priority: Priority) -> Events:
        """Compute, and ask the limiter for what is written as it comes: a writer asks for one buffer at a time.

        Only buffers reach the page cache here; when they reach the device is another matter. To ask for a whole step at
        its end would make the limiter's bucket run empty in every step, and an auto-tuned limiter counts that.
        """
        if self.limiter is None or step.write_bytes <= 0.0:
            if step.cpu_s > 0.0:
                yield self.cores.work(step.cpu_s)
            return
        portion = max(BUFFER_BYTES, self.limiter.rules.refill_bytes / PORTIONS_PER_REFILL)
        count = max(1, int(step.write_bytes / portion))
        for _ in range(count):
            if step.cpu_s > 0.0:
                yield self.cores.work(step.cpu_s / count)
            yield self.limiter.request(step.write_bytes / count, priority)

    def _point_reads(self, count: float, consumer: Consumer) -> simpy.Event:
        """Read blocks one after the other: as slow as their latencies together, or as their bytes where that is more."""
        waiting_s = count * self.device.grant.client_read_latency_s
        return self.env.all_of([self.device.read(count * PAGE_BYTES, consumer), self.env.timeout(waiting_s)])

    def start_job(self) -> Events:
        """Fixed cost of starting a job."""
        if self._job_start_s > 0:
            yield self.env.timeout(self._job_start_s)

    def finish_files(self, count: int) -> Events:
        """Fixed cost of finishing `count` output files: opening them, fsync of the tail, directory.

        See (behaviour/compaction-jobs.md, Timeline of a job).
        """
        yield from self._open_files(count)
        if self.journal is not None:
            yield from self.journal.fsync()
        yield from self._small_writes(SYNC_WRITES, Consumer.FLUSH)
        cost_s = file_ends(count).seconds(self.host)
        if cost_s > 0:
            yield self.env.timeout(cost_s)

    def _open_files(self, count: int) -> Events:
        """Read the footer and index of new files: RocksDB opens a table before it counts it (BuildTable, CompactionJob::Run).

        Pages that went through the cache are there. With direct I/O a cap on reads lets nothing pass while a merge uses it
        up, so a flush beside one waits for the next slice although it may write.
        """
        if self.device.bursty and not self.style.overlap_reads:
            yield self.device.read(count * PAGE_BYTES, Consumer.FLUSH)
            self.device.count_small(reads=count * FILE_READS)

    def commit(self) -> Events:
        """Append to the manifest and fsync it."""
        if self.journal is not None:
            if self.device.in_order:  # the edit's page is handed over behind all that waits for the cap
                yield self.device.write(PAGE_BYTES, Consumer.FLUSH)
            yield from self.journal.fsync()
        yield from self._small_writes(SYNC_WRITES, Consumer.FLUSH)
        if self.journal is None:
            yield self.env.timeout(self.device.device.fsync_s(self.device.state))

    def _small_writes(self, count: int, consumer: Consumer) -> Events:
        """What an fsync itself writes: a cap counts it, and when its allowance is used up it waits for the next slice.

        Through the page cache the journal has done the waiting.
        """
        if self.device.bursty:
            if self.journal is None:
                yield self.device.write(PAGE_BYTES, consumer)
            self.device.count_small(writes=count)

    def unlink(self, count: int, cached_bytes: float = 0.0, wal_bytes: float = 0.0) -> Events:
        """Delete obsolete files; the job keeps its slot meanwhile. `cached_bytes`: of them in the page cache."""
        cost_s = deletions(count, cached_bytes, wal_bytes).seconds(self.host)
        if cost_s > 0:
            yield self.env.timeout(cost_s)

    def deleted(self, file: SortedFile) -> None:
        """A file is gone: its pages are free and the device is told (TRIM)."""
        self.cache.deleted(file)
        self.device.trim(file.size_bytes)
        if file.wal_bytes:
            self.wal_deleted(file.wal_bytes)
        if self.device.discards_per_file:
            self.device.count_small(writes=self.device.discards_per_file)

    def wal_deleted(self, wal_bytes: float) -> None:
        """A write-ahead log is gone with its memtable."""
        if self.wals_on_device:
            self.device.trim(wal_bytes)
