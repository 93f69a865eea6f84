"""Tuning: search a space of settings for a goal under limits, and check the best point with new seeds."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.estimate import CostEstimate, estimate
from lsmlab.sim.studies.baseline import Baseline, StoreRequest, read_baseline
from lsmlab.sim.studies.differences import Difference, Repeats, differences
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.goals import GOALS, read_goal, read_limits
from lsmlab.sim.studies.metrics import read_model_errors
from lsmlab.sim.studies.optuna_search import (
    WINDOW,
    PointTried,
    SearchProblem,
    best_points,
    history,
    importances,
    open_study,
    search,
    window_of,
)
from lsmlab.sim.studies.request import argument, option
from lsmlab.sim.studies.study import Study, Variant
from lsmlab.sim.studies.sweep.space import SweepSpace, parse_space
from lsmlab.sim.studies.whatif import PRESENT
from lsmlab.sim.studies.written_options import OptionsAdvice, write_options

_SEARCH_SEEDS: Final = 2
"""Seeds per point of the search."""
_FRESH_SEED: Final = 1000
"""Distance of the first fresh seed from the first seed of the search."""
_TUNED: Final = "tuned"
_LEAST: Final = 0.005
"""Smallest contribution of a setting, relative or as a share, that is worth keeping."""


@dataclass(frozen=True, kw_only=True)
class TuningRequest(StoreRequest):
    """Search a space of settings with Optuna; check the best point with new seeds and write an OPTIONS file."""

    space: tuple[str, ...] = argument(
        "KEY=VALUES", "a range (KEY=16MiB..256MiB) or a list (KEY=a,b) per setting", several=True
    )
    goal: str | None = option(None, f"{', '.join(GOALS)}; several give a Pareto front", metavar="GOAL[,GOAL]")
    memory: str | None = option(None, "limit on memtables and block cache", metavar="SIZE")
    at_most: tuple[str, ...] = option((), "a further limit; may be repeated", metavar="GOAL=VALUE")
    trials: int = option(100, "points to try (default: 100)", metavar="N", low=1)
    time: str | None = option(None, "end the search after this time, such as 10min", metavar="TIME")


@dataclass(frozen=True)
class PointCounts:
    """Points of a search."""

    complete: int
    pruned: int
    failed: int


@dataclass(frozen=True)
class Contribution:
    """Contribution of one setting to the best point: the change from the tuned store without it."""

    override: str
    differences: list[Difference]
    """Differences in the goals."""
    matters: bool


@dataclass(frozen=True)
class TuningVerdict:
    """Best point on seeds that are new to the search, so that it has no advantage from the noise by which it was chosen."""

    seeds: list[int]
    present: dict[str, float]
    """Mean of each metric of the present state."""
    tuned: dict[str, float]
    differences: list[Difference]
    parts: list[Contribution]


@dataclass(frozen=True)
class Tuning(Document):
    """Result of a search; the content of tuning.json."""

    store: str
    goals: list[str]
    space: list[str]
    points: PointCounts
    front: list[tuple[str, list[float]]]
    """Points that hold all limits and that no other such point beats in every goal, with the values of the goals."""
    best: str | None
    verdict: TuningVerdict | None
    importance: dict[str, float]
    history: list[PointTried]
    options: OptionsAdvice | None


def cost(request: TuningRequest, _runs: Settings) -> CostEstimate:
    """Return the estimated cost of a search, as if no run were in the store."""
    baseline, _ = _asked(request)
    one = estimate(baseline.compose())
    return CostEstimate((1.0 + WINDOW) * _SEARCH_SEEDS * request.trials * one.work, one.memory_bytes)


def tune(request: TuningRequest, runs: Settings, folder: Path) -> Tuning:
    """Search the space; `folder` gets the journal of the search, from which it resumes, and an OPTIONS file.

    Raises InputError for a store, space, goal or limit that is not possible, or if Optuna is not installed.
    """
    if importlib.util.find_spec("optuna") is None:
        raise InputError("tune: needs the package optuna; install it with 'pip install lsmlab[tune]'")
    baseline, space = _asked(request)
    config = baseline.compose()
    goals = tuple(read_goal(name or None, config) for name in (request.goal or "").split(","))
    limits = read_limits(request.memory, request.at_most)
    quiet = replace(runs, quiet=True)  # the search shows its points
    objective = SearchProblem(
        baseline, goals, limits, _SEARCH_SEEDS, lambda study: study.run(quiet), window_of(config)
    )
    seed = int(config.get("seed", 1))
    study = open_study(folder, objective, seed)
    search(study, objective, space, request.trials, seed, _until_s(request.time), quiet=runs.quiet)
    front = best_points(study, objective)
    best = front[0][0] if front else None
    verdict, options = None, None
    if best is not None:
        errors = read_model_errors(from_a_log=baseline.from_a_log, changed=True)
        verdict, summary = _judge(baseline, best.split(" "), goals, seed + _FRESH_SEED, request.replications, quiet, errors)
        options = write_options(baseline, best.split(" "), summary, folder)
    states = [trial.state.name for trial in study.get_trials(deepcopy=False)]
    return Tuning(
        baseline.name, list(goals), list(request.space),
        PointCounts(states.count("COMPLETE"), states.count("PRUNED"), states.count("FAIL")),
        [(name, list(values)) for name, values in front], best, verdict, importances(study, objective),
        history(study, objective), options,
    )  # fmt: skip


def _until_s(text: str | None) -> float | None:
    """Return the moment of the monotonic clock at which the search ends."""
    if text is None:
        return None
    try:
        return time.monotonic() + parse_quantity(text, "seconds")
    except InputError as error:
        raise InputError(f"--time {text}: {error}") from None


def _asked(request: TuningRequest) -> tuple[Baseline, SweepSpace]:
    space = parse_space(request.space)
    return read_baseline(request.store, [*request.set, *space.fixed], request.config_dirs), space


def _judge(
    baseline: Baseline, best: Sequence[str], goals: Sequence[str], first_seed: int, seeds: int, runs: Settings,
    errors: Mapping[str, float],
) -> tuple[TuningVerdict, Mapping[str, Any]]:  # fmt: skip
    """Run the present state, the best point, and the best point without each of its settings; also return a present run."""
    fresh = replace(baseline, overrides=(*baseline.overrides, f"seed={first_seed}"))
    without = {f"without {text}": text for text in best} if len(best) > 1 else {}
    changes: dict[str, tuple[str, ...]] = {PRESENT: (), _TUNED: tuple(best)}
    changes |= {name: tuple(t for t in best if t != text) for name, text in without.items()}
    variants = {}
    for name, own in changes.items():
        try:
            variants[name] = Variant(fresh.compose(own))
        except InputError:
            if name not in without:
                raise  # a setting that the others need has no part of its own
    outcome = Study(variants, seeds).run(runs)
    present, tuned = outcome.repeats(PRESENT), outcome.repeats(_TUNED)
    parts = [
        _contribution(text, outcome.repeats(name), tuned, goals, errors)
        for name, text in without.items()
        if name in variants and outcome.finished(name)
    ]
    verdict = TuningVerdict(present.seeds, present.means(), tuned.means(), differences(present, tuned, errors), parts)
    return verdict, present.summaries[0]


def _contribution(
    override: str, without: Repeats, tuned: Repeats, goals: Sequence[str], errors: Mapping[str, float]
) -> Contribution:
    found = {d.metric: d for d in differences(without, tuned, errors)}
    own = [found[GOALS[goal].name] for goal in goals if GOALS[goal].name in found]
    return Contribution(override, own, any(not d.tie and abs(d.change) > _LEAST for d in own))
