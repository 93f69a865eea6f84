"""Tally of operations that met no stall, by their time and by the queue before their threads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from lsmlab.sim.clients.latency import Unstalled

_TIMES_PER_OCTAVE: Final = 16
"""Time buckets per octave: percentiles are within 2 % of their value."""
_UTILISATIONS: Final = 20.0
"""Number of utilisation buckets between 0 and 1."""


class ServedOperations(NamedTuple):
    """Operations of one bucket, and the queue before the threads that served them."""

    operations: Unstalled
    utilisation: float
    """Utilisation of threads whose equilibrium queue is as long."""
    residual_s: float
    """Mean residual time of an operation in progress at an arrival."""


class UnstalledTally:
    """Number of operations by kind and time."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int, int, int, float], float] = {}
        """Counts by (kind, buckets of the mean time, of the utilisation and of the residual time, spread)."""

    def add(
        self, operations: float, kinds: Sequence[tuple[int, float]], times: Sequence[Sequence[tuple[float, float, float]]],
        utilisation: float, residual_s: float | None,
    ) -> None:  # fmt: skip
        """Count `operations`, in `times` of each of `kinds` (see `ClientGroup`).

        `residual_s`: None for a closed loop, which has no queue.
        """
        counts = self._counts
        busy = round(_UTILISATIONS * utilisation)
        residual = 0 if residual_s is None else _bucket(residual_s)
        for (kind, share), parts in zip(kinds, times, strict=True):
            for part, mean_s, spread in parts:
                key = (kind, _bucket(mean_s), busy, residual, spread)
                counts[key] = counts.get(key, 0.0) + operations * share * part

    def of(self, kind: int) -> list[ServedOperations]:
        """Return the operations of a kind."""
        return [
            ServedOperations(Unstalled(count, _time_s(mean), spread), busy / _UTILISATIONS, _time_s(residual))
            for (k, mean, busy, residual, spread), count in self._counts.items()
            if k == kind
        ]


def _bucket(time_s: float) -> int:
    return round(math.log2(time_s) * _TIMES_PER_OCTAVE)


def _time_s(bucket: int) -> float:
    return math.exp2(bucket / _TIMES_PER_OCTAVE)
