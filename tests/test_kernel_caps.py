"""Jobs and clients behind a cap take as long as in a replay of the kernel's rules, request by request."""

from __future__ import annotations

import numpy as np
import pytest
import simpy
from device_catalogue import setup
from kernel_throttle import KernelThrottle, one_by_one
from lsmlab.models.costs.host import Host
from lsmlab.models.devices.capped import FILE_PIECES, FILE_READS, FILE_WRITES, PAGE_BYTES, SYNC_WRITES
from lsmlab.models.policies.rate_limiter import Priority
from lsmlab.sim.machine.core_station import CoreStation
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.sim.machine.machine import Consumer, Machine
from lsmlab.sim.machine.page_cache import PageCache
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.machine.steps import Step, StepProgress, flush_steps, with_file_ends
from plain_machine import MIB, direct_io

UNTIL_S = 5.0
COMPUTING_S = 0.004
"""CPU time per MiB of a job."""
GET_BYTES = 4608.0
FSYNC_S = 2.9e-3
"""Time of an fsync of the drive."""
READ_S = 70e-6
"""Latency of a read of the drive."""
GET_S = 10e-6
"""CPU time of a get."""


def capped(env: simpy.Environment, iops_cap: float | None = None, read_cap: float | None = None) -> Machine:
    """Return a machine with direct I/O behind caps, whose queues hold reads and writes in order."""
    device = setup("samsung_970_pro", iops_cap=iops_cap, read_cap=read_cap, throttle_io="512KiB").device
    station = DeviceStation(env, device, 2 * MIB, MIB, 1.0, reads_in_order=True, writes_in_order=True)
    burst = 0.1 * (read_cap or 2.0**19 * (iops_cap or 0.0))
    style = direct_io(burst_bytes=burst)
    return Machine(env, station, CoreStation(env, 8.0), PageCache(0.0), Host(file_overhead=0.0), style, None)


def pieces(queue: KernelThrottle, count: int) -> None:
    """Submit small requests for which nobody waits."""
    for _ in range(count):
        queue.submit(PAGE_BYTES)


def replayed_flushes(iops_cap: float, pause_s: float) -> tuple[float, int]:
    """Return (mean time of a flush in s, MiB written by the compaction beside it) by the kernel's rules."""
    env = simpy.Environment()
    writes, reads = KernelThrottle(env, iops_cap=iops_cap), KernelThrottle(env, iops_cap=iops_cap)
    flushes_s: list[float] = []
    written = 0

    def write_mib() -> Events:
        yield env.timeout(COMPUTING_S)
        yield writes.submit(MIB / 2) & writes.submit(MIB / 2)
        yield env.timeout(4e-4)

    def flush() -> Events:
        while True:
            since_s = env.now
            for _ in range(4):
                yield from write_mib()
            pieces(writes, FILE_PIECES)
            yield from one_by_one(env, writes, FILE_WRITES)
            pieces(reads, FILE_PIECES)
            yield from one_by_one(env, reads, FILE_READS)
            yield from one_by_one(env, writes, 2 * SYNC_WRITES)
            yield env.timeout(FSYNC_S)
            flushes_s.append(env.now - since_s)
            yield env.timeout(pause_s)

    def compaction() -> Events:
        nonlocal written
        while True:
            for mib in range(20):
                if mib % 2 == 0:
                    yield env.all_of([reads.submit(MIB / 2) for _ in range(4)])
                    yield env.timeout(8e-4)
                yield from write_mib()
                written += 1
                if mib % 4 == 3:
                    pieces(writes, FILE_PIECES)
                    yield from one_by_one(env, writes, FILE_WRITES)
            pieces(reads, 5 * FILE_PIECES)
            yield from one_by_one(env, reads, 5 * FILE_READS)
            yield from one_by_one(env, writes, 2 * SYNC_WRITES)
            yield env.timeout(FSYNC_S)

    env.process(flush())
    env.process(compaction())
    env.run(until=UNTIL_S)
    return float(np.mean(flushes_s)), written


def simulated_flushes(iops_cap: float, pause_s: float) -> tuple[float, float]:
    """Return the same of simulated jobs."""
    env = simpy.Environment()
    machine = capped(env, iops_cap)
    flushes_s: list[float] = []
    progress = StepProgress()

    def flush() -> Events:
        while True:
            since_s = env.now
            steps = with_file_ends(flush_steps(4 * COMPUTING_S, 4 * MIB, MIB), [4 * MIB])
            yield from machine.run_steps(steps, Consumer.FLUSH, Priority.HIGH, StepProgress())
            yield from machine.finish_files(1)
            yield from machine.commit()
            flushes_s.append(env.now - since_s)
            yield env.timeout(pause_s)

    def compaction() -> Events:
        pair = [Step(2 * MIB, COMPUTING_S, MIB), Step(0.0, COMPUTING_S, MIB)]
        while True:
            yield from machine.run_steps(
                with_file_ends(pair * 10, [4 * MIB] * 5), Consumer.DEEPER, Priority.LOW, progress
            )
            yield from machine.finish_files(5)
            yield from machine.commit()

    env.process(flush())
    env.process(compaction())
    env.run(until=UNTIL_S)
    return float(np.mean(flushes_s)), progress.write_bytes / MIB


@pytest.mark.parametrize("pause_s", [0.05, 0.2])
@pytest.mark.parametrize("iops_cap", [100.0, 150.0, 500.0])
def test_flushes_and_compactions_share_operations_as_in_the_kernel(iops_cap: float, pause_s: float) -> None:
    """A flush beside a compaction takes as long as in the replay, within a fifth of a slice."""
    flush_s, written = replayed_flushes(iops_cap, pause_s)
    simulated_s, simulated = simulated_flushes(iops_cap, pause_s)

    assert simulated_s == pytest.approx(flush_s, abs=0.02)
    assert simulated == pytest.approx(written, rel=0.05)


def replayed_gets(read_cap: float, jobs: int, threads: int) -> tuple[float, float]:
    """Return gets per second of closed-loop threads, and their P99 in s, beside jobs that read 2 MiB and compute."""
    env = simpy.Environment()
    reads = KernelThrottle(env, read_cap)
    times_s: list[float] = []

    def job() -> Events:
        while True:
            yield reads.submit(MIB) & reads.submit(MIB)
            yield env.timeout(2.0 * COMPUTING_S + 2e-3)

    def get() -> Events:
        while True:
            since_s = env.now
            yield reads.submit(GET_BYTES)
            yield env.timeout(READ_S)
            times_s.append(env.now - since_s)
            yield env.timeout(GET_S)

    for _ in range(jobs):
        env.process(job())
    for _ in range(threads):
        env.process(get())
    env.run(until=UNTIL_S)
    return len(times_s) / UNTIL_S, float(np.quantile(times_s, 0.99))


def simulated_gets(read_cap: float, jobs: int, threads: int) -> tuple[float, float]:
    """Return the same of simulated jobs and a fluid of clients."""
    env = simpy.Environment()
    machine = capped(env, read_cap=read_cap)
    station = machine.device
    stretches: list[tuple[float, float]] = []
    since_s, rate, latency_s = 0.0, 0.0, 0.0

    def refresh() -> None:
        nonlocal since_s, rate, latency_s
        stretches.append((rate * (env.now - since_s), latency_s))
        since_s = env.now
        for _ in range(30):
            latency_s = station.grant_with((rate, GET_BYTES, float(threads), 0.0)).client_read_latency_s
            rate = 0.5 * rate + 0.5 * threads / (latency_s + GET_S)
        station.set_clients(rate, GET_BYTES, float(threads), 0.0)

    def job() -> Events:
        while True:
            yield station.read(2 * MIB, Consumer.L0)
            yield env.timeout(2.0 * COMPUTING_S + 1e-3)

    station.changed.add(refresh)
    refresh()
    for _ in range(jobs):
        env.process(job())
    env.run(until=UNTIL_S)
    refresh()
    count, times_s = np.array(sorted(stretches, key=lambda stretch: stretch[1])).T
    below = np.cumsum(count)
    return float(below[-1]) / UNTIL_S, float(times_s[below.searchsorted(0.99 * below[-1])])


@pytest.mark.parametrize(("read_cap", "jobs", "threads"), [(20e6, 1, 1), (20e6, 2, 2), (40e6, 1, 1), (40e6, 2, 2), (80e6, 2, 2)])
def test_gets_wait_behind_the_reads_of_jobs_as_in_the_kernel(read_cap: float, jobs: int, threads: int) -> None:
    """Gets beside jobs that a cap on reads holds up are as many as in the replay within a third, with its P99 or longer waits."""
    per_s, p99_s = replayed_gets(read_cap, jobs, threads)
    simulated_per_s, simulated_p99_s = simulated_gets(read_cap, jobs, threads)

    assert simulated_per_s == pytest.approx(per_s, rel=0.33, abs=10.0)
    assert 0.5 * p99_s <= simulated_p99_s <= 2.0 * p99_s
