"""The limits group: caps of the deployment, which stay when a drive is replaced."""

from __future__ import annotations

import pytest
from lsmlab.models.devices.limits import with_limits
from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.simulation import run

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
