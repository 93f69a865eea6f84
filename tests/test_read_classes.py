"""Classes of reads: without a request to the device, with one, and with one and a wait for a core (docs/decisions/0043)."""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.models.costs.host import Host
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.base import Clients
from lsmlab.models.workloads.reads import TableClass, gets_in_memory
from lsmlab.sim.clients.group import READ, start_group
from lsmlab.sim.clients.latency import Unstalled
from lsmlab.sim.clients.op_costs import OpCosts, ReadCost
from lsmlab.sim.clients.op_times import Classes, OpTimes
from lsmlab.sim.machine.machine import MachineShares
from plain_machine import SHAPE

HOST = Host(cores=2, read_request=20e-6, client_wake_up=84e-6, late_wake_up=0.84e-3)


def read_classes(*, busy: float, memory_share: float = 0.4, read_batch: int = 1) -> tuple[Classes, OpTimes]:
    """Return the classes of a read of 2 us on a drive of 50 us; `busy`: probability that a thread that wakes finds no core."""
    away = 1.0 - memory_share
    cost = ReadCost(
        cpu_s=2e-6 + 20e-6 * away, request_cpu_s=20e-6 * away, memory_share=memory_share,
        device_reads=away, device_bytes=4096 * away,
    )  # fmt: skip
    shares = MachineShares(1.0, 1.0, 0.0, 2.0, read_latency_s=50e-6, queued_s=0.0, fsync_s=0.0, busy_probability=busy)
    times = OpTimes(OpCosts.of(HOST, SHAPE, 1e4, synced=False, reads=([(1.0, cost)], [(1.0, cost)])), shares)
    group = start_group(Clients("reader", arrivals=ClosedLoop(), read_batch=read_batch), 10.0, np.random.default_rng(1), SHAPE)
    group.capacity, group.runnable = 1e4, 1.0
    return times.parts(READ, group), times


def test_only_reads_from_the_device_spend_cpu_time_on_requests() -> None:
    """Of all reads, 40 % take the 2 us of a search, the others also 20 us for a request and 50 us on the drive."""
    (memory, device), times = read_classes(busy=0.0)

    assert memory == pytest.approx((0.4, 2e-6, 0.42))
    assert device == pytest.approx((0.6, 72e-6, 0.28))
    assert 0.4 * 2e-6 + 0.6 * 72e-6 == pytest.approx(times.mean_s(READ))


@pytest.mark.parametrize("keys", [2, 8, 100])
def test_a_multiget_takes_the_sum_of_its_reads(keys: int) -> None:
    """Independent reads of 44 us take 44 us each; the variance of a call is the sum of theirs."""
    ((share, time_s, spread),), times = read_classes(busy=0.0, read_batch=keys)
    square = 0.4 * 2e-6**2 * (1.0 + Unstalled(1, 1, 0.42).variation) + 0.6 * 72e-6**2 * (1.0 + Unstalled(1, 1, 0.28).variation)

    assert share == pytest.approx(1.0 / keys)
    assert time_s == pytest.approx(keys * times.mean_s(READ))
    assert Unstalled(1, 1, spread).variation == pytest.approx((square / times.mean_s(READ) ** 2 - 1.0) / keys, rel=0.1)


def test_few_reads_wait_for_a_core() -> None:
    """With a probability of 0.5, one in twenty reads from the drive waits 0.84 ms: 42 us per read from the drive."""
    (memory, prompt, late), times = read_classes(busy=0.5)

    assert [0.4, 0.57, 0.03] == pytest.approx([memory[0], prompt[0], late[0]])
    assert late[1] - prompt[1] == pytest.approx(0.84e-3)
    assert sum(share * time_s for share, time_s, _ in (memory, prompt, late)) == pytest.approx(times.mean_s(READ))
    assert [prompt[2], late[2]] == [0.28, 0.5]


@pytest.mark.parametrize("memory_share", [0.0, 1.0])
def test_all_reads_in_one_place(memory_share: float) -> None:
    """If all reads or none need the drive, they have one class with the mean time."""
    ((share, time_s, spread),), times = read_classes(busy=0.0, memory_share=memory_share)

    assert (share, spread) == (1.0, 0.42 if memory_share else 0.28)
    assert time_s == pytest.approx(times.mean_s(READ))


@pytest.mark.parametrize(("found", "runs", "false_positive", "miss", "without"), [
    (0.63, 0.63, 0.01, 1.0, 0.37),  # keys that the filters exclude need no block
    (1.0, 1.0, 0.01, 0.5, 0.5),
    (0.0, 3.0, 1.0, 0.5, 0.125),  # without filters, each of three runs needs a block
    (0.0, 3.0, 0.01, 1.0, 0.99**3),
])  # fmt: skip
def test_reads_without_a_request(found: float, runs: float, false_positive: float, miss: float, without: float) -> None:
    """A read needs no request if its key is absent and no filter errs, or if its blocks are in memory."""
    tables = TableClass(10.0, runs, found, 1e9, false_positive)

    assert gets_in_memory([(tables, miss)]) == pytest.approx(without)
    assert gets_in_memory([(tables, 0.0)]) == 1.0
