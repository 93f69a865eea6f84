"""The line before threads that take arrivals at random, where their rate changes faster than a line can grow."""

from __future__ import annotations

import math
from typing import Final

_STEP: Final = 0.5
"""Longest step in times of the line's own relaxation."""
_SAME: Final = 1e-3
"""Share of the equilibrium, or of R, within which a line is there."""


class ArrivalQueue:
    """Mean work in the line before each thread, V, followed through time.

    In equilibrium V = rho R / (1 - rho), with the threads' utilisation rho and what is left of an operation in progress, R
    (Pollaczek and Khinchine; R is divided by the number of threads where all take from one line). Turned round, a line of
    V belongs to threads that are busy for V / (R + V) of the time, so that dV/dt = rho - V / (R + V): the pointwise
    stationary fluid approximation (Wang, Tipper and Banerjee, INFOCOM 1996). At utilisation 1 a line that was empty grows
    with the root of the time, and a few milliseconds of it are no equilibrium.
    """

    __slots__ = ("work_s",)

    def __init__(self) -> None:
        self.work_s = 0.0

    def advance(self, elapsed_s: float, utilisation: float, residual_s: float) -> float:
        """Move on by `elapsed_s` at these constant values.

        Returns the utilisation at which a line in equilibrium would be as long as this one was on average.
        """
        if residual_s <= 0.0 or elapsed_s <= 0.0:
            return utilisation
        rest_s = utilisation * residual_s / (1.0 - utilisation) if utilisation < 1.0 else math.inf
        there_s = _SAME * max(rest_s, residual_s) if utilisation < 1.0 else 0.0
        left_s, area = elapsed_s, 0.0
        while left_s > 0.0 and abs(rest_s - self.work_s) > there_s:
            work_s = self.work_s
            slope = utilisation - work_s / (residual_s + work_s)
            rate = residual_s / (residual_s + work_s) ** 2
            step_s = min(left_s, _STEP / rate, (rest_s - work_s) / slope)
            after_s = work_s - slope / rate * math.expm1(-rate * step_s)
            self.work_s = min(after_s, rest_s) if slope > 0.0 else max(after_s, rest_s)
            area += 0.5 * (work_s + self.work_s) * step_s
            left_s -= step_s
        mean_s = (area + self.work_s * max(0.0, left_s)) / elapsed_s
        return mean_s / (residual_s + mean_s)
