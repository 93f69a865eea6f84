"""Priors of cost constants: their values and spread from machine to machine, before a fit uses any measurement."""

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
    """Median in base units."""
    width: float
    """Standard deviation of the logarithm."""
    high: float = math.inf
    """Largest value."""


def estimated(
    kind: str, default: float, *, width: float, start: float | None = None, low: float = 0.0, high: float = math.inf
) -> Any:
    """Declare a constant that fits estimate: a quantity of `kind` (`lsmlab.models.units.quantity`) with a prior.

    `width`: standard deviation of the logarithm, from machine to machine. `start`: median of the prior if the default
    is 0; a default of 0 disables the constant in a run.
    """
    prior = Prior(default if start is None else start, width, high)
    return field(default=default, metadata={"quantity": Quantity(kind, low, high), _KEY: prior})


def priors_of(cls: type[DataclassInstance]) -> dict[str, Prior]:
    """Return the priors of the constants of `cls` that were declared with `estimated`, in the order of its fields."""
    return {f.name: f.metadata[_KEY] for f in fields(cls) if f.default is not MISSING and _KEY in f.metadata}
