"""Effects: how the values of each key change a number, and which keys matter (Sobol indices too), with 90 % intervals."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.sim.configuration.combinations import without_quotes
from lsmlab.sim.configuration.names import configuration_name
from lsmlab.sim.studies.statistics import CONFIDENCE, interval
from lsmlab.sim.studies.sweep.designs import SALTELLI, points, saltelli_base
from lsmlab.sim.studies.sweep.measured import Measured, Values
from lsmlab.sim.studies.sweep.space import Dimension, SweepSpace, parse_range
from numpy.typing import NDArray

_BINS: Final = 4
"""Number of groups of equal size into which the values of a range are divided."""
_MOST_LEVELS: Final = 8
"""Largest number of values that are not grouped."""
_RESAMPLES: Final = 400
_SEED: Final = 1
"""Seed of the bootstrap: the same sweep always gives the same intervals."""


@dataclass(frozen=True)
class Spread:
    """Mean with its 90 % interval; None for a single value."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class FactorLevel:
    """Number at one value of a key, or in one group of values ([low, high])."""

    value: Any
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MainEffect:
    """Effect of one key."""

    key: str
    share: Spread
    """Share of the variance between configurations."""
    levels: list[FactorLevel]


@dataclass(frozen=True)
class Interaction:
    """Effect of two keys beyond their own effects."""

    keys: list[str]
    share: Spread


@dataclass(frozen=True)
class Effects:
    """Effects of all keys on a number."""

    intervals: str
    """What the intervals cover: seeds, or configurations of a group."""
    main: list[MainEffect]
    interactions: list[Interaction] | None
    """None: unknown."""


def effects(measured: Measured, metric: str) -> Effects | None:
    """Return main effects and interactions of all keys on a number; None if it is the same in all configurations.

    A complete grid is balanced: each seed gives an estimate of each effect, and the intervals are t-intervals over the
    seeds. Other designs: values are grouped, intervals cover the configurations of a group, and interactions are unknown.
    """
    values = measured.metrics[metric]
    if np.nanmax(values, initial=-math.inf) <= np.nanmin(values, initial=math.inf):
        return None
    if measured.about["design"] == "grid" and measured.is_complete(metric):
        return _factorial(measured, values)
    return _grouped(measured, values)


def _factorial(measured: Measured, values: Values) -> Effects:
    keys = list(measured.levels)
    levels = [list(dict.fromkeys(measured.levels[key])) for key in keys]
    grid = values.reshape(*(len(own) for own in levels), measured.seeds)
    deviations = grid - grid.mean(axis=tuple(range(len(keys))), keepdims=True)
    total = _sum_of_squares(deviations)
    main = {axis: _marginal(deviations, (axis,)) for axis in range(len(keys))}
    pairs = {
        (a, b): _marginal(deviations, (a, b)) - main[a] - main[b] for a, b in itertools.combinations(range(len(keys)), 2)
    }
    overall = grid.mean(axis=tuple(range(len(keys))))
    return Effects(
        "seeds",
        [
            MainEffect(
                keys[axis], _share(_sum_of_squares(effect) * grid.size / effect.size, total),
                [_level(level, np.take(effect, i, axis=axis).ravel() + overall) for i, level in enumerate(levels[axis])],
            )
            for axis, effect in main.items()
        ],
        [
            Interaction([keys[a], keys[b]], _share(_sum_of_squares(effect) * grid.size / effect.size, total))
            for (a, b), effect in pairs.items()
        ],
    )  # fmt: skip


def _marginal(grid: Values, kept: Sequence[int]) -> Values:
    """Return the mean over all axes except `kept` and the seeds."""
    others = tuple(axis for axis in range(grid.ndim - 1) if axis not in kept)
    return np.asarray(grid.mean(axis=others, keepdims=True), dtype=float)


def _sum_of_squares(deviations: Values) -> Values:
    """Return the sum of squares of each seed."""
    return np.asarray((deviations**2).reshape(-1, deviations.shape[-1]).sum(axis=0), dtype=float)


def _share(part: Values, total: Values) -> Spread:
    """Return the part of the variance between configurations, by seed, as a share with its interval within 0 and 1."""
    found = _spread(np.divide(part, total, out=np.zeros_like(part), where=total > 0.0))
    low, high = (None if v is None else min(max(v, 0.0), 1.0) for v in (found.low, found.high))
    return Spread(min(max(found.mean, 0.0), 1.0), low, high)


def _spread(values: Values) -> Spread:
    found = interval([float(v) for v in values])
    return Spread(float(found["mean"] or 0.0), found["low"], found["high"])


def _level(value: Any, values: Values) -> FactorLevel:
    found = _spread(values)
    return FactorLevel(value, found.mean, found.low, found.high)


def _grouped(measured: Measured, values: Values) -> Effects:
    known: NDArray[np.bool_] = np.asarray(np.isfinite(values).any(axis=1))
    means = np.array([np.nanmean(row) for row in values[known]])
    random = np.random.default_rng(_SEED)
    draws = random.integers(0, len(means), (_RESAMPLES, len(means)))
    main = []
    for key, own in measured.levels.items():
        labels, codes = value_groups([v for v, here in zip(own, known.tolist(), strict=True) if here])
        drawn = np.sort([_explained(means[d], codes[d], len(labels)) for d in draws])
        low, high = (float(np.quantile(drawn, q)) for q in (0.05, 0.95))
        share = _explained(means, codes, len(labels))
        main.append(
            MainEffect(
                key, Spread(share, min(low, share), max(high, share)),
                [_level(label, means[codes == i]) for i, label in enumerate(labels)],
            )
        )  # fmt: skip
    return Effects("configurations", main, None)


def value_groups(own: Sequence[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return labels and the group of each value; a label of grouped numbers is [low, high]."""
    different = list(dict.fromkeys(own))
    if len(different) <= _MOST_LEVELS or not all(isinstance(v, int | float) for v in different):
        order: Callable[[Any], Any] = (lambda v: v) if all(isinstance(v, int | float) for v in different) else str
        labels = sorted(different, key=order)
        return labels, np.array([labels.index(v) for v in own])
    numbers = np.asarray(own, dtype=float)
    edges = np.unique(np.quantile(numbers, np.linspace(0.0, 1.0, _BINS + 1)))
    codes = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    return [[float(numbers[codes == i].min()), float(numbers[codes == i].max())] for i in range(len(edges) - 1)], codes


def _explained(values: Values, codes: NDArray[np.int64], groups: int) -> float:
    """Return the share of the variance between groups, without the part that chance gives (epsilon squared)."""
    total = float(((values - values.mean()) ** 2).sum())
    counts = np.bincount(codes, minlength=groups)
    sums = np.bincount(codes, weights=values, minlength=groups)
    filled = counts > 0
    between = float((sums[filled] ** 2 / counts[filled]).sum()) - len(values) * float(values.mean()) ** 2
    freedom = len(values) - int(filled.sum())
    if total <= 0.0 or freedom <= 0:
        return 0.0
    chance = (int(filled.sum()) - 1) * max(0.0, total - between) / freedom
    return min(max((between - chance) / total, 0.0), 1.0)


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
