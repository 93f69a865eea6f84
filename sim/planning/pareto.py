"""Pareto front of candidates: cost, tail latency and drive life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

OBJECTIVES: Final = ("cost_usd_per_month", "tail_s", "wear_per_year")
"""Objectives of a plan's front, smaller is better: cost, write P99.9 at the planned rate, 1 / drive life."""


def front(rows: Sequence[Mapping[str, float | None]], objectives: Sequence[str] = OBJECTIVES) -> list[int]:
    """Return the numbers of the rows that no other row dominates.

    A row dominates another one if it is at least as good in each objective and better in one. An objective that is unknown
    in one of two rows makes them incomparable; one that is unknown in both is left out. Equal rows are all on the front.
    """
    return [
        number for number, row in enumerate(rows)
        if not any(_dominates(other, row, objectives) for other in rows if other is not row)
    ]  # fmt: skip


def _dominates(one: Mapping[str, float | None], other: Mapping[str, float | None], objectives: Sequence[str]) -> bool:
    better = False
    for name in objectives:
        a, b = one.get(name), other.get(name)
        if a is None and b is None:
            continue
        if a is None or b is None or a > b:
            return False
        better |= a < b
    return better
