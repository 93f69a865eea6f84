"""Caps that cannot bind: a run does without them, and its rates stay below the bounds that say so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lsmlab.models.devices.base import Device, Peaks
from lsmlab.models.devices.capped import Capped
from lsmlab.sim.machine.caps import highest_rates
from running import SMALL, set_up, simulate

MB = 1e6
MIXED = (
    "workload=constant", "workload.rate=40000", "workload.read=0.3", "workload.update=0.7", "workload.num=1M",
    "workload.value_size=1000", "workload.duration=20s", "engine.options.max_background_jobs=4",
    "engine.options.write_buffer_size=8MiB", "engine.options.target_file_size_base=8MiB",
    "engine.options.max_bytes_for_level_base=32MiB",
)  # fmt: skip


def caps(*overrides: str) -> tuple[float | None, float | None]:
    """Return the caps on reads and writes under which the run simulates its device."""
    device = set_up(*MIXED, *overrides).setting.device.device
    return (device.read_cap, device.write_cap) if isinstance(device, Capped) else (None, None)


def test_a_cap_above_the_device_is_left_out() -> None:
    """The drive reads at most 3,500 and writes at most 2,700 MB/s; only caps below these can bind."""
    many = "engine.options.max_background_jobs=32"

    assert caps(many, "device.write_cap=2700MB/s", "device.read_cap=3500MB/s") == (None, None)
    assert caps(many, "device.write_cap=2600MB/s", "device.read_cap=3400MB/s") == (3400 * MB, 2600 * MB)


def test_a_cap_above_the_rates_of_all_threads_is_left_out() -> None:
    """One flush and three compactions compute so long per byte that they write at most 2,366 MB/s together."""
    assert caps("device.write_cap=2370MB/s") == (None, None)
    assert caps("device.write_cap=2360MB/s") == (None, 2360 * MB)


@pytest.mark.parametrize(
    "unbounded",
    ["engine=adoc", "device.page_cache=10GiB", "engine.options.wal_bytes_per_sync=1MiB", "device.iops_cap=100k"],
)
def test_caps_stay_where_rates_have_no_bound(unbounded: str) -> None:
    """A tuner may add threads, the kernel writes whole files at once, and WALs have no bound; a cap on operations stays."""
    device = set_up(*MIXED, "device.write_cap=2300MB/s", unbounded).setting.device.device

    assert isinstance(device, Capped)


@pytest.mark.parametrize("more", [(), ("engine.options.max_subcompactions=3",), ("workload.shards=2",), ("workload.read=0",)])
def test_no_second_exceeds_the_bounds(more: tuple[str, ...]) -> None:
    """The bytes that a run without caps reads and writes in any second are below `highest_rates`."""
    result, setup = simulate(*MIXED, *more), set_up(*MIXED, *more)
    bound = highest_rates(
        setup.setting.device, setup.engine, setup.workload, setup.host, wal_reaches_device=False, block_bytes=4096.0
    )
    highest = {
        way: sum(result.series[f"{way}_bytes_{c}_per_s"] for c in ("client", "flush", "l0", "deeper")).max()
        for way in ("read", "write")
    }

    assert 0.1 * bound.write_bytes_per_s < highest["write"] <= bound.write_bytes_per_s
    assert highest["read"] <= bound.read_bytes_per_s


def test_a_cap_that_cannot_bind_changes_nothing() -> None:
    """Results with a cap above the rates of all threads are those without a cap."""
    free, capped = simulate(*MIXED), simulate(*MIXED, "device.write_cap=2500MB/s")

    assert free.summary["write_amplification"] == capped.summary["write_amplification"]
    assert free.jobs["end_s"].tolist() == capped.jobs["end_s"].tolist()


def test_a_device_without_peaks_keeps_its_caps() -> None:
    """A device class that does not state its peaks has infinite ones."""
    setup = set_up(*SMALL, "engine=adoc")
    device = setup.setting.device.device
    own = {"initial": device.initial, "allocate": device.allocate, "fsync_s": device.fsync_s}
    unstated = type("Unstated", (Device,), own)()

    assert Peaks() == highest_rates(
        replace(setup.setting.device, device=unstated), setup.engine, setup.workload, setup.host, wal_reaches_device=True,
        block_bytes=4096.0,
    )
