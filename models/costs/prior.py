"""How far a constant may be off on another machine: what a fit assumes of it before it sees a record."""

from __future__ import annotations

import math
from dataclasses import MISSING, field, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lsmlab.models.units import Quantity

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_KEY: Final = "prior"


class Prior(NamedTuple):
    """Log-normal prior of a constant."""

    value: float
    """In base units."""
    width: float
    """Standard deviation of the logarithm."""
    high: float = math.inf
    """Largest value."""


def estimated(
    kind: str, default: float, *, width: float, start: float | None = None, low: float = 0.0, high: float = math.inf
) -> Any:
    """Declare a constant that fits estimate: a quantity of `kind` (`lsmlab.models.units.quantity`) with a prior.

    `width`: standard deviation of the logarithm, from machine to machine. `start`: middle of the prior where the default is
    0, which leaves the constant out of a run.
    """
    prior = Prior(default if start is None else start, width, high)
    return field(default=default, metadata={"quantity": Quantity(kind, low, high), _KEY: prior})


def priors_of(cls: type[DataclassInstance]) -> dict[str, Prior]:
    """Priors of the constants of a class that fits estimate, in the order of its fields; of others the class has no prior."""
    return {f.name: f.metadata[_KEY] for f in fields(cls) if f.default is not MISSING and _KEY in f.metadata}
