"""Positions of a slider: round values around a default, inside the limits of a setting."""

from __future__ import annotations

import math
from typing import Final

from lsmlab.models.units import Quantity

_UNITS: Final = {
    "bytes": (
        ("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10),
        ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3),
    ),
    "bytes_per_s": (
        ("GiB/s", 2.0**30), ("MiB/s", 2.0**20), ("GB/s", 1e9), ("MB/s", 1e6), ("KiB/s", 2.0**10), ("kB/s", 1e3),
    ),
    "seconds": (("h", 3600.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)),
    "count": (("G", 1e9), ("M", 1e6), ("k", 1e3)),
    "per_s": (("M/s", 1e6), ("k/s", 1e3)),
    "ratio": (),
}  # fmt: skip
"""Units in which a quantity is written if it is a whole number of them, in this order."""
_CENTRE: Final = {"bytes": 2.0**26, "bytes_per_s": 1e8, "seconds": 60.0, "count": 1e4, "per_s": 1e4, "ratio": 1.0}
"""Middle of the positions of a setting without a default."""
_SMALL: Final = 64
"""Largest default of a count whose positions are all whole numbers."""
_DOUBLINGS: Final = 7
"""Positions of a size on each side of its middle, each twice the one before."""
_DECADES: Final = 2
"""Powers of ten of other quantities on each side of the middle."""
_SHARE: Final = 0.05
"""Step of a share of one."""
_LARGEST: Final = 10_000
"""Numbers from here on get a larger unit."""
_EXACT: Final = 1e15
"""Whole numbers below are exact."""


def quantity_text(value: float, kind: str) -> str:
    """Write a value in the largest unit of its kind that needs few digits.

    >>> [quantity_text(v, k) for v, k in ((2**26, "bytes"), (4e8, "bytes_per_s"), (0.08, "seconds"), (2e7, "count"))]
    ['64MiB', '400MB/s', '80ms', '20M']
    >>> [quantity_text(v, k) for v, k in ((0.0, "bytes"), (400, "bytes"), (90, "seconds"), (5e-6, "seconds"), (0.5, "ratio"))]
    ['0', '400', '90s', '5us', '0.5']
    """
    for digits in (0, 2):
        for unit, factor in _UNITS[kind]:
            number = value / factor
            if 1.0 <= abs(number) < _LARGEST and math.isclose(number, round(number, digits), rel_tol=1e-12):
                return f"{round(number, digits):g}{unit}"
    return f"{value:.0f}" if value == round(value) and abs(value) < _EXACT else f"{value:.12g}"


def positions(rule: Quantity, default: float | None, *, whole: bool) -> tuple[float, ...]:
    """Return the values of a slider in ascending order, the default among them, all within the limits of `rule`.

    `default`: None for a setting that may be left out. `whole`: the setting takes whole numbers only.
    """
    if rule.kind == "ratio" and rule.high <= 1.0:
        found = {_SHARE * i for i in range(round(rule.high / _SHARE) + 1)}
    elif rule.kind == "count" and default is not None and default <= _SMALL:
        found = {float(i) for i in range(0 if rule.low <= 0.0 else 1, round(max(4 * default, 16)) + 1)}
    else:
        middle = default if default is not None and default > 0.0 else _CENTRE[rule.kind]
        found = _doublings(middle) if rule.kind == "bytes" else _round_numbers(middle)
        found |= {0.0} if default == 0.0 else set()
    found |= {default} if default is not None else set()
    inside = {round(v, 12) for v in found if rule.low <= v <= rule.high and (not whole or v == round(v))}
    return tuple(sorted(inside))


def _doublings(middle: float) -> set[float]:
    return {float(round(middle * 2.0**i)) for i in range(-_DOUBLINGS, _DOUBLINGS + 1) if middle * 2.0**i >= 1.0}


def _round_numbers(middle: float) -> set[float]:
    """Return 1, 2 and 5 times each power of ten around `middle`."""
    power = math.floor(math.log10(middle))
    powers = range(power - _DECADES, power + _DECADES + 1)
    return {float(f"{digit}e{exponent}") for exponent in powers for digit in (1, 2, 5)}
