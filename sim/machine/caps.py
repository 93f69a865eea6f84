"""Caps of a device that can bind: those below the highest rate that the jobs and clients of the run can reach.

A cap that cannot bind has no effect on a run, so the run does without it and without the fine steps that a cap needs.
"""

from __future__ import annotations

import math
from dataclasses import replace

from lsmlab.models.costs.host import Host
from lsmlab.models.costs.jobs import COMPACTION_DROPPED
from lsmlab.models.devices.base import Device, DeviceLoad, Peaks
from lsmlab.models.devices.capped import Capped
from lsmlab.models.devices.make import DeviceSetup
from lsmlab.models.engines.engine import Engine
from lsmlab.models.workloads.base import Workload


def with_caps_that_can_bind(
    device: DeviceSetup, engine: Engine, workload: Workload, host: Host, *, wal_reaches_device: bool, block_bytes: float
) -> DeviceSetup:
    """Return the device without those caps on bytes that are at least the highest rate of its users.

    `block_bytes`: largest data block of any file.
    """
    capped = device.device
    if not isinstance(capped, Capped):
        return device
    uncapped = replace(device, device=capped.device)
    rates = highest_rates(
        uncapped, engine, workload, host, wal_reaches_device=wal_reaches_device, block_bytes=block_bytes
    )
    read_cap = _below(capped.read_cap, rates.read_bytes_per_s)
    write_cap = _below(capped.write_cap, rates.write_bytes_per_s)
    if read_cap is None and write_cap is None and capped.iops_cap is None:
        return uncapped
    return replace(device, device=replace(capped, read_cap=read_cap, write_cap=write_cap))


def highest_rates(
    setup: DeviceSetup, engine: Engine, workload: Workload, host: Host, *, wal_reaches_device: bool, block_bytes: float
) -> Peaks:
    """Return upper bounds of the rates at which the run reads and writes, for a device without caps.

    A thread with direct I/O reads, computes and writes in turn, so its rate is bounded by the sum of the three times per
    byte. The bounds use the shortest times: no contention, entries so large that only their bytes cost CPU time, and for
    reads a compaction that drops all entries. Without a bound on the threads, or with buffered I/O, where the kernel
    writes whole files at once, only the device's own peaks hold.
    """
    device = setup.device
    peaks = device.peaks()
    options = engine.options
    direct_reads = options.use_direct_reads or setup.direct_io
    direct_writes = options.use_direct_io_for_flush_and_compaction or setup.direct_io
    if engine.tuner() is not None or not (direct_reads and direct_writes):
        return peaks
    state = device.initial()
    alone = device.allocate(state, DeviceLoad(readers=1)), device.allocate(state, DeviceLoad(writers=1))
    read_s, write_s = 1.0 / alone[0].read_bytes_per_s, 1.0 / alone[1].write_bytes_per_s
    flushes, compactions = (workload.shards * jobs for jobs in engine.scheduler().most_jobs())
    threads = compactions * options.max_subcompactions
    write = flushes / (host.flush_byte + write_s) + threads / (read_s + host.compaction_byte + write_s)
    write += math.inf if wal_reaches_device else _aged_wal(engine, workload, host)
    read = threads / (read_s + COMPACTION_DROPPED * host.compaction_byte) + _client_reads(device, workload, block_bytes)
    return Peaks(min(peaks.read_bytes_per_s, read), min(peaks.write_bytes_per_s, write))


def _aged_wal(engine: Engine, workload: Workload, host: Host) -> float:
    """Return the highest rate of WALs that live so long that the kernel writes them back (dirty_expire), in bytes/s."""
    return workload.shards * 2.0 * engine.options.write_buffer_size / host.dirty_expire if host.dirty_expire else math.inf


def _client_reads(device: Device, workload: Workload, block_bytes: float) -> float:
    """Return the highest rate of client reads: each thread waits for one block at a time, in bytes/s."""
    load = DeviceLoad(client_read_iops=1.0, client_read_bytes=block_bytes)
    latency_s = device.allocate(device.initial(), load).client_read_latency_s
    return sum(c.threads for c in workload.clients) * block_bytes / latency_s if latency_s > 0.0 else math.inf


def _below(cap: float | None, rate_bytes_per_s: float) -> float | None:
    return cap if cap is not None and cap < rate_bytes_per_s else None
