"""Build the machine of a run: stations, page cache and journal, as the store's options require."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import simpy
from lsmlab.models.costs.host import Host
from lsmlab.models.devices.base import DeviceLoad
from lsmlab.models.devices.cap_limits import SLICE_S
from lsmlab.models.devices.capped import Capped
from lsmlab.models.devices.make import DeviceSetup
from lsmlab.models.engines.engine import Engine
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.rate_limiter import Limiter
from lsmlab.models.workloads.base import Workload
from lsmlab.sim.machine.core_station import CoreStation
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.journal import Journal
from lsmlab.sim.machine.limiter import LimiterStation
from lsmlab.sim.machine.machine import IoStyle, Machine
from lsmlab.sim.machine.page_cache import PageCache
from lsmlab.sim.machine.volume import Volume

DIRECT_READAHEAD_BYTES: Final = 2**21
"""Read-ahead of compactions with direct reads and no compaction_readahead_size (SanitizeOptions)."""
KERNEL_READAHEAD_BYTES: Final = 2**17
"""Read-ahead of the kernel for buffered reads where RocksDB does not read ahead (VM_MAX_READAHEAD)."""


def make_machine(
    env: simpy.Environment, engine: Engine, threads: float, host: Host, devices: Sequence[DeviceSetup],
    rng: np.random.Generator, cold: DeviceSetup | None = None, wal: DeviceSetup | None = None,
) -> Machine:  # fmt: skip
    """Build the idle machine that all databases of a run share.

    `threads`: upper bound on runnable threads (`most_threads`). `devices`: the device at the start, and after each change
    during the run; `rng`: random numbers of the rate limiter; the journal draws from a generator that it spawns. `cold`, `wal`:
    `cold_device` and `wal_device`.
    """
    device = devices[0]
    options, scheduler = engine.options, engine.scheduler()
    limiter = scheduler.limiter()
    direct_writes = options.use_direct_io_for_flush_and_compaction or device.direct_io
    style = io_style(options, [*devices, *(one for one in (cold, wal) if one is not None)], limiter)
    cache = PageCache(  # of two switches of RocksDB, one lets reads of clients and compactions pass the cache, one writes of jobs
        device.page_cache_bytes, direct_reads=options.use_direct_reads,
        direct_writes=options.use_direct_io_for_flush_and_compaction,
    )  # fmt: skip
    station, journal = _file_system(env, options, devices, style, rng, direct_writes=direct_writes)
    machine = Machine(
        env, station, CoreStation(env, host.cores, threads, host.core_contention),
        cache, host, style, LimiterStation(env, limiter, rng) if limiter is not None else None, journal,
    )  # fmt: skip
    machine.limits_reads = scheduler.limits_reads
    machine.main.wal_fsync_share = _wal_fsync_share(device)
    for name, other in (("cold", cold), ("wal", wal)):
        if other is not None:
            station, journal = _file_system(env, options, [other], style, rng, direct_writes=direct_writes)
            volume = Volume(env, station, machine.cores, style, journal)
            volume.wal_fsync_share = _wal_fsync_share(other)
            setattr(machine, name, volume)
    return machine


def _file_system(
    env: simpy.Environment, options: RocksDbOptions, devices: Sequence[DeviceSetup], style: IoStyle, rng: np.random.Generator, *,
    direct_writes: bool,
) -> tuple[DeviceStation, Journal | None]:  # fmt: skip
    """Return the station of a device and the journal on it; None with direct I/O. Arguments as for `make_machine`."""
    device = devices[0]
    reads_capped, writes_capped, operations_capped = map(any, zip(*map(_binding_caps, devices), strict=True))
    station = DeviceStation(
        env, device.device,
        read_request_bytes=style.readahead_bytes,
        write_request_bytes=float(options.writable_file_max_buffer_size),
        queue_depth=1.0 if direct_writes else _requests_queued(options),
        reads_in_order=not style.overlap_reads and (reads_capped or operations_capped),
        writes_in_order=not style.overlap_writes and (writes_capped or (direct_writes and operations_capped)),
    )  # fmt: skip
    if direct_writes:
        return station, None
    return station, _journal(env, station, device, rng.spawn(1)[0], capped=writes_capped, whole_files=style.whole_files)


def _wal_fsync_share(device: DeviceSetup) -> float:
    """Return the time of an fsync of the WAL divided by that of other fsyncs."""
    latency, other_s = device.settings.wal_fsync_latency, device.device.fsync_s(device.device.initial())
    return 1.0 if latency is None or other_s == 0.0 else latency / other_s


def io_style(options: RocksDbOptions, devices: Sequence[DeviceSetup], limiter: Limiter | None) -> IoStyle:
    """Return the I/O mode of background jobs: buffered or direct, and its request sizes; `devices` as for `make_machine`."""
    device = devices[0]
    buffered_reads = not (options.use_direct_reads or device.direct_io)
    buffered_writes = not (options.use_direct_io_for_flush_and_compaction or device.direct_io)
    usual_bytes = KERNEL_READAHEAD_BYTES if buffered_reads else DIRECT_READAHEAD_BYTES
    return IoStyle(
        overlap_writes=buffered_writes and _ranges_synced(options),
        whole_files=buffered_writes and not _ranges_synced(options),
        overlap_reads=buffered_reads,
        readahead_bytes=float(options.compaction_readahead_size or usual_bytes),
        burst_bytes=_burst_bytes(devices, limiter),
    )


_NOT_SYNCED_BYTES: Final = 2**20
"""End of a file that RocksDB never writes back before the fsync (kBytesNotSyncRange)."""


def _ranges_synced(options: RocksDbOptions) -> bool:
    """Return whether files are written back before their fsync (WritableFileWriter::Flush).

    A file of target_file_size_base is long enough for one range of bytes_per_sync.
    """
    return 0 < options.bytes_per_sync <= options.target_file_size_base - _NOT_SYNCED_BYTES


def _requests_queued(options: RocksDbOptions) -> float:
    """Outstanding write requests of a buffered stream: all requests of a file if only its fsync writes them back."""
    if _ranges_synced(options):
        return 8.0
    return max(8.0, options.target_file_size_base / options.writable_file_max_buffer_size)


def _journal(
    env: simpy.Environment, station: DeviceStation, device: DeviceSetup, rng: np.random.Generator,
    *, capped: bool, whole_files: bool,
) -> Journal:  # fmt: skip
    """Journal of the file system on this device; a cap queues whole files."""
    settings = device.settings
    if capped or settings.fsync_portion is None:
        return Journal(env, station, rng=rng)
    return Journal(
        env, station, settings.fsync_portion, settings.fsync_queue,
        behind_files=whole_files and settings.journal_behind_files, rng=rng,
    )  # fmt: skip


_STREAMS: Final = (1, 8)
"""Numbers of streams whose bandwidth is compared with a cap; persistent memory is fastest with several."""


def _binding_caps(setup: DeviceSetup) -> tuple[bool, bool, bool]:
    """Whether reads wait for a cap on bytes, writes wait for one, and both wait for a cap on operations.

    Requests wait for a cap on bytes if it is below the device's own bandwidth, which may need several streams.
    """
    caps = setup.device
    if not isinstance(caps, Capped):
        return False, False, False
    idle = caps.device.initial()
    read = max(n * caps.device.allocate(idle, DeviceLoad(readers=n, queue_depth=64.0)).read_bytes_per_s for n in _STREAMS)
    write = max(n * caps.device.allocate(idle, DeviceLoad(writers=n, queue_depth=64.0)).write_bytes_per_s for n in _STREAMS)
    reads_capped = caps.read_cap is not None and read > caps.read_cap
    writes_capped = caps.write_cap is not None and write > caps.write_cap
    return reads_capped, writes_capped, caps.iops_cap is not None


def _burst_bytes(devices: Sequence[DeviceSetup], limiter: Limiter | None) -> float | None:
    """Smallest allowance of background I/O in bytes: of a cap per slice, of the rate limiter per refill; None: no limit."""
    bursts: list[float] = []
    for caps in (setup.device for setup in devices):
        if isinstance(caps, Capped):
            rates = [cap for cap in (caps.write_cap, caps.read_cap) if cap is not None]
            rates += [caps.iops_cap * caps.io_bytes] if caps.iops_cap is not None else []
            bursts += [rate * SLICE_S for rate in rates]
    if limiter is not None:
        bursts.append(limiter.refill_bytes)
    return min(bursts, default=None)


def most_threads(engine: Engine, workload: Workload) -> float:
    """Upper bound on runnable threads: clients, and flushes and subcompactions of every shard."""
    if engine.tuner() is not None:
        return math.inf  # a tuner may start more threads
    flushes, compactions = engine.scheduler().most_jobs()
    per_tree = flushes + compactions * engine.options.max_subcompactions
    return workload.threads + workload.shards * per_tree
