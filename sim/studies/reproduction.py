"""Comparison of the simulated present state with its LOG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.sim.studies.differences import Repeats
from lsmlab.sim.studies.metrics import BY_NAME, value_of
from lsmlab.sim.studies.statistics import half_width, interval

CHECKED: Final = ("ops_per_s", "write_amplification", "stall_fraction", "flush_count", "compaction_count")
"""Numbers of a LOG that a simulated run has too."""
WARNED: Final = ("ops_per_s", "write_amplification", "stall_fraction")
"""Numbers that must be reproduced for the differences to be credible; counts of jobs are only shown."""


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
