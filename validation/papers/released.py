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
from typing import Any, Final

from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.scorecard.real_engines import real_engine_cases
from lsmlab.validation.scorecard.runs import CaseRun, run_cases

Values = Mapping[str, float]


@dataclass(frozen=True)
class Counterpart:
    """One effect, measured in the recorded runs and in their simulations."""

    claims: tuple[str, ...]
    """Patterns of the ids of the claims about the same effect."""
    figure: str
    """Description of the figure, for tables."""
    store: str
    arms: tuple[str, ...]
    """Recorded arms, as the last parts of the runs' names: one, or two to divide."""
    metric: str
    """Number of each arm from which the figure is computed."""

    def measure(self, arms: Sequence[Values]) -> float | None:
        """Return the number of the only arm, or the ratio of two arms; None if an arm lacks it."""
        if any(self.metric not in arm for arm in arms):
            return None
        one, *others = (float(arm[self.metric]) for arm in arms)
        for other in others:
            one = one / other if other else math.inf
        return one


_OPS, _STALL, _P99 = "ops_per_s", "stall_fraction", "write_latency_s.p99"
COUNTERPARTS: Final = (
    # of the paper's devices, the hard disk is the closest to a disk of 60 MiB/s
    Counterpart(
        ("adoc.hdd.throughput_vs_rocksdb",), "throughput, ADOC / no tuner", "adoc", ("ADOC", "base"), _OPS,
    ),
    Counterpart(
        ("adoc.hdd.stall_vs_rocksdb",), "stall seconds, ADOC / no tuner", "adoc", ("ADOC", "base"), _STALL,
    ),
    Counterpart(
        ("adoc.hdd.adoc_b_vs_rocksdb",), "throughput, batch tuner only / no tuner", "adoc", ("B", "base"), _OPS,
    ),
    Counterpart(
        ("adoc.hdd.adoc_t_vs_adoc",), "throughput, thread tuner only / both tuners", "adoc", ("T", "ADOC"),
        _OPS,
    ),
    Counterpart((), "throughput, thread tuner only / no tuner", "adoc", ("T", "base"), _OPS),
    Counterpart((), "W-Amp, ADOC / no tuner", "adoc", ("ADOC", "base"), "write_amplification"),
    Counterpart(
        ("silk.peaks.rocksdb",), "write P99, no scheduling / SILK, peaks of 40 s", "silk", ("off", "silk2"),
        _P99,
    ),
    Counterpart(
        ("silk.peaks.throughput",), "throughput, SILK / no scheduling", "silk", ("silk2", "off"), _OPS,
    ),
    Counterpart(
        ("silk.breakdown.priorities",), "write P99, SILK without its limiter / SILK", "silk", ("prio2", "silk2"),
        _P99,
    ),
    Counterpart(
        ("silk.production.stall",), "stall fraction of SILK", "silk", ("silk2",), _STALL,
    ),
)  # fmt: skip


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
    data: Path, seeds: int, processes: int, report: Callable[[str], None] = lambda _line: None, *, fresh: bool = False
) -> list[Released]:
    """Return all counterparts in all recorded settings that contain their arms."""
    cases = [("real_engines", case) for case in real_engine_cases(data) if isinstance(case, Case)]
    return compare(run_cases(cases, seeds, processes, report=report, fresh=fresh))


def compare(runs: Sequence[CaseRun]) -> list[Released]:
    """Return the counterparts of the given recorded runs and their simulations."""
    settings: dict[str, dict[str, tuple[Values, Values]]] = defaultdict(dict)
    for run in runs:
        if run.error is None and run.real is not None and run.replications:
            setting, _, arm = run.case.name.rpartition("_")
            names = run.replications[0].values
            means = {n: math.fsum(r.values.get(n, 0.0) for r in run.replications) / len(run.replications) for n in names}
            settings[setting][arm] = (run.real.values, means)
    rows = []
    for setting, arms in settings.items():
        for counterpart in COUNTERPARTS:
            if setting.startswith(f"{counterpart.store}/") and all(arm in arms for arm in counterpart.arms):
                real, simulated = (counterpart.measure([arms[a][side] for a in counterpart.arms]) for side in (0, 1))
                if real is not None and simulated is not None:
                    rows.append(Released(counterpart, setting, real, simulated))
    return rows
