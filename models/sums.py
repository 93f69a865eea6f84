"""Sums of floating-point numbers that are the same on every Python version."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add


def float_sum(values: Iterable[float]) -> float:
    """Add the values from left to right, each addition rounded; 0 for no values.

    Python's own `sum` carries the rounding errors of floats along since 3.12, which changes the last digits of a result
    (https://docs.python.org/3/whatsnew/3.12.html). Results must not depend on the Python version.
    """
    return reduce(add, values, 0)
