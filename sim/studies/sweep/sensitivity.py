"""Sobol indices: the shares of a number's variance that each key causes, alone and with all its interactions."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.sim.configuration.combinations import without_quotes
from lsmlab.sim.configuration.names import configuration_name
from lsmlab.sim.studies.statistics import CONFIDENCE
from lsmlab.sim.studies.sweep.designs import SALTELLI, points, saltelli_base
from lsmlab.sim.studies.sweep.effects import Spread
from lsmlab.sim.studies.sweep.measured import Measured
from lsmlab.sim.studies.sweep.ranges import parse_range
from lsmlab.sim.studies.sweep.space import Dimension, SweepSpace

_RESAMPLES: Final = 400
_SEED: Final = 1
"""Seed of the bootstrap."""


@dataclass(frozen=True)
class SobolIndex:
    """Sobol indices of one key, with 90 % intervals."""

    key: str
    first: Spread
    """Share of the variance that the key causes alone."""
    total: Spread
    """Share with all its interactions."""


def sobol_indices(measured: Measured, metric: str) -> list[SobolIndex] | None:
    """Return first-order and total indices of each key with 90 % bootstrap intervals.

    None for another design than saltelli, for an incomplete one, and for a number that is the same everywhere. The
    estimator is that of SciPy (Saltelli 2010); the values are means over the seeds.
    """
    from scipy.stats import sobol_indices as estimate

    if measured.about["design"] != SALTELLI or not measured.is_complete(metric):
        return None
    space = read_space(measured.about["space"])
    keys = [d.key for d in space.dimensions]
    design = points(space, SALTELLI, measured.about["points"], measured.about["seeds"][0])
    means = dict(zip(measured.names, measured.metrics[metric].mean(axis=1), strict=True))
    names = [configuration_name(without_quotes(dict(zip(keys, point, strict=True)))) for point in design]
    values = np.array([means[name] for name in names])
    if np.ptp(values) == 0.0:
        return None
    base = saltelli_base(len(keys), measured.about["points"])
    blocks = values.reshape(len(keys) + 2, 1, base)
    found = estimate(func={"f_A": blocks[0], "f_B": blocks[1], "f_AB": blocks[2:]}, n=base, rng=_SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a key without any effect has the same index in all resamples
        spread = found.bootstrap(confidence_level=CONFIDENCE, n_resamples=_RESAMPLES)
    orders = {"first": (found.first_order, spread.first_order), "total": (found.total_order, spread.total_order)}
    columns = {
        name: [np.ravel(values), *map(np.ravel, (around.confidence_interval.low, around.confidence_interval.high))]
        for name, (values, around) in orders.items()
    }
    return [
        SobolIndex(key, **{name: _interval(*(float(values[i]) for values in own)) for name, own in columns.items()})
        for i, key in enumerate(keys)
    ]


def _interval(mean: float, low: float, high: float) -> Spread:
    """Return an index with its interval; without a spread of the resamples (NaN), the interval is the index itself."""
    return Spread(mean, mean if math.isnan(low) else low, mean if math.isnan(high) else high)


def read_space(content: dict[str, Any]) -> SweepSpace:
    """Return the space that sweep.json describes."""
    dimensions = [
        Dimension(key, range=parse_range(values)) if isinstance(values, str) else Dimension(key, tuple(values))
        for key, values in content.items()
    ]
    return SweepSpace((), tuple(dimensions))
