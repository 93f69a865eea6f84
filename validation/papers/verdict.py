"""Computes the verdict on each claim from simulated runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lsmlab.sim.runs.task import reason_of
from lsmlab.sim.studies.statistics import interval
from lsmlab.validation.papers.claim import KINDS, Claim, PaperSetting
from lsmlab.validation.papers.expression import Expression, filled
from lsmlab.validation.papers.runs import SettingRuns, measured
from lsmlab.validation.papers.suite import Paper

REPRODUCED: Final = "reproduced"
DIRECTION: Final = "direction only"
NOT: Final = "not reproduced"
FAILED: Final = "failed"
VERDICTS: Final = (REPRODUCED, DIRECTION, NOT, FAILED)


@dataclass(frozen=True, slots=True)
class Found:
    """A claim with its simulated values and its verdict."""

    paper: str
    claim: Claim
    values: tuple[float, ...]
    """Simulated figures, one per seed."""
    verdict: str
    error: str | None = None

    @property
    def simulated(self) -> float | None:
        """Mean over the seeds."""
        return math.fsum(self.values) / len(self.values) if self.values else None

    @property
    def low(self) -> float | None:
        """Lower end of the 90 % interval of the mean; None with one seed."""
        return self._interval("low")

    @property
    def high(self) -> float | None:
        """Upper end of the 90 % interval of the mean; None with one seed."""
        return self._interval("high")

    def _interval(self, end: str) -> float | None:
        if not self.values or not all(map(math.isfinite, self.values)):
            return None
        return interval(self.values)[end]

    def as_json(self) -> dict[str, Any]:
        """Return the claim as a row of the document of `lsmlab papers --json`."""
        return {
            "id": self.claim.id, "paper": self.paper, "setting": self.claim.setting, "kind": self.claim.kind,
            "source": self.claim.source, "published": self.claim.published,
            "simulated": self.simulated, "low": self.low, "high": self.high, "verdict": self.verdict,
            "accepted": list(self.claim.accepted), "neutral": self.claim.neutral, "mechanism": self.claim.mechanism,
            "note": self.claim.note, "tolerance_from": self.claim.tolerance_from, "values": list(self.values),
            "runs": [s.name for s in self.claim.runs], "error": self.error,
        }  # fmt: skip


def verdict_of(value: float, accepted: tuple[float, float], neutral: float) -> str:
    """Return the verdict on a claim for a simulated value.

    >>> verdict_of(4.6, (3.9, 6.5), 1.0), verdict_of(2.0, (3.9, 6.5), 1.0), verdict_of(0.9, (3.9, 6.5), 1.0)
    ('reproduced', 'direction only', 'not reproduced')

    A claim of "no difference" has no direction:

    >>> verdict_of(1.3, (0.95, 1.05), 1.0)
    'not reproduced'
    """
    low, high = accepted
    if low <= value <= high:
        return REPRODUCED
    same_side = value > neutral if low >= neutral else value < neutral if high <= neutral else False
    return DIRECTION if same_side else NOT


def judge(papers: Sequence[Paper], runs: SettingRuns) -> list[Found]:
    """Judge all claims of the papers and fill the numbers of the runs into their texts."""
    found = []
    for paper in papers:
        settings = {setting.name: setting for claim in paper.claims for setting in claim.runs}

        def number(expression: Expression, settings: Mapping[str, PaperSetting] = settings) -> float | None:
            return _mean(expression, settings, runs)

        for claim in paper.claims:
            row = _judge(paper.name, claim, runs)
            mechanism, note = filled(claim.mechanism, number), filled(claim.note, number)
            found.append(replace(row, claim=replace(claim, mechanism=mechanism, note=note)))
    return found


def _mean(expression: Expression, settings: Mapping[str, PaperSetting], runs: SettingRuns) -> float | None:
    """Return the mean over the seeds; None if a run was not simulated or lacks a number, table or column."""
    mine = {name: runs.get(settings[name].overrides) if name in settings else None for name in expression.runs}
    there = {name: run for name, run in mine.items() if run is not None and run.error is None}
    if len(there) < len(mine):
        return None
    try:
        values = measured(expression, there)
    except Exception:  # only this number is missing
        return None
    return math.fsum(values) / len(values) if values else None


def _judge(paper: str, claim: Claim, runs: SettingRuns) -> Found:
    mine = {setting.name: runs[setting.overrides] for setting in claim.runs}
    for name, run in mine.items():
        if run.error is not None:
            return Found(paper, claim, (), FAILED, f"{name}: {run.error}")
    try:
        values = measured(claim.measure, mine)
    except Exception as error:
        return Found(paper, claim, (), FAILED, f"its figure cannot be computed from the runs: {reason_of(error)}")
    mean = math.fsum(values) / len(values)
    return Found(paper, claim, tuple(values), NOT if math.isnan(mean) else verdict_of(mean, claim.accepted, claim.neutral))


def counts(found: Iterable[Found]) -> dict[str, dict[str, int]]:
    """Return the count of claims by kind and verdict, numbers first, without those that no claim has."""
    rows = list(found)
    by_kind = {kind: [f.verdict for f in rows if f.claim.kind == kind] for kind in KINDS}
    return {kind: {v: own.count(v) for v in VERDICTS if v in own} for kind, own in by_kind.items() if own}
