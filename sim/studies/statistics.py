"""Statistics of simulated values: intervals over seeds, undominated points. Intervals for the real store: intervals.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

CONFIDENCE: Final = 0.90
"""Confidence of all two-sided intervals."""


def variance(values: Sequence[float]) -> float:
    """Return the sample variance; 0 for a single value."""
    count, mean = len(values), math.fsum(values) / len(values)
    return math.fsum((v - mean) ** 2 for v in values) / (count - 1) if count > 1 else 0.0


def interval(values: Sequence[float]) -> dict[str, float | None]:
    """Return the mean of independent values and its 90 % t-interval (`low`, `high`); None as ends for a single value.

    It is that of the mean of very many seeds: the noise between seeds, not the error of the model.

    >>> {k: round(v, 3) for k, v in interval([9.0, 10.0, 11.0]).items()}
    {'mean': 10.0, 'low': 8.314, 'high': 11.686}
    """
    half, mean = _half_width(values, 1.0 / len(values)), math.fsum(values) / len(values)
    return {"mean": mean, "low": None if half is None else mean - half, "high": None if half is None else mean + half}


def between_seeds(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 90 % interval of one further simulated run, by the noise between seeds; None for a single value.

    >>> [round(end, 3) for end in between_seeds([9.0, 10.0, 11.0])]
    [6.628, 13.372]
    """
    half, mean = _half_width(values, 1.0 + 1.0 / len(values)), math.fsum(values) / len(values)
    return None if half is None else (mean - half, mean + half)


def _half_width(values: Sequence[float], share: float) -> float | None:
    """Return half the width of the t-interval of a value with `share` of the variance of these; None for a single value."""
    if len(values) < 2:
        return None
    from scipy.special import stdtrit  # same as scipy.stats.t.ppf, and imports in a tenth of the time

    return float(stdtrit(len(values) - 1, 0.5 + CONFIDENCE / 2)) * math.sqrt(share * variance(values))


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
