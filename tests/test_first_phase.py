"""A drive with an SLC cache that is fast at the beginning of a run and stays slow (docs/decisions/0045)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import simpy
from lsmlab.models.devices.base import Flow, Load
from lsmlab.sim.machine.device_station import DeviceStation
from lsmlab.validation.logs.timings.cache_phases import first_phase

sys.path.insert(0, str(Path(__file__).parent))
from test_cache_phases import compaction
from test_device_mechanisms import drive, flash


def test_a_fast_beginning_is_found() -> None:
    """8 GB at 1.2 GB/s and then 0.6 GB/s: both rates relative to the mean, and the bytes, within 5 %."""
    found = first_phase(compaction([(1.2e9, 20.0 / 3.0), (0.6e9, 50.0)], file_bytes=64e6), lambda _: 0.0)

    mean = (8e9 + 30e9) / (20.0 / 3.0 + 50.0)
    assert found is not None
    assert (found.fast * mean, found.slow * mean, found.fast_bytes) == pytest.approx((1.2e9, 0.6e9, 8e9), rel=0.05)


@pytest.mark.parametrize(
    "rates",
    [
        [(1.0e9, 10.0), (0.85e9, 40.0)],  # less than a quarter faster
        [(0.6e9, 10.0), (1.2e9, 40.0)],  # a slow beginning
        [(1.2e9, 2.0), (0.6e9, 2.0)] * 10,  # alternating phases
        [(1.2e9, 20.0), (0.6e9, 30.0), (1.2e9, 20.0)],  # fast again
    ],
)  # fmt: skip
def test_other_drives_have_no_fast_beginning(rates: list[tuple[float, float]]) -> None:
    """Small differences, slow beginnings, alternating phases and a drive that is fast again are no fast beginning."""
    assert first_phase(compaction(rates, file_bytes=64e6), lambda _: 0.0) is None


def test_a_drive_with_slc_idle_copies_its_cache_in_long_pauses_only() -> None:
    """A full cache of 6 GB: pauses of 5 s change nothing; after 10 s without writes it drains at 0.6 GB/s."""
    device = flash(
        "samsung_970_evo_plus_2tb", gc_random_share=0.0, write_bandwidth="600MB/s", slc_write_bandwidth="1200MB/s",
        slc_cache="6GB", slc_resume=1.0, slc_idle="10s",
    )  # fmt: skip
    load = Load(writers=4)
    state, flow, _ = drive(device, load, 5.0)
    assert flow.write_bytes == pytest.approx(6e9, rel=0.01)
    assert state.slc_full
    for _ in range(10):
        state = device.advance(state, 5.0, Flow())
        state, flow, _ = drive(device, load, 1.0, state)
        assert flow.write_bytes == pytest.approx(0.6e9, rel=0.01)

    half = device.advance(device.advance(state, 5.0, Flow()), 10.0, Flow())

    assert half.slc_used_bytes == pytest.approx(3e9, rel=0.01)
    assert not device.advance(half, 5.0, Flow()).slc_full


def test_a_pause_reaches_the_drive_through_the_station() -> None:
    """Writes that end less than a second before a pause of 60 s do not shorten it: 50 s at 600 MB/s empty 6 GB."""
    device = flash(
        "samsung_970_evo_plus_2tb", gc_random_share=0.0, write_bandwidth="600MB/s", slc_write_bandwidth="1200MB/s",
        slc_cache="6GB", slc_resume=1.0, slc_idle="10s",
    )  # fmt: skip
    env = simpy.Environment()
    station = DeviceStation(env, device, 2**21, 2**20, 4.0)
    seconds = []

    def writes() -> Iterator[simpy.Event]:
        for size, pause_s in ((12.3e9, 60.0), (3e9, 0.0)):
            since_s = env.now
            yield station.write(size, 0)
            seconds.append(env.now - since_s)
            yield env.timeout(pause_s)

    env.process(writes())
    env.run()

    assert seconds == pytest.approx([5.0 + 10.5, 2.5], rel=0.05)
