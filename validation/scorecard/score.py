"""Compares simulated with measured cases: rows (one number of one case each) and totals by metric."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.validation.casefiles.case import FEWEST_FLUSHES
from lsmlab.validation.casefiles.curves import DISTANCES
from lsmlab.validation.casefiles.real import dominant_cause
from lsmlab.validation.scorecard.intervals import Uncertainty, prediction
from lsmlab.validation.scorecard.metrics import (
    BACKGROUND,
    BUCKETS,
    DISTANCE,
    FACTOR,
    METRICS,
    RELATIVE,
    SHARE,
    WRONG,
    ScoredMetric,
    metric_of,
)
from lsmlab.validation.scorecard.runs import CaseRun


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One number of one case, measured and simulated."""

    set: str
    case: str
    metric: str
    """Full name of the number, such as pairs.0-1.bytes; `scored_by` may be a pattern."""
    scored_by: ScoredMetric
    real: float | str | None
    simulated: float | str
    low: float | None
    high: float | None
    error: float
    noise: float | None
    """Noise floor in the unit of the error; None if unknown."""

    learning: bool = False
    """Whether the model's error was learnt from this case."""

    @property
    def inside(self) -> bool | None:
        """Whether the interval contains the real value; None without an interval, or if it was learnt from this case."""
        return None if self.learning else self.contains

    @property
    def contains(self) -> bool | None:
        """Whether the interval contains the real value; None without an interval."""
        if self.low is None or self.high is None or not isinstance(self.real, float):
            return None
        return self.low <= self.real <= self.high


@dataclass(frozen=True, slots=True)
class Total:
    """Errors of one metric over all cases."""

    metric: ScoredMetric
    median: float
    p90: float
    worst: float
    bias: float
    noise: float | None
    """Median of the known noise floors; None if all are unknown."""
    cases: int
    values: int
    """Count of scored numbers; metrics of levels have several per case."""
    within_noise: float | None
    """Share of the numbers with an error of at most twice the noise."""
    coverage: float | None
    """Share of real values inside the 90 % interval."""
    worst_case: str
    meets_target: bool | None
    meets_worst: bool | None


def rows_of(run: CaseRun) -> list[ScoreRow]:
    """Return all rows of a case; empty if the case failed."""
    if run.real is None or not run.replications:
        return []
    rows = [row for name in run.real.values if (row := _number_row(run, name)) is not None]
    places = {m.name: i for i, m in enumerate(METRICS)}
    rows.sort(key=lambda r: (places.get(r.scored_by.name, len(places)), r.metric))
    return [*rows, *_curve_rows(run), *_cause_rows(run)]


def _number_row(run: CaseRun, name: str) -> ScoreRow | None:
    assert run.real is not None
    metric = metric_of(name) or (
        ScoredMetric(name, name, RELATIVE) if name in run.case.measured and name != "duration_s" else None
    )
    real = run.real.values[name]
    if metric is None or not _worth_scoring(metric, name, real, run.real.values):
        return None
    absent = 0.0 if name.startswith(("levels.", "pairs.")) else None  # a summary omits levels and pairs without files
    found = [r.values.get(name, absent) for r in run.replications]
    values = [v for v in found if v is not None]
    if not values or len(values) < len(found):
        return None
    simulated = _centre(values, metric)
    relative = run.real.noise.get(name)
    model_error = run.model_errors.get(name, run.model_errors.get(metric.name, 0.0))
    pair = tuple(r.values.get(name, 0.0) for r in run.perturbed)
    about = Uncertainty(relative, run.real.repeats, model_error, pair)
    interval = prediction(values, metric.kind, about)
    noise = _noise(metric, relative, real)
    error = metric.kind.error(simulated, real)
    low, high = interval or (None, None)
    return ScoreRow(run.set, run.case.name, name, metric, real, simulated, low, high, error, noise, run.learning)


def _worth_scoring(metric: ScoredMetric, name: str, real: float, values: Mapping[str, float]) -> bool:
    if metric.kind is RELATIVE and (real <= 0 or real < metric.least):
        return False
    if metric.kind in (BUCKETS, FACTOR) and real <= 0:
        return False
    if values.get("flush_count", FEWEST_FLUSHES) < FEWEST_FLUSHES and name.startswith(BACKGROUND):
        return False
    if name.startswith("pairs."):
        total = sum(v for k, v in values.items() if k.startswith("pairs.") and k.endswith(".bytes"))
        return values.get(f"{name.rpartition('.')[0]}.bytes", 0.0) > SHARE * total
    if name.startswith("levels.") and name.endswith("bytes"):
        kind = name.rpartition(".")[2]
        total = sum(v for k, v in values.items() if k.startswith("levels.") and k.rpartition(".")[2] == kind)
        return real > SHARE * total
    return True


def _centre(values: Sequence[float], metric: ScoredMetric) -> float:
    """Return the prediction from all seeds: the mean, or the median for latencies, which have outliers."""
    if metric.kind in (BUCKETS, FACTOR):
        return statistics.median(values)
    return math.fsum(values) / len(values)


def _noise(metric: ScoredMetric, relative: float | None, real: float) -> float | None:
    if relative is None:
        return None
    if metric.kind is BUCKETS:
        return math.log(1.0 + relative, 1.5)
    if metric.kind is FACTOR:
        return math.log2(1.0 + relative)
    return relative if metric.kind is RELATIVE else relative * abs(real)


def _curve_rows(run: CaseRun) -> list[ScoreRow]:
    assert run.real is not None
    rows = []
    for name, distance in DISTANCES.items():
        found = [distance(a, r.series) for a in run.real.series for r in run.replications if len(r.series)]
        if found:
            value = float(np.mean(found))
            noise = run.real.noise.get(name)
            metric = _METRIC[name]
            rows.append(ScoreRow(run.set, run.case.name, name, metric, noise, value, None, None, value, noise))
    return rows


_METRIC: Final = {m.name: m for m in METRICS}


def _cause_rows(run: CaseRun) -> list[ScoreRow]:
    assert run.real is not None
    real = run.real.dominant_cause
    if real is None:
        return []
    # use the same measure on both sides: lengths of stalls if the real run has no waits, else waits, else counts
    measures = ("stall_interval_share.", "stall_share.", "stall_count.")
    measure = next((m for m in measures if any(k.startswith(m) for k in run.real.values)), measures[-1])
    prefixes = (measure,) if measure == measures[0] else ("stall_fraction", measure)  # a fraction is of waits
    names = [k for k in run.replications[0].values if k.startswith(prefixes)]
    means = {k: float(np.mean([r.values.get(k, 0.0) for r in run.replications])) for k in names}
    simulated = dominant_cause(means) or "none"
    name = "dominant_cause"
    return [
        ScoreRow(run.set, run.case.name, name, _METRIC[name], real, simulated, None, None, float(real != simulated), None)
    ]


def totals(rows: Iterable[ScoreRow]) -> dict[str, Total]:
    """Return totals by metric name, in the order of METRICS; metrics that are not in METRICS follow."""
    by_metric: dict[str, list[ScoreRow]] = {}
    for row in rows:
        by_metric.setdefault(row.scored_by.name, []).append(row)
    names = [*(name for name in _METRIC if name in by_metric), *(name for name in by_metric if name not in _METRIC)]
    return {name: _total(by_metric[name][0].scored_by, by_metric[name]) for name in names}


def _total(metric: ScoredMetric, rows: list[ScoreRow]) -> Total:
    errors = [row.error for row in rows]
    sizes = [abs(e) for e in errors]
    known = [row.noise for row in rows if row.noise is not None]
    noise = statistics.median(known) if known else None
    floors = [noise if row.noise is None else row.noise for row in rows]
    near = [size <= 2.0 * floor for size, floor in zip(sizes, floors, strict=True) if floor is not None]
    inside = [row.inside for row in rows if row.inside is not None]
    worst = max(range(len(rows)), key=lambda i: sizes[i])
    median = statistics.median(sizes)
    finite = [e for e in errors if math.isfinite(e)]
    return Total(
        metric=metric,
        median=median,
        p90=float(np.quantile(sizes, 0.9, method="inverted_cdf")),
        worst=sizes[worst],
        bias=statistics.mean(finite) if finite else math.inf,
        noise=noise,
        cases=len({(row.set, row.case) for row in rows}),
        values=len(rows),
        within_noise=sum(near) / len(near) if near and metric.kind is not WRONG else None,
        coverage=sum(inside) / len(inside) if inside else None,
        worst_case=rows[worst].case,
        meets_target=_meets(metric, rows, median, statistics.mean(sizes)),
        meets_worst=None if metric.worst is None else sizes[worst] <= metric.worst + 1e-12,
    )


def _meets(metric: ScoredMetric, rows: list[ScoreRow], median: float, mean: float) -> bool | None:
    if metric.target is None:
        return None
    if metric.kind is WRONG:
        return mean <= metric.target + 1e-12
    if metric.kind is DISTANCE:  # error / distance between repeats of the real run
        ratios = [row.error / row.noise for row in rows if row.noise]
        return statistics.median(ratios) <= metric.target if ratios else None
    return median <= metric.target + 1e-12


def coverage(rows: Iterable[ScoreRow]) -> tuple[float, int] | None:
    """Return the share of real values inside their 90 % interval and their count, over metrics with `interval`."""
    inside = [row.inside for row in rows if row.inside is not None and row.scored_by.interval]
    return (sum(inside) / len(inside), len(inside)) if inside else None


def as_json(total: Total) -> dict[str, Any]:
    """Return a total in the form of `lsmlab validate --json`."""
    return {
        "median": total.median, "p90": total.p90, "worst": total.worst, "bias": total.bias, "noise": total.noise,
        "cases": total.cases, "values": total.values, "unit": total.metric.kind.name,
        "within_noise": total.within_noise, "coverage": total.coverage, "worst_case": total.worst_case,
        "target": total.metric.target, "target_worst": total.metric.worst,
        "meets_target": total.meets_target, "meets_worst": total.meets_worst,
    }  # fmt: skip
