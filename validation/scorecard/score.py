"""Compares simulated with measured cases: rows (one number of one case each) and totals by metric."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.sim.studies.intervals import spread
from lsmlab.validation.casefiles.case import FEWEST_FLUSHES
from lsmlab.validation.casefiles.curves import DISTANCES
from lsmlab.validation.casefiles.real import dominant_cause
from lsmlab.validation.scorecard.metrics import (
    BACKGROUND,
    BUCKETS,
    DIFFERENCE,
    DISTANCE,
    FACTOR,
    METRICS,
    RELATIVE,
    SCALES,
    SHARE,
    WRONG,
    ScoredMetric,
    metric_of,
)
from lsmlab.validation.scorecard.model_errors import ErrorValue
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

    @property
    def inside(self) -> bool | None:
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
    half_width: float | None
    """Median of half the width of the 90 % intervals, in the unit of the errors."""
    worst_case: str
    meets_target: bool | None
    meets_worst: bool | None


def rows_of(run: CaseRun) -> list[ScoreRow]:
    """Return all rows of a case; empty if the case failed."""
    if run.real is None or not run.replications:
        return []
    rows = [_number_row(run, number) for number in _numbers(run)]
    places = {m.name: i for i, m in enumerate(METRICS)}
    rows.sort(key=lambda r: (places.get(r.scored_by.name, len(places)), r.metric))
    return [*rows, *_curve_rows(run), *_cause_rows(run)]


@dataclass(frozen=True, slots=True)
class _Number:
    """One number of a case that is scored."""

    name: str
    metric: ScoredMetric
    real: float
    simulated: list[float]
    """One value per seed."""
    shifted: list[float]
    """Values of the two runs with shifted constants, if any."""


def _numbers(run: CaseRun) -> Iterator[_Number]:
    """Yield the numbers of a case that are scored."""
    for name, real in (run.real.values if run.real is not None else {}).items():
        metric = metric_of(name) or (
            ScoredMetric(name, name, RELATIVE) if name in run.case.measured and name != "duration_s" else None
        )
        if metric is None or run.real is None or not _worth_scoring(metric, name, real, run.real.values):
            continue
        absent = 0.0 if name.startswith(("levels.", "pairs.")) else None  # a summary omits levels and pairs without files
        found = [r.values.get(name, absent) for r in run.replications]
        values = [v for v in found if v is not None]
        if values and len(values) == len(found):
            yield _Number(name, metric, real, values, [r.values.get(name, 0.0) for r in run.perturbed])


def _number_row(run: CaseRun, number: _Number) -> ScoreRow:
    assert run.real is not None
    metric, real = number.metric, number.real
    simulated = _centre(number.simulated, metric)
    noise = _noise(metric, run.real.noise.get(number.name), real)
    error = metric.kind.error(simulated, real)
    low, high = run.errors.interval(metric.name, run.facts, number.simulated, number.shifted) or (None, None)
    return ScoreRow(run.set, run.case.name, number.name, metric, real, simulated, low, high, error, noise)


def error_values(run: CaseRun) -> Iterator[ErrorValue]:
    """Yield the errors of a case from which the model's error is learnt; none of one whose machine is unknown."""
    if run.facts.knowledge is None:
        return
    for number in _numbers(run):
        scale = SCALES.get(number.metric.kind)
        if not number.metric.interval or scale is None:
            continue
        real, simulated = scale.place(number.real), scale.place(number.simulated[0])
        if real is not None and simulated is not None:
            known = {**run.facts.known, **spread(scale, number.simulated, number.shifted)}
            yield ErrorValue(
                number.metric.name, scale, run.facts.knowledge, run.facts.device, run.case.name, run.group, run.machine,
                simulated, real - simulated, known,
            )  # fmt: skip


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
        half_width=_half_width(rows),
        worst_case=rows[worst].case,
        meets_target=_meets(metric, rows, median, statistics.mean(sizes)),
        meets_worst=None if metric.worst is None else sizes[worst] <= metric.worst + 1e-12,
    )


def _half_width(rows: Sequence[ScoreRow]) -> float | None:
    """Return the median of half the width of the intervals, in the unit of the errors; None without intervals."""
    widths = []
    for row in rows:
        if row.low is None or row.high is None or not isinstance(row.simulated, float):
            continue
        if row.scored_by.kind is DIFFERENCE:
            widths.append(0.5 * (row.high - row.low))
        elif row.scored_by.kind is RELATIVE:
            widths.append(0.5 * (row.high - row.low) / row.simulated)
        else:
            widths.append(0.5 * math.log(row.high / row.low, 1.5 if row.scored_by.kind is BUCKETS else 2.0))
    return statistics.median(widths) if widths else None


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
        "within_noise": total.within_noise, "coverage": total.coverage,
        "half_width": total.half_width, "worst_case": total.worst_case,
        "target": total.metric.target, "target_worst": total.metric.worst,
        "meets_target": total.meets_target, "meets_worst": total.meets_worst,
    }  # fmt: skip
