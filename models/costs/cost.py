"""Cost: a duration as a sum of counts times constants. A run evaluates it; a fit solves it for the constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lsmlab.models.costs.host import Host

Group = tuple[str, float, Mapping[str, float]]
"""(owner, factor, counts by constant): `factor` times the sum of all counts times their constants."""

HOST: Final = "host"
DEVICE: Final = "device"
_DIVIDES: Final = ("bandwidth", "_speed")
"""Suffixes of the names of constants by which a count is divided: bytes by a bandwidth, seconds at a speed of 1 by a speed."""


def of_host(factor: float = 1.0, /, **counts: float) -> Group:
    """Return counts of constants of `Host`, multiplied by `factor`, which may be a nonlinear share (`entry_share`)."""
    return HOST, factor, counts


def of_device(**counts: float) -> Group:
    """Return counts of constants of the device (configs/device); bytes are the counts of a bandwidth."""
    return DEVICE, 1.0, counts


class Cost:
    """Duration of one piece of work, in groups of counts and constants.

    The groups are summed in their order, so that floating-point results are reproducible.

    >>> from lsmlab.models.costs.host import Host
    >>> cost = Cost(of_host(0.5, flush_record=1000.0, flush_byte=1e5))
    >>> cost.seconds(Host(flush_record=1e-6, flush_byte=1e-9))
    0.00055
    >>> cost.counts()
    {'host.flush_record': 500.0, 'host.flush_byte': 50000.0}
    """

    __slots__ = ("groups",)

    def __init__(self, *groups: Group) -> None:
        self.groups = groups

    def __add__(self, other: Cost) -> Cost:
        """Return the cost of both pieces of work, one after the other."""
        return Cost(*self.groups, *other.groups)

    def times(self, number: float) -> Cost:
        """Return the cost of `number` repetitions."""
        return Cost(*((owner, factor * number, counts) for owner, factor, counts in self.groups))

    def seconds(self, host: Host) -> float:
        """Return the duration in seconds with the constants of `host`, for a cost without device constants."""
        total = 0.0
        for _, factor, counts in self.groups:
            part = 0.0
            for name, count in counts.items():
                if count:
                    constant = getattr(host, name)
                    part += count / constant if name.endswith(_DIVIDES) else count * constant
            total += part * factor
        return total

    def seconds_at(self, values: Mapping[str, Any], host: Host) -> Any:
        """Return the duration in seconds with the constants in `values` ("host.write_op", "device.read_latency", …).

        Host constants that are not in `values` come from `host`.
        """
        total: Any = 0.0
        for owner, factor, counts in self.groups:
            part: Any = 0.0
            for name, count in counts.items():
                key = f"{owner}.{name}"
                constant = values[key] if key in values or owner != HOST else getattr(host, name)
                part += contribution(key, count, constant)
            total += part * factor
        return total

    def counts(self) -> dict[str, float]:
        """Return the count of each constant by configuration key, times its factor: a row of a fit's design matrix."""
        total: dict[str, float] = {}
        for owner, factor, counts in self.groups:
            for name, count in counts.items():
                key = f"{owner}.{name}"
                total[key] = total.get(key, 0.0) + count * factor
        return total


def contribution(key: str, count: Any, constant: Any) -> Any:
    """Return the seconds that a constant adds: count times constant, or a count divided by a bandwidth or a speed."""
    return count / constant if key.endswith(_DIVIDES) else count * constant


def lone_request_s(size_bytes: float, latency_s: float, bandwidth: float) -> float:
    """Return the seconds of one request of `size_bytes` on an idle device; `bandwidth` in bytes per second."""
    return latency_s + size_bytes / bandwidth


def reads(size_bytes: float, requests: float) -> Cost:
    """Return the time of sequential reads, one request after the other: the sum of `lone_request_s`."""
    return Cost(of_device(read_bandwidth=size_bytes, read_latency=requests))


def writes(size_bytes: float, requests: float) -> Cost:
    """Return the time of sequential writes, one request after the other."""
    return Cost(of_device(write_bandwidth=size_bytes, write_latency=requests))


def fsyncs(number: float) -> Cost:
    """Return the time of fsyncs of little data (a directory, the manifest), one after the other."""
    return Cost(of_device(fsync_latency=number))
