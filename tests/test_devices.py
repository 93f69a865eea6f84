"""One conformance suite for every configured device."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from device_catalogue import NAMES, drive, setup
from hypothesis import given, settings
from hypothesis import strategies as st
from lsmlab.models.devices.base import Device, DeviceLoad, Flow
from lsmlab.models.devices.capped import Capped, ThrottleWindow
from lsmlab.models.devices.cloud import Cloud
from lsmlab.models.devices.flash import FlashDrive
from lsmlab.models.devices.pmem import Pmem

MIB = 2.0**20
LOADS = st.builds(
    DeviceLoad,
    readers=st.integers(0, 12),
    writers=st.integers(0, 12),
    read_request_bytes=st.sampled_from([4096.0, 32768.0, 2 * MIB]),
    write_request_bytes=st.sampled_from([4096.0, 262144.0, MIB]),
    queue_depth=st.sampled_from([1.0, 4.0, 32.0]),
    client_read_iops=st.sampled_from([0.0, 10.0, 5e3, 1e6]),
    client_read_bytes=st.sampled_from([600.0, 4096.0, 16384.0]),
    client_read_depth=st.sampled_from([1.0, 8.0, 64.0]),
    client_write_bytes_per_s=st.sampled_from([0.0, 1e5, 2e7, 5e9]),
    read_limit_bytes_per_s=st.just(math.inf),
    write_limit_bytes_per_s=st.just(math.inf),
)
every_device = pytest.mark.parametrize("name", NAMES)
CURVES = {n for n in NAMES if isinstance(setup(n).device, Pmem)}
"""Devices whose bandwidth is a measured curve and not a parameter."""
SOLID_STATE = [n for n in NAMES if isinstance(setup(n).device, FlashDrive | Cloud)]
"""Devices that do not lose bandwidth with more streams, unlike hard disks and persistent memory."""


def uncapped(name: str) -> Device:
    """Return the device without a cap."""
    device = setup(name).device
    assert not isinstance(device, Capped)
    return device


def rates(device: Device, state: Any, load: DeviceLoad) -> tuple[float, float]:
    """Return the bytes per second read and written under a load."""
    grant = device.allocate(state, load)
    read = load.readers * grant.read_bytes_per_s
    read += load.client_read_iops * grant.client_read_share * load.client_read_bytes
    write = load.writers * grant.write_bytes_per_s + load.client_write_bytes_per_s * grant.client_write_share
    return read, write


def limits(device: Device) -> tuple[float, float]:
    """Return the rated bytes per second of reads alone and of writes alone."""
    if isinstance(device, Pmem):  # the best point of its curves
        streams = [DeviceLoad(readers=n, writers=0) for n in range(1, 25)]
        best_read = max(rates(device, None, load)[0] for load in streams)
        best_write = max(rates(device, None, load._replace(readers=0, writers=load.readers))[1] for load in streams)
        return best_read * 1.02, best_write * 1.02  # the best over all request sizes is up to 2 % higher
    write = device.write_bandwidth  # type: ignore[attr-defined]
    if isinstance(device, FlashDrive):
        write = max(write, device.slc_write_bandwidth or 0.0)
    return device.read_bandwidth, write  # type: ignore[attr-defined]


@every_device
@settings(max_examples=30)
@given(load=LOADS)
def test_grants_are_valid(name: str, load: DeviceLoad) -> None:
    """Every requester gets a positive rate, shares are at most 1, times are positive, totals are within the ratings."""
    device = uncapped(name)
    grant = device.allocate(device.initial(), load)
    assert (load.readers > 0) == (grant.read_bytes_per_s > 0)
    assert (load.writers > 0) == (grant.write_bytes_per_s > 0)
    assert 0 < grant.client_read_share <= 1
    assert 0 < grant.client_write_share <= 1
    assert 0 <= grant.utilisation <= 1
    assert 0 < grant.client_read_latency_s < math.inf
    assert grant.valid_for_s > 0
    read, write = rates(device, device.initial(), load)
    most_read, most_write = limits(device)
    assert read <= most_read * (1 + 1e-9)
    assert write <= most_write * (1 + 1e-9)
    assert read / most_read + write / most_write <= 1 + 1e-9, "reads and writes share one medium in every configured device"


@pytest.mark.parametrize("name", [n for n in NAMES if n not in CURVES])
@settings(max_examples=25)
@given(load=LOADS)
def test_more_bandwidth_never_grants_less(name: str, load: DeviceLoad) -> None:
    """Twice the bandwidth and IOPS never lowers the rate of a background stream or of a client.

    Twice the bandwidth alone may: where the number of requests is the limit, faster transfers let one requester issue
    more of them. Client reads and streams are tested separately, since slower clients leave more to the streams.
    """
    device: Any = uncapped(name)
    keys = (
        "read_bandwidth",
        "write_bandwidth",
        "slc_write_bandwidth",
        "interface_bandwidth",
        "read_iops",
        "write_iops",
    )
    faster = replace(device, **{k: 2 * getattr(device, k) for k in keys if getattr(device, k, None)})
    streams_only = load._replace(client_read_iops=0.0)
    reads_only = load._replace(readers=0, writers=0, client_write_bytes_per_s=0.0)
    slow, fast = (d.allocate(d.initial(), streams_only) for d in (device, faster))
    assert fast.read_bytes_per_s >= slow.read_bytes_per_s * (1 - 1e-9)
    assert fast.write_bytes_per_s >= slow.write_bytes_per_s * (1 - 1e-9)
    assert fast.client_write_share >= slow.client_write_share * (1 - 1e-9)
    slow, fast = (d.allocate(d.initial(), reads_only) for d in (device, faster))
    assert fast.client_read_share >= slow.client_read_share * (1 - 1e-9)
    assert fast.client_read_latency_s <= slow.client_read_latency_s * (1 + 1e-9)


@pytest.mark.parametrize("name", SOLID_STATE)
@settings(max_examples=25)
@given(load=LOADS)
def test_more_streams_never_move_less_on_solid_state(name: str, load: DeviceLoad) -> None:
    """One more reader never lowers the total bytes read, nor one more writer the total bytes written."""
    device = uncapped(name)
    state = device.initial()
    load = load._replace(client_read_iops=0.0)  # small reads do yield to a large stream
    read, write = rates(device, state, load)
    more_read, _ = rates(device, state, load._replace(readers=load.readers + 1))
    _, more_write = rates(device, state, load._replace(writers=load.writers + 1))
    assert more_read >= read * (1 - 1e-9)
    assert more_write >= write * (1 - 1e-9)


@every_device
@settings(max_examples=25)
@given(load=LOADS)
def test_advancing_in_two_steps_gives_the_same_state(name: str, load: DeviceLoad) -> None:
    """Advancing by one step at constant rates gives the same state as advancing by its two halves."""
    device = uncapped(name)
    state = device.initial()
    grant = device.allocate(state, load)
    step = min(0.5, grant.valid_for_s / 2)
    read, write = rates(device, state, load)
    flow = Flow(read * step, write * step, read * step / 4096, write * step / 4096)
    half = Flow(flow.read_bytes / 2, flow.write_bytes / 2, flow.reads / 2, flow.writes / 2)
    whole = device.advance(state, step, flow)
    halves = device.advance(device.advance(state, step / 2, half), step / 2, half)
    if state is None:
        assert whole is None
        assert halves is None
    else:
        assert pytest.approx(tuple(whole), rel=1e-9, abs=1e-3) == tuple(halves)


@every_device
@pytest.mark.parametrize(
    "load",
    [
        DeviceLoad(writers=2, readers=2),
        DeviceLoad(writers=3, client_write_bytes_per_s=2e6, client_read_iops=20.0),
        DeviceLoad(readers=1, client_read_iops=1e5, client_read_depth=8.0),
    ],
    ids=["streams", "writers and log", "reads"],
)
def test_caps_hold_over_long_times(name: str, load: DeviceLoad) -> None:
    """In a minute, no direction transfers more than cap x time plus one slice; saturating writes use all of it."""
    cap, iops, seconds = 4 * MIB, 30.0, 60.0
    device = setup(name, write_cap="4MiB/s", read_cap="4MiB/s").device
    _, flow, _ = drive(device, load, seconds)
    most = cap * (seconds + 0.1) * (1 + 1e-9)
    assert flow.read_bytes <= most
    assert flow.write_bytes <= most
    if load.writers:
        assert flow.write_bytes >= cap * seconds * 0.99
    device = setup(name, iops_cap=iops).device
    _, flow, _ = drive(device, load, seconds)
    sides = ((flow.reads, flow.read_bytes / MIB), (flow.writes, flow.write_bytes / (512 * 1024)))
    for count, largest in sides:
        assert max(count, largest) <= iops * (seconds + 0.1) * (1 + 1e-9)


CAPS = st.none() | st.sampled_from([1e5, 3e6, 2e8, 5e9])


@every_device
@settings(max_examples=30)
@given(load=LOADS, write_cap=CAPS, read_cap=CAPS, iops_cap=st.none() | st.sampled_from([20.0, 5e3]))
def test_without_allowance_no_direction_exceeds_its_cap(
    name: str, load: DeviceLoad, write_cap: float | None, read_cap: float | None, iops_cap: float | None
) -> None:
    """With the allowance used up, no direction exceeds its caps, and every requester still gets a rate above 0."""
    device = Capped(uncapped(name), write_cap=write_cap, read_cap=read_cap, iops_cap=iops_cap)
    full = ThrottleWindow(left_s=0.2, passed_bytes=1e15, passed_ios=1e15)
    empty = device.initial()._replace(read=full, write=full)
    grant = device.allocate(empty, load)
    assert (load.readers > 0) == (grant.read_bytes_per_s > 0)
    assert (load.writers > 0) == (grant.write_bytes_per_s > 0)
    assert 0 < grant.client_read_share <= 1
    assert 0 < grant.client_write_share <= 1
    read, write = rates(device, empty, load)
    assert read <= (read_cap or math.inf) * (1 + 1e-6)
    assert write <= (write_cap or math.inf) * (1 + 1e-6)
    if iops_cap is not None:
        assert max(read / MIB, write / (512 * 1024)) <= iops_cap * (1 + 1e-6)


@every_device
def test_a_throttle_without_caps_changes_nothing(name: str) -> None:
    """Without caps the device is not wrapped; a cap far above the device leaves its grants unchanged."""
    load = DeviceLoad(readers=3, writers=2, client_read_iops=50.0, client_write_bytes_per_s=1e5)
    plain, capped = uncapped(name), setup(name, write_cap="1PB/s", read_cap="1PB/s").device
    assert isinstance(capped, Capped)
    assert plain.allocate(plain.initial(), load) == capped.allocate(capped.initial(), load)


@every_device
def test_facts_and_fsync(name: str) -> None:
    """An fsync takes time; write amplification is at least 1 for flash, and rated endurance is positive."""
    device = uncapped(name)
    state, _, _ = drive(device, DeviceLoad(writers=2), 10.0)
    assert device.fsync_s(state) > 0
    facts = device.facts(state, 1e9)
    assert isinstance(device, FlashDrive) == (facts.flash_write_amplification is not None)
    assert facts.flash_write_amplification is None or facts.flash_write_amplification >= 1
    assert facts.endurance_bytes is None or facts.endurance_bytes > 0
