"""Classes of reads: found in memory, from the device, and from the device with a wait for a core (docs/decisions/0043)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lsmlab.models.costs.host import Host
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.base import Clients
from lsmlab.sim.clients.group import READ, start_group
from lsmlab.sim.clients.op_times import Classes, OpTimes
from lsmlab.sim.clients.reads import ReadCost
from lsmlab.sim.store.write_shape import WriteShape
from lsmlab.validation.calibrate.recorded import Histogram
from lsmlab.validation.calibrate.short_writes import _device_reads

HOST = Host(cores=2, read_request=20e-6, client_wake_up=84e-6, late_wake_up=0.84e-3, read_spread=0.42, device_read_spread=0.28)
SHAPE = WriteShape(
    batch_bytes=247, user_bytes=216, wal_bytes=0, memtable_entries=1e4, memtable_bytes=64e6,
    key_bytes=16, value_bytes=200, delete_share=0
)  # fmt: skip


def read_classes(*, busy: float, memory_share: float = 0.4) -> tuple[Classes, OpTimes]:
    """Return the classes of a read of 2 us on a drive of 50 us; `busy`: probability that a thread that wakes finds no core."""
    away = 1.0 - memory_share
    cost = ReadCost(cpu_s=2e-6 + 20e-6 * away, device_reads=away, device_bytes=4096 * away, memory_share=memory_share)
    grant = SimpleNamespace(client_read_latency_s=50e-6)
    cores = SimpleNamespace(runnable_threads=1.0, background=0, cores=2.0, share=1.0, busy_probability=busy)
    machine: Any = SimpleNamespace(host=HOST, cores=cores, device=SimpleNamespace(grant=grant))
    reads: Any = SimpleNamespace(costs=lambda: (cost, cost), block_bytes=4096.0)
    times = OpTimes(machine, SHAPE, SimpleNamespace(entries=1e4), reads, synced=False)  # type: ignore[arg-type]
    times.update()
    group = start_group(Clients("reader", arrivals=ClosedLoop()), 10.0, np.random.default_rng(1), SHAPE)
    group.capacity, group.runnable = 1e4, 1.0
    return times.parts(READ, group), times


def test_only_reads_from_the_device_spend_cpu_time_on_requests() -> None:
    """Of all reads, 40 % take the 2 us of a search, the others also 20 us for a request and 50 us on the drive."""
    (memory, device), times = read_classes(busy=0.0)

    assert memory == pytest.approx((0.4, 2e-6, 0.42))
    assert device == pytest.approx((0.6, 72e-6, 0.28))
    assert 0.4 * 2e-6 + 0.6 * 72e-6 == pytest.approx(times.mean_s(READ))


def test_few_reads_wait_for_a_core() -> None:
    """With a probability of 0.5, each tenth of the reads from the drive waits 0.84 ms: their mean wait is 42 us."""
    (memory, prompt, late), times = read_classes(busy=0.5)

    assert [0.4, 0.57, 0.03] == pytest.approx([memory[0], prompt[0], late[0]])
    assert late[1] - prompt[1] == pytest.approx(0.84e-3)
    assert sum(share * time_s for share, time_s, _ in (memory, prompt, late)) == pytest.approx(times.mean_s(READ))
    assert late[2] > prompt[2]


def test_the_calibrator_takes_the_spread_of_reads_of_one_block() -> None:
    """Reads below 22 us found their block in memory, and reads above 380 us waited for a core: neither counts."""
    buckets = ((1.0, 2.0, 900), (51.0, 76.0, 50), (76.0, 110.0, 50), (870.0, 1300.0, 20))
    histogram = Histogram(count=1020, mean_s=1e-5, buckets=buckets)

    assert _device_reads(histogram) == pytest.approx(np.log(110.0 / 51.0) / 4.0)
    assert _device_reads(Histogram(count=900, mean_s=2e-6, buckets=buckets[:1])) is None
