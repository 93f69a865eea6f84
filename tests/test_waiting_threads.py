"""Threads that wait: for a core, behind the requests of other threads, and until their core is fast again (decision 0038)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lsmlab.models.costs.host import Host
from lsmlab.models.devices.base import DeviceLoad
from lsmlab.models.devices.capped import Capped
from lsmlab.models.devices.make import DeviceSettings, DeviceSetup
from lsmlab.models.devices.nvme import Nvme
from lsmlab.models.devices.pmem import Pmem
from lsmlab.models.devices.sharing import INTERLEAVE_BYTES
from lsmlab.sim.clients.group import WRITE
from lsmlab.sim.clients.op_costs import OpCosts
from lsmlab.sim.clients.op_times import OpTimes
from lsmlab.sim.machine.machine import MachineShares
from lsmlab.sim.machine.make import _binding_caps
from plain_machine import SHAPE

from tests.running import SMALL, simulate

CACHED = (
    *SMALL, "engine.options.cache_size=1GiB", "host.cores=2", "prefill=fillrandom", "prefill.value_size=100",
    "prefill.num=200000", "workload=readrandom", "workload.num=200000", "workload.value_size=100", "workload.duration=2s",
    "conditions.block_cache=warm",
)  # fmt: skip
SYNCED = replace(SHAPE, wal_bytes=247)


def test_more_readers_than_cores_read_no_faster() -> None:
    """Four readers of cached blocks keep two cores as busy as two readers do."""
    two, four = (simulate(*CACHED, f"workload.threads={n}").summary["ops_per_s"] for n in (2, 4))

    assert four == pytest.approx(two, rel=0.03)


def a_drive(**constants: float) -> Nvme:
    """Return a drive of 1 GB/s without request times except the given ones."""
    return Nvme(
        read_bandwidth=1e9, write_bandwidth=1e9, read_latency=0.0, write_latency=0.0, fsync_latency=100e-6,
        capacity=1e12, over_provisioning=0.07, steady_state=False, **constants,
    )  # fmt: skip


def test_a_small_request_waits_for_half_a_piece_of_the_stream_in_front() -> None:
    """A read waits for u / (1 - u) of half a piece of 128 KiB beside a stream that uses the share u (Pollaczek-Khinchine)."""
    drive = a_drive()
    load = DeviceLoad(writers=1, write_limit_bytes_per_s=0.25e9)

    queued_s = drive.allocate(drive.initial(), load).queued_s

    piece_s = INTERLEAVE_BYTES / 1e9
    assert queued_s == pytest.approx(0.25 / 0.75 * piece_s / 2.0)
    assert drive.allocate(drive.initial(), DeviceLoad()).queued_s == 0.0


def op_times(*, busy: float, queued_s: float) -> OpTimes:
    """Return the times of synced writes on a drive with a wait, and on cores that are all taken with a probability."""
    host = Host(write_op=2e-6, client_wake_up=30e-6, late_wake_up=0.8e-3)
    fsync_s = a_drive().fsync_s(a_drive().initial())
    shares = MachineShares(1.0, 1.0, 0.0, 2.0, read_latency_s=0.0, queued_s=queued_s, fsync_s=fsync_s, busy_probability=busy)
    return OpTimes(OpCosts.of(host, SYNCED, 1e4, synced=True), shares)


def test_a_synced_write_waits_for_the_device_and_for_a_core() -> None:
    """Each of the three small writes of an fsync waits behind the drive's requests, and each sleep may cost a wait for a core."""
    alone_s = 100e-6 * (1.0 + 0.55 * SYNCED.wal_bytes / 4096)
    assert op_times(busy=0.0, queued_s=0.0).sync_s == pytest.approx(alone_s)
    assert op_times(busy=0.0, queued_s=20e-6).sync_s == pytest.approx(alone_s + 60e-6)
    assert op_times(busy=0.5, queued_s=20e-6).sync_s == pytest.approx(alone_s + 60e-6 + 3 * 0.5 * 30e-6)


def test_few_synced_writes_wait_for_a_core() -> None:
    """The waits for a core are those of a few writes: 5.6 % wait for 0.8 ms, 45 us on average."""
    times = op_times(busy=0.5, queued_s=0.0)

    places = times._places(1.0, times._fixed_s(WRITE), times._wake_ups_s(times.costs.sync_writes))

    assert [share for share, _ in places] == pytest.approx([0.0, 0.94375, 0.05625])
    assert places[2][1] - places[1][1] == pytest.approx(0.8e-3)
    assert sum(share * time_s for share, time_s in places) == pytest.approx(times.sync_s)


def test_writers_start_cold_after_a_stop() -> None:
    """The cold start after a stop takes time outside stalls: 50 ms for each stop of a memtable."""
    bound = (*SMALL, "engine.options.max_write_buffer_number=2", "device.write_bandwidth=20MB/s", "workload.num=400000")
    warm, cold = (simulate(*bound, f"host.cold_start={s}") for s in ("0ms", "50ms"))

    stops = cold.summary["stall_count"]["memtable_stop"]
    free_s = [r.summary["duration_s"] * (1.0 - r.summary["stall_fraction"]) for r in (warm, cold)]
    assert stops > 10
    assert 0.5 * stops * 0.05 < free_s[1] - free_s[0] < 1.1 * stops * 0.05


def test_a_cap_binds_below_the_bandwidth_of_several_streams() -> None:
    """Persistent memory writes 0.9 GB/s by one thread and 2.8 by several: a cap of 2.5 GB/s binds, one of 4 GB/s does not."""
    memory = Pmem(read_latency=0.0, write_latency=0.0, fsync_latency=0.0, write_bandwidth=2.8e9)

    def writes_capped(cap: float) -> bool:
        return _binding_caps(DeviceSetup(Capped(memory, write_cap=cap), DeviceSettings()))[1]

    assert writes_capped(2.0e9)
    assert writes_capped(2.5e9)
    assert not writes_capped(4.0e9)
