"""Evaluation of a candidate: trial of the planned rate, and the search for the largest sustainable rate.

A closed loop gives the start value of the search, trials in open loop bisect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from lsmlab.sim.studies.plan.budget import BudgetEndedError
from lsmlab.sim.studies.plan.fewer_levels import FewerLevels, levels_to_leave_out, line_of, without_levels
from lsmlab.sim.studies.plan.planned_store import READ_ONLY_S, PlannedStore
from lsmlab.sim.studies.plan.rounds import PlanRuns, Steps
from lsmlab.sim.studies.plan.service_levels import ServiceLevels
from lsmlab.sim.studies.plan.trial import LoadBursts, SearchSettings, Trial, try_rate

_FIRST: Final = 0.9
"""First rate after the closed loop, as a share of its throughput in the later half."""
_DOWN, _UP = 0.75, 1.1
"""Factors between two trials until one holds and one fails."""
_LEAST, _MOST = 1e-3, 10.0
"""Smallest and largest rate that is tried, in units of the closed loop's throughput."""
_COARSE: Final = 0.04
"""Precision of a search whose result is only compared with another one."""


@dataclass(frozen=True)
class Sustainable:
    """Largest sustainable rate of a store, to the precision of the search."""

    rate_per_s: float
    """Highest rate that holds with all seeds; 0 if none does."""
    fails_per_s: float
    """Lowest rate that fails; infinity if none does."""
    closed_per_s: float
    """Throughput of the closed loop at full speed in its later half."""
    at_limit: Trial | None
    """Trial of `rate_per_s`."""
    failed: Trial | None
    """Trial of `fails_per_s`: its reason is the binding constraint."""
    trials: tuple[Trial, ...]

    def of_whole(self, line: FewerLevels) -> Sustainable:
        """Return the result for the whole tree, if this one has fewer levels."""
        return Sustainable(
            self.rate_per_s * line.share, self.fails_per_s * line.share, self.closed_per_s * line.share,
            None if self.at_limit is None else line.whole(self.at_limit),
            None if self.failed is None else line.whole(self.failed), tuple(line.whole(t) for t in self.trials),
        )  # fmt: skip


@dataclass
class Search:
    """Search over rates; `trials` contains the trials so far."""

    store: PlannedStore
    levels: ServiceLevels
    bursts: LoadBursts | None = None
    settings: SearchSettings = field(default_factory=SearchSettings)
    runs: PlanRuns = field(default_factory=PlanRuns)
    trials: list[Trial] = field(default_factory=list)
    closed_per_s: float = 0.0
    """Throughput of the closed loop; 0 before it has run."""

    def try_rate(self, rate_per_s: float, seed: int = 1) -> Steps[Trial]:
        """Try a rate; its number has four digits, so that equal searches make equal runs."""
        rate = float(f"{rate_per_s:.4g}")
        known = next((t for t in self.trials if t.rate_per_s == rate), None) if seed == 1 else None
        if known is not None:
            return known
        trial = yield from try_rate(self.store, self.runs, rate, self.levels, self.bursts, self.settings, seed)
        self.trials.append(trial)
        return trial

    def find(self, around: float | None = None) -> Steps[Sustainable]:
        """Return the largest sustainable rate. `around`: a first guess in operations per second instead of a closed loop."""
        self.closed_per_s = (yield from self.closed_loop_per_s()) if around is None else around
        if self.closed_per_s > 0.0:
            yield from self._bracket(self.closed_per_s)
            yield from self._bisect()
            yield from self._confirm()
        return self.so_far()

    def so_far(self) -> Sustainable:
        """Return what the trials so far say about the largest sustainable rate."""
        held, failed = self._held(), self._failed()
        return Sustainable(
            held.rate_per_s if held else 0.0, failed.rate_per_s if failed else math.inf, self.closed_per_s, held, failed,
            tuple(sorted(self.trials, key=lambda t: t.rate_per_s)),
        )  # fmt: skip

    def closed_loop_per_s(self) -> Steps[float]:
        """Return the throughput at full speed over the later half of a run, in operations per second."""
        operations = self.store.operations(self.settings.turnovers)
        longest_s = self.settings.longest if math.isfinite(operations) else READ_ONLY_S
        finite = operations if math.isfinite(operations) else 1e15
        summary, series = yield from self.runs.run(self.store.closed_loop(finite, longest_s, 1))
        served = np.asarray(series["write_ops"]) + np.asarray(series["read_ops"])
        later = served[len(served) // 2 : max(len(served) // 2 + 1, len(served) - 1)]
        return float(later.mean()) if len(served) > 2 else float(summary["ops_per_s"])

    def _held(self) -> Trial | None:
        """Return the trial of the highest rate that holds and is below all rates that fail."""
        lowest = min((t.rate_per_s for t in self.trials if not t.holds), default=math.inf)
        below = [t for t in self.trials if t.holds and t.rate_per_s < lowest]
        return max(below, key=lambda t: t.rate_per_s, default=None)

    def _failed(self) -> Trial | None:
        return min((t for t in self.trials if not t.holds), key=lambda t: t.rate_per_s, default=None)

    def _bracket(self, closed: float) -> Steps[None]:
        """Try rates until one holds and a higher one fails."""
        rate = _FIRST * closed
        while (held := self._held()) is None or self._failed() is None:
            rate = min(rate, _DOWN * self._lowest_failed()) if held is None else max(rate, _UP * held.rate_per_s)
            if not _LEAST * closed < rate < _MOST * closed:
                return
            yield from self.try_rate(rate)

    def _lowest_failed(self) -> float:
        failed = self._failed()
        return failed.rate_per_s if failed else math.inf

    def _bisect(self) -> Steps[None]:
        while (held := self._held()) is not None and (failed := self._failed()) is not None:
            if failed.rate_per_s / held.rate_per_s <= 1.0 + self.settings.precision:
                return
            middle = math.sqrt(held.rate_per_s * failed.rate_per_s)
            if not held.rate_per_s < float(f"{middle:.4g}") < failed.rate_per_s:
                return
            yield from self.try_rate(middle)

    def _confirm(self) -> Steps[None]:
        """Repeat the found rate with further seeds; if one fails, the next lower rate must hold with all of them."""
        for _ in range(5):
            held = self._held()
            if held is None or (yield from self._holds_with_all_seeds(held.rate_per_s)):
                return
            held = self._held()
            if held is None or self._lowest_failed() / held.rate_per_s > 1.0 + self.settings.precision:
                yield from self.try_rate(self._lowest_failed() / (1.0 + self.settings.precision))

    def _holds_with_all_seeds(self, rate_per_s: float) -> Steps[bool]:
        for seed in range(2, self.settings.seeds + 1):
            trial = yield from self.try_rate(rate_per_s, seed)
            if not trial.holds:
                return False
        return True


def simulated(store: PlannedStore, left_out: int) -> list[PlannedStore]:
    """Return the stores that are simulated for one: the store itself, or two with fewer levels for a large tree."""
    return [without_levels(store, count) for count in ((left_out, left_out + 1) if left_out else (0,))]


@dataclass(frozen=True)
class Evaluation:
    """A store and the service levels that it must meet."""

    store: PlannedStore
    planned_per_s: float
    """Rate of the busiest hour on this machine, in operations per second."""
    levels: ServiceLevels
    bursts: LoadBursts | None
    search: SearchSettings
    near: Evaluated | None = None
    """Result of a similar store; if given, a coarse search starts there and omits closed loop and planned rate."""

    def steps(self) -> Steps[Evaluated]:
        """Evaluate the store; a large tree with fewer levels. Raises InputError if it cannot run."""
        left_out, runs = self._left_out(), PlanRuns()
        search, *others = [self._search(store, runs) for store in simulated(self.store, left_out)]
        smaller = others[0] if others and self.near is None else None
        planned, ended = None, False
        line = None if self.near is None else self.near.line
        try:
            if self.near is not None:
                share = 1.0 if line is None else line.share
                search.settings = replace(self.search, precision=max(self.search.precision, _COARSE), seeds=1)
                yield from search.find(self.near.found.rate_per_s / share / _FIRST)
            elif smaller is None:
                planned = yield from search.try_rate(self.planned_per_s)
                yield from search.find()
            else:
                line = yield from self._line(search, smaller, left_out)
                planned = yield from search.try_rate(self.planned_per_s / line.share)
                yield from search.find()
        except BudgetEndedError:
            ended = True
        found = search.so_far()
        if left_out and line is None:  # two trees are needed, and the budget ended before
            found, planned = Sustainable(0.0, math.inf, 0.0, None, None, ()), None
        elif line is not None:
            found, planned = found.of_whole(line), None if planned is None else line.whole(planned)
        return Evaluated(planned, found, _limits(self.store), runs.count, runs.simulated, ended, line)

    def _line(self, larger: Search, smaller: Search, left_out: int) -> Steps[FewerLevels]:
        """Return the line through two trees at the highest of the planned rate, a half, a quarter and so on that both hold.

        A tree that does not keep up writes less than one in balance, because its compactions wait.
        """
        rate = self.planned_per_s
        while True:
            fewest = yield from smaller.try_rate(rate)
            if fewest.holds or rate < _LEAST * self.planned_per_s:
                fewer = yield from larger.try_rate(rate)
                if fewer.holds or rate < _LEAST * self.planned_per_s:
                    return line_of(self.store, left_out, fewer, fewest)
            rate /= 2.0

    def _left_out(self) -> int:
        """Return the levels to leave out: as many as of the similar store, whose result is compared."""
        if self.near is None:
            return levels_to_leave_out(self.store, self.search.most_memtables)
        return 0 if self.near.line is None else self.near.line.left_out

    def _search(self, store: PlannedStore, runs: PlanRuns) -> Search:
        return Search(store, self.levels, self.bursts, self.search, runs)


@dataclass(frozen=True)
class Evaluated:
    """Result of an evaluation."""

    planned: Trial | None
    """Trial of the planned rate."""
    found: Sustainable
    limits: Mapping[str, float]
    """Compaction slots, cores, client threads, caps (1 if any) and capacity in bytes of the machine."""
    runs: int
    simulated: int
    ended: bool = False
    """Whether the budget ended the search."""
    line: FewerLevels | None = None
    """How a large tree follows from those with fewer levels that were simulated; None: the tree itself was simulated."""


def _limits(store: PlannedStore) -> dict[str, float]:
    setup = store.setup
    caps: Mapping[str, Any] = {**(store.config.get("device") or {}), **(store.config.get("limits") or {})}
    found = {
        "slots": float(setup.workload.shards * setup.engine.scheduler().most_jobs()[1]),
        "cores": float(setup.host.cores),
        "threads": float(sum(c.threads for c in setup.workload.clients)),
        "caps": float(any(caps.get(name) is not None for name in ("write_cap", "read_cap", "iops_cap"))),
    }
    return found if store.capacity_bytes is None else {**found, "capacity_bytes": store.capacity_bytes}
