"""Statistics of repeated runs: intervals over seeds and uncertain constants, one summary of several, undominated points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, Final

CONFIDENCE: Final = 0.90
"""Confidence of all two-sided intervals."""


def t_quantile(freedom: float, share: float) -> float:
    """Return the quantile `share` of Student's t distribution; infinite `freedom` gives the normal distribution."""
    if math.isinf(freedom):
        return NormalDist().inv_cdf(share)
    from scipy.special import stdtrit  # same as scipy.stats.t.ppf, and imports in a tenth of the time

    return float(stdtrit(freedom, share))


def variance(values: Sequence[float]) -> float:
    """Return the sample variance; 0 for a single value."""
    count, mean = len(values), math.fsum(values) / len(values)
    return math.fsum((v - mean) ** 2 for v in values) / (count - 1) if count > 1 else 0.0


def constants_variance(pair: Sequence[float], seeds: float) -> float:
    """Return the variance that uncertain constants cause.

    It is the square of half the difference between the two runs with perturbed constants (`pair`), minus the noise of
    these two runs: half the variance between seeds (`seeds`).
    """
    return max(0.0, (0.5 * (pair[0] - pair[1])) ** 2 - 0.5 * seeds) if len(pair) == 2 else 0.0


def half_width(seeds: float, others: float, count: int) -> float:
    """Return half the width of the interval of a value with the variance `seeds` + `others`.

    The degrees of freedom follow Welch and Satterthwaite: `count` - 1 for `seeds`, infinitely many for `others`.
    """
    total = seeds + others
    share = seeds / total if total > 0.0 else 0.0
    freedom = (count - 1) / share**2 if share > 0.0 else math.inf
    return t_quantile(freedom, 0.5 + CONFIDENCE / 2) * math.sqrt(total)


def interval(values: Sequence[float], pair: Sequence[float] = ()) -> dict[str, float | None]:
    """Return the mean and the 90 % t-intervals of independent values; the limits are None for a single value.

    (low, high) is the confidence interval of the mean, (run_low, run_high) the prediction interval of one further run.
    Both include the uncertainty of the constants (`pair`: results of the two runs with perturbed constants).

    >>> {k: round(v, 3) for k, v in interval([9.0, 10.0, 11.0]).items()}
    {'mean': 10.0, 'low': 8.314, 'high': 11.686, 'run_low': 6.628, 'run_high': 13.372}
    """
    count, mean = len(values), math.fsum(values) / len(values)
    if count < 2:
        return {"mean": mean, "low": None, "high": None, "run_low": None, "run_high": None}
    seeds = variance(values)
    constants = constants_variance(pair, seeds)
    half, wide = (half_width(seeds * share, constants, count) for share in (1.0 / count, 1.0 + 1.0 / count))
    return {"mean": mean, "low": mean - half, "high": mean + half, "run_low": mean - wide, "run_high": mean + wide}


def undominated(points: Any) -> Any:
    """Return which rows no other row reaches in all columns and exceeds in one; large values are good, NaN is unknown.

    A column that is unknown in one of two rows makes them incomparable; one that is unknown in both is left out. Equal
    rows are all undominated.

    >>> undominated([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [float("nan"), 3.0]]).tolist()
    [True, True, False, True]
    """
    import numpy as np

    values = np.asarray(points, dtype=float)
    unknown = np.isnan(values)
    kept = np.ones(len(values), dtype=bool)
    for i in range(len(values)):
        comparable = (unknown == unknown[i]).all(axis=1)
        reaches = (values >= values[i]) | unknown[i]
        kept[i] = not (comparable & reaches.all(axis=1) & (values > values[i]).any(axis=1)).any()
    return kept


def combine(summaries: Sequence[Mapping[str, Any]], perturbed: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the summary of several seeds.

    The values are those of the first seed, so that totals agree with its tables. "interval" contains, for every number,
    the mean over the seeds and its 90 % intervals (`statistics.interval`). `perturbed`: summaries of the two runs with
    perturbed constants, if any.
    """
    return {
        **summaries[0],
        "replications": len(summaries),
        "seeds": [s.get("seed") for s in summaries],
        "interval": _intervals(summaries, perturbed),
    }


def _intervals(summaries: Sequence[Mapping[str, Any]], perturbed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    intervals: dict[str, Any] = {}
    for key, value in summaries[0].items():
        values = [s.get(key) for s in summaries]
        if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in values):
            inner = _intervals([v for v in values if isinstance(v, Mapping)], [s.get(key) or {} for s in perturbed])
            if inner:
                intervals[key] = inner
        elif key != "seed" and all(_is_number(v) for v in values):
            off = [float(v) for s in perturbed if _is_number(v := s.get(key)) and v is not None]
            intervals[key] = interval([float(v) for v in values if v is not None], off)
    return intervals


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
