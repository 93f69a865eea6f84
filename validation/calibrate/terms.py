"""Equations that are sums of constants times what was counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.validation.calibrate.solve import Array, Equation, Values

_FEWEST: Final = 3

Term = tuple[str, Array]
"""A constant and what it is multiplied with."""


def linear(
    name: str, terms: Sequence[Term], measured: Sequence[float], clusters: Sequence[str], spread: float
) -> Equation | None:
    """Sum of terms = seconds measured, with a scatter of `spread` for an average one that grows with its square root.

    A constant called bandwidth divides. So totals over many jobs are right, and large jobs count for more than small ones.
    """
    if len(measured) < _FEWEST:
        return None
    seconds = np.array(measured)
    scatter = spread * np.sqrt(seconds * seconds.mean())

    def misses(values: Values) -> Array:
        expected = sum(x / values[key] if key.endswith("bandwidth") else x * values[key] for key, x in terms)
        return np.asarray((expected - seconds) / scatter, dtype=np.float64)

    return Equation(name, misses, list(clusters), [key for key, _ in terms])
