"""Analysis of a sweep: effects, Sobol indices, best configurations and Pareto front, written to analysis.json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.exploration.best import best, pareto
from lsmlab.sim.exploration.effects import effects
from lsmlab.sim.exploration.measured import Objective, read_measured
from lsmlab.sim.exploration.sensitivity import sobol_indices
from lsmlab.sim.results.jsontext import write_json

ANALYSIS: Final = "analysis.json"
"""File with the analysis of a sweep."""
FINISHERS: Final = "lsmlab.sweep_finishers"
"""Entry points `(directory: Path) -> Path | None` that may draw the page of a sweep."""


def analyse(directory: Path, objectives: Sequence[Objective]) -> dict[str, Any]:
    """Analyse the finished runs of a sweep by its objectives, write analysis.json and return its content."""
    measured = read_measured(directory, [o.name for o in objectives])
    names = [o.name for o in objectives]
    rankings = [best(measured, objective) for objective in objectives]
    found: dict[str, Any] = {
        "objectives": [{"name": o.name, "largest": o.largest} for o in objectives],
        "seeds": measured.seeds,
        "effects": {name: effects(measured, name) for name in names},
        "sobol": {name: indices for name in names if (indices := sobol_indices(measured, name)) is not None},
        "best": [ranking for ranking in rankings if ranking is not None],
        "pareto": pareto(measured, objectives),
    }
    write_json(directory / ANALYSIS, found)
    return found
