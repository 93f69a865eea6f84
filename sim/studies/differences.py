"""Differences between two configurations that ran with the same seeds, with 90 % intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lsmlab.sim.studies.metrics import METRICS, Metric, value_of
from lsmlab.sim.studies.statistics import constants_variance, half_width, variance


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

    def means(self) -> dict[str, float]:
        """Return the mean of each metric over the seeds."""
        values = {metric.name: self.values(metric) for metric in METRICS}
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


def differences(present: Repeats, alternative: Repeats, errors: Mapping[str, float]) -> list[Difference]:
    """Return the differences of all metrics that both configurations have. `errors`: the model's own errors by metric."""
    found = (_difference(metric, present, alternative, errors.get(metric.error_name, 0.0)) for metric in METRICS)
    return [difference for difference in found if difference is not None]


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
