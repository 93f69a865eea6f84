"""Ranking of single changes and pairs by a goal, within limits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.sim.decisions.candidates import Candidate, Kind, name_of
from lsmlab.sim.decisions.differences import Difference, Trial, differences
from lsmlab.sim.decisions.goals import GOALS, Limits

PAIRED: Final = 5
"""Number of the best options that are combined in pairs."""
SHOWN: Final = 3
"""Number of the best changes that run with all seeds."""
SHORT: Final = "what_helps.json"
"""Short form of an advice in the folder of the run that it is about; the page of the run shows it."""
_LEAST_GAIN: Final = 0.01
"""Smallest gain (relative, or a share) that counts as an improvement."""


@dataclass(frozen=True)
class Trialled:
    """A change, or a pair of changes, with its results."""

    parts: tuple[Candidate, ...]
    trial: Trial
    memory_bytes: float
    differences: Mapping[str, Difference]
    """Differences from the present state by metric."""
    broken: str | None
    """Limit that the change breaks; None if it meets all."""

    @property
    def name(self) -> str:
        """Return the names of its parts."""
        return name_of(self.parts)

    @property
    def kind(self) -> Kind:
        """Return the kind of its first part."""
        return self.parts[0].kind

    @property
    def overrides(self) -> tuple[str, ...]:
        """Return the overrides of all parts."""
        return tuple(text for part in self.parts for text in part.overrides)

    def gain(self, goal: str) -> float:
        """Return the improvement of the goal: relative on a logarithmic scale, or absolute; negative if it is worse."""
        metric = GOALS[goal]
        found = self.differences.get(metric.name)
        if found is None or found.tie:
            return 0.0
        size = math.log1p(found.change) if found.relative and found.change > -1.0 else found.change
        return size if metric.higher_is_better else -size

    def helps(self, goal: str) -> bool:
        """Return whether the change improves the goal by more than `_LEAST_GAIN` and meets the limits."""
        return self.broken is None and self.gain(goal) > _LEAST_GAIN

    def certain(self, goal: str) -> bool:
        """Return whether the interval of the goal's change excludes no change."""
        found = self.differences.get(GOALS[goal].name)
        return found is not None and found.certain


def trialled(
    parts: tuple[Candidate, ...], present: Trial, trial: Trial, memory: float, errors: Mapping[str, float], limits: Limits
) -> Trialled:
    """Return the results of a change. `memory`: bytes of memtables and block cache with the change."""
    found = {d.metric: d for d in differences(present, trial, errors)}
    return Trialled(parts, trial, memory, found, limits.broken(trial.summaries[0], memory))


def pairs(singles: Sequence[Trialled], goal: str) -> list[tuple[Candidate, Candidate]]:
    """Return pairs of the best helpful options that do not set the same key, best first."""
    best = [t for t in ranked(singles, goal) if t.kind is Kind.OPTIONS and t.helps(goal)][:PAIRED]
    return [
        (a.parts[0], b.parts[0]) for a, b in itertools.combinations(best, 2) if not a.parts[0].keys & b.parts[0].keys
    ]


def ranked(found: Sequence[Trialled], goal: str) -> list[Trialled]:
    """Return changes by their gain; of equal gains the one with fewer parts first."""
    return sorted(found, key=lambda t: (-t.gain(goal), len(t.parts), t.name))


def advised(found: Sequence[Trialled], goal: str) -> list[Trialled]:
    """Return the best changes by kind, those with a certain gain first; a change that no longer helps is left out."""
    order = list(Kind)
    helpful = [t for t in ranked(found, goal) if t.helps(goal)]
    return sorted(helpful, key=lambda t: (order.index(t.kind), not t.certain(goal)))


def as_json(found: Trialled, goal: str) -> dict[str, Any]:
    """Return the content for a JSON document."""
    return {
        "name": found.name,
        "kind": found.kind.value,
        "why": "; ".join(dict.fromkeys(part.why for part in found.parts)),
        "overrides": list(found.overrides),
        "gain": found.gain(goal),
        "helps": found.helps(goal),
        "certain": found.certain(goal),
        "breaks": found.broken,
        "memory_bytes": found.memory_bytes,
        "differences": [d.as_json() for d in found.differences.values()],
    }


def short_form(advice: Mapping[str, Any], directory: str) -> dict[str, Any]:
    """Return goal, limits and the best change of each kind. `directory`: folder of the whole advice, from that of the run."""
    metric = GOALS[advice["goal"]].name
    best: dict[str, dict[str, Any]] = {}
    for entry in advice["best"]:
        found = next((d for d in entry["differences"] if d["metric"] == metric), None)
        if found is not None and entry["helps"]:
            best.setdefault(entry["kind"], {"kind": entry["kind"], "name": entry["name"], "why": entry["why"], "change": found})
    tried = len(advice["tried"]) + len(advice["refused"])
    return {
        "goal": advice["goal"], "limits": advice["limits"], "best": list(best.values()), "tried": tried,
        "directory": directory,
    }  # fmt: skip
