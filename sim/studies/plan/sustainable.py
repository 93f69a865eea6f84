"""Search for the largest sustainable rate of a store: a closed loop gives the start value, trials in open loop bisect."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from lsmlab.sim.studies.plan.planned_store import READ_ONLY_S, PlannedStore, PlanRuns
from lsmlab.sim.studies.plan.service_levels import ServiceLevels
from lsmlab.sim.studies.plan.trial import LoadBursts, SearchSettings, Trial, try_rate

_FIRST: Final = 0.9
"""First rate after the closed loop, as a share of its throughput in the later half."""
_DOWN, _UP = 0.75, 1.1
"""Factors between two trials until one holds and one fails."""
_LEAST, _MOST = 1e-3, 10.0
"""Smallest and largest rate that is tried, in units of the closed loop's throughput."""


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


@dataclass
class Search:
    """Search over rates; `trials` contains the trials so far."""

    store: PlannedStore
    runs: PlanRuns
    levels: ServiceLevels
    bursts: LoadBursts | None = None
    settings: SearchSettings = field(default_factory=SearchSettings)
    trials: list[Trial] = field(default_factory=list)

    def try_rate(self, rate_per_s: float, seed: int = 1) -> Trial:
        """Try a rate; its number has four digits, so that equal searches make equal runs."""
        rate = float(f"{rate_per_s:.4g}")
        known = next((t for t in self.trials if t.rate_per_s == rate), None) if seed == 1 else None
        if known is not None:
            return known
        trial = try_rate(self.store, self.runs, rate, self.levels, self.bursts, self.settings, seed)
        self.trials.append(trial)
        return trial

    def find(self, around: float | None = None) -> Sustainable:
        """Return the largest sustainable rate. `around`: a first guess in operations per second instead of a closed loop."""
        closed = self.closed_loop_per_s() if around is None else around
        if closed <= 0.0:
            return Sustainable(0.0, 0.0, 0.0, None, None, ())
        self._bracket(closed)
        self._bisect()
        self._confirm()
        held, failed = self._held(), self._failed()
        return Sustainable(
            held.rate_per_s if held else 0.0, failed.rate_per_s if failed else math.inf, closed, held, failed,
            tuple(sorted(self.trials, key=lambda t: t.rate_per_s)),
        )  # fmt: skip

    def closed_loop_per_s(self) -> float:
        """Return the throughput at full speed over the later half of a run, in operations per second."""
        operations = self.store.operations(self.settings.turnovers)
        longest_s = self.settings.longest if math.isfinite(operations) else READ_ONLY_S
        finite = operations if math.isfinite(operations) else 1e15
        summary, series, _ = self.runs.run(self.store.closed_loop(finite, longest_s, 1))
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

    def _bracket(self, closed: float) -> None:
        """Try rates until one holds and a higher one fails."""
        rate = _FIRST * closed
        while (held := self._held()) is None or self._failed() is None:
            rate = min(rate, _DOWN * self._lowest_failed()) if held is None else max(rate, _UP * held.rate_per_s)
            if not _LEAST * closed < rate < _MOST * closed:
                return
            self.try_rate(rate)

    def _lowest_failed(self) -> float:
        failed = self._failed()
        return failed.rate_per_s if failed else math.inf

    def _bisect(self) -> None:
        while (held := self._held()) is not None and (failed := self._failed()) is not None:
            if failed.rate_per_s / held.rate_per_s <= 1.0 + self.settings.precision:
                return
            middle = math.sqrt(held.rate_per_s * failed.rate_per_s)
            if not held.rate_per_s < float(f"{middle:.4g}") < failed.rate_per_s:
                return
            self.try_rate(middle)

    def _confirm(self) -> None:
        """Repeat the found rate with further seeds; if one fails, the next lower rate must hold with all of them."""
        for _ in range(5):
            held = self._held()
            if held is None or all(self.try_rate(held.rate_per_s, seed).holds for seed in range(2, self.settings.seeds + 1)):
                return
            if self._held() is None or self._lowest_failed() / self._held_rate() > 1.0 + self.settings.precision:
                self.try_rate(self._lowest_failed() / (1.0 + self.settings.precision))

    def _held_rate(self) -> float:
        held = self._held()
        return held.rate_per_s if held else math.nan
