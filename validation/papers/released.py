"""Compares recorded runs of the authors' released code with simulations of that code.

The recorded runs are small and short (../shared/data/real_engines), because the published settings need hours on drives
that we do not have. So a counterpart shows the direction and the mechanism of an effect, not its published size.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.papers.claim import PaperRun
from lsmlab.validation.papers.expression import Expression
from lsmlab.validation.scorecard.real_engines import real_engine_cases
from lsmlab.validation.scorecard.runs import CaseRun, run_cases


@dataclass(frozen=True)
class Counterpart:
    """One effect, measured in the recorded runs and in their simulations."""

    store: str
    figure: str
    """Description of the figure, for tables."""
    measure: Expression
    """Computes the figure; its runs are recorded arms, the last parts of the names of recorded runs."""
    claims: tuple[str, ...] = ()
    """Patterns of the ids of the claims about the same effect."""

    def value(self, arms: Mapping[str, Mapping[str, float]]) -> float | None:
        """Return the figure from the numbers of the arms; None if an arm lacks its number."""
        try:
            return self.measure({arm: PaperRun(numbers, {}, {}, {}, {}) for arm, numbers in arms.items()})
        except InputError:
            return None


@dataclass(frozen=True, slots=True)
class Released:
    """A counterpart with its recorded and its simulated number."""

    counterpart: Counterpart
    setting: str
    """Recorded setting, such as "adoc/bw60_wb8"."""
    recorded: float
    simulated: float

    def belongs_to(self, claim: str) -> bool:
        """Whether this counterpart belongs to a claim."""
        return any(fnmatchcase(claim, pattern) for pattern in self.counterpart.claims)

    def as_json(self) -> dict[str, Any]:
        """Return the counterpart as a row of the JSON document."""
        return {
            "figure": self.counterpart.figure, "setting": self.setting, "recorded": self.recorded,
            "simulated": self.simulated, "claims": list(self.counterpart.claims),
        }  # fmt: skip


def released(
    counterparts: Sequence[Counterpart], data: Path, seeds: int, processes: int,
    report: Callable[[str], None] = lambda _line: None, *, fresh: bool = False,
) -> list[Released]:  # fmt: skip
    """Return the counterparts in all recorded settings that contain their arms."""
    stores = tuple({f"{one.store}/" for one in counterparts})
    recorded = [case for case in real_engine_cases(data) if isinstance(case, Case) and case.name.startswith(stores)]
    cases = [("real_engines", case) for case in recorded]
    return compare(counterparts, run_cases(cases, seeds, processes, report=report, fresh=fresh))


def compare(counterparts: Sequence[Counterpart], runs: Sequence[CaseRun]) -> list[Released]:
    """Return the counterparts of the given recorded runs and their simulations."""
    settings: dict[str, dict[str, tuple[Mapping[str, float], Mapping[str, float]]]] = defaultdict(dict)
    for run in runs:
        if run.error is None and run.real is not None and run.replications:
            setting, _, arm = run.case.name.rpartition("_")
            names = run.replications[0].values
            means = {n: math.fsum(r.values.get(n, 0.0) for r in run.replications) / len(run.replications) for n in names}
            settings[setting][arm] = (run.real.values, means)
    rows = []
    for setting, arms in settings.items():
        for one in counterparts:
            if setting.startswith(f"{one.store}/") and all(arm in arms for arm in one.measure.runs):
                real, simulated = (one.value({arm: arms[arm][side] for arm in one.measure.runs}) for side in (0, 1))
                if real is not None and simulated is not None:
                    rows.append(Released(one, setting, real, simulated))
    return rows
