"""Operations that waited for no stall, counted by how long they took and by the line that they met."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from lsmlab.sim.clients.latency import Unstalled

_TIMES_PER_OCTAVE: Final = 16
"""Buckets of times: a percentile is right to 2 % of its value."""
_UTILISATIONS: Final = 20.0
"""Buckets of utilisations, 0 to 1."""


class Served(NamedTuple):
    """Alike operations, and the line in front of the threads that served them."""

    operations: Unstalled
    utilisation: float
    """Of threads that make a line as long."""
    residual_s: float
    """What was left of the operation in progress there."""


class UnstalledTally:
    """How many operations of each kind took how long."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int, int, int], float] = {}
        """By (kind, bucket of the mean time, of the utilisation, of the residual time)."""

    def add(
        self, operations: float, kinds: Sequence[tuple[int, float]], times: Sequence[Sequence[tuple[float, float]]],
        utilisation: float, residual_s: float | None,
    ) -> None:  # fmt: skip
        """Count `operations`, in `times` of each of `kinds` (see `Group`).

        `residual_s`: None where there is no line (a closed loop).
        """
        counts = self._counts
        busy = round(_UTILISATIONS * utilisation)
        residual = 0 if residual_s is None else _bucket(residual_s)
        for (kind, share), parts in zip(kinds, times, strict=True):
            for part, mean_s in parts:
                key = (kind, _bucket(mean_s), busy, residual)
                counts[key] = counts.get(key, 0.0) + operations * share * part

    def of(self, kind: int, spread: float) -> list[Served]:
        """All operations of a kind; `spread` is the standard deviation of the logarithm of their times."""
        return [
            Served(Unstalled(count, _time_s(mean), spread), busy / _UTILISATIONS, _time_s(residual))
            for (k, mean, busy, residual), count in self._counts.items()
            if k == kind
        ]


def _bucket(time_s: float) -> int:
    return round(math.log2(time_s) * _TIMES_PER_OCTAVE)


def _time_s(bucket: int) -> float:
    return math.exp2(bucket / _TIMES_PER_OCTAVE)
