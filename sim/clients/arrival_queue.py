"""Queue of random arrivals before the client threads, followed through time while the arrival rate changes."""

from __future__ import annotations

import math
from typing import Final

_STEP: Final = 0.5
"""Longest step, in relaxation times of the queue."""
_SAME: Final = 1e-3
"""Relative distance from the equilibrium, or from R, at which the queue counts as in equilibrium."""


class ArrivalQueue:
    """Mean work V (seconds) that waits before each thread.

    In equilibrium V = rho R / (1 - rho) with the utilisation rho of the threads and the mean residual time R of an
    operation in progress (Pollaczek and Khinchine; R is divided by the number of threads if all threads share one queue).
    A queue of V therefore belongs to threads that are busy for V / (R + V) of the time, which gives
    dV/dt = rho - V / (R + V): the pointwise stationary fluid approximation (Wang, Tipper and Banerjee, INFOCOM 1996). At
    utilisation 1 an empty queue grows with the square root of time and is far from equilibrium for many milliseconds.
    """

    __slots__ = ("work_s",)

    def __init__(self) -> None:
        self.work_s = 0.0

    def advance(self, elapsed_s: float, utilisation: float, residual_s: float) -> float:
        """Advance by `elapsed_s` at constant `utilisation` and `residual_s`.

        Return the utilisation whose equilibrium queue is as long as the mean queue of this interval.
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
