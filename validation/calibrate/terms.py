"""Equations from costs: which constants of a cost a fit solves for, and what the other constants add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from lsmlab.models.costs.cost import DEVICE, HOST, Cost, contribution
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.prior import priors_of
from lsmlab.validation.calibrate.solve import Array, Equation, Values

_FEWEST: Final = 3
_ESTIMATED: Final = frozenset(f"{HOST}.{name}" for name in priors_of(Host))


class Row(NamedTuple):
    """One measurement of a duration."""

    cost: Cost
    host: Host
    """Of its machine: values of the constants that no fit estimates."""
    seconds: float
    run: str
    """Name of the run that it is from."""


class Design(NamedTuple):
    """Costs as a linear system."""

    columns: dict[str, Array]
    """Counts of the constants to solve for, by key. Shape (n,) each."""
    fixed_s: Array
    """Seconds of the other constants."""


def is_estimated(key: str) -> bool:
    """Whether fits estimate a constant: of the host those that `Host` declares with a prior, of the device all."""
    return key in _ESTIMATED or key.startswith(f"{DEVICE}.")


def design(costs: Sequence[tuple[Cost, Host]], keys: Sequence[str] | None = None) -> Design:
    """Set up the linear system of some costs.

    `keys`: constants to solve for; by default all that fits estimate and that occur in the costs.
    """
    rows = [cost.counts() for cost, _ in costs]
    counted = list(dict.fromkeys(key for row in rows for key, count in row.items() if count != 0.0))
    if keys is None:
        keys = [key for key in counted if is_estimated(key)]
    fixed = [
        sum(count * getattr(host, _name(key)) for key, count in row.items() if key not in keys)
        for row, (_, host) in zip(rows, costs, strict=True)
    ]
    columns = {key: np.array([row.get(key, 0.0) for row in rows], dtype=np.float64) for key in keys}
    return Design(columns, np.array(fixed, dtype=np.float64))


def _name(key: str) -> str:
    return key.removeprefix(f"{HOST}.")


def keys_of(costs: Sequence[Cost]) -> list[str]:
    """Constants that occur in some costs and that fits estimate, even if none of them is counted."""
    return list(dict.fromkeys(key for cost in costs for key in cost.counts() if is_estimated(key)))


def linear(name: str, rows: Sequence[Row], spread: float) -> Equation | None:
    """Cost = seconds measured, with a scatter of `spread` for an average one that grows with its square root.

    So totals over many jobs are right, and large jobs count for more than small ones.
    """
    if len(rows) < _FEWEST:
        return None
    seconds = np.array([row.seconds for row in rows])
    scatter = spread * np.sqrt(seconds * seconds.mean())
    columns, fixed_s = design([(row.cost, row.host) for row in rows])

    def misses(values: Values) -> Array:
        expected: Any = fixed_s
        for key, counts in columns.items():
            expected = expected + contribution(key, counts, values[key])
        return np.asarray((expected - seconds) / scatter, dtype=np.float64)

    return Equation(name, misses, [row.run for row in rows], list(columns))


def relative(name: str, rows: Sequence[Row], spread: float) -> Equation | None:
    """Cost = seconds measured, with the same relative scatter `spread` for all."""
    if not rows:
        return None
    seconds = np.array([row.seconds for row in rows])

    def misses(values: Values) -> Array:
        expected = np.array([row.cost.seconds_at(values, row.host) for row in rows])
        return np.asarray(np.log(expected / seconds) / spread, dtype=np.float64)

    return Equation(name, misses, [row.run for row in rows], keys_of([row.cost for row in rows]))
