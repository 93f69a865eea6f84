"""Search of a space with Optuna: batches of points, pruning by a short window, a journal from which a search resumes."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from lsmlab.models.errors import InputError
from lsmlab.sim.runs.index import typed_value
from lsmlab.sim.runs.run_progress import RunProgress
from lsmlab.sim.studies.baseline import Baseline
from lsmlab.sim.studies.differences import Repeats
from lsmlab.sim.studies.goals import GOALS, GoalLimits, goal_metric, memory_bytes
from lsmlab.sim.studies.metrics import Metric, value_of
from lsmlab.sim.studies.statistics import undominated
from lsmlab.sim.studies.study import Outcome, Study, Variant
from lsmlab.sim.studies.sweep.space import Dimension, SweepSpace

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

JOURNAL: Final = "study.journal"
BATCH: Final = 4
"""Points that are drawn together. A fixed number: the points do not depend on the number of processes."""
WINDOW: Final = 0.5
"""Length of the short run that comes first, as a share of the run: it only finds clear losers, and no answer has its numbers.

At half time, runs stand in the order of their whole numbers (Spearman's correlation 0.93 to 0.98).
"""
_STARTUP: Final = 12
"""Points that are drawn at random before the sampler learns, and before a point may be pruned."""
_HOPELESS: Final = 25.0
"""Percentage of the worst short windows whose points are pruned."""
_MOST_WHOLE: Final = 64
"""Largest number of whole values that Optuna draws as whole numbers; longer ranges are drawn as shares of their scale."""
_EXCESS, _NAME, _ERROR, _SHORT = "excess", "name", "error", 0


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the space with its values."""

    name: str
    values: tuple[float, ...] | None
    """Value of each goal; None if the configuration cannot run or lacks a goal."""
    excess: tuple[float, ...] = ()
    """Excess over each limit: positive if the point breaks the limit (Optuna's constraints)."""
    error: str | None = None


@dataclass(frozen=True)
class PointTried:
    """Point that was simulated in full."""

    point: str
    """Its overrides."""
    values: dict[str, float]
    """Value of each goal."""
    holds_limits: bool


@dataclass(frozen=True)
class SearchProblem:
    """Goals and limits of a search over one store."""

    baseline: Baseline
    goals: tuple[str, ...]
    limits: GoalLimits
    seeds: int
    """Seeds per point."""
    run: Callable[[Study], Outcome]
    window: tuple[str, ...] = ()
    """Override that shortens a run to its first part; empty if the load has no fixed length."""

    closed: bool = False
    """Whether clients send each operation when the previous one returns (`goal_metric`)."""

    def metrics(self) -> dict[str, Metric]:
        """Return the metric of each goal."""
        return {goal: goal_metric(goal, closed=self.closed) for goal in self.goals}

    def directions(self) -> list[Literal["minimize", "maximize"]]:
        """Return Optuna's direction of each goal."""
        return ["maximize" if GOALS[goal].higher_is_better else "minimize" for goal in self.goals]

    def evaluate(self, points: Sequence[tuple[str, ...]], *, short: bool = False) -> list[Point]:
        """Run points, given as overrides, with all seeds; with `short`, only the first part of each run."""
        ready: dict[str, Variant] = {}
        found: dict[str, Point] = {}
        for own in points:
            name = " ".join(own)
            try:
                ready[name] = Variant(self.baseline.compose([*own, *(self.window if short else ())]))
            except InputError as error:
                found[name] = Point(name, None, error=str(error))
        outcome = self.run(Study(ready, self.seeds, perturbed=False))
        for name, variant in ready.items():
            try:
                found[name] = self._point(name, variant.config, outcome.repeats(name))
            except InputError as error:
                found[name] = Point(name, None, error=str(error))
        return [found[" ".join(own)] for own in points]

    def _point(self, name: str, config: Mapping[str, Any], repeats: Repeats) -> Point:
        values = {g: _mean([value_of(s, metric.name) for s in repeats.summaries]) for g, metric in self.metrics().items()}
        missing = next((goal for goal, value in values.items() if value is None), None)
        if missing is not None:
            return Point(name, None, error=f"the run has no {GOALS[missing].label}")
        return Point(name, tuple(v for v in values.values() if v is not None), self._excess(config, repeats))

    def _excess(self, config: Mapping[str, Any], repeats: Repeats) -> tuple[float, ...]:
        found = []
        if self.limits.memory_bytes is not None:
            found.append(memory_bytes(config) / self.limits.memory_bytes - 1.0)
        for goal, most in self.limits.at_most.items():
            value = _mean([value_of(s, self.limits.metric(goal).name) for s in repeats.summaries])
            found.append((value - most) / max(abs(most), 1e-12) if value is not None else 0.0)
        return tuple(found)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def window_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the override that shortens a load to its first part; empty if it has neither duration nor operations."""
    workload = config["workload"]
    for key in ("duration", "operations"):
        value = typed_value(workload.get(key))
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return (f"workload.{key}={round(WINDOW * value) if key == 'operations' else f'{WINDOW * value:g}s'}",)
    return ()


def distribution(dimension: Dimension) -> BaseDistribution:
    """Return a dimension as a distribution of Optuna."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    between = dimension.range
    if between is None:
        return CategoricalDistribution(dimension.choices)
    if _is_whole(dimension):
        return IntDistribution(int(between.low), int(between.high), log=between.logarithmic)
    return FloatDistribution(0.0, 1.0)


def _is_whole(dimension: Dimension) -> bool:
    between = dimension.range
    return between is not None and between.whole and between.high - between.low < _MOST_WHOLE


def overrides(space: SweepSpace, drawn: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the overrides of a point that Optuna has drawn."""
    return tuple(f"{d.key}={_value(d, drawn[d.key])}" for d in space.dimensions)


def _value(dimension: Dimension, drawn: Any) -> str:
    return str(drawn) if dimension.range is None or _is_whole(dimension) else dimension.at(float(drawn))


def open_study(directory: Path, objective: SearchProblem, seed: int) -> optuna.Study:
    """Open the study of a folder, or begin it. Raises InputError if the folder has a study with other goals."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = JournalStorage(JournalFileBackend(str(directory / JOURNAL)))
    names = [s.study_name for s in optuna.get_all_study_summaries(storage)]
    title = f"{','.join(objective.goals)} seed {seed}"
    if names and names != [title]:
        raise InputError(f"{directory}: has a search for {names[0]}; choose another --out, or the same goals and seed")
    pruner = optuna.pruners.PercentilePruner(100.0 - _HOPELESS, n_startup_trials=_STARTUP)
    return optuna.create_study(
        storage=storage, study_name=title, directions=objective.directions(), pruner=pruner, load_if_exists=True
    )


def search(
    study: optuna.Study, objective: SearchProblem, space: SweepSpace, trials: int, seed: int, until_s: float | None,
    *, quiet: bool = True,
) -> None:
    """Draw and run batches until the study has `trials` finished points or the monotonic clock reaches `until_s`.

    The sampler of a batch is seeded by the number of the batch, so that a resumed search draws the same points.
    `quiet`: no progress on stderr.
    """
    _drop_unfinished(study)
    progress = RunProgress(trials, min(_finished(study), trials), quiet=quiet, noun="points")
    while (done := _finished(study)) < trials and (until_s is None or time.monotonic() < until_s):
        study.sampler = _sampler(objective, seed, done)
        drawn = [study.ask({d.key: distribution(d) for d in space.dimensions}) for _ in range(min(BATCH, trials - done))]
        points = [overrides(space, trial.params) for trial in drawn]
        for trial, point in zip(drawn, _evaluated(objective, drawn, points), strict=True):
            _tell(study, trial, point)
            progress.ended(trial.number)
    progress.close()


def _evaluated(
    objective: SearchProblem, drawn: Sequence[optuna.Trial], points: Sequence[tuple[str, ...]]
) -> list[Point | None]:
    """Return the results of the points; None for a point that its short window prunes."""
    kept = dict.fromkeys(range(len(points)), True)
    if objective.window and len(objective.goals) == 1:
        for number, (trial, short) in enumerate(zip(drawn, objective.evaluate(points, short=True), strict=True)):
            if short.values is not None:
                trial.report(short.values[0], step=_SHORT)
                kept[number] = not trial.should_prune()
    whole = iter(objective.evaluate([point for number, point in enumerate(points) if kept[number]]))
    return [next(whole) if kept[number] else None for number in range(len(points))]


def _tell(study: optuna.Study, trial: optuna.Trial, point: Point | None) -> None:
    from optuna.trial import TrialState

    if point is None:
        study.tell(trial, state=TrialState.PRUNED)
        return
    trial.set_user_attr(_NAME, point.name)
    trial.set_user_attr(_EXCESS, list(point.excess))
    for number, excess in enumerate(point.excess):
        trial.set_constraint(f"limit {number}", excess)
    if point.values is None:
        trial.set_user_attr(_ERROR, point.error)
        study.tell(trial, state=TrialState.FAIL)
    else:
        study.tell(trial, list(point.values))


def _sampler(objective: SearchProblem, seed: int, done: int) -> Any:
    import optuna

    own = seed * 1_000_003 + done
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # of arguments that Optuna has had for years
    if len(objective.goals) > 1:
        return optuna.samplers.NSGAIISampler(seed=own, population_size=5 * BATCH)
    return optuna.samplers.TPESampler(
        seed=own, multivariate=True, constant_liar=True, n_startup_trials=_STARTUP
    )


def _finished(study: optuna.Study) -> int:
    """Return the number of points that were tried; the points of an interrupted batch do not count."""
    return sum(t.state.is_finished() and not _interrupted(t) for t in study.get_trials(deepcopy=False))


def _interrupted(trial: optuna.trial.FrozenTrial) -> bool:
    from optuna.trial import TrialState

    return trial.state == TrialState.FAIL and _ERROR not in trial.user_attrs


def failures(study: optuna.Study) -> int:
    """Return the number of points that were not possible; those of an interrupted batch do not count."""
    from optuna.trial import TrialState

    return sum(not _interrupted(t) for t in study.get_trials(deepcopy=False, states=(TrialState.FAIL,)))


def _drop_unfinished(study: optuna.Study) -> None:
    """Mark the points of an interrupted batch as failed; the same points are drawn again."""
    from optuna.trial import TrialState

    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        study.tell(trial.number, state=TrialState.FAIL)


def best_points(study: optuna.Study, objective: SearchProblem) -> list[tuple[str, tuple[float, ...]]]:
    """Return the points that hold all limits and that no other such point beats in every goal, as (name, values)."""
    from optuna.trial import TrialState

    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    good = [(str(t.user_attrs[_NAME]), tuple(t.values)) for t in done if all(x <= 0.0 for x in t.user_attrs[_EXCESS])]
    signs = [1.0 if direction == "maximize" else -1.0 for direction in objective.directions()]
    kept = undominated([[s * v for s, v in zip(signs, values, strict=True)] for _, values in good]) if good else []
    front = dict(entry for entry, stays in zip(good, kept, strict=True) if stays)
    return sorted(front.items(), key=lambda entry: (-signs[0] * entry[1][0], entry[0]))


def history(study: optuna.Study, objective: SearchProblem) -> list[PointTried]:
    """Return the points that were simulated in full, in the order of the search."""
    from optuna.trial import TrialState

    return [
        PointTried(
            str(trial.user_attrs[_NAME]), dict(zip(objective.goals, trial.values, strict=True)),
            all(excess <= 0.0 for excess in trial.user_attrs[_EXCESS]),
        )
        for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    ]  # fmt: skip


def importances(study: optuna.Study, objective: SearchProblem) -> dict[str, float]:
    """Return the importance of each key for good values of the first goal (PED-ANOVA); empty with too few points."""
    import optuna

    done = [t for t in study.get_trials(deepcopy=False) if t.state == optuna.trial.TrialState.COMPLETE]
    if len(done) < _STARTUP or len({tuple(t.values) for t in done}) < 2:
        return {}
    sign = -1.0 if objective.directions()[0] == "maximize" else 1.0  # the evaluator looks for low values
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it advises the sign that `target` has
        return dict(optuna.importance.get_param_importances(study, evaluator=evaluator, target=lambda t: sign * t.values[0]))
