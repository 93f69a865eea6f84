"""Search with Optuna: batches of points, pruning by a short window, a journal from which a search resumes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.exploration.space import Space
from lsmlab.sim.runs.progress import RunProgress
from lsmlab.sim.tuning.dimensions import distributions, overrides
from lsmlab.sim.tuning.objective import Objective, Point

if TYPE_CHECKING:
    import optuna

JOURNAL: Final = "study.journal"
BATCH: Final = 4
"""Points that are drawn together. A fixed number: the points do not depend on the number of processes."""
_STARTUP: Final = 12
"""Points that are drawn at random before the sampler learns, and before a point may be pruned."""
_HOPELESS: Final = 25.0
"""Percentage of the worst short windows whose points are pruned."""
_EXCESS, _NAME, _ERROR, _SHORT = "excess", "name", "error", 0


def open_study(directory: Path, objective: Objective, seed: int) -> optuna.Study:
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
    study: optuna.Study, objective: Objective, space: Space, trials: int, seed: int, until_s: float | None,
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
        drawn = [study.ask(distributions(space)) for _ in range(min(BATCH, trials - done))]
        points = [overrides(space, trial.params) for trial in drawn]
        for trial, point in zip(drawn, _evaluated(objective, drawn, points), strict=True):
            _tell(study, trial, point)
            progress.ended(trial.number)
    progress.close()


def _evaluated(
    objective: Objective, drawn: Sequence[optuna.Trial], points: Sequence[tuple[str, ...]]
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


def _sampler(objective: Objective, seed: int, done: int) -> Any:
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


def _drop_unfinished(study: optuna.Study) -> None:
    """Mark the points of an interrupted batch as failed; the same points are drawn again."""
    from optuna.trial import TrialState

    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        study.tell(trial.number, state=TrialState.FAIL)


def best_points(study: optuna.Study, objective: Objective) -> list[tuple[str, tuple[float, ...]]]:
    """Return the points that hold all limits and that no other such point beats in every goal, as (name, values)."""
    from optuna.trial import TrialState

    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    good = [(str(t.user_attrs[_NAME]), tuple(t.values)) for t in done if all(x <= 0.0 for x in t.user_attrs[_EXCESS])]
    signs = [1.0 if direction == "maximize" else -1.0 for direction in objective.directions()]

    def beats(a: Sequence[float], b: Sequence[float]) -> bool:
        gains = [s * (x - y) for s, x, y in zip(signs, a, b, strict=True)]
        return min(gains) >= 0.0 and max(gains) > 0.0

    front = {name: values for name, values in good if not any(beats(other, values) for _, other in good)}
    return sorted(front.items(), key=lambda entry: (-signs[0] * entry[1][0], entry[0]))


def history(study: optuna.Study, objective: Objective) -> list[dict[str, Any]]:
    """Return the points that were simulated in full, in the order of the search.

    Keys: `point` (its overrides), `values` (of each goal), `holds_limits`.
    """
    from optuna.trial import TrialState

    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return [
        {
            "point": str(trial.user_attrs[_NAME]),
            "values": dict(zip(objective.goals, trial.values, strict=True)),
            "holds_limits": all(excess <= 0.0 for excess in trial.user_attrs[_EXCESS]),
        }
        for trial in done
    ]


def importances(study: optuna.Study, objective: Objective) -> dict[str, float]:
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
