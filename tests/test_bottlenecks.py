"""The bottleneck of small stores that are built to have it."""

from __future__ import annotations

from typing import Any

import pytest
from lsmlab.sim.explain.bottleneck import Bottleneck
from running import SLOW_JOBS, simulate

STORE = (
    "engine.version=7.8", "workload.value_size=400", "workload.num=2M", "engine.options.write_buffer_size=8MiB",
    "engine.options.target_file_size_base=8MiB", "engine.options.max_bytes_for_level_base=32MiB", "workload.duration=5s",
    *SLOW_JOBS,
)  # fmt: skip
JOBS = "engine.options.max_background_jobs={}"
LOW_OPEN_LOOP = (
    "workload=constant", "workload.rate=10000", "workload.insert=1", "workload.read=0", "workload.update=0",
    "workload.preload=0",
)  # fmt: skip
STORES = {
    Bottleneck.DEVICE_BANDWIDTH: ("device=sata", JOBS.format(4), "workload.duration=40s"),
    Bottleneck.DEVICE_REQUESTS: ("device=hdd", JOBS.format(4)),
    Bottleneck.WRITE_CAP: ("device=nvme", "device.write_cap=100MB/s"),
    Bottleneck.READ_CAP: ("device=nvme", "device.read_cap=20MB/s", JOBS.format(8)),
    Bottleneck.IOPS_CAP: ("device=nvme", "device.iops_cap=300"),
    Bottleneck.LIMITER: ("device=nvme", "engine.options.rate_limiter_bytes_per_sec=50MiB/s", JOBS.format(4)),
    Bottleneck.CORES: ("device=nvme", "host.cores=1", JOBS.format(8), "workload.duration=20s"),
    Bottleneck.SLOTS: ("device=nvme", JOBS.format(2), "workload.duration=30s"),
    Bottleneck.L0_COMPACTION: (
        "device=nvme", JOBS.format(8), "engine.options.max_bytes_for_level_base=256MiB", "workload.duration=20s",
    ),
    Bottleneck.MEMTABLES: (
        "device=nvme", JOBS.format(12), "workload.value_size=2000", "engine.options.disable_auto_compactions=true",
    ),
    Bottleneck.THROTTLE: (
        "device=nvme", JOBS.format(8), "engine.options.level0_slowdown_writes_trigger=2",
        "engine.options.delayed_write_rate=1MB/s",
    ),
    Bottleneck.NONE: ("device=nvme", *LOW_OPEN_LOOP),
}  # fmt: skip

RELIEFS = {
    Bottleneck.DEVICE_BANDWIDTH: "device=nvme",
    Bottleneck.DEVICE_REQUESTS: "device=sata",
    Bottleneck.WRITE_CAP: "device.write_cap=400MB/s",
    Bottleneck.READ_CAP: "device.read_cap=80MB/s",
    Bottleneck.IOPS_CAP: "device.iops_cap=1200",
    Bottleneck.LIMITER: "engine.options.rate_limiter_bytes_per_sec=200MiB/s",
    Bottleneck.CORES: "host.cores=8",
    Bottleneck.SLOTS: JOBS.format(8),
    Bottleneck.L0_COMPACTION: "engine.options.max_subcompactions=4",
    Bottleneck.MEMTABLES: "engine.options.max_write_buffer_number=6",
    Bottleneck.THROTTLE: "engine.options.delayed_write_rate=64MB/s",
}
"""More of each resource."""


def summary_of(bottleneck: Bottleneck, relief: str = "") -> dict[str, Any]:
    """Return the summary of the store that is built to have a bottleneck, with `relief` instead of its own setting."""
    own = [o for o in STORES[bottleneck] if o.partition("=")[0] != relief.partition("=")[0]]
    workload = [o for o in own if o.startswith("workload=")]
    others = [o for o in own if not o.startswith("workload=")]
    return simulate(*workload, *STORE, *others, *([relief] if relief else [])).summary


@pytest.mark.parametrize("bottleneck", STORES)
def test_a_store_has_the_bottleneck_that_it_is_built_to_have(bottleneck: Bottleneck) -> None:
    """The summary names the short resource, with the numbers that show it."""
    summary = summary_of(bottleneck)
    found = summary["bottleneck"]

    assert bottleneck == found["resource"]
    assert bool(summary["episodes"]) == bool(found["lost_by_cause"]) == bool(found["uses"])


@pytest.mark.parametrize("bottleneck", RELIEFS)
def test_more_of_the_short_resource_helps(bottleneck: Bottleneck) -> None:
    """With more of the named resource, and nothing else, the store loses fewer operations and does more."""
    before, after = summary_of(bottleneck), summary_of(bottleneck, RELIEFS[bottleneck])

    assert after["lost_operations"]["share"] < before["lost_operations"]["share"]
    assert after["ops_per_s"] > before["ops_per_s"]
