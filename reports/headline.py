"""Headline numbers of a run, from its summary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.reports import numbers
from lsmlab.reports.palette import stall_name
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.sentences import binding_cap


@dataclass(frozen=True)
class Fact:
    """One headline number."""

    key: str
    label: str
    value: float
    text: str
    """The value with its unit, as the page shows it."""
    note: str = ""
    """Line below the number."""
    better: int = 0
    """+1: more is better, -1: less is better, 0: neither, so a comparison marks no run as best."""
    missing: str = "none"
    """Text of a comparison for a run without this number."""


def headline(run: RunData) -> list[Fact]:
    """Return the headline numbers that the summary of a run contains, in the order of the page."""
    makers = (_throughput, _p99, _p999, _slowest, _read_p99, _scan_p99, _stalls, _lost, _w_amp, _space_amp, _device, _endurance)
    return [fact for fact in (make(run) for make in makers) if fact is not None]


def number(mapping: Any, *names: str) -> float | None:
    """Return the first value of these keys that is a number (infinity included), else None."""
    for name in names:
        value = mapping.get(name) if isinstance(mapping, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value):
            return float(value)
    return None


def stall_share(run: RunData) -> float:
    """Return the share of the run (0 to 1) in which writes were slowed or stopped."""
    stated = number(run.summary, "stall_fraction")
    if stated is not None:
        return stated
    return sum(run.stall_seconds().values()) / run.duration_s if run.duration_s else 0.0


def writes_and_reads(run: RunData) -> tuple[float, float] | None:
    """Return writes and reads per second if the run has both; a benchmark's throughput may count only one of them."""
    writes, reads = number(run.summary, "write_ops_per_s"), number(run.summary, "read_ops_per_s")
    return (writes, reads) if writes and reads else None


def dominating_cause(run: RunData) -> str | None:
    """Return the cause with the longest stall time; None without stalls."""
    stalls = run.stall_seconds()
    return max(stalls, key=lambda cause: stalls[cause]) if stalls else None


def _throughput(run: RunData) -> Fact | None:
    value = number(run.summary, "ops_per_s")
    if value is None:
        return None
    user, both = number(run.summary, "user_bytes_written"), writes_and_reads(run)
    note = f"{numbers.rate(user / run.duration_s)} of user data" if user and run.duration_s else "operations per second"
    if both:
        note = f"{numbers.per_second(both[0])} writes, {numbers.per_second(both[1])} reads"
    return Fact("ops_per_s", "throughput", value, numbers.per_second(value), note, +1)


def _latency(op: str, key: str, label: str, note: str) -> Callable[[RunData], Fact | None]:
    def make(run: RunData) -> Fact | None:
        value = number(run.summary.get(f"{op}_latency_s"), key)
        if value is None:
            return None
        return Fact(f"{op}_{key}", label, value, numbers.seconds(value), note, -1)

    return make


_p99: Final = _latency("write", "p99", "write P99", "1 write in 100 is slower")
_p999: Final = _latency("write", "p999", "write P99.9", "1 write in 1,000 is slower")
_slowest: Final = _latency("write", "max", "slowest write", "maximum over the run")
_read_p99: Final = _latency("read", "p99", "read P99", "1 read in 100 is slower")
_scan_p99: Final = _latency("scan", "p99", "scan P99", "1 scan in 100 is slower")


def _stalls(run: RunData) -> Fact:
    share, cause = stall_share(run), dominating_cause(run)
    note = f"mostly {stall_name(cause)}" if cause else "no write stalls"
    return Fact("stall_share", "time in write stalls", share, numbers.percent(share), note, -1)


def _lost(run: RunData) -> Fact | None:
    """Return the share of operations that stalls cost, with the bottleneck behind them."""
    value = number(run.summary.get("lost_operations"), "share")
    if value is None:
        return None
    resource = str((run.summary.get("bottleneck") or {}).get("resource", "unknown")).replace("_", " ")
    note = "of those that clients asked for" if resource in ("none", "unknown") else f"bottleneck: {resource}"
    return Fact("lost_share", "operations lost to stalls", value, numbers.percent(value), note, -1)


def _w_amp(run: RunData) -> Fact | None:
    value = number(run.summary, "write_amplification")
    if value is None:
        return None
    return Fact("w_amp", "write amplification", value, numbers.ratio(value), "bytes written per user byte", -1)


def _space_amp(run: RunData) -> Fact | None:
    value = number(run.summary, "space_amplification")
    if value is None:
        return None
    return Fact("space_amp", "space amplification", value, numbers.ratio(value), "bytes stored per live byte", -1)


def _device(run: RunData) -> Fact | None:
    device = run.summary.get("device")
    value = number(device, "utilisation")
    if value is None:
        return None
    name = str(device.get("name") or "device") if isinstance(device, dict) else "device"
    cap = binding_cap((run.summary.get("bottleneck") or {}).get("uses") or {})
    note = f"of {cap}; {name} itself less" if cap else f"busy share of the time, {name}"
    return Fact("device_use", "use of the cap" if cap else "device use", value, numbers.percent(value), note)


def _endurance(run: RunData) -> Fact | None:
    value = endurance_years(run)
    if value is None:
        return None
    return Fact("endurance_years", "device endurance", value, numbers.years(value), "at this write rate", +1, "unknown")


def endurance_years(run: RunData) -> float | None:
    """Return the years until the rated writes of the device are used up; None if it has no rating."""
    return number(run.summary.get("device"), "years_left")
