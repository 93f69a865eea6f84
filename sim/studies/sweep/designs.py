"""Designs: the points of a space that a sweep runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.studies.sweep.space import SweepSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Shares = NDArray[np.float64]
    """One row per point, one column per dimension; each value is a share (0 to 1) of the dimension's scale."""

Point = tuple[str, ...]
"""One value per dimension, as in an override."""
GRID: Final = "grid"
SALTELLI: Final = "saltelli"
_GRID_VALUES: Final = 5
"""Number of values of a range in a grid, unless the user says otherwise."""
_LEAST_BASE: Final = 8
"""Smallest base sample of a Saltelli design; a smaller one gives no useful index."""


def points(space: SweepSpace, design: str, count: int | None, seed: int) -> list[Point]:
    """Return the points of a design in order; rounding may make points equal, and equal points occur once.

    grid: all combinations; a range has `count` values (default 5). random, lhs, sobol: `count` points, independent, as a
    Latin hypercube, or as a scrambled Sobol sequence. saltelli: the points from which Sobol indices are estimated, at
    most `count` of them (`saltelli_base`); equal points are kept. A longer random or sobol design contains the shorter
    ones of the same seed. Raises InputError for a design that needs `count` or a larger one.
    """
    if design == GRID:
        return list(itertools.product(*(d.values(count or _GRID_VALUES) for d in space.dimensions)))
    if count is None:
        raise InputError(f"--design {design}: say how many points with --points N")
    shares = _DESIGNS[design](len(space.dimensions), count, seed)
    found: Iterable[Point] = (tuple(d.at(s) for d, s in zip(space.dimensions, row, strict=True)) for row in shares.tolist())
    return list(found if design == SALTELLI else dict.fromkeys(found))


def saltelli_base(dimensions: int, count: int) -> int:
    """Return the size n of the base samples of a Saltelli design of at most `count` points.

    The design has n (d + 2) points for d dimensions: samples A and B, and for each dimension a copy of A with this
    dimension's column of B. n is a power of two, as SciPy requires for balanced samples.
    """
    least = _LEAST_BASE * (dimensions + 2)
    if count < least:
        raise InputError(f"--design saltelli: {dimensions} keys need at least --points {least}")
    return 1 << int(math.log2(count / (dimensions + 2)))


def _random(dimensions: int, count: int, seed: int) -> Shares:
    import numpy as np

    return np.random.default_rng(seed).random((count, dimensions))


def _latin(dimensions: int, count: int, seed: int) -> Shares:
    from scipy.stats import qmc

    return qmc.LatinHypercube(dimensions, rng=seed).random(count)


def _sobol(dimensions: int, count: int, seed: int) -> Shares:
    from scipy.stats import qmc

    exponent = max(0, math.ceil(math.log2(count)))  # a power of two keeps the sequence balanced; the rest is dropped
    return qmc.Sobol(dimensions, rng=seed).random_base2(exponent)[:count]


def _saltelli(dimensions: int, count: int, seed: int) -> Shares:
    import numpy as np
    from scipy.stats import qmc

    base = saltelli_base(dimensions, count)
    both = qmc.Sobol(2 * dimensions, rng=seed).random(base)
    first, second = both[:, :dimensions], both[:, dimensions:]
    mixed = [np.where(np.arange(dimensions) == column, second, first) for column in range(dimensions)]
    return np.concatenate([first, second, *mixed])


_DESIGNS: Final[dict[str, Callable[[int, int, int], Shares]]] = {
    "random": _random, "lhs": _latin, "sobol": _sobol, SALTELLI: _saltelli,
}  # fmt: skip
NAMES: Final = (GRID, *_DESIGNS)
"""Names of all designs."""
