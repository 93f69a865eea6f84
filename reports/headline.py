"""Headline numbers of a run, from its summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from lsmlab.reports import numbers
from lsmlab.reports.palette import stall_name
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.sentences import binding_cap
from lsmlab.sim.studies.metrics import METRICS, Metric


@dataclass(frozen=True)
class Fact:
    """One headline number."""

    key: str
    """Path in summary.json."""
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


FORMS: Final[dict[str, Callable[[float], str]]] = {
    "ops/s": numbers.per_second, "s": numbers.seconds, "share": numbers.percent, "ratio": numbers.ratio,
    "bytes/s": numbers.rate, "years": numbers.years, "count": numbers.count,
}  # fmt: skip
"""Function that formats a value of a metric on a page, by its unit."""
_LOST: Final = Metric(
    "lost_operations.share", "operations lost to stalls", "{:.1%}".format, share=True, unit="share",
    note="of those that clients asked for",
)  # fmt: skip
"""No metric of decisions: `stall_fraction` is one already."""


def headline(run: RunData) -> list[Fact]:
    """Return the headline numbers that the summary of a run contains, in the order of the page."""
    shown = [metric for metric in METRICS if metric.note]
    shown.insert([metric.name for metric in shown].index("stall_fraction") + 1, _LOST)
    return [fact for fact in (_fact(run, metric) for metric in shown) if fact is not None]


def _fact(run: RunData, metric: Metric) -> Fact | None:
    value = run.number(metric.name)
    if value is None:
        return None
    better = (1 if metric.higher_is_better else -1) if metric.judged else 0
    missing = "unknown" if metric.unit == "years" else "none"
    fact = Fact(metric.name, metric.title or metric.label, value, FORMS[metric.unit](value), metric.note, better, missing)
    return _DETAILS[metric.name](run, fact) if metric.name in _DETAILS else fact


def writes_and_reads(run: RunData) -> tuple[float, float] | None:
    """Return writes and reads per second if the run has both; a benchmark's throughput may count only one of them."""
    writes, reads = run.number("write_ops_per_s"), run.number("read_ops_per_s")
    return (writes, reads) if writes and reads else None


def dominating_cause(run: RunData) -> str | None:
    """Return the cause with the longest stall time; None without stalls."""
    stalls = run.stall_seconds()
    return max(stalls, key=lambda cause: stalls[cause]) if stalls else None


def endurance_years(run: RunData) -> float | None:
    """Return the years until the rated writes of the device are used up; None if it has no rating."""
    return run.number("device.years_left")


def _throughput(run: RunData, fact: Fact) -> Fact:
    user, both = run.number("user_bytes_written"), writes_and_reads(run)
    if both:
        return replace(fact, note=f"{numbers.per_second(both[0])} writes, {numbers.per_second(both[1])} reads")
    counted_s = run.operations_s
    return replace(fact, note=f"{numbers.rate(user / counted_s)} of user data") if user and counted_s else fact


def _stalls(run: RunData, fact: Fact) -> Fact:
    cause = dominating_cause(run)
    if cause:
        return replace(fact, note=f"mostly {stall_name(cause)}")
    if fact.value:
        return replace(fact, note="its causes are counted, not timed" if run.stall_counts() else "of unknown causes")
    return replace(fact, note="stalls, but nobody waited") if run.stall_counts() else fact


def _lost(run: RunData, fact: Fact) -> Fact:
    """Name the bottleneck behind the lost operations."""
    resource = str((run.summary.get("bottleneck") or {}).get("resource", "unknown")).replace("_", " ")
    return fact if resource in ("none", "unknown") else replace(fact, note=f"bottleneck: {resource}")


def _device(run: RunData, fact: Fact) -> Fact:
    name = str(run.summary["device"].get("name") or "device")
    cap = binding_cap((run.summary.get("bottleneck") or {}).get("uses") or {})
    if cap:
        return replace(fact, label="use of the cap", note=f"of {cap}; {name} itself less")
    return replace(fact, note=f"{fact.note}, {name}")


_DETAILS: Final[dict[str, Callable[[RunData, Fact], Fact]]] = {
    "ops_per_s": _throughput, "stall_fraction": _stalls, "lost_operations.share": _lost, "device.utilisation": _device,
}  # fmt: skip
"""Functions that make the note of a number more precise for a run."""
