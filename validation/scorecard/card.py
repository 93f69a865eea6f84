"""The scorecard of one session: rows, totals by set, failures, and its JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from lsmlab.validation.casefiles.curves import reduced_curve
from lsmlab.validation.scorecard.findings import missed_targets, read_findings
from lsmlab.validation.scorecard.model_errors import Held, held_json
from lsmlab.validation.scorecard.runs import CaseRun
from lsmlab.validation.scorecard.score import ScoreRow, Total, as_json, coverage, rows_of, totals
from lsmlab.validation.scorecard.theory import TheoryCheck
from lsmlab.validation.scorecard.trends import Trend, trend_shares, trends

TEST, PUBLIC, CALIBRATION, QUARANTINE = "test", "public", "calibration", "quarantine"
ENGINES: Final = "real_engines"
"""Set of the recorded runs of other engines than RocksDB; it has its own score."""
RERUNS, WHAT_IFS = "log_reruns", "log_what_ifs"
"""Sets that score `lsmlab import`: the machine is inferred from one LOG (imported_cases.py)."""
WIDER: Final = "wider"
"""Own recordings of kinds that no calibration run has: column families, compression, several writers, and others."""
PUBLIC_2, UNEXPRESSED = "public_2", "public_2_not_expressed"
"""Public runs that nobody had seen when 0.1.0 was made (docs/background/edges.md), scored apart; and those of them with
an option that the simulator does not have, simulated without it."""
CATALOGUE: Final = "catalogue"
"""The cases of `DEVELOPMENT` with the drive's data sheet and the default host (catalogue_cases.py)."""
DEVELOPMENT: Final = (TEST, WIDER, PUBLIC, PUBLIC_2)
"""Sets of measured machines from which the model's error is learnt; besides them, those from LOGs and `CATALOGUE`."""
FROM_A_LOG: Final = (RERUNS, WHAT_IFS)
SCORED: Final = (TEST, PUBLIC, QUARANTINE)
"""Sets that make the score; constants were fitted to the calibration runs, so their table is separate."""
SET_TITLES: Final = {
    TEST: "own recordings, test part", WIDER: "own recordings of other kinds", PUBLIC: "public runs",
    QUARANTINE: "own recordings, quarantine", PUBLIC_2: "public runs, second half",
    UNEXPRESSED: "public runs, second half, with an option that LSMLab does not have",
    CATALOGUE: "development cases with data sheet and default host alone",
    ENGINES: "recorded runs of ADOC, SILK and LevelDB", RERUNS: "reruns from a LOG alone", WHAT_IFS: "what-ifs from a LOG",
    CALIBRATION: "calibration runs (not in the score)",
}  # fmt: skip
"""Titles of the sets of cases, in the order of the tables."""


@dataclass(frozen=True, slots=True)
class ReplayCheck:
    """One kind of decision of one recording: the count of policy answers that match the real store."""

    recording: str
    name: str
    matched: int
    total: int


@dataclass
class Scorecard:
    """Results of one `lsmlab validate`."""

    runs: list[CaseRun] = field(default_factory=list)
    replays: list[ReplayCheck] = field(default_factory=list)
    theory: list[TheoryCheck] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    """Coverage and width of the intervals by kind, on values from which they were not learnt."""
    seeds: int = 0
    skipped: list[str] = field(default_factory=list)
    """Notes on cases, sets and replays that were left out, with the reason."""
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    """Case files that could not be read: (file, reason)."""

    @cached_property
    def rows(self) -> list[ScoreRow]:
        """Rows of all simulated cases."""
        return [row for run in self.runs for row in rows_of(run)]

    def of(self, *sets: str) -> list[ScoreRow]:
        """Return the rows of the named sets."""
        return [row for row in self.rows if row.set in sets]

    @property
    def scored(self) -> dict[str, Total]:
        """Totals of the sets that make the score."""
        return totals(self.of(*SCORED))

    @property
    def failures(self) -> list[tuple[str, str]]:
        """(case or file, reason) for each case that could not be scored."""
        return [*self.unreadable, *((run.case.name, run.error) for run in self.runs if run.error is not None)]

    @property
    def sets(self) -> list[str]:
        """Sets with at least one case."""
        present = {run.set for run in self.runs if run.error is None}
        return [name for name in SET_TITLES if name in present]

    def document(self) -> dict[str, Any]:
        """Return the document that `lsmlab validate --json` prints."""
        held = coverage(self.of(*SCORED))
        sets: dict[str, Any] = {}
        for name in self.sets:
            sets[name] = {key: as_json(total) for key, total in totals(self.of(name)).items()}
        if self.replays:
            sets["replay"] = replay_shares(self.replays)
        if self.theory:
            sets["theory"] = {check.name: check.as_json() for check in self.theory}
        return {
            "metrics": {name: as_json(total) for name, total in self.scored.items()},
            "sets": sets,
            "cases": [
                {"name": r.case, "set": r.set, "metric": r.metric, "real": r.real, "simulated": r.simulated,
                 "low": r.low, "high": r.high, "error": r.error, "noise": r.noise}
                for r in self.rows
            ],
            "coverage": None if held is None else {"share": held[0], "values": held[1], "wanted": [0.85, 0.95]},
            "intervals": held_json(self.held),
            "trends": trend_shares(self.trends),
            "missed": missed_targets(self.scored, self.of(*SCORED), read_findings()),
            "seeds": self.seeds,
            "replayed": len({check.recording for check in self.replays}),
            "failed": [{"name": name, "reason": reason} for name, reason in self.failures],
            "skipped": list(self.skipped),
        }  # fmt: skip

    @property
    def trends(self) -> list[Trend]:
        """Effects of one changed key between cases of one set, real and simulated."""
        found: list[Trend] = []
        for name in SCORED:
            cases = [(run.case.name, run.case.overrides) for run in self.runs if run.set == name]
            found += trends(cases, self.of(name))
        return found

    def curves(self) -> list[dict[str, Any]]:
        """Return throughput per second of each case, real and simulated, for the page."""
        return [
            {
                "name": run.case.name, "set": run.set, "source": run.case.source, "notes": [*run.case.notes, *run.real.notes],
                "overrides": list(run.case.overrides),
                "seconds": max([len(s) for s in run.real.series] + [len(r.series) for r in run.replications]),
                "real": [reduced_curve(s) for s in run.real.series],
                "simulated": [reduced_curve(r.series) for r in run.replications[:3]],
            }
            for run in self.runs
            if run.real is not None and run.replications
        ]  # fmt: skip


def replay_shares(checks: Sequence[ReplayCheck]) -> dict[str, Any]:
    """Return the matched count, total and share by kind of decision, over all recordings."""
    found: dict[str, dict[str, Any]] = {}
    for check in checks:
        entry = found.setdefault(check.name, {"matched": 0, "total": 0})
        entry["matched"] += check.matched
        entry["total"] += check.total
    for entry in found.values():
        entry["share"] = entry["matched"] / entry["total"] if entry["total"] else None
    return found
