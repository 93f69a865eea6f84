"""Advice: single changes of options, machine and policies, and pairs of the best, ranked by a goal within limits."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import format_bytes
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.estimate import CostEstimate, estimate
from lsmlab.sim.studies.baseline import Baseline, StoreRequest, read_baseline
from lsmlab.sim.studies.candidate_rows import ChangeKind
from lsmlab.sim.studies.candidates import (
    AT_ONCE,
    CandidateChange,
    candidates,
    condition,
    name_of,
    needs,
    promising,
    stalled_families,
)
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
from lsmlab.sim.studies.lengths import LONGEST, StoreState, settled_baseline, state_of
from lsmlab.sim.studies.metrics import Metric
from lsmlab.sim.studies.present import Present
from lsmlab.sim.studies.request import command_of, option
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
_AND: Final = " + "
"""Text between the names of changes that are made together."""
_QUICK_S: Final = 120.0
"""Time that a quick advice may take."""
_QUICK_RUNS: Final = 24
"""About the number of runs of a quick advice beside those that try the changes: present state and best changes."""
_FEWEST: Final = 6
"""Number of changes that a quick advice tries at least."""


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
    quick: bool = option(False, "answer in about two minutes: the most promising changes, with few seeds and no pairs")


@dataclass(frozen=True, slots=True)
class Effort:
    """How many runs an advice does."""

    seeds: int
    """Seeds of the present state and of the best changes."""
    screened: int
    """Seeds of each change in the first round."""
    changes: int | None = None
    """Number of changes to try; None: all."""
    paired: int = _PAIRED
    """Number of the best options that are combined in pairs."""
    shown: int = _SHOWN
    """Number of the best options that run with all seeds."""
    runs: int = _ROUNDS
    """About the number of all runs."""


@dataclass(frozen=True)
class Tried:
    """A change, or a pair of changes, with its results."""

    name: str
    kind: str
    """Kind of its first part."""
    condition: str
    """What the present state shows of the part of the store that it changes."""
    why: str
    """Mechanism by which it may help."""
    effort: str
    """What it takes to make the change."""
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
    state: StoreState
    """State of the store with the change: what it leaves."""

    @property
    def is_pair(self) -> bool:
        """Return whether these are two changes."""
        return _AND in self.name

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
    memory_bytes: float
    """Bytes of memtables and block cache."""
    state: StoreState


@dataclass(frozen=True)
class Advice(Document):
    """Advice for a store; the content of advice.json."""

    store: str
    goal: str
    metric: str
    """Metric of the goal, which depends on whether clients wait for the store (`goal_metric`)."""
    limits: str
    seeds: list[int]
    screened: int
    """Seeds of each change in the first round."""
    present: PresentState
    best: list[Tried]
    """Best changes by kind, those with a certain gain first, with all seeds."""
    tried: list[Tried]
    """All changes with few seeds, by their gain."""
    refused: dict[str, str]
    """Changes that cannot run, with the reason."""
    quick: bool
    """Whether it answers in about two minutes."""
    left_out: int
    """Number of changes that a quick advice did not try."""
    command: str
    """Command that repeats the answer."""
    options: OptionsAdvice | None = None


@dataclass(frozen=True)
class ShortAdvice(Document):
    """What would help a run; the content of what_helps.json in its folder, which its page shows."""

    goal: str
    metric: str
    limits: str
    present: PresentState
    best: list[Tried]
    """Best change of each kind."""
    tried: int
    directory: str
    """Folder of the whole advice, from that of the run."""


SHORT: Final = "what_helps.json"
"""File of `ShortAdvice`."""


def cost(request: AdviceRequest, runs: Settings) -> CostEstimate:
    """Return the estimated cost of an advice, as if no run were in the store."""
    config = read_baseline(request.store, request.set, request.config_dirs).compose()
    one = estimate(config)
    return CostEstimate(_effort(request, config, runs).runs * one.work, one.memory_bytes)


def _effort(request: AdviceRequest, config: Mapping[str, Any], runs: Settings) -> Effort:
    """Return the effort of an advice for a store; a quick one tries as many changes as its time allows."""
    seeds = request.replications
    if not request.quick:
        return Effort(seeds, min(_SCREENED, seeds))
    changes = max(_FEWEST, int(_QUICK_S / _run_s(config, runs)) - _QUICK_RUNS)
    return Effort(min(_SCREENED, seeds), 1, changes, paired=0, shown=1, runs=min(_ROUNDS, changes + _QUICK_RUNS))


def _run_s(config: Mapping[str, Any], runs: Settings) -> float:
    """Return the estimated time that one more run takes, in s."""
    return max(1e-3, estimate(config).seconds(runs.executor.count))


def advise(request: AdviceRequest, runs: Settings, folder: Path | None = None) -> Advice:
    """Try changes of a store with few seeds, then the best with all; `folder` gets an OPTIONS file of the first advice.

    A run in the store's own folder gets the short form too. Raises InputError for a store, goal or limit that is not possible.
    """
    baseline = read_baseline(request.store, request.set, request.config_dirs)
    config = baseline.compose()
    goal, closed = read_goal(request.goal, config), is_saturating(config)
    limits = _limits(request, memory_bytes(config), closed=closed)
    if baseline.lengthens(request.settled):
        in_time = _QUICK_S / (_run_s(config, runs) * (_QUICK_RUNS + _FEWEST))
        baseline = settled_baseline(baseline, runs, longest=min(LONGEST, in_time) if request.quick else LONGEST)
        config = baseline.compose()
    effort = _effort(request, config, runs)
    present = study_of_present(baseline, effort.seeds).run(runs).repeats(PRESENT)
    if present.overloaded and "_latency_s." in GOALS[goal].name:
        goal = "throughput"  # latencies of a growing queue depend on the length of the run
    metric, tail = goal_metric(goal, closed=closed), goal_metric("p999", closed=closed)
    search = _Search(baseline, metric, tail, limits, effort, lambda study: study.run(runs), present)
    singles = search.singles()
    everything = [*singles, *search.pairs(singles)]
    best = advised(search.best(everything))
    first = next((t for t in best if t.kind == ChangeKind.OPTIONS.value and t.certain), None)
    summary = present.summaries[0]
    written = write_options(baseline, first.overrides, summary, folder) if first is not None and folder is not None else None
    advice = Advice(
        baseline.name, goal, metric.name, limits_text(limits), present.seeds, effort.screened,
        PresentState(PRESENT, present.means(metric, tail), memory_bytes(config), state_of(present)),
        best, ranked(everything), search.refused, request.quick, search.left_out, command_of("advise", request), written,
    )  # fmt: skip
    if baseline.stored is not None and folder is not None and (Path(request.store) / "config.yaml").is_file():
        short_form(advice, os.path.relpath(folder, request.store)).write(Path(request.store) / SHORT)
    return advice


def study_of_present(baseline: Baseline, seeds: int) -> Study:
    """Return the study of a store as it is."""
    return Study({PRESENT: Variant(baseline.compose())}, seeds)


def short_form(advice: Advice, directory: str) -> ShortAdvice:
    """Return goal, limits and the best change of each kind."""
    best: dict[str, Tried] = {}
    for entry in advice.best:
        if entry.helps:
            best.setdefault(entry.kind, entry)
    tried = len(advice.tried) + len(advice.refused)
    return ShortAdvice(
        advice.goal, advice.metric, advice.limits, advice.present, list(best.values()), tried, directory
    )


def _limits(request: AdviceRequest, present_bytes: float, *, closed: bool) -> GoalLimits:
    limits = read_limits(request.memory, request.at_most, closed=closed)
    if limits.memory_bytes is None:
        return replace(limits, memory_bytes=_MEMORY * present_bytes)
    if limits.memory_bytes < present_bytes:
        needed = format_bytes(present_bytes)
        raise InputError(f"--memory {request.memory}: the present memtables and block cache need {needed}; allow at least that")
    return limits


def tried(
    parts: Sequence[CandidateChange], metric: Metric, memory: float, changed: list[Difference], broken: str | None,
    present: Repeats, after: Repeats,
) -> Tried:  # fmt: skip
    """Return changes that are made together, with their results. `metric`: goal; `broken`: limit that they break."""
    seen = [condition(part.about, present.summaries[0]) for part in parts]
    found = next((d for d in changed if d.metric == metric.name), None)
    gain = 0.0
    if found is not None and not found.tie:
        size = math.log1p(found.change) if found.relative and found.change > -1.0 else found.change
        gain = size if metric.higher_is_better else -size
    return Tried(
        name_of(parts), parts[0].kind.value, _together(seen), _together(part.why for part in parts),
        _together([part.effort for part in parts if part.effort != AT_ONCE] or [AT_ONCE]),
        [text for part in parts for text in part.overrides], gain, broken is None and gain > _LEAST_GAIN,
        found is not None and found.certain, broken, memory, changed, state_of(after),
    )  # fmt: skip


def _together(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))


def pairs(singles: Sequence[Tried], count: int = _PAIRED) -> list[tuple[Tried, Tried]]:
    """Return pairs of the `count` best helpful options that do not set the same key, best first."""
    best = [t for t in ranked(singles) if t.kind == ChangeKind.OPTIONS.value and t.helps][:count]
    return [(a, b) for a, b in itertools.combinations(best, 2) if not a.keys & b.keys]


def useful(found: Sequence[Tried]) -> list[Tried]:
    """Return changes without the pairs that gain no more than one of their parts alone."""
    alone = {t.name: t.gain for t in found if not t.is_pair}

    def adds(pair: Tried) -> bool:
        return pair.gain > max(alone.get(name, 0.0) for name in pair.name.split(_AND)) + _LEAST_GAIN

    return [t for t in found if not t.is_pair or adds(t)]


def ranked(found: Sequence[Tried]) -> list[Tried]:
    """Return changes by their gain; of equal gains, a single change before a pair."""
    return sorted(found, key=lambda t: (-t.gain, t.is_pair, t.name))


def advised(found: Sequence[Tried]) -> list[Tried]:
    """Return the best changes by kind, the cheap kinds first, in each those with a certain gain first.

    A change that no longer helps is left out.
    """
    order = [kind.value for kind in ChangeKind]
    helpful = [t for t in ranked(found) if t.helps]
    return sorted(helpful, key=lambda t: (order.index(t.kind), not t.certain))


@dataclass
class _Search:
    """Rounds of one search, over the run store."""

    baseline: Baseline
    metric: Metric
    """Goal."""
    tail: Metric
    """The latency of 1 operation in 1,000, which each answer shows."""
    limits: GoalLimits
    effort: Effort
    run: Callable[[Study], Outcome]
    present: Repeats
    """Present state with all seeds."""
    refused: dict[str, str] = field(default_factory=dict)
    """Changes that cannot run, with the reason."""
    left_out: int = 0
    """Number of changes that the effort leaves out."""
    parts: dict[str, tuple[CandidateChange, ...]] = field(default_factory=dict)
    """Changes that are made together, by the name of what was tried."""

    def singles(self) -> list[Tried]:
        """Try each candidate with few seeds; with a small effort, only the most promising ones."""
        summary = self.present.summaries[0]
        found = candidates(Present.of(summary, self.baseline.compose()), stalled_families(summary))
        chosen = found if self.effort.changes is None else promising(found, needs(summary), self.effort.changes)
        self.left_out = len(found) - len(chosen)
        return self._round([(c,) for c in chosen], self.effort.screened)

    def pairs(self, singles: Sequence[Tried]) -> list[Tried]:
        """Try pairs of the best options with few seeds."""
        both = [self.parts[a.name] + self.parts[b.name] for a, b in pairs(singles, self.effort.paired)]
        return self._round(both, self.effort.screened)

    def best(self, found: Sequence[Tried]) -> list[Tried]:
        """Run the best changes of each kind with all seeds and with perturbed constants."""
        chosen: list[Tried] = []
        for kind in ChangeKind:
            helpful = [t for t in ranked(useful(found)) if t.kind == kind.value and t.helps]
            chosen += helpful[: self.effort.shown if kind is ChangeKind.OPTIONS else 1]
        return self._round([self.parts[t.name] for t in chosen], self.effort.seeds, perturbed=True)

    def _round(
        self, changes: Sequence[tuple[CandidateChange, ...]], seeds: int, *, perturbed: bool = False
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
        before = replace(
            self.present, summaries=self.present.summaries[:seeds], perturbed=self.present.perturbed if perturbed else ()
        )
        found = []
        for name, (memory, _) in ready.items():
            try:
                after = outcome.repeats(name)
            except InputError as error:
                self.refused[name] = str(error)
                continue
            changed = differences(before, after, (self.metric, self.tail))
            broken = self.limits.broken(after.summaries[0], memory)
            found.append(tried(self.parts[name], self.metric, memory, changed, broken, before, after))
        return found
