"""Dimensions of a space as distributions of Optuna, and points as overrides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from lsmlab.sim.exploration.space import Dimension, Space

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

_MOST_WHOLE: Final = 64
"""Largest number of whole values that Optuna draws as whole numbers; longer ranges are drawn as shares of their scale."""


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """Return Optuna's distribution of each dimension by key."""
    return {dimension.key: _distribution(dimension) for dimension in space.dimensions}


def overrides(space: Space, drawn: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the overrides of a point that Optuna has drawn."""
    return tuple(f"{d.key}={_value(d, drawn[d.key])}" for d in space.dimensions)


def _distribution(dimension: Dimension) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    between = dimension.range
    if between is None:
        return CategoricalDistribution(dimension.choices)
    if _is_whole(dimension):
        return IntDistribution(int(between.low), int(between.high), log=between.logarithmic)
    return FloatDistribution(0.0, 1.0)


def _is_whole(dimension: Dimension) -> bool:
    between = dimension.range
    return between is not None and between.whole and between.high - between.low < _MOST_WHOLE


def _value(dimension: Dimension, drawn: Any) -> str:
    if dimension.range is None or _is_whole(dimension):
        return str(drawn)
    return dimension.at(float(drawn))
