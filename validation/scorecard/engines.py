"""Results of each recorded run of other engines: there are few of them, and each exercises another mechanism."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.validation.scorecard.card import ENGINES, Scorecard
from lsmlab.validation.scorecard.metrics import DIFFERENCE, error_text
from lsmlab.validation.scorecard.score import Row

GOALS: Final = {"ops_per_s": 0.10, "write_amplification": 0.08, "stall_fraction": 0.08, "slow_seconds": 0.08}
"""Largest accepted error (issue 4): relative, or points for shares; an error up to twice the noise is always
accepted."""
_SHOWN: Final = {"ops_per_s": "throughput", "write_amplification": "W-Amp", "stall_fraction": "stalled",
                 "slow_seconds": "seconds below 1200 op/s"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class EngineRow:
    """One number of one recorded run."""

    case: str
    metric: str
    real: str
    simulated: str
    error: str
    met: bool


def engine_rows(card: Scorecard) -> list[EngineRow]:
    """Return all numbers with a goal, by case."""
    return list(_rows(card.of(ENGINES)))


def _rows(rows: Sequence[Row]) -> Iterator[EngineRow]:
    for row in rows:
        if row.metric in GOALS and isinstance(row.real, float) and isinstance(row.simulated, float):
            limit = max(GOALS[row.metric], 2.0 * (row.noise or 0.0))
            kind = row.scored_by.kind
            share = kind is DIFFERENCE
            real, simulated = (_number(v, share=share) for v in (row.real, row.simulated))
            error = error_text(row.error, kind, signed=True)
            yield EngineRow(row.case, _SHOWN[row.metric], real, simulated, error, abs(row.error) <= limit + 1e-12)


def _number(value: float, *, share: bool) -> str:
    return f"{100 * value:.1f} %" if share else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
