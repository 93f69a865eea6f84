"""90 % prediction intervals for the value of a real run (docs/background/confidence.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.sim.studies.statistics import CONFIDENCE, constants_variance, t_quantile
from lsmlab.validation.scorecard.metrics import BUCKETS, DIFFERENCE, FACTOR, ErrorKind

_RANGE_TO_DEVIATION: Final = {2: 1.128, 3: 1.693, 4: 2.059, 5: 2.326, 6: 2.534, 7: 2.704, 8: 2.847}
"""Mean range of n normal values in standard deviations, by n (d2 of control charts: Montgomery, appendix VI)."""
_BUCKET_DEVIATION: Final = math.log(1.5) / math.sqrt(12.0)
"""Standard deviation of a percentile's logarithm within its histogram bucket: uniform over a factor of 1.5."""
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Sources of uncertainty of one comparison, besides the spread of the replications."""

    noise_range: float | None = None
    """Range / mean over repeats of the real run; None if unknown."""
    repeats: int = 1
    """Number of real runs over which the real value is the mean."""
    model_error: float = 0.0
    """Standard deviation of the model's own error, from calibration runs: relative, or in points of a share."""

    perturbed: tuple[float, ...] = ()
    """Results of two runs with all constants changed by their standard errors, in opposite directions."""


def prediction(values: Sequence[float], kind: ErrorKind, about: Uncertainty) -> tuple[float, float] | None:
    """Return the interval that contains the mean of `about.repeats` real runs with 90 % probability, or None.

    Latencies use a logarithmic scale. The variance is the sum of four variances: of the mean of the replications; of
    the real value (the larger of the replications' spread and the known noise of the real runs); from the uncertainty
    of the constants; from the model's error. None means that no source of variance is known.
    """
    logarithmic = kind in (BUCKETS, FACTOR)
    points = [math.log(v) for v in values if v > 0] if logarithmic else list(values)
    n = len(points)
    if n == 0:
        return None
    centre = math.fsum(points) / n
    spread = math.fsum((v - centre) ** 2 for v in points) / (n - 1) if n >= _FEWEST else 0.0
    scale = 1.0 if logarithmic else abs(centre)
    noise = 0.0
    if about.noise_range is not None:
        repeats = max(_FEWEST, min(about.repeats, max(_RANGE_TO_DEVIATION)))
        noise = (about.noise_range * scale / _RANGE_TO_DEVIATION[repeats]) ** 2
    if n < _FEWEST and noise == 0.0 and about.model_error == 0.0:
        return None
    model = about.model_error * (1.0 if kind is DIFFERENCE else scale)
    runs = max(1, about.repeats)
    from_spread = spread / n + (spread / runs if spread >= noise else 0.0)
    variance = from_spread + (noise / runs if noise > spread else 0.0) + model**2
    pair = [math.log(v) for v in about.perturbed if v > 0] if logarithmic else list(about.perturbed)
    variance += constants_variance(pair, spread)
    if kind is BUCKETS:
        variance += _BUCKET_DEVIATION**2
    # few replications make only the spread uncertain; noise, constants and model error come from many runs
    share = from_spread / variance if variance > 0.0 else 0.0
    quantile = t_quantile((n - 1) / share**2 if share > 0.0 and n >= _FEWEST else math.inf, 0.5 + CONFIDENCE / 2)
    half = quantile * math.sqrt(variance)
    low, high = centre - half, centre + half
    if logarithmic:
        return math.exp(low), math.exp(high)
    if kind is DIFFERENCE:
        return max(0.0, low), min(1.0, high)
    return max(0.0, low), high
