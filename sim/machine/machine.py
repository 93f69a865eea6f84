"""Machine of a run: device, cores, page cache and rate limiter, and the passage of a job's steps through them."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from copy import copy
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

import simpy
from lsmlab.models.costs.cores import busy_probability, wake_ups
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.jobs import deletions, file_ends, job_start
from lsmlab.models.devices.capped import FILE_PIECES, FILE_READS, FILE_WRITES, PAGE_BYTES, SYNC_WRITES
from lsmlab.models.policies.rate_limiter import Priority
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.machine.core_station import CoreStation
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.gate import Gate
from lsmlab.sim.machine.journal import Journal
from lsmlab.sim.machine.limiter import LimiterStation
from lsmlab.sim.machine.page_cache import PageCache, StoredFile
from lsmlab.sim.machine.queues import Events as Events
from lsmlab.sim.machine.space import DeviceSpace, Faults
from lsmlab.sim.machine.steps import BUFFER_BYTES, PIECES_PER_BURST, JobWaits, Step, StepProgress

PORTIONS_PER_REFILL: Final = 4.0
"""Requests per refill of a writer that has the rate limiter to itself. With smaller requests, the writer would find the
bucket empty equally often."""


class Consumer(IntEnum):
    """Consumers of device bandwidth in the series per second."""

    CLIENT = 0
    FLUSH = 1
    L0 = 2
    """Compactions that start at L0."""
    DEEPER = 3


class ClientDemand(NamedTuple):
    """Demand of all clients on cores and device, at the rates at which they are served."""

    runnable: float = 0.0
    """Mean number of client threads that want a core."""
    read_iops: float = 0.0
    """Requests of reads per second."""
    read_bytes: float = 4096.0
    """Mean bytes of such a request."""
    depth: float = 1.0
    """Threads that read."""
    write_bytes_per_s: float = 0.0
    """WAL bytes that reach the device."""


class MachineShares(NamedTuple):
    """Shares of cores and device that clients get, beside the present background work."""

    core_share: float
    """Share of a core that one runnable thread gets."""
    runnable: float
    """Threads that want a core, those of jobs included."""
    background: float
    """Threads of jobs that want a core."""
    cores: float
    read_latency_s: float
    """Latency of a request of a client to the device."""
    queued_s: float
    """Time that a request waits behind those of others (`Grant.queued_s`)."""
    fsync_s: float
    """Time of an fsync of the WAL alone on the device."""
    busy_probability: float
    """Probability that a further thread finds no free core."""


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


class Machine:
    """Machine that all databases of a run share."""

    def __init__(
        self, env: simpy.Environment, device: DeviceStation, cores: CoreStation, cache: PageCache, host: Host,
        style: IoStyle, limiter: LimiterStation | None, journal: Journal | None = None,
    ) -> None:  # fmt: skip
        """Start idle. `journal`: of the file system, for buffered writes; None: direct I/O."""
        self.env = env
        self.device = device
        self.cores = cores
        self.cache = cache
        self.host = host
        self.space = DeviceSpace()
        self.faults = Faults()
        self._job_start_s = job_start().seconds(host)
        self._read_alone, self._write_alone = device.alone_s_per_byte()
        """Time per byte of a job that has the idle device to itself, in s."""
        self.style = style
        self.limiter = limiter
        self.journal = journal
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
        self._sleeps = not (style.overlap_reads or style.overlap_writes or style.whole_files)
        """Whether the thread of a job sleeps during each read and write of a buffer (direct I/O), and then waits for a core."""
        self._read_request_bytes = math.inf
        """Maximum bytes of a read that waits in the queue of a cap: its thread submits the next one when it has arrived."""
        if device.reads_in_order:
            self._read_request_bytes = max(style.readahead_bytes, (style.burst_bytes or 0.0) / PIECES_PER_BURST)
        self.wal_fsync_share = 1.0
        """Time of an fsync of the WAL divided by that of an fsync of a directory or the MANIFEST."""
        self.limits_reads = False
        """Whether background reads pass the rate limiter, too."""
        self.wals_on_device = False
        """Whether WAL bytes reach the device before the WAL is deleted."""
        self.views = [self]
        """This machine with each of its rate limiters (`with_limiter`)."""

    def with_limiter(self, limiter: LimiterStation | None) -> Machine:
        """Return the same machine for databases with another rate limiter: everything else is shared."""
        other = copy(self)
        other.limiter = limiter
        self.views.append(other)
        return other

    @property
    def piece_bytes(self) -> float | None:
        """Bytes that a step of a job writes; None while neither a cap nor a rate limiter holds up requests."""
        return self.style.piece_bytes if self.limiter is not None or self.device.bursty else None

    @property
    def _pages_count(self) -> bool:
        """Whether small requests matter: a cap on bytes binds, or there is one on operations."""
        return self.device.bursty or self.device.device.counts_operations

    @property
    def client_demand(self) -> ClientDemand:
        """Present demand of the clients."""
        return ClientDemand(self.cores.clients, *self.device.clients)

    def shares(self, demand: ClientDemand) -> MachineShares:
        """Return the shares that clients with this demand would get now."""
        device, cores = self.device, self.cores.cores
        core_share, runnable, background = self.cores.share_with(demand.runnable)
        grant = device.grant_with(demand[1:])
        return MachineShares(
            core_share, runnable, background, cores, grant.client_read_latency_s, grant.queued_s,
            self.wal_fsync_share * device.device.fsync_s(device.state), busy_probability(runnable, cores),
        )  # fmt: skip

    def serve(self, demand: ClientDemand) -> None:
        """Set the demand of the clients."""
        self.cores.set_clients(demand.runnable)
        self.device.set_clients(*demand[1:])

    def run_parts(
        self, parts: Sequence[Sequence[Step]], consumer: Consumer, priority: Priority, progress: StepProgress,
        gate: Gate | None = None,
    ) -> Events:  # fmt: skip
        """Run the steps of all subcompactions in parallel, one thread each; end with the slowest thread.

        See (behaviour/compaction-jobs.md, Subcompactions).
        """
        if len(parts) == 1:
            yield from self.run_steps(parts[0], consumer, priority, progress, gate)
            return
        threads = [self.env.process(self.run_steps(steps, consumer, priority, progress, gate)) for steps in parts]
        yield self.env.all_of(threads)

    def run_steps(
        self, steps: Sequence[Step], consumer: Consumer, priority: Priority, progress: StepProgress, gate: Gate | None = None
    ) -> Events:
        """Run the steps of one thread with its I/O priority; `gate` may halt or abort the thread between two steps."""
        style, env, waits = self.style, self.env, progress.waits
        for step in steps:
            if gate is not None and gate.closed:
                yield from gate.wait()
                if gate.discarded:
                    break
            if step.write_bytes > 0:
                step = progress.admitted(step, self.space)
            pending: simpy.Event | None = None
            if step.read_bytes > 0:
                if self.limits_reads and self.limiter is not None:
                    yield from self._limit(step.read_bytes, priority, waits)
                since_s = env.now
                reading = yield from self._submit_read(step.read_bytes, consumer)
                overlapped_s = step.cpu_s if style.overlap_reads else 0.0
                if overlapped_s > 0.0:
                    yield from self._compute(step, priority, waits)
                    since_s = env.now
                yield reading
                waits.device_s += env.now - since_s
                waits.device_alone_s += max(0.0, step.read_bytes * self._read_alone - overlapped_s)
                if overlapped_s <= 0.0:
                    yield from self._compute(step, priority, waits)
            elif step.write_bytes > 0 and style.overlap_writes:
                pending = yield from self._compute_beside_write(step, consumer, priority, waits)
            else:
                yield from self._compute(step, priority, waits)
            if pending is not None or step.write_bytes > 0:
                yield from self._write(step, consumer, pending, waits)
            if self._sleeps and (taken := self.cores.busy_probability) > 0.0:
                requests = step.write_bytes / BUFFER_BYTES + step.read_bytes / style.readahead_bytes
                wake_ups_s = wake_ups(requests, taken).seconds(self.host)
                waits.core_wait_s += wake_ups_s
                yield env.timeout(wake_ups_s)
            if step.point_reads > 0.0:
                yield from self._point_reads(step, consumer, waits)
            if step.ends_file and step.write_bytes > 0:
                self.device.count_small(writes=FILE_PIECES)
                yield from self._small_writes(FILE_WRITES, consumer)
            progress.done(step)
            if progress.failure is not None:
                break
        if gate is not None:
            gate.finished()

    def _submit_read(self, size_bytes: float, consumer: Consumer) -> Generator[simpy.Event, Any, simpy.Event]:
        """Submit a read and return its event; of requests that queue for a cap, wait for all but the last one."""
        count = max(1, math.ceil(size_bytes / self._read_request_bytes))
        for _ in range(count - 1):
            yield self.device.read(size_bytes / count, consumer)
        return self.device.read(size_bytes / count, consumer)

    def _write(self, step: Step, consumer: Consumer, pending: simpy.Event | None, waits: JobWaits) -> Events:
        """Write the bytes of a step, or wait for the `pending` write; the last step of a buffered file also fsyncs it."""
        env, since_s = self.env, self.env.now
        journal = self.journal if step.ends_file else None
        overlapped_s = 0.0 if pending is None else step.cpu_s
        copies = self._copies and pending is None
        if copies:
            self.cores.copying(1.0)
        self._queue_writes(1)
        if journal is None:
            yield self.device.write(step.write_bytes, consumer) if pending is None else pending
            waits.device_s += env.now - since_s
        else:
            own_s = yield from (
                journal.fsync_file(step.write_bytes, consumer) if pending is None else journal.fsync_written(pending)
            )
            waits.device_s += own_s
            waits.sync_wait_s += env.now - since_s - own_s
        waits.device_alone_s += max(0.0, step.write_bytes * self._write_alone - overlapped_s)
        if copies:
            self.cores.copying(-1.0)
        self._queue_writes(-1)

    def _queue_writes(self, change: int) -> None:
        """Change the number of jobs with writes that wait for a cap; while there are any, a kernel thread copies."""
        if not self._worker_copies:
            return
        self._queued_writes += change
        if change > 0 and self._queued_writes == 1:
            self._worker_share = self.device.device.worker_share(self._write_alone)
            self.cores.copying(self._worker_share)
        elif self._queued_writes == 0:
            self.cores.copying(-self._worker_share)

    def _limit(self, size_bytes: float, priority: Priority, waits: JobWaits) -> Events:
        """Wait until the rate limiter grants `size_bytes`."""
        assert self.limiter is not None
        since_s = self.env.now
        yield self.limiter.request(size_bytes, priority)
        waits.limiter_wait_s += self.env.now - since_s

    def _compute(self, step: Step, priority: Priority, waits: JobWaits) -> Events:
        """Compute, and request the bytes of each written portion from the rate limiter before the next portion.

        RocksDB requests the bytes of each buffer as soon as the buffer is full; `_write` simulates the write to the device.
        A single request for the whole step would empty the limiter's bucket in every step, and an auto-tuned limiter counts
        how often that happens.
        """
        limiter, count = self.limiter if step.write_bytes > 0.0 else None, self._portions(step)
        cpu_s = step.cpu_s / count
        for _ in range(count):
            if cpu_s > 0.0:
                since_s = self.env.now
                yield self.cores.work(cpu_s)
                if not self.cores.plenty:
                    waits.core_wait_s += self.env.now - since_s - cpu_s
            if limiter is not None:
                yield from self._limit(step.write_bytes / count, priority, waits)

    def _portions(self, step: Step) -> int:
        """Return the number of portions in which a step requests its bytes from the rate limiter; 1 without a limiter."""
        if self.limiter is None or step.write_bytes <= 0.0:
            return 1
        portion = max(BUFFER_BYTES, self.limiter.rules.refill_bytes / PORTIONS_PER_REFILL)
        return max(1, int(step.write_bytes / portion))

    def _compute_beside_write(
        self, step: Step, consumer: Consumer, priority: Priority, waits: JobWaits
    ) -> Generator[simpy.Event, Any, simpy.Event]:
        """Compute while the kernel writes back (bytes_per_sync); return the event of the last byte on the device.

        With a rate limiter, the kernel gets each portion when it is granted, and writes it while the job computes the next.
        """
        if self.limiter is None:
            pending = self.device.write(step.write_bytes, consumer)
            yield from self._compute(step, priority, waits)
            return pending
        count = self._portions(step)
        part = step._replace(cpu_s=step.cpu_s / count, write_bytes=step.write_bytes / count)
        yield from self._compute(part, priority, waits)
        for _ in range(count - 1):
            pending = self.device.write(part.write_bytes, consumer)
            yield from self._compute(part, priority, waits)
            since_s = self.env.now
            yield pending
            waits.device_s += self.env.now - since_s
        return self.device.write(part.write_bytes, consumer)

    def _point_reads(self, step: Step, consumer: Consumer, waits: JobWaits) -> Events:
        """Read values one after the other: takes the sum of their latencies, or the transfer time if longer."""
        since_s, waiting_s = self.env.now, step.point_reads * self.device.grant.client_read_latency_s
        size_bytes = step.point_reads * step.point_read_bytes
        yield self.env.all_of([self.device.read(size_bytes, consumer), self.env.timeout(waiting_s)])
        waits.device_s += self.env.now - since_s
        waits.device_alone_s += self.env.now - since_s  # a read of one block has the same latency alone

    def start_job(self) -> Events:
        """Wait for the fixed time of a job start."""
        if self._job_start_s > 0:
            yield self.env.timeout(self._job_start_s)

    def finish_files(self, count: int) -> Events:
        """Finish `count` output files at fixed cost: open the files, fsync their tails and the directory.

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
        """Read footer and index of new files: RocksDB opens each file before the commit (BuildTable, CompactionJob::Run).

        Buffered reads hit the page cache. With direct reads under a cap, each of these small reads waits behind the
        requests that compactions have submitted, even if the cap still allows writes.
        """
        if self._pages_count and not self.style.overlap_reads:
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
            yield self.env.timeout(self.device.device.fsync_s(self.device.state))

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

    def unlink(self, count: int, file_bytes: float, wal_bytes: float = 0.0) -> Events:
        """Delete `count` obsolete files, WALs included; the job keeps its slot until the end.

        `wal_bytes`: bytes of the WALs; `file_bytes`: bytes of the other files.
        """
        cost_s = deletions(count, file_bytes, wal_bytes).seconds(self.host)
        if cost_s > 0:
            yield self.env.timeout(cost_s)

    def deleted(self, files: Sequence[SortedFile]) -> None:
        """Free the page cache of deleted SST files and trim their bytes on the device, and those of WALs that go with them."""
        self.files_deleted(files)
        for wal_bytes in [file.wal_bytes for file in files if file.wal_bytes]:
            self.wal_deleted(wal_bytes)

    def files_deleted(self, files: Sequence[StoredFile]) -> None:
        """Free the page cache of deleted files and trim their bytes on the device."""
        if not files:
            return
        self.cache.deleted(files)
        self.discard(sum([file.size_bytes for file in files]))
        if discards := self.device.device.file_discards:
            self.device.count_small(writes=discards * len(files))

    def wal_deleted(self, wal_bytes: float) -> None:
        """Trim the bytes of a deleted WAL, if they have reached the device."""
        self.space.free(wal_bytes)
        if self.wals_on_device:
            self.device.trim(wal_bytes)

    def discard(self, size_bytes: float) -> None:
        """Trim the bytes of a deleted file, or of the unfinished files of a job that committed nothing."""
        self.space.free(size_bytes)
        self.device.trim(size_bytes)
