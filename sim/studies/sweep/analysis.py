"""Analysis of a sweep: effects, Sobol indices, best configurations and Pareto front, with their uncertainty over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.lengths import StoreState
from lsmlab.sim.studies.statistics import interval, undominated
from lsmlab.sim.studies.sweep.effects import Effects, SobolIndex, effects, sobol_indices
from lsmlab.sim.studies.sweep.measured import Measured, Objective, Values, read_measured, states
from numpy.typing import NDArray

ANALYSIS: Final = "analysis.json"
"""File with the analysis of a sweep."""
_DRAWS: Final = 1000
_SEED: Final = 1
"""Seed of the draws: the same sweep always gives the same probabilities."""
_MOST_LISTED: Final = 10
"""Largest number of configurations in the ranking."""
_MOST_CANDIDATES: Final = 200
"""Largest number of configurations that draws compare, the best ones by their means; the others are too far behind."""


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
    states: dict[str, StoreState]
    """State of the store of each configuration in a ranking."""
    unsettled: int
    """Number of configurations whose stores had not settled."""
    pareto: Front | None
    """None for fewer than two objectives."""


def analyse(directory: Path, objectives: Sequence[Objective]) -> Analysis:
    """Analyse the finished runs of a sweep by its objectives, write analysis.json and return its content."""
    names = [o.name for o in objectives]
    measured = read_measured(directory, names)
    rankings = [best(measured, objective) for objective in objectives]
    known = states(directory)
    ranked = dict.fromkeys(row.configuration for ranking in rankings if ranking is not None for row in ranking.ranking)
    found = Analysis(
        list(objectives), measured.seeds, {name: effects(measured, name) for name in names},
        {name: indices for name in names if (indices := sobol_indices(measured, name)) is not None},
        [ranking for ranking in rankings if ranking is not None], {name: known[name] for name in ranked if name in known},
        sum(state.unsettled is not None for state in known.values()), pareto(measured, objectives),
    )  # fmt: skip
    found.write(directory / ANALYSIS)
    return found


@dataclass(frozen=True)
class Ranked:
    """A configuration in a ranking."""

    configuration: str
    mean: float
    low: float | None
    """90 % interval of the mean; None for a single seed."""
    high: float | None
    probability: float | None
    """Probability of being the best; None for a single seed."""


@dataclass(frozen=True)
class Ranking:
    """Best configurations by one objective."""

    objective: str
    largest: bool
    ranking: list[Ranked]
    ties: list[str]
    """Configurations that have the same value as the best with every seed."""


@dataclass(frozen=True)
class OnFront:
    """A configuration on the Pareto front."""

    configuration: str
    values: dict[str, float]
    """Mean of each objective."""
    probability: float | None
    """Probability that no other configuration beats it; None for a single seed."""


@dataclass(frozen=True)
class Front:
    """Configurations that no other one beats in all objectives."""

    front: list[OnFront]
    configurations: int
    """Number of configurations that have all objectives."""
    ties: list[list[str]]
    """Groups of configurations on the front with the same values of all objectives."""


def best(measured: Measured, objective: Objective) -> Ranking | None:
    """Return the best configurations in order, each with its mean, 90 % interval and probability of being the best.

    The probability is that of the largest mean among draws (`_draws`); exact ties share it. `ties`: configurations that
    have the same value as the best with every seed. None if no configuration has values with all seeds.
    """
    values = objective.sign * measured.metrics[objective.name]
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    if not len(known):
        return None
    values = values[known]
    means = values.mean(axis=1)
    order = np.argsort(-means, kind="stable")
    chances = _chances_of_being_best(values[order[:_MOST_CANDIDATES]])
    ties = [measured.names[known[i]] for i in order if (values[i] == values[order[0]]).all()]
    rows = []
    for place, i in enumerate(order[:_MOST_LISTED]):
        found = interval([float(v) for v in objective.sign * values[i]])
        chance = None if chances is None else float(chances[place])
        rows.append(Ranked(measured.names[known[i]], float(found["mean"] or 0.0), found["low"], found["high"], chance))
    return Ranking(objective.name, objective.largest, rows, ties if len(ties) > 1 else [])


def _chances_of_being_best(values: Values) -> Values | None:
    if values.shape[1] < 2:
        return None
    won = np.zeros(len(values))
    for drawn in _draws(values):
        winners = drawn == drawn.max()
        won += winners / winners.sum()
    return won / _DRAWS


def _draws(values: Values) -> Values:
    """Return draws of the means over the seeds, one row per draw, from their joint t distribution.

    All configurations have the same seeds, so a draw moves them together: each seed gets one random weight, and one common
    scale accounts for the small number of seeds.
    """
    random = np.random.default_rng(_SEED)
    count = values.shape[1]
    weights = random.standard_normal((_DRAWS, count)) / np.sqrt(count * (count - 1))
    weights *= np.sqrt((count - 1) / random.chisquare(count - 1, (_DRAWS, 1)))
    means = values.mean(axis=1)
    return np.asarray(means + weights @ (values - means[:, None]).T, dtype=float)


def pareto(measured: Measured, objectives: Sequence[Objective]) -> Front | None:
    """Return the configurations that no other one beats in all objectives, with the probability that this holds.

    None for fewer than two objectives.
    """
    if len(objectives) < 2:
        return None
    signed = [o.sign * measured.metrics[o.name] for o in objectives]
    known = np.flatnonzero(np.all([np.isfinite(v).all(axis=1) for v in signed], axis=0))
    if not len(known):
        return None
    signed = [v[known] for v in signed]
    means = np.stack([v.mean(axis=1) for v in signed], axis=1)
    front = np.flatnonzero(undominated(means))
    chances = None
    if measured.seeds > 1:
        near = _candidates(means, front)
        joint = _draws(np.concatenate([v[near] for v in signed])).reshape(_DRAWS, len(objectives), len(near))
        chances = np.mean([_holds(one.T, len(front)) for one in joint], axis=0)
    order = front[np.argsort(-means[front, 0], kind="stable")]
    places = {int(i): n for n, i in enumerate(front)}
    rows = [
        OnFront(
            measured.names[known[i]], {o.name: float(o.sign * means[i, column]) for column, o in enumerate(objectives)},
            None if chances is None else float(chances[places[int(i)]]),
        )
        for i in order
    ]  # fmt: skip
    return Front(rows, len(known), _ties(rows))


def _candidates(means: Values, front: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the front, and then those other configurations that lie least behind it, up to a largest number."""
    scale = np.ptp(means, axis=0)
    scaled = means / np.where(scale > 0.0, scale, 1.0)
    behind = np.array([(scaled[front] - one).min(axis=1).max() for one in scaled])
    behind[front] = -1.0
    nearest = np.argsort(behind, kind="stable")[: max(_MOST_CANDIDATES, len(front))]
    return np.concatenate([front, np.setdiff1d(nearest, front)])


def _holds(points: Values, count: int) -> NDArray[np.bool_]:
    """Return which of the first `count` points are undominated among all."""
    better = (points[:, None, :] >= points[None, :count, :]).all(axis=2) & (
        points[:, None, :] > points[None, :count, :]
    ).any(axis=2)
    return np.asarray(~better.any(axis=0), dtype=bool)


def _ties(rows: Sequence[OnFront]) -> list[list[str]]:
    groups: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        groups.setdefault(tuple(row.values.values()), []).append(row.configuration)
    return [group for group in groups.values() if len(group) > 1]
