"""Objective of a study: goals, limits, and the values of the points that were simulated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from lsmlab.models.errors import InputError
from lsmlab.sim.commands.answers import Runner
from lsmlab.sim.decisions.differences import Trial
from lsmlab.sim.decisions.goals import GOALS, Limits, memory_bytes
from lsmlab.sim.decisions.metrics import value_of
from lsmlab.sim.decisions.subject import Subject
from lsmlab.sim.decisions.trials import trial_jobs, trial_of
from lsmlab.sim.runs.typed import typed_value

WINDOW: Final = 0.25
"""Length of the short window that comes first, as a share of the run."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the space with its values."""

    name: str
    overrides: tuple[str, ...]
    values: tuple[float, ...] | None
    """Value of each goal; None if the configuration cannot run or lacks a goal."""
    excess: tuple[float, ...] = ()
    """Excess over each limit: positive if the point breaks the limit (Optuna's constraints)."""
    error: str | None = None


@dataclass(frozen=True)
class Objective:
    """Goals and limits of a search over one store."""

    subject: Subject
    goals: tuple[str, ...]
    limits: Limits
    seeds: int
    """Seeds per point."""
    run: Runner
    window: tuple[str, ...] = field(default=())
    """Override that shortens a run to its first part; empty if the load has no fixed length."""

    def directions(self) -> list[Literal["minimize", "maximize"]]:
        """Return Optuna's direction of each goal."""
        return ["maximize" if GOALS[goal].higher_is_better else "minimize" for goal in self.goals]

    def evaluate(self, points: Sequence[tuple[str, ...]], *, short: bool = False) -> list[Point]:
        """Run points, given as overrides, with all seeds; with `short`, only the first part of each run."""
        ready: dict[str, tuple[tuple[str, ...], Mapping[str, Any]]] = {}
        found: dict[str, Point] = {}
        for own in points:
            name = " ".join(own)
            try:
                ready[name] = own, self.subject.compose([*own, *(self.window if short else ())])
            except InputError as error:
                found[name] = Point(name, own, None, error=str(error))
        outcomes = self.run(trial_jobs(list(ready), [c for _, c in ready.values()], self.seeds, displaced=False))
        for name, (own, config) in ready.items():
            try:
                found[name] = self._point(name, own, config, trial_of(outcomes, name, self.seeds))
            except InputError as error:
                found[name] = Point(name, own, None, error=str(error))
        return [found[" ".join(own)] for own in points]

    def _point(self, name: str, own: tuple[str, ...], config: Mapping[str, Any], trial: Trial) -> Point:
        values = [_mean([value_of(s, GOALS[goal].name) for s in trial.summaries]) for goal in self.goals]
        if any(value is None for value in values):
            missing = next(goal for goal, value in zip(self.goals, values, strict=True) if value is None)
            return Point(name, own, None, error=f"the run has no {GOALS[missing].label}")
        return Point(name, own, tuple(v for v in values if v is not None), self._excess(config, trial))

    def _excess(self, config: Mapping[str, Any], trial: Trial) -> tuple[float, ...]:
        found = []
        if self.limits.memory_bytes is not None:
            found.append(memory_bytes(config) / self.limits.memory_bytes - 1.0)
        for goal, most in self.limits.at_most.items():
            value = _mean([value_of(s, GOALS[goal].name) for s in trial.summaries])
            found.append((value - most) / max(abs(most), 1e-12) if value is not None else 0.0)
        return tuple(found)


def window_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the override that shortens a load to its first part; empty if it has neither duration nor operations."""
    workload = config["workload"]
    for key in ("duration", "operations"):
        value = typed_value(workload.get(key))
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return (f"workload.{key}={round(WINDOW * value) if key == 'operations' else f'{WINDOW * value:g}s'}",)
    return ()


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None
