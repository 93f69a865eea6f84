"""Advice: single changes of options, machine and policies, and pairs of the best, ranked by a goal within limits."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import format_bytes
from lsmlab.sim.explain.holder_sentences import bottleneck_text
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.estimate import CostEstimate, estimate
from lsmlab.sim.studies.baseline import Baseline, StoreRequest, read_baseline
from lsmlab.sim.studies.candidates import CandidateChange, ChangeKind, candidates, name_of
from lsmlab.sim.studies.differences import Difference, Repeats, differences
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.goals import GOALS, GoalLimits, limits_text, memory_bytes, read_goal, read_limits
from lsmlab.sim.studies.metrics import model_errors_of
from lsmlab.sim.studies.request import option
from lsmlab.sim.studies.study import Outcome, Study, Variant
from lsmlab.sim.studies.whatif import PRESENT
from lsmlab.sim.studies.written_options import OptionsAdvice, write_options

_ROUNDS: Final = 120
"""About the number of runs of an advice: 30 changes and 10 pairs with two seeds, and six configurations with all seeds."""
_MEMORY: Final = 4.0
"""Default limit on memtables and block cache, as a multiple of the present."""
_SCREENED: Final = 2
"""Seeds of each change in the first round."""
_PAIRED: Final = 5
"""Number of the best options that are combined in pairs."""
_SHOWN: Final = 3
"""Number of the best changes that run with all seeds."""
_LEAST_GAIN: Final = 0.01
"""Smallest gain (relative, or a share) that counts as an improvement."""


@dataclass(frozen=True, kw_only=True)
class AdviceRequest(StoreRequest):
    """Try changes of a store's options, machine and policies; rank those that help, with 90 % intervals."""

    goal: str | None = option(
        None, f"{', '.join(GOALS)} (default: throughput at full speed, otherwise p999)", metavar="GOAL"
    )
    memory: str | None = option(
        None, "limit on memtables and block cache (default: 4 times present size)", metavar="SIZE"
    )
    at_most: tuple[str, ...] = option((), "a further limit; may be repeated", metavar="GOAL=VALUE")


@dataclass(frozen=True)
class Tried:
    """A change, or a pair of changes, with its results."""

    name: str
    kind: str
    """Kind of its first part."""
    why: str
    """Mechanism by which it may help."""
    overrides: list[str]
    gain: float
    """Improvement of the goal: relative on a logarithmic scale, or absolute; negative if it is worse."""
    helps: bool
    """Whether it improves the goal by more than 1 % and meets the limits."""
    certain: bool
    """Whether the interval of the goal's change excludes no change."""
    breaks: str | None
    """Limit that the change breaks; None if it meets all."""
    memory_bytes: float
    """Bytes of memtables and block cache with the change."""
    differences: list[Difference]
    """Differences from the present state."""

    @property
    def is_pair(self) -> bool:
        """Return whether these are two changes."""
        return " + " in self.name

    @property
    def keys(self) -> set[str]:
        """Return the keys that the change sets."""
        return {text.partition("=")[0] for text in self.overrides}

    def of(self, metric: str) -> Difference | None:
        """Return the difference in a metric."""
        return next((d for d in self.differences if d.metric == metric), None)


@dataclass(frozen=True)
class PresentState:
    """Present state of the store."""

    name: str
    values: dict[str, float]
    """Mean of each metric over the seeds."""


@dataclass(frozen=True)
class Advice(Document):
    """Advice for a store; the content of advice.json."""

    store: str
    goal: str
    limits: str
    seeds: list[int]
    bottleneck: str | None
    present: PresentState
    best: list[Tried]
    """Best changes by kind, those with a certain gain first, with all seeds."""
    tried: list[Tried]
    """All changes with few seeds, by their gain."""
    refused: dict[str, str]
    """Changes that cannot run, with the reason."""
    options: OptionsAdvice | None = None


@dataclass(frozen=True)
class Helpful:
    """Best change of a kind, in short."""

    kind: str
    name: str
    why: str
    change: Difference


@dataclass(frozen=True)
class ShortAdvice(Document):
    """What would help a run; the content of what_helps.json in its folder, which its page shows."""

    goal: str
    limits: str
    best: list[Helpful]
    tried: int
    directory: str
    """Folder of the whole advice, from that of the run."""


SHORT: Final = "what_helps.json"
"""File of `ShortAdvice`."""


def cost(request: AdviceRequest, _runs: Settings) -> CostEstimate:
    """Return the estimated cost of an advice, as if no run were in the store."""
    one = estimate(read_baseline(request.store, request.set, request.config_dirs).compose())
    return CostEstimate(_ROUNDS * one.work, one.memory_bytes)


def advise(request: AdviceRequest, runs: Settings, folder: Path | None = None) -> Advice:
    """Try changes of a store with few seeds, then the best with all; `folder` gets an OPTIONS file of the first advice.

    A run in the store's own folder gets the short form too. Raises InputError for a store, goal or limit that is not possible.
    """
    baseline = read_baseline(request.store, request.set, request.config_dirs)
    config = baseline.compose()
    goal = read_goal(request.goal, config)
    limits = _limits(request, memory_bytes(config))
    errors = model_errors_of(config, from_a_log=baseline.from_a_log, changed=True)
    search = _Search(baseline, goal, limits, errors, request.replications, lambda study: study.run(runs))
    present = search.present()
    singles = search.singles(present)
    everything = [*singles, *search.pairs(singles, present)]
    best = advised(search.best(everything, present))
    first = next((t for t in best if t.kind == ChangeKind.OPTIONS.value), None)
    summary = present.summaries[0]
    written = write_options(baseline, first.overrides, summary, folder) if first is not None and folder is not None else None
    advice = Advice(
        baseline.name, goal, limits_text(limits), present.seeds,
        bottleneck_text(summary) if summary.get("bottleneck") else None, PresentState(PRESENT, present.means()),
        best, ranked(everything), search.refused, written,
    )  # fmt: skip
    if baseline.stored is not None and folder is not None and (Path(request.store) / "config.yaml").is_file():
        short_form(advice, os.path.relpath(folder, request.store)).write(Path(request.store) / SHORT)
    return advice


def short_form(advice: Advice, directory: str) -> ShortAdvice:
    """Return goal, limits and the best change of each kind."""
    metric = GOALS[advice.goal].name
    best: dict[str, Helpful] = {}
    for entry in advice.best:
        found = entry.of(metric)
        if found is not None and entry.helps:
            best.setdefault(entry.kind, Helpful(entry.kind, entry.name, entry.why, found))
    tried = len(advice.tried) + len(advice.refused)
    return ShortAdvice(advice.goal, advice.limits, list(best.values()), tried, directory)


def _limits(request: AdviceRequest, present_bytes: float) -> GoalLimits:
    limits = read_limits(request.memory, request.at_most)
    if limits.memory_bytes is None:
        return GoalLimits(_MEMORY * present_bytes, limits.at_most)
    if limits.memory_bytes < present_bytes:
        needed = format_bytes(present_bytes)
        raise InputError(f"--memory {request.memory}: the present memtables and block cache need {needed}; allow at least that")
    return limits


def tried(
    parts: Sequence[CandidateChange], goal: str, memory: float, changed: list[Difference], broken: str | None
) -> Tried:
    """Return changes that are made together, with their results. `broken`: limit that they break."""
    metric = GOALS[goal]
    found = next((d for d in changed if d.metric == metric.name), None)
    gain = 0.0
    if found is not None and not found.tie:
        size = math.log1p(found.change) if found.relative and found.change > -1.0 else found.change
        gain = size if metric.higher_is_better else -size
    return Tried(
        name_of(parts), parts[0].kind.value, "; ".join(dict.fromkeys(part.why for part in parts)),
        [text for part in parts for text in part.overrides], gain, broken is None and gain > _LEAST_GAIN,
        found is not None and found.certain, broken, memory, changed,
    )  # fmt: skip


def pairs(singles: Sequence[Tried]) -> list[tuple[Tried, Tried]]:
    """Return pairs of the best helpful options that do not set the same key, best first."""
    best = [t for t in ranked(singles) if t.kind == ChangeKind.OPTIONS.value and t.helps][:_PAIRED]
    return [(a, b) for a, b in itertools.combinations(best, 2) if not a.keys & b.keys]


def ranked(found: Sequence[Tried]) -> list[Tried]:
    """Return changes by their gain; of equal gains, a single change before a pair."""
    return sorted(found, key=lambda t: (-t.gain, t.is_pair, t.name))


def advised(found: Sequence[Tried]) -> list[Tried]:
    """Return the best changes by kind, those with a certain gain first; a change that no longer helps is left out."""
    order = [kind.value for kind in ChangeKind]
    helpful = [t for t in ranked(found) if t.helps]
    return sorted(helpful, key=lambda t: (order.index(t.kind), not t.certain))


@dataclass
class _Search:
    """Rounds of one search, over the run store."""

    baseline: Baseline
    goal: str
    limits: GoalLimits
    errors: Mapping[str, float]
    """The model's own errors by metric."""
    seeds: int
    run: Callable[[Study], Outcome]
    refused: dict[str, str] = field(default_factory=dict)
    """Changes that cannot run, with the reason."""
    parts: dict[str, tuple[CandidateChange, ...]] = field(default_factory=dict)
    """Changes that are made together, by the name of what was tried."""

    def present(self) -> Repeats:
        """Run the present state with all seeds."""
        return self.run(Study({PRESENT: Variant(self.baseline.compose())}, self.seeds)).repeats(PRESENT)

    def singles(self, present: Repeats) -> list[Tried]:
        """Try each candidate with few seeds."""
        options = present.summaries[0]["options"]
        cores = float(present.summaries[0]["cpu"]["cores"])
        found = candidates(options, self.baseline.compose(), cores)
        return self._round([(c,) for c in found], present, min(_SCREENED, self.seeds))

    def pairs(self, singles: Sequence[Tried], present: Repeats) -> list[Tried]:
        """Try pairs of the best options with few seeds."""
        both = [self.parts[a.name] + self.parts[b.name] for a, b in pairs(singles)]
        return self._round(both, present, min(_SCREENED, self.seeds))

    def best(self, found: Sequence[Tried], present: Repeats) -> list[Tried]:
        """Run the best changes of each kind with all seeds and with perturbed constants."""
        chosen: list[Tried] = []
        for kind in ChangeKind:
            helpful = [t for t in ranked(found) if t.kind == kind.value and t.helps]
            chosen += helpful[: _SHOWN if kind is ChangeKind.OPTIONS else 1]
        return self._round([self.parts[t.name] for t in chosen], present, self.seeds, perturbed=True)

    def _round(
        self, changes: Sequence[tuple[CandidateChange, ...]], present: Repeats, seeds: int, *, perturbed: bool = False
    ) -> list[Tried]:
        """Run each change with the first `seeds` seeds and compare it with the present state.

        A change that RocksDB or the model refuses is left out and noted in `refused`; one that breaks the limit on memory
        does not run.
        """
        ready: dict[str, tuple[float, Variant]] = {}
        for parts in changes:
            name = name_of(parts)
            self.parts[name] = parts
            try:
                config = self.baseline.compose([text for p in parts for text in p.overrides])
                memory = memory_bytes(config)
            except InputError as error:
                self.refused[name] = str(error)
                continue
            if self.limits.memory_bytes is not None and memory > self.limits.memory_bytes:
                self.refused[name] = f"memtables and block cache of {format_bytes(memory)}"
                continue
            ready[name] = memory, Variant(config)
        outcome = self.run(Study({name: variant for name, (_, variant) in ready.items()}, seeds, perturbed))
        before = Repeats(present.summaries[:seeds], present.perturbed if perturbed else ())
        found = []
        for name, (memory, _) in ready.items():
            try:
                after = outcome.repeats(name)
            except InputError as error:
                self.refused[name] = str(error)
                continue
            changed, broken = differences(before, after, self.errors), self.limits.broken(after.summaries[0], memory)
            found.append(tried(self.parts[name], self.goal, memory, changed, broken))
        return found
