"""Bounded least squares with priors: constants, standard errors, and pairs of constants that the data do not separate.

All constants are positive; the search variable is theta = log(value / prior). The residuals of an equation are in units
of the spread that the equation gives. A soft L1 loss limits the influence of single outliers (SciPy's definition,
applied to the data only). A prior adds the residual theta / width. Standard errors come from the Jacobian at the
solution, with the scores of the residuals first summed by run ("sandwich" estimate clustered by run): errors that all
jobs of a run share, such as the state of the machine at that time, do not average out over the jobs. The errors are at
least as large as those of independent residuals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from scipy.optimize import least_squares

Array = np.ndarray[Any, np.dtype[np.float64]]
Values = Mapping[str, float]

UNDETERMINED_SHARE: Final = 0.8
"""The data do not determine a constant whose standard error is above this share of the prior's width."""
INSEPARABLE: Final = 0.9
"""The data do not separate two constants whose errors have a correlation above this."""
HELD: Final = 1e-6
"""Width of the prior of a constant that a fit holds at it."""
_TOLERANCE: Final = 1e-9
_WIDEST: Final = 8.0
"""Bounds of the search for theta, in widths of the prior."""


@dataclass(frozen=True, slots=True)
class FitConstant:
    """One constant of a fit."""

    key: str
    """Key of the configuration, such as "host.write_op"."""
    prior: float
    """Value of the prior in base units."""
    width: float
    """Standard deviation of the prior's logarithm."""
    high: float = math.inf
    """Upper bound in base units."""
    start: float = 1.0
    """Value at which the search starts, divided by the prior: not 1 if the constant has no effect near its prior."""


@dataclass(frozen=True, slots=True)
class Equation:
    """Equation of one kind of measurement."""

    name: str
    misses: Callable[[Values], Array]
    """Function that returns the residuals at given constants, in units of the spread of the measurement. Shape (n,)."""
    clusters: Sequence[str]
    """Name of the run of each residual."""
    keys: Sequence[str]
    """Keys of the constants in the equation."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Result of a fit."""

    constants: tuple[FitConstant, ...]
    values: dict[str, float]
    relative_errors: dict[str, float]
    """Standard errors of the logarithms of the values."""
    correlation: Array
    """Correlation matrix of the errors, in the order of `constants`. Shape (n, n)."""
    singular_values: Array
    """Singular values of the Jacobian of the data (without priors), each column in units of its prior's width;
    descending."""
    directions: Array
    """Combination of constants of each singular value, one row each."""
    residuals: dict[str, Array]
    """Residuals by equation, before the loss function."""

    def error(self, key: str) -> float:
        """Return the standard error of a constant, in the unit of its value."""
        return self.values[key] * self.relative_errors[key]

    def undetermined(self) -> list[str]:
        """Return the keys of the constants that the data do not determine."""
        return [c.key for c in self.constants if self.relative_errors[c.key] > UNDETERMINED_SHARE * c.width]

    def inseparable_pairs(self) -> list[tuple[str, str, float]]:
        """Return the pairs of constants that the data do not separate, with the correlation of their errors."""
        found = []
        for i, first in enumerate(self.constants):
            for j in range(i):
                if abs(self.correlation[i, j]) > INSEPARABLE:
                    found.append((self.constants[j].key, first.key, float(self.correlation[i, j])))
        return found


def solve(constants: Sequence[FitConstant], equations: Sequence[Equation]) -> Solution:
    """Fit all constants to all equations at once. Raises InputError if there is no equation."""
    if not equations:
        raise InputError("these runs have no usable measurement; record cases without caps and with report_bg_io_stats")
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

    def slopes(theta: Array) -> Array:
        of_data = _softening(data(theta))[:, None] * _jacobian(equations, values_at, theta, column)
        return np.concatenate((of_data, np.diag(1.0 / widths)))

    high = np.minimum(_WIDEST * widths, [math.log(c.high / c.prior) if c.high < math.inf else math.inf for c in constants])
    start = np.minimum(np.log([c.start for c in constants]), high / 2.0)
    found = least_squares(
        misses, start, slopes, bounds=(-_WIDEST * widths, np.maximum(high, 1e-9)),
        xtol=_TOLERANCE, ftol=_TOLERANCE, gtol=_TOLERANCE, x_scale=widths,
    )  # fmt: skip
    theta = np.asarray(found.x, dtype=np.float64)
    jacobian = _jacobian(equations, values_at, theta, column)
    raw = data(theta)
    weights = 1.0 / np.sqrt(1.0 + raw**2)  # of the soft L1 loss: the influence function is r times the weight
    covariance = _covariance(jacobian, raw, weights, widths, [c for e in equations for c in e.clusters])
    errors = np.sqrt(np.diag(covariance))
    triangle = np.linalg.qr(jacobian * np.sqrt(weights)[:, None] * widths, mode="r")  # has the singular values of its argument
    _, singular, directions = np.linalg.svd(triangle, full_matrices=False)
    lengths = np.cumsum([0, *(len(e.clusters) for e in equations)])
    return Solution(
        constants=tuple(constants), values=values_at(theta),
        relative_errors=dict(zip(keys, errors.tolist(), strict=True)),
        correlation=covariance / np.outer(errors, errors), singular_values=singular, directions=directions,
        residuals={e.name: raw[a:b] for e, a, b in zip(equations, lengths, lengths[1:], strict=False)},
    )  # fmt: skip


def solve_pinned(constants: Sequence[FitConstant], equations: Sequence[Equation]) -> Solution:
    """Fit as `solve` does, with the constants that the data do not determine held at their priors, the worst one first.

    Short runs on a busy machine leave many constants open. Held one by one, they do not take with them a sum that the data do
    determine, such as the cost of a put with the WAL. A held constant stays among `Solution.undetermined`.
    """
    found = solve(constants, equations)
    while True:
        free = [c for c in found.constants if c.width > HELD]
        worst = max(free, key=lambda c: found.relative_errors[c.key] / c.width, default=None)
        if worst is None or found.relative_errors[worst.key] <= UNDETERMINED_SHARE * worst.width:
            return found
        held = {c.key for c in found.constants if c is worst or c.width <= HELD}
        found = solve(
            [replace(c, width=HELD, start=1.0) if c.key in held else replace(c, start=found.values[c.key] / c.prior)
             for c in found.constants],
            equations,
        )  # fmt: skip




def _softened(misses: Array) -> Array:
    """Return residuals whose squares are the soft L1 loss of the given residuals."""
    return np.asarray(np.sign(misses) * np.sqrt(2.0 * (np.sqrt(1.0 + misses**2) - 1.0)), dtype=np.float64)


def _softening(misses: Array) -> Array:
    """Return the derivative of `_softened`."""
    softened = _softened(misses)
    small = np.abs(misses) < _SMALL
    return np.where(small, 1.0, misses / (np.where(small, 1.0, softened) * np.sqrt(1.0 + misses**2)))


_SMALL: Final = 1e-6
"""Residual below which the soft L1 loss is quadratic in double precision."""


def _jacobian(
    equations: Sequence[Equation], values_at: Callable[[Array], dict[str, float]], theta: Array, column: Mapping[str, int]
) -> Array:
    """Return the Jacobian of the data, by central differences. Entries of constants not in an equation are 0."""
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
    """Return the covariance of theta: the clustered sandwich estimate.

    Each variance is at least that of independent residuals, and at most that of the prior.
    """
    # the derivative of the influence function is smaller than the weight, so large residuals increase the errors
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
