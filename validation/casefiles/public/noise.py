"""Noise of published runs: the spread of repeats, as a range relative to their mean."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final

_FEW: Final = 8
"""Most repeats whose own range is their noise."""
_RANGE_OF_TWO: Final = 1.128
"""Mean range of two normal values in standard deviations (d2 of control charts: Montgomery, appendix VI)."""


def spread(values: Sequence[float]) -> float:
    """Return range / mean of a few repeats. The range of many grows with their number: return that of two of them.

    >>> spread([9.0, 11.0])
    0.2
    """
    mean = statistics.mean(values)
    if len(values) > _FEW:
        return _RANGE_OF_TWO * statistics.stdev(values) / mean
    return (max(values) - min(values)) * len(values) / sum(values)
