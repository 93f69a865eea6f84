"""Compares the effect of a changed key in simulation and real store, for pairs of cases that differ in one key."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.validation.scorecard.metrics import DIFFERENCE, METRICS
from lsmlab.validation.scorecard.score import ScoreRow

TREND_METRICS: Final = ("ops_per_s", "write_amplification", "stall_fraction")
_LEAST: Final = 0.05
"""Smallest real change, relative or of a share, that is counted; a smaller one may be noise.

See (behaviour/measurements.md, Noise between repeats).
"""
_KINDS: Final = {m.name: m.kind for m in METRICS}


@dataclass(frozen=True, slots=True)
class Trend:
    """One metric of two cases that differ in one key."""

    metric: str
    key: str
    first: str
    second: str
    real: float
    """Change from the first case to the second: relative, or a difference for shares."""
    simulated: float

    @property
    def same_direction(self) -> bool:
        """Whether real and simulated change have the same direction."""
        return (self.real > 0) == (self.simulated > 0)


def trends(cases: Iterable[tuple[str, Sequence[str]]], rows: Iterable[ScoreRow]) -> list[Trend]:
    """Return all pairs of cases that differ in one key and whose real numbers differ by more than noise.

    `cases` are (name, overrides); `rows` are the numbers of these cases.
    """
    settings = {name: dict(text.partition("=")[::2] for text in overrides) for name, overrides in cases}
    numbers = {
        (row.case, row.metric): (row.real, row.simulated)
        for row in rows
        if row.metric in TREND_METRICS and isinstance(row.real, float) and isinstance(row.simulated, float)
    }
    found = []
    for a, b in itertools.combinations(settings, 2):
        key = _only_difference(settings[a], settings[b])
        if key is None:
            continue
        for metric in TREND_METRICS:
            if (a, metric) in numbers and (b, metric) in numbers:
                (real_a, simulated_a), (real_b, simulated_b) = numbers[a, metric], numbers[b, metric]
                real, simulated = _change(metric, real_a, real_b), _change(metric, simulated_a, simulated_b)
                if abs(real) > _LEAST:
                    found.append(Trend(metric, key, a, b, real, simulated))
    return found


def _only_difference(a: dict[str, str], b: dict[str, str]) -> str | None:
    """Return the only key in which two configurations differ; None if there is none or more than one."""
    if len(a.keys() ^ b.keys()) > 1:
        return None
    different = [key for key in a.keys() | b.keys() if a.get(key) != b.get(key)]
    return different[0] if len(different) == 1 else None


def _change(metric: str, first: Any, second: Any) -> float:
    if _KINDS[metric] is DIFFERENCE:
        return float(second - first)
    return float(second / first - 1.0) if first else 0.0


def trend_shares(found: Sequence[Trend]) -> dict[str, Any]:
    """Return by metric the count of changes with the right direction, and all changes with the wrong one."""
    shares: dict[str, Any] = {}
    for metric in TREND_METRICS:
        mine = [t for t in found if t.metric == metric]
        if mine:
            wrong = [
                {"key": t.key, "first": t.first, "second": t.second, "real": t.real, "simulated": t.simulated}
                for t in mine
                if not t.same_direction
            ]
            shares[metric] = {"right": len(mine) - len(wrong), "total": len(mine), "wrong": wrong}
    return shares
