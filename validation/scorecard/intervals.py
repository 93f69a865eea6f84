"""Where the real value should lie: 90 % prediction intervals of one real run (docs/background/confidence.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.sim.commands.replications import CONFIDENCE, constants_variance, t_quantile
from lsmlab.validation.scorecard.metrics import BUCKETS, DIFFERENCE, FACTOR, Kind

_RANGE_TO_DEVIATION: Final = {2: 1.128, 3: 1.693, 4: 2.059, 5: 2.326, 6: 2.534, 7: 2.704, 8: 2.847}
"""Mean range of n normal values in standard deviations (d2 of control charts: Montgomery, appendix VI)."""
_BUCKET_DEVIATION: Final = math.log(1.5) / math.sqrt(12.0)
"""A percentile is known to a histogram bucket: a uniform error over a factor of 1.5."""
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """What is known about the accuracy of one comparison, besides the replications themselves."""

    noise_range: float | None = None
    """Relative range over repeats of the real run."""
    repeats: int = 1
    """Real runs that the real value is the mean of."""
    model_error: float = 0.0
    """Standard deviation of the model's own error, from calibration runs: relative, or in points of a share."""

    displaced: tuple[float, ...] = ()
    """What two runs give whose constants are off by their standard errors, one way and the other."""


def prediction(values: Sequence[float], kind: Kind, about: Uncertainty) -> tuple[float, float] | None:
    """The interval that holds the mean of `about.repeats` real runs with 90 % probability; None if nothing is known.

    Latencies are treated on a logarithmic scale, all else as it is. The variance is that of the mean of the
    replications, plus that of the real value (the larger of the replications' spread, which has the store's own chaos
    in it, and the noise of the real runs where that is known), plus what the uncertainty of the constants adds, plus the
    model's own error.
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
    pair = [math.log(v) for v in about.displaced if v > 0] if logarithmic else list(about.displaced)
    variance += constants_variance(pair, spread)
    if kind is BUCKETS:
        variance += _BUCKET_DEVIATION**2
    # with few replications the spread itself is uncertain; noise, constants and model error rest on many more runs
    share = from_spread / variance if variance > 0.0 else 0.0
    quantile = t_quantile((n - 1) / share**2 if share > 0.0 and n >= _FEWEST else math.inf, 0.5 + CONFIDENCE / 2)
    half = quantile * math.sqrt(variance)
    low, high = centre - half, centre + half
    if logarithmic:
        return math.exp(low), math.exp(high)
    if kind is DIFFERENCE:
        return max(0.0, low), min(1.0, high)
    return max(0.0, low), high
