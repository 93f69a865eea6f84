"""Differences between configurations that ran with the same seeds, and between a simulated store and its LOG, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lsmlab.models.units import format_seconds
from lsmlab.sim.studies.intervals import ModelErrors, RunFacts, facts_of, read_model_errors
from lsmlab.sim.studies.metrics import BY_NAME, METRICS, RECORDED, Metric, value_of

CHECKED: Final = (*METRICS, *RECORDED)
"""Metrics of which the simulated present state is compared with the LOG, where both have them."""
WARNED: Final = frozenset(metric.name for metric in METRICS)
"""Metrics that must be reproduced for their differences to be credible; the others of `CHECKED` are only shown."""
CLOSE: Final = 0.10
"""Largest relative error at which a metric without a known error of the model counts as reproduced."""
FAR: Final = 1.5
"""Factor between a simulated number and that of the LOG from which on an interval that contains both is wide."""
_SAME_LENGTH: Final = 0.05
"""Largest relative difference in length at which runs can be compared in numbers that grow with it."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Results of one configuration."""

    summaries: Sequence[Mapping[str, Any]]
    """Summary of each seed; configurations that are compared have the same seeds in the same order."""
    perturbed: Sequence[Mapping[str, Any]] = ()
    """Summaries of the two runs with perturbed constants, if the constants have standard errors."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Configuration; without it, nothing is known of the model's error."""
    changed: bool = True
    """Whether it differs from the LOG that gave its machine, if any."""

    @property
    def facts(self) -> RunFacts:
        """What the runs know of their own error."""
        return facts_of(self.config, self.summaries[0], changed=self.changed)

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
    """90 % interval of the change from one real store to the other; None if the model's error is not known."""
    high: float | None
    relative: bool
    tie: bool
    """Whether both configurations give the same value with every seed."""

    certain: bool
    """Whether the interval does not contain 0: the change exceeds the model's error."""
    recorded: float | None = None
    """Value of the present state in the LOG; None if the LOG does not have it, or the store is none of a LOG."""
    held: bool | None = None
    """Whether the simulated present state reproduces `recorded`; None if that is unknown."""

    settled: bool = True
    """Whether the stores of all runs had settled; otherwise the change is that of runs of this length alone."""

    @property
    def error_known(self) -> bool:
        """Whether the model's error of the change is known."""
        return self.low is not None


def differences(
    present: Repeats, alternative: Repeats, also: Sequence[Metric] = (), errors: ModelErrors | None = None
) -> list[Difference]:
    """Return the differences of all metrics that both configurations have.

    Latencies of a store that cannot keep up grow with the length of the run, so they have no difference. `also`: further
    metrics, such as the goal of a search. `errors`: the model's own errors, by default the published ones.
    """
    known = read_model_errors() if errors is None else errors
    queues = any(one.overloaded for one in (present, alternative))
    metrics = [metric for metric in dict.fromkeys((*METRICS, *also)) if not (queues and "_latency_s." in metric.name)]
    found = (_difference(metric, present, alternative, known) for metric in metrics)
    settled = present.unsettled is None and alternative.unsettled is None
    return [replace(difference, settled=settled) for difference in found if difference is not None]


def against_log(found: Sequence[Difference], reproduction: Reproduction | None) -> list[Difference]:
    """Return differences with the value of the LOG, and whether the simulated present state reproduces it."""
    checks = {check.metric: check for check in reproduction.checks} if reproduction is not None else {}
    return [
        replace(one, recorded=check.recorded, held=check.inside) if (check := checks.get(one.metric)) else one for one in found
    ]


def _difference(metric: Metric, present: Repeats, alternative: Repeats, errors: ModelErrors) -> Difference | None:
    """Return the difference of one metric, with the interval of the change from one real store to the other."""
    before, after = present.values(metric), alternative.values(metric)
    if before is None or after is None:
        return None
    count, tie = len(before), before == after
    relative = not metric.share and min(*before, *after) > 0.0
    mean = math.fsum(_change(a, b, relative) for a, b in zip(before, after, strict=True)) / count
    pairs = [one.perturbed_values(metric) or () for one in (present, alternative)]
    error = None
    if not tie and (relative or metric.share):
        error = errors.change(metric.error_name, present.facts, alternative.facts, (before, after), pairs)
    low: float | None = 0.0 if tie else None
    high = low
    if error is not None:
        low, high = mean + error.low, mean + error.high
    if metric.share and low is not None and high is not None:
        low, high = max(-1.0, low), min(1.0, high)
    certain = not tie and low is not None and high is not None and (low > 0.0 or high < 0.0)
    size = math.expm1 if relative else float
    return Difference(
        metric.name, math.fsum(before) / count, math.fsum(after) / count, size(mean),
        None if low is None else size(low), None if high is None else size(high), relative, tie, certain,
    )  # fmt: skip


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
    """90 % interval for the value of the real store; None if the model's error is not known."""
    high: float | None
    error: float | None
    """Relative error; for shares, the difference. None: the LOG has zero."""
    inside: bool | None
    """Whether the recorded value is inside the interval; without the model's error, whether it is off by `CLOSE` at most."""

    @property
    def error_known(self) -> bool:
        """Whether the model's error of the metric is known."""
        return self.low is not None

    @property
    def close(self) -> bool:
        """Whether the simulated value is at most a factor of `FAR` from that of the LOG, however wide its interval is."""
        known = self.error is not None and not BY_NAME[self.metric].share and self.recorded > 0.0
        return not known or 1.0 / FAR <= self.simulated / self.recorded <= FAR


@dataclass(frozen=True)
class Reproduction:
    """The simulated present state against the LOG."""

    checks: list[ReproductionCheck]
    warning: str | None
    """What is not reproduced; None if all is."""


def reproduction(
    present: Repeats, recorded: Mapping[str, Any], errors: ModelErrors | None = None
) -> Reproduction | None:
    """Compare the present state with a recorded summary; None if they have no number in common.

    `errors`: the model's own errors, by default the published ones.
    """
    checks = check_present(present, recorded, read_model_errors() if errors is None else errors)
    if not checks:
        return None
    text, lengths_s = warning(checks), _lengths_s(present, recorded)
    if text and lengths_s and not _same_length(present, recorded):
        text += f". The simulated run is {format_seconds(lengths_s[0])} long, and the LOG {format_seconds(lengths_s[1])}"
    return Reproduction(checks, text)


def check_present(present: Repeats, recorded: Mapping[str, Any], errors: ModelErrors) -> list[ReproductionCheck]:
    """Compare the metrics of `CHECKED` that both have; those that grow with a run only for runs of the LOG's length."""
    checks = []
    same_length = _same_length(present, recorded)
    for metric in CHECKED:
        real, values = value_of(recorded, metric.name), present.values(metric)
        if real is not None and values is not None and (same_length or not metric.grows):
            pair = present.perturbed_values(metric) or ()
            checks.append(_check(metric, real, values, errors.interval(metric.error_name, present.facts, values, pair)))
    return checks


def _same_length(present: Repeats, recorded: Mapping[str, Any]) -> bool:
    """Whether the runs are as long as the LOG's clients wrote; also if either is unknown."""
    lengths_s = _lengths_s(present, recorded)
    return lengths_s is None or abs(lengths_s[0] / lengths_s[1] - 1.0) <= _SAME_LENGTH


def _lengths_s(present: Repeats, recorded: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the simulated time and the time in which the LOG's clients wrote; None if either is unknown."""
    real_s = value_of(recorded, "operations_until_s") or value_of(recorded, "duration_s")
    simulated_s = value_of(present.summaries[0], "duration_s")
    return (simulated_s, real_s) if simulated_s and real_s else None


def _check(metric: Metric, real: float, values: Sequence[float], ends: tuple[float, float] | None) -> ReproductionCheck:
    """Compare one metric with the LOG. `ends`: the interval for the real store, if the model's error is known."""
    mean = math.fsum(values) / len(values)
    error = mean - real if metric.share else mean / real - 1.0 if real else None
    if ends is None:
        close = real == mean or (error is not None and abs(error) <= CLOSE)
        return ReproductionCheck(metric.name, real, mean, None, None, error, close)
    return ReproductionCheck(metric.name, real, mean, *ends, error, ends[0] <= real <= ends[1])


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
