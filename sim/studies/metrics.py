"""Numbers by which alternatives are compared, by their names in summary.json."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.models.units import format_bytes, format_seconds

_DAYS: Final = 365.25
"""Days of a year."""


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
    """Quantity of configs/model_errors.json that gives the model's error, if it has another name; 1/NAME: its reciprocal."""
    unit: str = ""
    """Unit on pages: ops/s, s, share, ratio, count, bytes/s or years."""
    title: str = ""
    """Name on pages, if it is not the label."""
    note: str = ""
    """Line below the number on the page of a run, which shows the metrics that have one."""
    judged: bool = True
    """Whether one direction is better, so that a comparison marks the best run."""
    grows: bool = False
    """Whether the number grows with the length of the run: only runs of one length can be compared."""

    @property
    def error_name(self) -> str:
        """Return the name of the metric in configs/model_errors.json."""
        return self.error_of or self.name


def _per_s(value: float) -> str:
    return f"{format_bytes(value)}/s"


def _years(value: float) -> str:
    return f"{value:,.1f} years" if value >= 1.0 else f"{value * _DAYS:,.1f} days"


METRICS: Final = (
    Metric("ops_per_s", "throughput", "{:,.0f} ops/s".format, higher_is_better=True, unit="ops/s", note="operations per second"),
    Metric("write_latency_s.p99", "write P99", format_seconds, unit="s", note="1 write in 100 is slower"),
    Metric("write_latency_s.p999", "write P99.9", format_seconds, unit="s", note="1 write in 1,000 is slower"),
    Metric("write_latency_s.max", "longest write", format_seconds, unit="s", title="slowest write", note="maximum over the run",
           grows=True),
    Metric("read_latency_s.p99", "read P99", format_seconds, unit="s", note="1 read in 100 is slower"),
    Metric("scan_latency_s.p99", "scan P99", format_seconds, unit="s", note="1 scan in 100 is slower"),
    Metric("stall_fraction", "stalled time", "{:.1%}".format, share=True, unit="share", title="time in write stalls",
           note="no write stalls"),
    Metric("longest_stall_s", "longest stall", format_seconds, error_of="write_latency_s.max", unit="s", grows=True),
    Metric("write_amplification", "write amp", "{:.2f}".format, unit="ratio", title="write amplification",
           note="bytes written per user byte"),
    Metric("space_amplification", "space amp", "{:.2f}".format, error_of="live_bytes", unit="ratio",
           title="space amplification", note="bytes stored per live byte"),
    Metric("blobs.space_amplification", "blob space amp", "{:.2f}".format, unit="ratio", title="blob files: space amplification",
           note="as RocksDB prints it"),
    Metric("device.write_bytes_per_s", "device writes", _per_s, error_of="device_bytes_written", unit="bytes/s"),
    Metric("device.utilisation", "device busy", "{:.0%}".format, share=True, unit="share", title="device use",
           note="busy share of the time", judged=False),
    Metric("device.years_left", "drive life", _years, higher_is_better=True, error_of="1/device_bytes_written", unit="years",
           title="device endurance", note="at this write rate"),
)  # fmt: skip


RECORDED: Final = (
    Metric("read_ops_per_s", "reads", "{:,.0f} reads/s".format, error_of="ops_per_s", unit="ops/s"),
    Metric("write_latency_s.p50", "write P50", format_seconds, unit="s"),
    Metric("read_latency_s.p50", "read P50", format_seconds, unit="s"),
    Metric("live_bytes", "files at the end", format_bytes, unit="bytes", grows=True),
    Metric("flush_count", "flushes", "{:,.0f}".format, grows=True),
    Metric("compaction_count", "compactions", "{:,.0f}".format, grows=True),
)
"""Further numbers that a LOG has too; only the check of the present state shows them."""
OPEN_LOOP: Final = (
    Metric("open_loop_latency_s.p99", "open-loop P99", format_seconds, error_of="write_latency_s.max", unit="s"),
    Metric("open_loop_latency_s.p999", "open-loop P99.9", format_seconds, error_of="write_latency_s.max", unit="s"),
    Metric("open_loop_latency_s.max", "longest open-loop wait", format_seconds, error_of="write_latency_s.max", unit="s"),
)
"""Latency of operations that arrive at the mean rate of a run whether or not earlier ones have returned.

It judges stores whose clients wait for them: such clients send nothing during a stall, so their own percentiles are best for
the store that stands still. Without stalls it is the latency of the clients. It is as uncertain as the length of a stall.
"""
WITHOUT_STALLS: Final = {m.name: m.name.replace("open_loop", "write") for m in OPEN_LOOP}
"""Number that takes the place of an open-loop latency in a run without stalls, or with an open loop."""
BY_NAME: Final[Mapping[str, Metric]] = {metric.name: metric for metric in (*METRICS, *OPEN_LOOP, *RECORDED)}


def value_of(summary: Mapping[str, Any], name: str) -> float | None:
    """Return a number of a summary; None if the summary does not have it or it is not finite (see also `OPEN_LOOP`)."""
    found = _number(summary, name)
    return found if found is not None or name not in WITHOUT_STALLS else _number(summary, WITHOUT_STALLS[name])


def _number(summary: Mapping[str, Any], name: str) -> float | None:
    node: Any = summary
    for key in name.split("."):
        node = node.get(key) if isinstance(node, Mapping) else None
    if isinstance(node, bool) or not isinstance(node, int | float) or not math.isfinite(node):
        return None
    return float(node)


def error_name(name: str) -> str:
    """Return the name in configs/model_errors.json of a number of summary.json."""
    return BY_NAME[name].error_name if name in BY_NAME else name
