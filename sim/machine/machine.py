"""Machine of a run: devices, cores, page cache and rate limiter, and the passage of a job's steps through them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from copy import copy
from typing import Any, Final, NamedTuple, TypeVar

import simpy
from lsmlab.models.costs.cores import busy_probability, wake_ups
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.jobs import deletions, file_ends, job_start
from lsmlab.models.policies.rate_limiter import Priority
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.machine.core_station import CoreStation
from lsmlab.sim.machine.device_station import ClientFlow, DeviceStation
from lsmlab.sim.machine.gate import Gate
from lsmlab.sim.machine.journal import Journal
from lsmlab.sim.machine.limiter import LimiterStation
from lsmlab.sim.machine.page_cache import PageCache, StoredFile
from lsmlab.sim.machine.queues import Events as Events
from lsmlab.sim.machine.space import DeviceSpace, Faults
from lsmlab.sim.machine.steps import BUFFER_BYTES, JobWaits, Step, StepProgress
from lsmlab.sim.machine.volume import Consumer as Consumer
from lsmlab.sim.machine.volume import IoStyle as IoStyle
from lsmlab.sim.machine.volume import Volume

F = TypeVar("F", bound=StoredFile)
PORTIONS_PER_REFILL: Final = 4.0
"""Requests per refill of a writer that has the rate limiter to itself. With smaller requests, the writer would find the
bucket empty equally often."""


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
    cold_iops: float = 0.0
    """Requests of reads per second to `cold_device`; not in `read_iops`."""
    cold_bytes: float = 4096.0
    """Mean bytes of such a request."""


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
    cold_latency_s: float = 0.0
    """Latency of a request of a client to `cold_device`; 0 without such requests."""


class Machine:
    """Machine that all databases of a run share."""

    def __init__(
        self, env: simpy.Environment, device: DeviceStation, cores: CoreStation, cache: PageCache, host: Host,
        style: IoStyle, limiter: LimiterStation | None, journal: Journal | None = None,
    ) -> None:  # fmt: skip
        """Start idle. `journal`: of the file system, for buffered writes; None: direct I/O."""
        self.env = env
        self.main = Volume(env, device, cores, style, journal)
        """Volume of all files, except those of `cold` and `wal`."""
        self.cold = self.main
        """Volume of the files that tiered placement moves away; `main` without `cold_device`."""
        self.wal = self.main
        """Volume of WALs; `main` without `wal_device`."""
        self.cores = cores
        self.cache = cache
        self.host = host
        self.faults = Faults()
        self._job_start_s = job_start().seconds(host)
        self.style = style
        self.limiter = limiter
        self._sleeps = not (style.overlap_reads or style.overlap_writes or style.whole_files)
        """Whether the thread of a job sleeps during each read and write of a buffer (direct I/O), and then waits for a core."""
        self.limits_reads = False
        """Whether background reads pass the rate limiter, too."""
        self.wals_on_device = False
        """Whether WAL bytes reach the device before the WAL is deleted."""
        self.views = [self]
        """This machine with each of its rate limiters (`with_limiter`)."""

    @property
    def device(self) -> DeviceStation:
        """Device of the main volume."""
        return self.main.device

    @property
    def space(self) -> DeviceSpace:
        """Space of the main volume."""
        return self.main.space

    @property
    def volumes(self) -> list[Volume]:
        """All volumes, the main one first."""
        return list(dict.fromkeys((self.main, self.cold, self.wal)))

    def by_volume(self, files: Sequence[F]) -> Iterator[tuple[Volume, Sequence[F]]]:
        """Yield each volume that has some of the files, with these files."""
        cold = [] if self.cold is self.main else [f for f in files if f.cold]
        if not cold:
            yield self.main, files
            return
        yield self.cold, cold
        if len(cold) < len(files):
            yield self.main, [f for f in files if not f.cold]

    def with_limiter(self, limiter: LimiterStation | None) -> Machine:
        """Return the same machine for databases with another rate limiter: everything else is shared."""
        other = copy(self)
        other.limiter = limiter
        self.views.append(other)
        return other

    @property
    def piece_bytes(self) -> float | None:
        """Bytes that a step of a job writes; None while neither a cap nor a rate limiter holds up requests."""
        return self.style.piece_bytes if self.limiter is not None or self.bursty else None

    @property
    def bursty(self) -> bool:
        """Whether a cap of a device binds."""
        return self.device.bursty or (self.cold is not self.main and self.cold.device.bursty)

    @property
    def client_demand(self) -> ClientDemand:
        """Present demand of the clients."""
        reads = self.device.clients[:3]
        cold = () if self.cold is self.main else self.cold.device.clients[:2]
        return ClientDemand(self.cores.clients, *reads, self.wal.device.clients[3], *cold)

    def _flows(self, demand: ClientDemand) -> tuple[ClientFlow, ClientFlow, ClientFlow]:
        """Return what clients demand of the devices of `main`, `cold` and `wal`, where these differ from `main`."""
        _, iops, size_bytes, depth, logged, cold_iops, cold_bytes = demand
        main = (iops, size_bytes, depth, logged if self.wal is self.main else 0.0)
        return main, (cold_iops, cold_bytes, depth, 0.0), (0.0, 4096.0, 1.0, logged)

    def shares(self, demand: ClientDemand) -> MachineShares:
        """Return the shares that clients with this demand would get now."""
        cores = self.cores.cores
        core_share, runnable, background = self.cores.share_with(demand.runnable)
        main, cold, wal = self._flows(demand)
        grant = self.device.grant_with(main)
        queued_s = grant.queued_s if self.wal is self.main else self.wal.device.grant_with(wal).queued_s
        cold_s = 0.0 if self.cold is self.main else self.cold.device.grant_with(cold).client_read_latency_s
        return MachineShares(
            core_share, runnable, background, cores, grant.client_read_latency_s, queued_s, self.wal.wal_fsync_s,
            busy_probability(runnable, cores), cold_s,
        )  # fmt: skip

    def serve(self, demand: ClientDemand) -> None:
        """Set the demand of the clients."""
        self.cores.set_clients(demand.runnable)
        main, cold, wal = self._flows(demand)
        self.device.set_clients(*main)
        if self.cold is not self.main:
            self.cold.device.set_clients(*cold)
        if self.wal is not self.main:
            self.wal.device.set_clients(*wal)

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
            volume = self.cold if step.cold else self.main
            if step.write_bytes > 0:
                step = progress.admitted(step, volume.space)
            pending: simpy.Event | None = None
            if step.read_bytes > 0:
                if self.limits_reads and self.limiter is not None:
                    yield from self._limit(step.read_bytes, priority, waits)
                since_s = env.now
                reading = yield from self._submit_read(step, consumer)
                overlapped_s = step.cpu_s if style.overlap_reads else 0.0
                if overlapped_s > 0.0:
                    yield from self._compute(step, priority, waits)
                    since_s = env.now
                yield reading
                waits.device_s += env.now - since_s
                waits.device_alone_s += max(0.0, self._read_alone_s(step) - overlapped_s)
                if overlapped_s <= 0.0:
                    yield from self._compute(step, priority, waits)
            elif step.write_bytes > 0 and style.overlap_writes:
                pending = yield from self._compute_beside_write(step, consumer, priority, waits)
            else:
                yield from self._compute(step, priority, waits)
            if pending is not None or step.write_bytes > 0:
                yield from volume.write(
                    step.write_bytes, consumer, pending, waits, overlapped_s=0.0 if pending is None else step.cpu_s,
                    ends_file=step.ends_file,
                )  # fmt: skip
            if self._sleeps and (taken := self.cores.busy_probability) > 0.0:
                requests = step.write_bytes / BUFFER_BYTES + step.read_bytes / style.readahead_bytes
                wake_ups_s = wake_ups(requests, taken).seconds(self.host)
                waits.core_wait_s += wake_ups_s
                yield env.timeout(wake_ups_s)
            if step.point_reads > 0.0:
                yield from self.main.point_reads(step.point_reads, step.point_read_bytes, consumer, waits)
            if step.ends_file and step.write_bytes > 0:
                yield from volume.end_file(consumer)
            progress.done(step)
            if progress.failure is not None:
                break
        if gate is not None:
            gate.finished()

    def _submit_read(self, step: Step, consumer: Consumer) -> Generator[simpy.Event, Any, simpy.Event]:
        """Submit the reads of a step and return their event.

        A thread with direct I/O reads from one device after the other; the kernel reads ahead on both.
        """
        cold_bytes = step.cold_share * step.read_bytes
        if cold_bytes <= 0.0:
            return (yield from self.main.submit_read(step.read_bytes, consumer))
        cold = yield from self.cold.submit_read(cold_bytes, consumer)
        if step.cold_share >= 1.0:
            return cold
        if not self.style.overlap_reads:
            yield cold
        reading = yield from self.main.submit_read(step.read_bytes - cold_bytes, consumer)
        return self.env.all_of([cold, reading])

    def _read_alone_s(self, step: Step) -> float:
        """Return the time of the reads of a step alone on idle devices."""
        alone_s = step.read_bytes * self.main.read_alone
        return alone_s + step.cold_share * step.read_bytes * (self.cold.read_alone - self.main.read_alone)

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
        device = (self.cold if step.cold else self.main).device
        if self.limiter is None:
            pending = device.write(step.write_bytes, consumer)
            yield from self._compute(step, priority, waits)
            return pending
        count = self._portions(step)
        part = step._replace(cpu_s=step.cpu_s / count, write_bytes=step.write_bytes / count)
        yield from self._compute(part, priority, waits)
        for _ in range(count - 1):
            pending = device.write(part.write_bytes, consumer)
            yield from self._compute(part, priority, waits)
            since_s = self.env.now
            yield pending
            waits.device_s += self.env.now - since_s
        return device.write(part.write_bytes, consumer)

    def start_job(self) -> Events:
        """Wait for the fixed time of a job start."""
        if self._job_start_s > 0:
            yield self.env.timeout(self._job_start_s)

    def finish_files(self, count: int, *, cold: bool = False) -> Events:
        """Finish `count` output files at fixed cost: open the files, fsync their tails and the directory.

        `cold`: on that volume. See (behaviour/compaction-jobs.md, Timeline of a job).
        """
        yield from (self.cold if cold else self.main).finish_files(count)
        cost_s = file_ends(count).seconds(self.host)
        if cost_s > 0:
            yield self.env.timeout(cost_s)

    def commit(self) -> Events:
        """Append a version edit to the MANIFEST and fsync it."""
        yield from self.main.commit()

    def unlink(self, count: int, file_bytes: float, wal_bytes: float = 0.0) -> Events:
        """Delete `count` obsolete files, WALs included; the job keeps its slot until the end.

        `wal_bytes`: bytes of the WALs; `file_bytes`: bytes of the other files.
        """
        cost_s = deletions(count, file_bytes, wal_bytes).seconds(self.host)
        if cost_s > 0:
            yield self.env.timeout(cost_s)

    def take_space(self, files: Sequence[StoredFile]) -> None:
        """Count the bytes of files that are there at the start, or came from outside of the store."""
        for volume, own in self.by_volume(files):
            volume.space.take(sum([f.size_bytes for f in own]))

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
        for volume, own in self.by_volume(files):
            volume.discard(sum([file.size_bytes for file in own]), len(own))

    def wal_deleted(self, wal_bytes: float) -> None:
        """Trim the bytes of a deleted WAL, if they have reached the device."""
        self.wal.space.free(wal_bytes)
        if self.wals_on_device:
            self.wal.device.trim(wal_bytes)

    def discard(self, size_bytes: float, cold_bytes: float = 0.0) -> None:
        """Trim the bytes of the unfinished files of a job that committed nothing; `cold_bytes` of them are on that volume."""
        self.main.discard(size_bytes - cold_bytes)
        if cold_bytes:
            self.cold.discard(cold_bytes)
