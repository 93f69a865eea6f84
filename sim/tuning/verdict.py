"""Verdict on the best point: its differences on new seeds, and the contribution of each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.commands.answers import Runner
from lsmlab.sim.decisions.answer import means
from lsmlab.sim.decisions.differences import Trial, differences
from lsmlab.sim.decisions.goals import GOALS
from lsmlab.sim.decisions.subject import Subject
from lsmlab.sim.decisions.trials import trial_jobs, trial_of

PRESENT, TUNED = "present state", "tuned"
_LEAST = 0.005
"""Smallest contribution of a setting, relative or as a share, that is worth keeping."""


@dataclass(frozen=True)
class Verdict:
    """Results of the present state, the best point, and the best point without each of its settings."""

    present: Trial
    tuned: Trial
    without: Mapping[str, Trial]
    """Results without one setting, by its override."""


def judge(subject: Subject, best: Sequence[str], first_seed: int, seeds: int, run: Runner) -> Verdict:
    """Run the present state, the best point and its reductions with `seeds` seeds from `first_seed` on.

    These seeds are new to the search, so that the best point has no advantage from the noise by which it was chosen.
    """
    fresh = replace(subject, overrides=(*subject.overrides, f"seed={first_seed}"))
    reduced = {f"without {text}": tuple(t for t in best if t != text) for text in best} if len(best) > 1 else {}
    changes: dict[str, tuple[str, ...]] = {PRESENT: (), TUNED: tuple(best), **reduced}
    configs: dict[str, Any] = {}
    for name, own in changes.items():
        try:
            configs[name] = fresh.compose(own)
        except InputError:
            if name in (PRESENT, TUNED):
                raise  # a setting that the others need has no part of its own
    outcomes = run(trial_jobs(list(configs), list(configs.values()), seeds))
    found = {}
    for name in configs:
        try:
            found[name] = trial_of(outcomes, name, seeds)
        except InputError:
            if name in (PRESENT, TUNED):
                raise
    without = {text: found[f"without {text}"] for text in best if f"without {text}" in found}
    return Verdict(found[PRESENT], found[TUNED], without)


def as_json(verdict: Verdict, goals: Sequence[str], errors: Mapping[str, float]) -> dict[str, Any]:
    """Return the content of a JSON document: differences from the present state, and the contribution of each setting."""
    parts = []
    for text, trial in verdict.without.items():
        found = {d.metric: d for d in differences(trial, verdict.tuned, errors)}
        own = [found[GOALS[goal].name].as_json() for goal in goals if GOALS[goal].name in found]
        parts.append({"override": text, "differences": own, "matters": _matters(own)})
    return {
        "seeds": [s.get("seed") for s in verdict.present.summaries],
        "present": means(verdict.present),
        "tuned": means(verdict.tuned),
        "differences": [d.as_json() for d in differences(verdict.present, verdict.tuned, errors)],
        "parts": parts,
    }


def _matters(found: Sequence[Mapping[str, Any]]) -> bool:
    return any(not d["tie"] and abs(d["change"]) > _LEAST for d in found)
