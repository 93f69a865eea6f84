"""Analysis of a sweep: effects, Sobol indices, best configurations and Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.sweep.best import Front, Ranking, best, pareto
from lsmlab.sim.studies.sweep.effects import Effects, effects
from lsmlab.sim.studies.sweep.measured import Objective, read_measured
from lsmlab.sim.studies.sweep.sensitivity import SobolIndex, sobol_indices

ANALYSIS: Final = "analysis.json"
"""File with the analysis of a sweep."""


@dataclass(frozen=True)
class Analysis(Document):
    """Analysis of a sweep; the content of analysis.json."""

    objectives: list[Objective]
    seeds: int
    """Number of seeds of each configuration."""
    effects: dict[str, Effects | None]
    """Effects of each key, by number; None for a number that is the same in all configurations."""
    sobol: dict[str, list[SobolIndex]]
    """Sobol indices of each key, by number; only for a Saltelli design."""
    best: list[Ranking]
    pareto: Front | None
    """None for fewer than two objectives."""


def analyse(directory: Path, objectives: Sequence[Objective]) -> Analysis:
    """Analyse the finished runs of a sweep by its objectives, write analysis.json and return its content."""
    names = [o.name for o in objectives]
    measured = read_measured(directory, names)
    rankings = [best(measured, objective) for objective in objectives]
    found = Analysis(
        list(objectives), measured.seeds, {name: effects(measured, name) for name in names},
        {name: indices for name in names if (indices := sobol_indices(measured, name)) is not None},
        [ranking for ranking in rankings if ranking is not None], pareto(measured, objectives),
    )  # fmt: skip
    found.write(directory / ANALYSIS)
    return found
