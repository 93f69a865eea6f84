"""The limits group: caps of the deployment, which stay when a drive is replaced."""

from __future__ import annotations

import pandas as pd
import pytest
from lsmlab.models.devices.base import DeviceLoad
from lsmlab.models.devices.capped import BackgroundCap
from lsmlab.models.devices.make import make_device, with_limits
from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.compose import compose
from running import run

SHORT = ["workload.duration=5s", "workload.threads=1", "engine.options.write_buffer_size=4MiB"]


def test_a_limit_acts_as_a_cap_of_the_device() -> None:
    """A run under limits.write_cap has the results of the same cap on the device."""
    limited = run(compose([*SHORT, "limits.write_cap=40MiB/s"])).summary
    capped = run(compose([*SHORT, "device.write_cap=40MiB/s"])).summary

    assert capped == limited
    assert limited["device"]["write_bytes_per_s"] < 45 * 2**20


def test_limits_stay_with_another_drive() -> None:
    """The limits are those of the deployment: device=X does not lift them, limits=none does."""
    assert {"write_cap": "9MB/s"}.items() <= compose(["limits.write_cap=9MB/s", "device=hdd"])["limits"].items()
    assert compose(["limits=none"])["limits"]["write_cap"] is None


def test_a_cap_of_the_device_group_replaces_the_limit() -> None:
    """The user's device.write_cap counts, whether it is above or below the limit; other limits stay."""
    both = with_limits({"write_cap": "80MB/s", "read_cap": None}, {"write_cap": "40MB/s", "read_cap": "9MB/s"})

    assert {"write_cap": "80MB/s", "read_cap": 9e6} == both


def background_bytes_per_s(*overrides: str) -> tuple[float, float]:
    """Return the bytes per second that flushes and compactions read and write, and the longest flush in seconds."""
    result = run(compose([*SHORT, "engine.options.max_background_jobs=6", *overrides]))
    jobs = pd.DataFrame(result.jobs)
    moved = float(jobs["read_bytes"].sum() + jobs["write_bytes"].sum()) / 5.0
    return moved, float((jobs["end_s"] - jobs["start_s"])[jobs["kind"] == "flush"].max())


def test_background_jobs_share_a_cap() -> None:
    """limits.background_cap bounds the reads and writes of jobs together; a flush shares it with compactions."""
    free, _ = background_bytes_per_s("limits.background_cap=10GB/s")
    shared, flush_s = background_bytes_per_s("limits.background_cap=60MB/s")
    writes, write_flush_s = background_bytes_per_s("limits.write_cap=60MB/s")

    assert free > 70e6
    assert shared < 61e6
    assert flush_s > 0.0 < write_flush_s
    assert writes > shared


def test_a_background_cap_spares_clients() -> None:
    """Under the cap client reads are served as on the idle device, up to the share of time that jobs use it."""
    device = make_device(compose(["device=samsung_970_pro"])["device"]).device
    load = DeviceLoad(readers=4, writers=4, client_read_iops=20_000.0, client_read_depth=8.0)
    alone = DeviceLoad(client_read_iops=20_000.0, client_read_depth=8.0)
    capped = BackgroundCap(device, 50e6).allocate(device.initial(), load)

    assert capped.client_read_share == 1.0
    assert 4 * capped.read_bytes_per_s + 4 * capped.write_bytes_per_s == pytest.approx(50e6)
    assert capped.client_read_latency_s < device.allocate(device.initial(), load).client_read_latency_s
    assert capped.client_read_latency_s < 1.5 * device.allocate(device.initial(), alone).client_read_latency_s
    assert BackgroundCap(device, 1e12).allocate(device.initial(), load) == device.allocate(device.initial(), load)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"writecap": 1}, "limits.writecap: no such key; did you mean limits.write_cap?"),
        ({"write_cap": "5 apples"}, "limits.write_cap: "),
        ({"iops_cap": 0}, "limits.iops_cap: "),
        (5, "limits: 5 must be a mapping"),
    ],
)
def test_bad_limits_are_named(limits: object, message: str) -> None:
    """Each bad limit gives one error with its key."""
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        with_limits({}, limits)  # type: ignore[arg-type]
