"""Missed targets with suspected mechanisms and deciding experiments (validation/scorecard/findings.yaml)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.yaml_text import read_yaml
from lsmlab.validation.scorecard.metrics import DISTANCE
from lsmlab.validation.scorecard.score import ScoreRow, Total

FILE: Final = Path(__file__).with_name("findings.yaml")
_KEYS: Final = ("metric", "cases", "mechanism", "experiment")
_SHOWN: Final = 6
"""Number of cases named for each missed target."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One explanation of missed targets."""

    metric: str
    cases: tuple[str, ...]
    """Names of its cases; a case of somebody else has other causes."""
    mechanism: str
    experiment: str

    def applies_to(self, metric: str, case: str) -> bool:
        """Whether the finding is about this metric and case."""
        return metric.startswith(self.metric) and case in self.cases


def read_findings(path: Path = FILE) -> list[Finding]:
    """Read the findings. Raises InputError that names the file or the entry."""
    content = read_yaml(path)
    found = []
    for number, entry in enumerate((content or {}).get("findings") or []):
        if not isinstance(entry, Mapping) or set(entry) - set(_KEYS) or not entry.keys() >= {"metric", "cases"}:
            raise InputError(f"{path}: findings[{number}]: must be a mapping with the keys {', '.join(_KEYS)}")
        cases = tuple(str(c) for c in entry["cases"])
        texts = [" ".join(str(entry.get(key, "")).split()) for key in ("mechanism", "experiment")]
        found.append(Finding(str(entry["metric"]), cases, *texts))
    return found


def missed_targets(totals: Mapping[str, Total], rows: Sequence[ScoreRow], findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the missed targets, each with the cases that have the largest errors and the findings about them."""
    result = []
    for name, total in totals.items():
        if total.meets_target is not False and total.meets_worst is not False:
            continue
        metric = total.metric
        limit = metric.worst if total.meets_target is not False else metric.target
        if metric.kind is DISTANCE:
            limit = 0.0
        mine = [row for row in rows if row.scored_by.name == name and abs(row.error) > (limit or 0.0)]
        mine.sort(key=lambda row: -abs(row.error))
        cases = list(dict.fromkeys(row.case for row in mine))
        words = [(f, [case for case in cases if f.applies_to(name, case)]) for f in findings]
        result.append({
            "metric": name, "title": metric.title, "kind": metric.kind.name,
            "median": total.median, "worst": total.worst, "target": metric.target, "target_worst": metric.worst,
            "cases": [
                {"name": row.case, "metric": row.metric, "error": row.error, "real": row.real, "simulated": row.simulated}
                for row in mine[:_SHOWN]
            ],
            "more": max(0, len(mine) - _SHOWN),
            "findings": [{"cases": named, "mechanism": f.mechanism, "experiment": f.experiment} for f, named in words if named],
        })  # fmt: skip
    return result
