"""Service levels of a plan: limits on latency, stalls, space and recovery, and which of them a run breaks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from lsmlab.models.units import format_seconds, quantity
from lsmlab.sim.studies.metrics import value_of


@dataclass(frozen=True, kw_only=True)
class ServiceLevels:
    """Limits that a store must meet at the planned rate. None: no limit."""

    write_p99: float | None = quantity("seconds", None)
    write_p999: float | None = quantity("seconds", None)
    read_p99: float | None = quantity("seconds", None)
    read_p999: float | None = quantity("seconds", None)
    longest_stall: float | None = quantity("seconds", None)
    """Longest time during which a writer waits because of one write stall."""
    stalled: float | None = quantity("ratio", None, high=1.0)
    """Share of the time during which writes are slowed down or stopped."""
    space_amplification: float | None = quantity("ratio", None, low=1.0)
    recovery: float | None = quantity("seconds", None)
    """Time after the end of a burst until backlog, L0 files and compaction debt are back at their level before it."""

    def limits(self) -> dict[str, float]:
        """Return the limits that the plan sets, by name."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: float(value) for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """How a service level is measured."""

    label: str
    metric: str
    """Path in summary.json; the empty string for a value that the plan computes itself."""
    share: bool = False

    def form(self, value: float) -> str:
        """Format a value of this level."""
        if self.share:
            return f"{value:.1%}"
        return format_seconds(value) if self.metric != "space_amplification" else f"{value:.2f}"


LEVELS: Final[Mapping[str, ServiceLevel]] = {
    "write_p99": ServiceLevel("write P99", "write_latency_s.p99"),
    "write_p999": ServiceLevel("write P99.9", "write_latency_s.p999"),
    "read_p99": ServiceLevel("read P99", "read_latency_s.p99"),
    "read_p999": ServiceLevel("read P99.9", "read_latency_s.p999"),
    "scan_p99": ServiceLevel("scan P99", "scan_latency_s.p99"),
    "scan_p999": ServiceLevel("scan P99.9", "scan_latency_s.p999"),
    "longest_stall": ServiceLevel("longest stall", "longest_stall_s"),
    "stalled": ServiceLevel("stalled share", "stall_fraction", share=True),
    "space_amplification": ServiceLevel("space amplification", "space_amplification"),
    "recovery": ServiceLevel("recovery from a burst", ""),
}
"""Definition of each service level, by its key in a plan."""


def measured(summary: Mapping[str, Any]) -> dict[str, float]:
    """Return the values of all service levels that a summary contains."""
    found = {name: value_of(summary, level.metric) for name, level in LEVELS.items() if level.metric}
    return {name: value for name, value in found.items() if value is not None}


def broken(values: Mapping[str, float], levels: ServiceLevels) -> str | None:
    """Return the service level that is exceeded by the largest factor; None if all hold."""
    factors = {
        name: values[name] / limit if limit > 0.0 else math.inf
        for name, limit in levels.limits().items()
        if name in values and values[name] > limit
    }
    return max(factors, key=lambda name: factors[name], default=None)
