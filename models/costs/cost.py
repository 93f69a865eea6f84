"""A duration as a sum of constants times counts: evaluated by a run, solved for the constants by a fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lsmlab.models.costs.host import Host

Group = tuple[str, float, Mapping[str, float]]
"""(owner, factor, counts by constant): `factor` times the sum of counts times constants."""

HOST: Final = "host"
DEVICE: Final = "device"
_DIVIDES: Final = "bandwidth"
"""The end of the names of constants in bytes per second: a count of bytes is divided by them."""


def of_host(factor: float = 1.0, /, **counts: float) -> Group:
    """Counts of constants of `Host`, all multiplied by `factor`: a share such as `entry_share`, which need not be linear."""
    return HOST, factor, counts


def of_device(factor: float = 1.0, /, **counts: float) -> Group:
    """The same for constants of the device (configs/device); bytes are counts of a bandwidth."""
    return DEVICE, factor, counts


class Cost:
    """Seconds of one piece of work.

    Groups are added in their order, so that a run gives the same bytes whatever asks for the cost besides.

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
        """The time of both."""
        return Cost(*self.groups, *other.groups)

    def times(self, number: float) -> Cost:
        """The time of `number` such pieces of work."""
        return Cost(*((owner, factor * number, counts) for owner, factor, counts in self.groups))

    def seconds(self, host: Host) -> float:
        """Evaluate with the constants of `host`; for costs without a constant of the device."""
        total = 0.0
        for _, factor, counts in self.groups:
            part = 0.0
            for name, count in counts.items():
                if count:
                    part += count * getattr(host, name)
            total += part * factor
        return total

    def seconds_at(self, values: Mapping[str, Any], host: Host) -> Any:
        """Evaluate with the constants `values` ("host.write_op", "device.read_latency", …); those not in it are `host`'s."""
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
        """Count of each constant by its key of the configuration, factors included: a row of a fit's design matrix."""
        total: dict[str, float] = {}
        for owner, factor, counts in self.groups:
            for name, count in counts.items():
                key = f"{owner}.{name}"
                total[key] = total.get(key, 0.0) + count * factor
        return total


def contribution(key: str, count: Any, constant: Any) -> Any:
    """Seconds that a constant adds: count times constant, or bytes divided by a bandwidth."""
    return count / constant if key.endswith(_DIVIDES) else count * constant
