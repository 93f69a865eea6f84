"""Baseline of CI: a subset of the own cases, their medians at the last scoring, and a digest of the inputs.

The documents are out of date in two cases: a case file, a parameter set or the findings have changed (the digest
differs), or the simulator has changed (the medians of the subset differ). Of the source files the digest covers only
those that build cases from recorded engines and LOGs, because most edits of the others do not change results.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.validation.checkout import HOME, OWN_CASES
from lsmlab.validation.markdown import digest_of
from lsmlab.validation.scorecard.card import Scorecard
from lsmlab.validation.scorecard.metrics import METRICS
from lsmlab.validation.scorecard.runs import CaseRun, run_cases
from lsmlab.validation.scorecard.score import rows_of, totals
from lsmlab.validation.scorecard.sources import gather_cases

FILE: Final = Path(__file__).with_name("baseline.json")
SUBSET_CASES: Final = 8
"""Number of own test cases in the subset: the quickest ones, so that they end within half a minute on one core."""
SUBSET_SEEDS: Final = 1
_LEAST_NOISE: Final = {
    "relative": 0.01,
    "difference": 0.01,
    "buckets": 1.0,
    "factor": 0.5,
    "distance": 0.05,
    "wrong": 0.0,
}
"""Smallest noise of a median by kind of error, for metrics whose repeats show less or none.

See (behaviour/measurements.md, Noise between repeats).
"""
_SAME: Final = 0.25
"""Share of its noise by which a median may differ from the baseline before the documents are out of date."""


@dataclass(frozen=True, slots=True)
class MedianChange:
    """A median of the subset in the baseline and now."""

    metric: str
    before: float
    now: float
    noise: float

    @property
    def worse(self) -> bool:
        """Whether the median has grown by more than its noise."""
        return self.now > self.before + self.noise + 1e-12

    @property
    def changed(self) -> bool:
        """Whether the median differs so much that the documents are out of date."""
        return abs(self.now - self.before) > _SAME * self.noise + 1e-9


def digest(home: Path = HOME) -> str:
    """Return a digest of the inputs: recorded cases, parameter sets, findings, files that build other cases."""
    validation = home / "validation"
    recorded = [p.parent for p in (validation / "cases").rglob("case.yaml") if "\nmeasured:" in p.read_text(encoding="utf-8")]
    paths = [p for folder in recorded for p in folder.rglob("*")]
    paths += [
        *(home / "configs" / "parameters").glob("*.yaml"),
        validation / "scorecard" / "findings.yaml",
        *(validation / "casefiles" / "public").glob("*.yaml"),
        *(validation / "casefiles" / "public" / "tables").glob("*.yaml"),
        validation / "scorecard" / "real_engines.py",
        validation / "scorecard" / "imported_cases.py",
    ]
    return digest_of(home, paths, _content)


def _content(path: Path) -> bytes:
    """Return the content of a file; of Python code without its imports, which change no case."""
    content = path.read_bytes()
    if path.suffix != ".py":
        return content
    imports = [node for node in ast.parse(content).body if isinstance(node, ast.Import | ast.ImportFrom)]
    left_out = {n for node in imports for n in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return b"\n".join(line for n, line in enumerate(content.splitlines(), 1) if n not in left_out)


def subset_medians(names: Sequence[str], seeds: int = SUBSET_SEEDS, processes: int = 1) -> dict[str, dict[str, Any]]:
    """Return the subset's medians and noise by metric. Raises InputError if one of its cases is missing or fails."""
    card = Scorecard()
    cases = [(name, case) for name, case in gather_cases(card, OWN_CASES, release=False) if case.name in names]
    if len(cases) < len(names):
        missing = set(names) - {case.name for _, case in cases}
        raise InputError(f"{FILE}: cases {', '.join(sorted(missing))} are missing; run 'lsmlab validate --write-docs'")
    runs = run_cases(cases, seeds, processes)
    failed = [f"{run.case.name}: {run.error}" for run in runs if run.error]
    if failed:
        raise InputError(f"{FILE}: {'; '.join(failed)}")
    return _medians(runs)


def _medians(runs: Sequence[CaseRun]) -> dict[str, dict[str, Any]]:
    found = totals(row for run in runs for row in rows_of(run))
    targeted = {m.name for m in METRICS if m.target is not None}
    return {
        name: {"median": total.median, "noise": max(total.noise or 0.0, _LEAST_NOISE[total.metric.kind.name])}
        for name, total in found.items()
        if name in targeted
    }


def compare(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[MedianChange]:
    """Compare the subset's medians with the baseline; a missing metric counts as an infinite regression."""
    return [
        MedianChange(name, entry["median"], now[name]["median"] if name in now else float("inf"), entry["noise"])
        for name, entry in before["metrics"].items()
    ]


def write_baseline(card: Scorecard, path: Path = FILE) -> None:
    """Choose the subset from the scored own test cases, score it with SUBSET_SEEDS seeds, and write the baseline."""
    own = [run for run in card.runs if run.set == "test" and run.error is None]
    names = sorted(run.case.name for run in sorted(own, key=lambda run: run.wall_s)[:SUBSET_CASES])
    medians = subset_medians(names) if names else {}
    document = {"digest": digest(), "cases": names, "seeds": SUBSET_SEEDS, "metrics": medians}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read_baseline(path: Path = FILE) -> dict[str, Any]:
    """Read the file of `write_baseline`. Raises InputError if it is missing or invalid."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); 'lsmlab validate --write-docs' writes it") from None
    return content
