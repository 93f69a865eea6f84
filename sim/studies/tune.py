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
from lsmlab.sim.studies.goals import (
    GOALS,
    GoalLimits,
    goal_metric,
    limits_text,
    memory_bytes,
    read_goal,
    read_limits,
)
from lsmlab.sim.studies.intervals import is_saturating
from lsmlab.sim.studies.lengths import StoreState, settled_baseline, state_of
from lsmlab.sim.studies.metrics import BY_NAME, Metric
from lsmlab.sim.studies.optuna_search import (
    WINDOW,
    PointTried,
    SearchProblem,
    best_points,
    failures,
    history,
    importances,
    open_study,
    search,
    window_of,
)
from lsmlab.sim.studies.request import argument, command_of, option
from lsmlab.sim.studies.study import Outcome, Study, Variant
from lsmlab.sim.studies.sweep.space import SweepSpace, parse_space
from lsmlab.sim.studies.whatif import PRESENT
from lsmlab.sim.studies.written_options import OptionsAdvice, write_options

_SEARCH_SEEDS: Final = 2
"""Seeds per point of the search."""
_FRESH_SEED: Final = 1000
"""Distance of the first fresh seed from the first seed of the search."""
_TUNED, _LEAN = "tuned", "without useless settings"
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
    """Whether the setting improves a goal."""


@dataclass(frozen=True)
class TuningVerdict:
    """Recommended settings on seeds that are new to the search, so that the noise by which they were chosen is no advantage."""

    seeds: list[int]
    settings: list[str]
    """The best point's settings without those that do not help, as they ran."""
    left_out: list[str]
    """Settings of the best point that do not help."""
    present: dict[str, float]
    """Mean of each metric of the present state."""
    tuned: dict[str, float]
    """Mean of each metric with `settings`."""
    present_state: StoreState
    tuned_state: StoreState
    differences: list[Difference]
    """Differences of `settings` from the present state."""
    parts: list[Contribution]

    @property
    def mends_overload(self) -> bool:
        """Whether the settings let a store keep up with its load that could not."""
        return bool(self.present_state.overload) and not self.tuned_state.overload

    def of(self, metric: str) -> Difference | None:
        """Return the difference in a metric; None for latencies of a store that cannot keep up, which grow with the run."""
        return next((d for d in self.differences if d.metric == metric), None)


@dataclass(frozen=True)
class Tuning(Document):
    """Result of a search; the content of tuning.json."""

    store: str
    goals: list[str]
    metrics: list[str]
    """Metric of each goal, which depends on whether clients wait for the store (`goal_metric`)."""
    limits: str
    space: list[str]
    points: PointCounts
    front: list[tuple[str, list[float]]]
    """Points that hold all limits and that no other such point beats in every goal, with the values of the goals."""
    best: str | None
    verdict: TuningVerdict | None
    importance: dict[str, float]
    history: list[PointTried]
    command: str
    """Command that repeats the answer."""
    options: OptionsAdvice | None
    """OPTIONS file with `verdict.settings`; None if they do not certainly help."""


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
    quiet = replace(runs, quiet=True)  # the search shows its points
    if baseline.lengthens(request.settled, request.space):
        baseline = settled_baseline(baseline, runs)
    config = baseline.compose()
    goals = tuple(read_goal(name or None, config) for name in (request.goal or "").split(","))
    closed = is_saturating(config)
    limits = read_limits(request.memory, request.at_most, closed=closed)
    problem = SearchProblem(
        baseline, goals, limits, _SEARCH_SEEDS, lambda study: study.run(quiet), window_of(config), closed
    )
    seed = int(config.get("seed", 1))
    study = open_study(folder, problem, seed)
    search(study, problem, space, request.trials, seed, _until_s(request.time), quiet=runs.quiet)
    front = best_points(study, problem)
    best = front[0][0] if front else None
    verdict, options = None, None
    metrics = list(problem.metrics().values())
    if best is not None:
        tail = goal_metric("p999", closed=closed)
        check = _Check(baseline, metrics, tail, limits, seed + _FRESH_SEED, request.replications, quiet)
        verdict, summary = check.verdict(best.split(" "))
        if verdict.mends_overload or any(helps(metric, verdict.of(metric.name)) for metric in metrics):
            options = write_options(baseline, verdict.settings, summary, folder)
    states = [trial.state.name for trial in study.get_trials(deepcopy=False)]
    return Tuning(
        baseline.name, list(goals), [metric.name for metric in metrics], limits_text(limits), list(request.space),
        PointCounts(states.count("COMPLETE"), states.count("PRUNED"), failures(study)),
        [(name, list(values)) for name, values in front], best, verdict, importances(study, problem),
        history(study, problem), command_of("tune", request), options,
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


def helps(metric: Metric, found: Difference | None) -> bool:
    """Return whether a metric is certainly better."""
    return found is not None and found.certain and (found.change > 0.0) is metric.higher_is_better


@dataclass(frozen=True)
class _Check:
    """Check of a best point with seeds that the search did not use."""

    baseline: Baseline
    metrics: Sequence[Metric]
    """Metrics of the goals."""
    tail: Metric
    """The latency of 1 operation in 1,000, which each answer shows."""
    limits: GoalLimits
    first_seed: int
    seeds: int
    runs: Settings

    def verdict(self, best: Sequence[str]) -> tuple[TuningVerdict, Mapping[str, Any]]:
        """Return the verdict on a best point without its useless settings; also return a present run.

        Two settings may do the same, so that neither makes a difference beside the other. Therefore the point without all
        useless settings runs too; if it is worse, or breaks a limit, the whole point is recommended.
        """
        without = {f"without {text}": text for text in best} if len(best) > 1 else {}
        changes: dict[str, Sequence[str]] = {PRESENT: (), _TUNED: best}
        changes |= {name: [t for t in best if t != text] for name, text in without.items()}
        outcome = self._run(changes, needed=(PRESENT, _TUNED))
        present, tuned = outcome.repeats(PRESENT), outcome.repeats(_TUNED)
        parts = [
            self._contribution(text, outcome.repeats(name), tuned)
            for name, text in without.items()
            if outcome.of(name) and outcome.finished(name)
        ]
        useless = [part.override for part in parts if not part.matters]
        settings = [text for text in best if text not in useless]
        if useless and settings and (lean := self._lean(settings, tuned)) is not None:
            tuned = lean
        else:
            settings, useless = list(best), []
        verdict = TuningVerdict(
            present.seeds, settings, useless, present.means(*self.metrics), tuned.means(*self.metrics), state_of(present),
            state_of(tuned), differences(present, tuned, (*self.metrics, self.tail)), parts,
        )  # fmt: skip
        return verdict, present.summaries[0]

    def _lean(self, settings: Sequence[str], tuned: Repeats) -> Repeats | None:
        """Return the runs of fewer settings; None if they are worse than those of the whole point, or break a limit."""
        outcome = self._run({_LEAN: settings}, needed=())
        if not outcome.of(_LEAN) or not outcome.finished(_LEAN):
            return None
        found = outcome.repeats(_LEAN)
        memory = memory_bytes(self._fresh().compose(settings))
        if any(self.limits.broken(summary, memory) for summary in found.summaries):
            return None
        return None if _better(found, tuned, self._own(found, tuned)) else found

    def _run(self, changes: Mapping[str, Sequence[str]], needed: Sequence[str]) -> Outcome:
        """Run configurations; one that does not compose is left out unless it is `needed`."""
        variants = {}
        for name, own in changes.items():
            try:
                variants[name] = Variant(self._fresh().compose(own))
            except InputError:
                if name in needed:
                    raise  # a setting that the others need has no part of its own
        return Study(variants, self.seeds).run(self.runs)

    def _fresh(self) -> Baseline:
        return replace(self.baseline, overrides=(*self.baseline.overrides, f"seed={self.first_seed}"))

    def _contribution(self, override: str, without: Repeats, tuned: Repeats) -> Contribution:
        own = self._own(without, tuned)
        return Contribution(override, own, _better(without, tuned, own))

    def _own(self, before: Repeats, after: Repeats) -> list[Difference]:
        """Return the differences in the goals."""
        found = {d.metric: d for d in differences(before, after, self.metrics)}
        return [found[metric.name] for metric in self.metrics if metric.name in found]


def _better(before: Repeats, after: Repeats, own: Sequence[Difference]) -> bool:
    """Return whether a goal is better after a change (`own`: its differences), or only then the store keeps up."""
    return any(map(_improves, own)) or (before.overloaded and not after.overloaded)


def _improves(found: Difference) -> bool:
    """Return whether the alternative is better by more than the smallest contribution worth keeping."""
    gain = found.change if BY_NAME[found.metric].higher_is_better else -found.change
    return not found.tie and gain > _LEAST
