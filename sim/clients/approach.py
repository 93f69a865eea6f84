"""Iteration of a rate that lowers itself: several readers of one drive are slow if they were fast, and the reverse."""

from __future__ import annotations


class Approach:
    """Damped iteration of a rate: the next rate is a share of the way to the wanted one, halved at each change of direction.

    The first wanted rate follows from the state before an event, so its direction does not count.
    """

    __slots__ = ("_change", "_step", "gap")

    def __init__(self) -> None:
        self._step = 1.0
        self._change: float | None = None
        """Last change that was wanted; None before the first."""
        self.gap = 0.0
        """Difference of the rate from the wanted one at the last call, relative to the latter; 1 if that is 0 and the rate
        is not."""

    def to(self, rate: float, wanted: float) -> float:
        """Return the next rate after `rate`."""
        change = wanted - rate
        if self._change is None:
            self._change = 0.0
        else:
            if change * self._change < 0.0:
                self._step /= 2.0
            self._change = change
        rate += self._step * change
        self.gap = abs(wanted - rate) / wanted if wanted > 0.0 else float(rate > 0.0)
        return rate
