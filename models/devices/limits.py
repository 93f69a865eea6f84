"""Limits of a deployment: caps that a cgroup or a cloud provider sets, whatever drive the machine has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import build, field_values, quantity

_METADATA: Final = ("description", "source", "assumptions")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Settings of the `limits` group. None: no limit."""

    write_cap: float | None = quantity("bytes_per_s", None, low=1.0)
    """Cap on all writes together."""
    read_cap: float | None = quantity("bytes_per_s", None, low=1.0)
    iops_cap: float | None = quantity("per_s", None, low=1.0)
    """Cap on operations per second, for reads and for writes separately."""
    background_cap: float | None = quantity("bytes_per_s", None, low=1.0)
    """Cap on the bytes that flushes and compactions read and write together."""


def with_limits(device: Mapping[str, Any], limits: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the `device` group under the caps of the `limits` group; a cap that the device group sets stays.

    Raises InputError for an unknown key or a bad value of `limits`.
    """
    if limits is not None and not isinstance(limits, Mapping):
        raise InputError(f"limits: {limits!r} must be a mapping such as {{write_cap: 80MiB/s}}, or choose limits=none")
    values = {key: value for key, value in (limits or {}).items() if key not in _METADATA}
    caps = build(Limits, values, "limits")
    set_caps = {key: cap for key, cap in field_values(caps).items() if cap is not None and device.get(key) is None}
    return {**device, **set_caps}
