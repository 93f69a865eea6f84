"""Times of client operations on busy cores: a few classes around the mean that the shared cores give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lsmlab.models.costs.host import Host
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.base import Clients
from lsmlab.sim.clients.group import ClientGroup, start_group
from lsmlab.sim.clients.op_costs import OpCosts
from lsmlab.sim.clients.op_times import Classes, OpTimes
from lsmlab.sim.machine.machine import MachineShares
from plain_machine import SHAPE

HOST = Host(
    cores=2, cpu_speed=1e9, core_contention=0.5, write_op=2e-6, time_slice=3e-3, interrupt_every=2e-3, interrupt=50e-6,
    group_handover=0.0,
)  # fmt: skip
"""A host on which the bytes of a write and the handover of a write group cost nothing."""


def a_group(limit_ops_per_s: float | None = None, runnable: float = 1.0) -> ClientGroup:
    """Return a group with one writing thread."""
    spec = Clients("writer", arrivals=ClosedLoop(limit_ops_per_s=limit_ops_per_s))
    group = start_group(spec, 10.0, np.random.default_rng(1), SHAPE)
    group.capacity, group.runnable = 5e5, runnable
    return group


def times_of(runnable: float, host: Host = HOST) -> OpTimes:
    """Return the operation times on two cores with `runnable` threads that want a core."""
    share = min(1.0, 2.0 / runnable) / (1.0 + host.core_contention * (min(runnable, 2.0) - 1.0))
    shares = MachineShares(share, runnable, int(runnable), 2.0, 0.0, 0.0, 0.0, 0.0)
    return OpTimes(OpCosts.of(host, SHAPE, 1e4, synced=False), shares)


def mean_of(parts: Classes) -> float:
    """Return the mean over all classes."""
    return sum(share * time_s for share, time_s, _ in parts)


@pytest.mark.parametrize("wanted", [1.0, 1.5, 2.0, 3.0, 5.0])
def test_the_mean_depends_on_the_cores_only(wanted: float) -> None:
    """The classes' mean is the mean time on the shared cores, so a closed loop keeps its throughput."""
    times = times_of(wanted)

    parts = times.parts(0, a_group())

    assert sum(share for share, *_ in parts) == pytest.approx(1.0)
    assert mean_of(parts) == pytest.approx(times.mean_s(0), rel=1e-9)
    assert times.mean_s(0) == pytest.approx(2e-6 * max(1.0, wanted / 2.0) * (1.0 + 0.5 * (min(wanted, 2.0) - 1.0)))


def test_with_a_core_per_thread_no_write_waits() -> None:
    """With two threads on two cores, a write takes 3 us (core contention), and one in 667 is interrupted for 50 us."""
    parts = times_of(2.0).parts(0, a_group())

    assert [1.0 - 0.0015, 0.0015] == pytest.approx([share for share, *_ in parts])
    assert parts[1][1] - parts[0][1] == pytest.approx(50e-6)


def test_without_a_free_core_a_write_waits_up_to_a_time_slice() -> None:
    """With three threads on two cores, some writes wait 1.5 ms: the mean rises by half; with six waits are longer."""
    unstalled, _, waiting = times_of(3.0).parts(0, a_group())
    _, _, crowded = times_of(6.0).parts(0, a_group())

    assert waiting[1] - unstalled[1] == pytest.approx(1.5e-3)
    assert waiting[0] == pytest.approx(0.5 * 3e-6 / 1.5e-3)
    assert crowded[1] > 2.9e-3


def test_a_limited_client_runs_in_bursts() -> None:
    """A rate-limited client with 10 % load runs in bursts after each refill, so its writes wait ten times as often."""
    limited = times_of(2.1).parts(0, a_group(limit_ops_per_s=5e4, runnable=0.1))
    delayed = times_of(2.1).parts(0, a_group(runnable=0.1))

    assert limited[2][0] == pytest.approx(10.0 * delayed[2][0], rel=0.01)


def writers_of(threads: int) -> ClientGroup:
    """Return a group with this number of writing threads at full speed."""
    group = a_group()
    group.spec = replace(group.spec, threads=threads)
    return group


@pytest.mark.parametrize(("threads", "jobs", "speed"), [(2, 0.0, 1.0 / 0.74), (2, 1.0, 1.0), (4, 0.0, 1.0), (16, 0.0, 1.0)])
def test_a_missing_core_takes_the_gain_of_further_writers(threads: int, jobs: float, speed: float) -> None:
    """Two writers on two idle cores write at 1 / 0.74 of one writer's speed; more threads than cores write as one writer."""
    times = times_of(1.0, replace(HOST, core_contention=0.0))
    times = times._replace(shares=times.shares._replace(background=jobs))

    assert times.capacity(writers_of(threads)) * times.mean_s(0) == pytest.approx(speed)


@pytest.mark.parametrize("threads", [1, 2, 4, 16])
def test_writers_wait_for_each_other(threads: int) -> None:
    """The mean time of a write is the number of writers divided by their throughput (Little's law)."""
    times, group = times_of(1.0, replace(HOST, core_contention=0.0)), writers_of(threads)
    times = times._replace(shares=times.shares._replace(background=0.0))
    group.capacity = times.capacity(group)

    assert mean_of(times.parts(0, group)) == pytest.approx(threads / group.capacity)


def test_few_writes_wait_for_a_time_slice() -> None:
    """Of sixteen writers on two cores, fourteen wait while the others write: one write in a hundred, for a time slice."""
    times, group = times_of(1.0, replace(HOST, core_contention=0.0)), writers_of(16)
    group.capacity = times.capacity(group)

    *short, (share, time_s, _) = times.parts(0, group)

    assert share == pytest.approx(0.01)
    assert time_s == pytest.approx(HOST.time_slice, rel=0.01)
    assert short[0][1] < 10e-6


@pytest.mark.parametrize(("mib", "doublings"), [(4, 0.0), (8, 0.0), (64, 3.0), (512, 6.0)])
def test_writes_into_large_memtables_take_longer(mib: int, doublings: float) -> None:
    """Each doubling beyond 8 MiB of keys and values adds memtable_depth to the CPU time of a write."""
    costs = OpCosts.of(replace(HOST, memtable_depth=3e-7), SHAPE, mib * 2**20 / SHAPE.user_bytes, synced=False)

    assert costs.cpu_s(0) == pytest.approx(2e-6 + 3e-7 * doublings)


def test_statistics_cost_every_write() -> None:
    """With statistics, each write takes statistics_op longer."""
    host = replace(HOST, statistics_op=1e-6)
    plain, counted = (OpCosts.of(host, replace(SHAPE, statistics=on), 1e4, synced=False) for on in (False, True))

    assert [2e-6, 3e-6] == pytest.approx([plain.cpu_s(0), counted.cpu_s(0)])


def test_long_operations_are_not_split() -> None:
    """An operation longer than many time slices has one class with the mean time."""
    host = Host(cores=2, cpu_speed=1e9, write_op=20e-3, time_slice=3e-3)

    ((share, time_s, _),) = times_of(3.0, host).parts(0, a_group())

    assert share == 1.0
    assert time_s == pytest.approx(30e-3)


@pytest.mark.parametrize(("threads", "write_s"), [(1, 2e-6), (2, 0.74 * 2e-6 + 1e-6), (3, 2e-6 + 1e-6)])
def test_several_writers_hand_their_group_over(threads: int, write_s: float) -> None:
    """On two cores, two writers save a quarter of a write of 2 us and lose 1 us; a third one without a core saves nothing."""
    spec = Clients("writer", arrivals=ClosedLoop(), threads=threads)
    group = start_group(spec, 10.0, np.random.default_rng(1), SHAPE)

    alone = times_of(0.5, replace(HOST, core_contention=0.0, group_handover=1e-6))

    assert alone.capacity(group) == pytest.approx(1.0 / write_s, rel=1e-6)
