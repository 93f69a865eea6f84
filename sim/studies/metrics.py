"""Numbers by which alternatives are compared, by their names in summary.json."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.models.units import format_bytes, format_seconds


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of summary.json."""

    name: str
    """Path in summary.json; keys of nested mappings are joined by dots."""
    label: str
    form: Callable[[float], str]
    """Formats a value with its unit."""
    higher_is_better: bool = False
    share: bool = False
    """Whether the number is a share: differences are in points, not in percent."""
    error_of: str | None = None
    """Metric of configs/model_errors.json that gives the model's error, if it has another name."""

    @property
    def error_name(self) -> str:
        """Return the name of the metric in configs/model_errors.json."""
        return self.error_of or self.name


_DAYS: Final = 365.25
"""Days of a year."""


def _per_s(value: float) -> str:
    return f"{format_bytes(value)}/s"


def _years(value: float) -> str:
    return f"{value:,.1f} years" if value >= 1.0 else f"{value * _DAYS:,.1f} days"


METRICS: Final = (
    Metric("ops_per_s", "throughput", "{:,.0f} ops/s".format, higher_is_better=True),
    Metric("write_latency_s.p99", "write P99", format_seconds),
    Metric("write_latency_s.p999", "write P99.9", format_seconds),
    Metric("write_latency_s.max", "longest write", format_seconds),
    Metric("read_latency_s.p99", "read P99", format_seconds),
    Metric("scan_latency_s.p99", "scan P99", format_seconds),
    Metric("stall_fraction", "stalled time", "{:.1%}".format, share=True),
    Metric("longest_stall_s", "longest stall", format_seconds, error_of="write_latency_s.max"),
    Metric("write_amplification", "write amp", "{:.2f}".format),
    Metric("space_amplification", "space amp", "{:.2f}".format),
    Metric("device.write_bytes_per_s", "device writes", _per_s, error_of="device_bytes_written"),
    Metric("device.utilisation", "device busy", "{:.0%}".format, share=True),
    Metric("device.years_left", "drive life", _years, higher_is_better=True, error_of="device_bytes_written"),
)


COUNTS: Final = (
    Metric("flush_count", "flushes", "{:,.0f}".format),
    Metric("compaction_count", "compactions", "{:,.0f}".format),
)
"""Counts of jobs, which a LOG has too."""
BY_NAME: Final[Mapping[str, Metric]] = {metric.name: metric for metric in (*METRICS, *COUNTS)}


def value_of(summary: Mapping[str, Any], name: str) -> float | None:
    """Return a number of a summary; None if the summary does not have it or it is not finite."""
    node: Any = summary
    for key in name.split("."):
        node = node.get(key) if isinstance(node, Mapping) else None
    if isinstance(node, bool) or not isinstance(node, int | float) or not math.isfinite(node):
        return None
    return float(node)
