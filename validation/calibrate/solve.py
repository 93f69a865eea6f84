"""Bounded least squares with priors: constants, standard errors, and which of them the data cannot tell apart.

Every constant is positive and searched as theta = log(value / prior). Residuals are what equations miss by, in units of
the spread that they state; a soft L1 loss keeps single bad jobs from deciding (SciPy's definition, applied to the data
alone). A prior adds the residual theta / width. Standard errors come from the Jacobian at the solution with the
residuals' scores added up by run first ("sandwich" clustered by run), since what one run has in common (the state of the
machine in that minute) is not averaged out by the number of its jobs; they are no smaller than those of independent
residuals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from scipy.optimize import least_squares

Array = np.ndarray[Any, np.dtype[np.float64]]
Values = Mapping[str, float]

AT_PRIOR: Final = 0.8
"""A standard error above this share of the prior's width: the data say next to nothing."""
ALIKE: Final = 0.9
"""Correlation of two constants' errors beyond which the data cannot tell them apart."""
_TOLERANCE: Final = 1e-11
_WIDEST: Final = 8.0
"""Bounds of the search, in widths of the prior."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One constant of a fit."""

    key: str
    """Of the configuration, such as "host.write_op"; other names help the fit and are not written."""
    prior: float
    """In base units."""
    width: float
    """Standard deviation of the logarithm."""
    high: float = math.inf


@dataclass(frozen=True, slots=True)
class Equation:
    """One kind of measurement."""

    name: str
    misses: Callable[[Values], Array]
    """Residuals at given constants, in units of the spread of the measurement. Shape (n,)."""
    clusters: Sequence[str]
    """Name of the run that each residual belongs to."""
    keys: Sequence[str]
    """Constants that it depends on."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A fit."""

    constants: tuple[Constant, ...]
    values: dict[str, float]
    relative_errors: dict[str, float]
    """Standard deviations of the logarithms."""
    correlation: Array
    """Of the errors, in the order of `constants`."""
    singular_values: Array
    """Of the Jacobian of the data (without priors), each column in units of its prior's width; from the largest."""
    directions: Array
    """The combinations of constants that belong to them; row by row."""
    residuals: dict[str, Array]
    """By equation, with the loss not applied."""

    def error(self, key: str) -> float:
        """Standard error of a constant, in its own unit."""
        return self.values[key] * self.relative_errors[key]

    def at_prior(self) -> list[str]:
        """Constants of which the data say next to nothing."""
        return [c.key for c in self.constants if self.relative_errors[c.key] > AT_PRIOR * c.width]

    def alike(self) -> list[tuple[str, str, float]]:
        """Pairs that the data cannot tell apart, with the correlation of their errors."""
        found = []
        for i, first in enumerate(self.constants):
            for j in range(i):
                if abs(self.correlation[i, j]) > ALIKE:
                    found.append((self.constants[j].key, first.key, float(self.correlation[i, j])))
        return found


def solve(constants: Sequence[Constant], equations: Sequence[Equation]) -> Solution:
    """Fit all constants to all equations at once. Raises InputError if there is nothing to fit to."""
    if not equations:
        raise InputError("no usable measurement in these runs; record cases without caps, with report_bg_io_stats")
    keys = [c.key for c in constants]
    priors, widths = (np.array([getattr(c, name) for c in constants]) for name in ("prior", "width"))
    column = {key: i for i, key in enumerate(keys)}

    def values_at(theta: Array) -> dict[str, float]:
        return dict(zip(keys, (priors * np.exp(theta)).tolist(), strict=True))

    def data(theta: Array) -> Array:
        values = values_at(theta)
        return np.concatenate([equation.misses(values) for equation in equations])

    def misses(theta: Array) -> Array:
        return np.concatenate((_softened(data(theta)), theta / widths))

    high = np.minimum(_WIDEST * widths, [math.log(c.high / c.prior) if c.high < math.inf else math.inf for c in constants])
    found = least_squares(
        misses, np.minimum(np.zeros(len(keys)), high / 2.0), bounds=(-_WIDEST * widths, np.maximum(high, 1e-9)),
        xtol=_TOLERANCE, ftol=_TOLERANCE, gtol=_TOLERANCE, x_scale=widths,
    )  # fmt: skip
    theta = np.asarray(found.x, dtype=np.float64)
    jacobian = _jacobian(equations, values_at, theta, column)
    raw = data(theta)
    weights = 1.0 / np.sqrt(1.0 + raw**2)  # of the soft L1 loss: its influence function is r times this
    covariance = _covariance(jacobian, raw, weights, widths, [c for e in equations for c in e.clusters])
    errors = np.sqrt(np.diag(covariance))
    _, singular, directions = np.linalg.svd(jacobian * np.sqrt(weights)[:, None] * widths, full_matrices=False)
    lengths = np.cumsum([0, *(len(e.clusters) for e in equations)])
    return Solution(
        constants=tuple(constants), values=values_at(theta),
        relative_errors=dict(zip(keys, errors.tolist(), strict=True)),
        correlation=covariance / np.outer(errors, errors), singular_values=singular, directions=directions,
        residuals={e.name: raw[a:b] for e, a, b in zip(equations, lengths, lengths[1:], strict=False)},
    )  # fmt: skip


def _softened(misses: Array) -> Array:
    """Residuals whose squares are the soft L1 loss of the given ones."""
    return np.asarray(np.sign(misses) * np.sqrt(2.0 * (np.sqrt(1.0 + misses**2) - 1.0)), dtype=np.float64)


def _jacobian(
    equations: Sequence[Equation], values_at: Callable[[Array], dict[str, float]], theta: Array, column: Mapping[str, int]
) -> Array:
    """Of the data, by central differences; only the columns that an equation depends on are computed."""
    step = 1e-5
    rows = []
    for equation in equations:
        block = np.zeros((len(equation.clusters), len(theta)))
        for key in equation.keys:
            shift = np.zeros(len(theta))
            shift[column[key]] = step
            above, below = equation.misses(values_at(theta + shift)), equation.misses(values_at(theta - shift))
            block[:, column[key]] = (above - below) / (2.0 * step)
        rows.append(block)
    return np.concatenate(rows)


def _covariance(jacobian: Array, raw: Array, weights: Array, widths: Array, clusters: Sequence[str]) -> Array:
    """Of theta: the clustered sandwich, each variance at least that of independent residuals, at most the prior's."""
    # the derivative of the influence function, not the weight: it is smaller, so misfits make errors larger
    curved = weights**3
    inverse = np.linalg.inv(jacobian.T @ (curved[:, None] * jacobian) + np.diag(1.0 / widths**2))
    names = sorted(set(clusters))
    place = np.array([names.index(c) for c in clusters])
    scores = np.zeros((len(names), len(widths)))
    np.add.at(scores, place, (weights * raw)[:, None] * jacobian)
    n = len(names)
    between = scores.T @ scores * (n / max(1, n - 1)) + np.diag(1.0 / widths**2)
    sandwich = inverse @ between @ inverse
    variances = np.clip(np.diag(sandwich), np.diag(inverse), None)
    variances = np.minimum(variances, np.maximum(widths**2, np.diag(inverse)))
    scale = np.sqrt(variances / np.maximum(np.diag(sandwich), 1e-300))
    return np.asarray(sandwich * np.outer(scale, scale), dtype=np.float64)
