"""Differences between configurations that ran with the same seeds, and between a simulated store and its LOG, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lsmlab.sim.studies.metrics import BY_NAME, METRICS, Metric, value_of
from lsmlab.sim.studies.statistics import constants_variance, half_width, interval, variance

CHECKED: Final = ("ops_per_s", "write_amplification", "stall_fraction", "flush_count", "compaction_count")
"""Numbers of a LOG that a simulated run has too."""
WARNED: Final = ("ops_per_s", "write_amplification", "stall_fraction")
"""Numbers that must be reproduced for the differences to be credible; counts of jobs are only shown."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Results of one configuration."""

    summaries: Sequence[Mapping[str, Any]]
    """Summary of each seed; configurations that are compared have the same seeds in the same order."""
    perturbed: Sequence[Mapping[str, Any]] = ()
    """Summaries of the two runs with perturbed constants, if the constants have standard errors."""

    @property
    def seeds(self) -> list[int]:
        """Seeds of the summaries."""
        return [int(summary.get("seed", 0)) for summary in self.summaries]

    @property
    def unsettled(self) -> str | None:
        """Why the store of the first run that had not settled had not; None if all had, or if it is unknown."""
        found = ((summary.get("settled") or {}) for summary in self.summaries)
        return next((str(one["reason"]) for one in found if one.get("settled") is False), None)

    @property
    def overloaded(self) -> bool:
        """Whether the queue of a run's clients grows."""
        return any(summary.get("overload") for summary in self.summaries)

    def means(self, *also: Metric) -> dict[str, float]:
        """Return the mean of each metric over the seeds. `also`: further metrics, such as the goal of a search."""
        values = {metric.name: self.values(metric) for metric in (*METRICS, *also)}
        return {name: math.fsum(v) / len(v) for name, v in values.items() if v}

    def values(self, metric: Metric) -> list[float] | None:
        """Return the metric of each seed; None if a run does not have it."""
        return _values(self.summaries, metric)

    def perturbed_values(self, metric: Metric) -> list[float] | None:
        """Return the metric of the runs with perturbed constants; None if a run does not have it."""
        return _values(self.perturbed, metric)


@dataclass(frozen=True, slots=True)
class Difference:
    """Change of one metric from the present state to an alternative.

    Changes are relative; those of shares, and those of a metric that is 0 in some run, are absolute.
    """

    metric: str
    present: float
    """Mean over the seeds."""
    alternative: float
    change: float
    low: float | None
    """90 % interval of the change between one real run of each configuration; None for one seed without known errors."""
    high: float | None
    relative: bool
    tie: bool
    """Whether both configurations give the same value with every seed."""

    certain: bool
    """Whether the interval does not contain 0: the change exceeds the noise and the model's error."""

    settled: bool = True
    """Whether the stores of all runs had settled; otherwise the change is that of runs of this length alone."""


def differences(
    present: Repeats, alternative: Repeats, errors: Mapping[str, float], also: Sequence[Metric] = ()
) -> list[Difference]:
    """Return the differences of all metrics that both configurations have. `errors`: the model's own errors by metric.

    Latencies of a store that cannot keep up grow with the length of the run, so they have no difference. `also`: further
    metrics, such as the goal of a search.
    """
    queues = any(one.overloaded for one in (present, alternative))
    metrics = [metric for metric in dict.fromkeys((*METRICS, *also)) if not (queues and "_latency_s." in metric.name)]
    found = (_difference(metric, present, alternative, errors.get(metric.error_name, 0.0)) for metric in metrics)
    settled = present.unsettled is None and alternative.unsettled is None
    return [replace(difference, settled=settled) for difference in found if difference is not None]


def _difference(metric: Metric, present: Repeats, alternative: Repeats, error: float) -> Difference | None:
    """Return the difference of one metric.

    The variance has four parts: of the mean over the seeds, of one real run of each configuration (the spread of the pairs
    too), of the constants, and of the model.
    """
    before, after = present.values(metric), alternative.values(metric)
    if before is None or after is None:
        return None
    pairs = [(present.perturbed_values(metric), alternative.perturbed_values(metric))]
    moved = [(a, b) for a, b in pairs if a and b]
    everything = [*before, *after, *(v for a, b in moved for v in (*a, *b))]
    relative = not metric.share and min(everything) > 0.0
    changes = [_change(a, b, relative) for a, b in zip(before, after, strict=True)]
    shifts = [_change(x, y, relative) for a, b in moved for x, y in zip(a, b, strict=True)]
    count, mean = len(changes), math.fsum(changes) / len(changes)
    tie = before == after
    low = high = None
    if tie:
        low = high = 0.0
    else:
        half = _half_width(changes, shifts, error if relative or metric.share else 0.0)
        if half is not None:
            low, high = mean - half, mean + half
    certain = not tie and low is not None and high is not None and (low > 0.0 or high < 0.0)
    size = math.expm1 if relative else float
    return Difference(
        metric.name, math.fsum(before) / count, math.fsum(after) / count, size(mean),
        None if low is None else size(low), None if high is None else size(high), relative, tie, certain,
    )  # fmt: skip


def _half_width(changes: Sequence[float], shifts: Sequence[float], error: float) -> float | None:
    """Return half the width of the interval; None for one seed without any known error."""
    count, spread = len(changes), variance(changes)
    seeds = spread * (1.0 + 1.0 / count)
    others = constants_variance(shifts, spread) + error**2
    return None if seeds + others == 0.0 and count < 2 else half_width(seeds, others, count)


def _change(before: float, after: float, relative: bool) -> float:
    return math.log(after / before) if relative else after - before


def _values(summaries: Sequence[Mapping[str, Any]], metric: Metric) -> list[float] | None:
    values = [value_of(summary, metric.name) for summary in summaries]
    found = [value for value in values if value is not None]
    return found if found and len(found) == len(values) else None


@dataclass(frozen=True, slots=True)
class ReproductionCheck:
    """Comparison of one number of the present state with the LOG."""

    metric: str
    recorded: float
    simulated: float
    """Mean over the seeds."""
    low: float | None
    """90 % interval for the value of a real run; None if nothing about its width is known."""
    high: float | None
    error: float | None
    """Relative error; for shares, the difference. None: the LOG has zero."""
    inside: bool | None
    """Whether the recorded value is inside the interval."""


@dataclass(frozen=True)
class Reproduction:
    """The simulated present state against the LOG."""

    checks: list[ReproductionCheck]
    warning: str | None
    """What is not reproduced; None if all is."""


def reproduction(present: Repeats, recorded: Mapping[str, Any], errors: Mapping[str, float]) -> Reproduction | None:
    """Compare the present state with a recorded summary; None if they have no number in common.

    `errors`: the model's own errors by metric.
    """
    checks = check_present(present, recorded, errors)
    return Reproduction(checks, warning(checks)) if checks else None


def check_present(present: Repeats, recorded: Mapping[str, Any], errors: Mapping[str, float]) -> list[ReproductionCheck]:
    """Compare the numbers of `CHECKED`."""
    checks = []
    for metric in (BY_NAME[name] for name in CHECKED):
        real, values = value_of(recorded, metric.name), present.values(metric)
        if real is None or values is None:
            continue
        found = interval(values, present.perturbed_values(metric) or ())
        mean = math.fsum(values) / len(values)
        own = errors.get(metric.error_name, 0.0) * (1.0 if metric.share else abs(mean))
        one_sigma = half_width(0.0, 1.0, len(values))
        half = ((found["run_high"] or mean) - mean) / one_sigma
        width = one_sigma * math.hypot(half, own)
        known = found["run_high"] is not None or own > 0.0
        error = mean - real if metric.share else mean / real - 1.0 if real else None
        low, high = (mean - width, mean + width) if known else (None, None)
        inside = None if low is None or high is None else low <= real <= high
        checks.append(ReproductionCheck(metric.name, real, mean, low, high, error, inside))
    return checks


def warning(checks: Sequence[ReproductionCheck]) -> str | None:
    """Return a warning if the simulation does not reproduce the LOG; None if it does."""
    off = [check for check in checks if check.inside is False and check.metric in WARNED]
    if not off:
        return None
    texts = []
    for check in off:
        metric = BY_NAME[check.metric]
        texts.append(f"{metric.label} {metric.form(check.simulated)} instead of {metric.form(check.recorded)}")
    return (
        f"the simulation of the present state does not reproduce the LOG: {', '.join(texts)}. Differences between "
        "alternatives may be wrong by as much"
    )
