"""Comparison of the simulated present state with its LOG."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from lsmlab.sim.commands.replications import CONFIDENCE, interval, t_quantile
from lsmlab.sim.decisions.differences import Trial
from lsmlab.sim.decisions.metrics import Metric, value_of

CHECKED: Final = (
    Metric("ops_per_s", "throughput", "{:,.0f} ops/s".format, higher_is_better=True),
    Metric("write_amplification", "write amp", "{:.2f}".format),
    Metric("stall_fraction", "stalled time", "{:.1%}".format, share=True),
    Metric("flush_count", "flushes", "{:,.0f}".format),
    Metric("compaction_count", "compactions", "{:,.0f}".format),
)
"""Numbers of a LOG that a simulated run has too."""
WARNED: Final = ("ops_per_s", "write_amplification", "stall_fraction")
"""Numbers that must be reproduced for the differences to be credible; counts of jobs are only shown."""


@dataclass(frozen=True, slots=True)
class Check:
    """Comparison of one number of the present state with the LOG."""

    metric: str
    recorded: float
    simulated: float
    """Mean over the seeds."""
    low: float | None
    """90 % interval for the value of a real run; None if nothing about its width is known."""
    high: float | None
    error: float
    """Relative error; for shares, the difference."""

    @property
    def inside(self) -> bool | None:
        """Whether the recorded value is inside the interval."""
        return None if self.low is None or self.high is None else self.low <= self.recorded <= self.high

    def as_json(self) -> dict[str, Any]:
        """Return the content for a JSON document."""
        return {**asdict(self), "inside": self.inside}


def check_present(present: Trial, recorded: Mapping[str, Any], errors: Mapping[str, float]) -> list[Check]:
    """Compare the present state with a recorded summary. `errors`: the model's own errors by metric."""
    checks = []
    for metric in CHECKED:
        real, values = value_of(recorded, metric.name), present.values(metric)
        if real is None or values is None:
            continue
        found = interval(values, present.displaced_values(metric) or ())
        mean = math.fsum(values) / len(values)
        own = errors.get(metric.error_name, 0.0) * (1.0 if metric.share else abs(mean))
        half = ((found["run_high"] or mean) - mean) / t_quantile(math.inf, 0.5 + CONFIDENCE / 2)
        width = t_quantile(math.inf, 0.5 + CONFIDENCE / 2) * math.hypot(half, own)
        known = found["run_high"] is not None or own > 0.0
        error = mean - real if metric.share else mean / real - 1.0 if real else math.inf
        checks.append(
            Check(metric.name, real, mean, mean - width if known else None, mean + width if known else None, error)
        )
    return checks


def warning(checks: list[Check]) -> str | None:
    """Return a warning if the simulation does not reproduce the LOG; None if it does."""
    labels = {metric.name: metric for metric in CHECKED}
    off = [check for check in checks if check.inside is False and check.metric in WARNED]
    if not off:
        return None
    texts = []
    for check in off:
        metric = labels[check.metric]
        texts.append(f"{metric.label} {metric.form(check.simulated)} instead of {metric.form(check.recorded)}")
    return (
        f"the simulation of the present state does not reproduce the LOG: {', '.join(texts)}. Differences between "
        "alternatives may be wrong by as much"
    )
