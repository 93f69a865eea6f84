"""From simulated runs to a verdict on each claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from lsmlab.sim.commands.replications import interval
from lsmlab.sim.runs.task import reason_of
from lsmlab.validation.papers.claim import Claim, Outcome
from lsmlab.validation.papers.numbers import NUMBERS, filled
from lsmlab.validation.papers.runs import Runs, read_outcome
from lsmlab.validation.papers.suite import Paper

REPRODUCED: Final = "reproduced"
DIRECTION: Final = "direction only"
NOT: Final = "not reproduced"
FAILED: Final = "failed"
VERDICTS: Final = (REPRODUCED, DIRECTION, NOT, FAILED)


@dataclass(frozen=True, slots=True)
class Found:
    """A claim beside what was simulated."""

    paper: str
    claim: Claim
    values: tuple[float, ...]
    """One per seed."""
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
        """Its upper end."""
        return self._interval("high")

    def _interval(self, end: str) -> float | None:
        if not self.values or not all(map(math.isfinite, self.values)):
            return None
        return interval(self.values)[end]

    def as_json(self) -> dict[str, Any]:
        """A row of what `lsmlab papers --json` prints."""
        return {
            "id": self.claim.id, "paper": self.paper, "setting": self.claim.setting, "published": self.claim.published,
            "simulated": self.simulated, "low": self.low, "high": self.high, "verdict": self.verdict,
            "accepted": list(self.claim.accepted), "neutral": self.claim.neutral, "mechanism": self.claim.mechanism,
            "note": self.claim.note, "tolerance_from": self.claim.tolerance_from, "values": list(self.values),
            "runs": [s.name for s in self.claim.runs], "error": self.error,
        }  # fmt: skip


def verdict_of(value: float, accepted: tuple[float, float], neutral: float) -> str:
    """What a simulated value says of a claim.

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


def judge(papers: Sequence[Paper], runs: Runs) -> list[Found]:
    """Every claim of these papers beside its runs; its texts have the numbers that they name."""
    found = []
    for paper in papers:
        number = _numbers(paper, runs)
        for claim in paper.claims:
            row = _judge(paper.name, claim, runs)
            mechanism, note = filled(claim.mechanism, number), filled(claim.note, number)
            found.append(replace(row, claim=replace(claim, mechanism=mechanism, note=note)))
    return found


def _numbers(paper: Paper, runs: Runs) -> Callable[[str, str], float | None]:
    """Number of a run of the paper, by `Setting.name` and the name in numbers.py: the mean over its seeds."""
    overrides = {setting.name: setting.overrides for claim in paper.claims for setting in claim.runs}

    @cache
    def number(name: str, of: str) -> float | None:
        run = runs.get(overrides.get(name, ()))
        if run is None or run.error is not None:
            return None
        try:
            values = [NUMBERS[of](read_outcome(place)) for place in run.directories]
        except Exception:  # as with a claim's figure: a run that lacks what a text names costs that number only
            return None
        return math.fsum(values) / len(values) if values else None

    return number


def _judge(paper: str, claim: Claim, runs: Runs) -> Found:
    mine = {setting.name: runs[setting.overrides] for setting in claim.runs}
    for name, run in mine.items():
        if run.error is not None:
            return Found(paper, claim, (), FAILED, f"{name}: {run.error}")
    values = []
    for places in zip(*(run.directories for run in mine.values()), strict=False):  # the seeds that all of them have
        outcomes: dict[str, Outcome] = {n: read_outcome(place) for n, place in zip(mine, places, strict=True)}
        try:
            values.append(float(claim.measure(outcomes)))
        except Exception as error:
            return Found(paper, claim, (), FAILED, f"its figure cannot be read off the runs: {reason_of(error)}")
    mean = math.fsum(values) / len(values)
    return Found(paper, claim, tuple(values), NOT if math.isnan(mean) else verdict_of(mean, claim.accepted, claim.neutral))


def counts(found: Iterable[Found]) -> dict[str, int]:
    """How many claims have each verdict, without verdicts that none has."""
    rows = list(found)
    return {v: n for v in VERDICTS if (n := sum(f.verdict == v for f in rows))}
