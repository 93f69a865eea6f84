"""The model's own error: what neither seeds nor constants explain, learnt from calibration runs alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.validation.scorecard.card import CALIBRATION, RERUNS, WHAT_IFS
from lsmlab.validation.scorecard.metrics import METRICS
from lsmlab.validation.scorecard.runs import CaseRun
from lsmlab.validation.scorecard.score import rows_of

FILE: Final = Path(__file__).with_name("model_errors.json")
_LEARNT_FROM: Final[Mapping[str, str]] = {"model_errors": CALIBRATION, "log_errors": RERUNS}
"""What the file holds, and the set whose calibration runs tell it: the model with fitted constants, and with those that one
LOG tells, which are less certain than their standard errors say."""
_WANTED: Final = 0.90
_STEPS: Final = np.concatenate(([0.0], np.geomspace(1e-3, 10.0, 72)))
"""Standard deviations that are tried: relative, in points of a share, or of the logarithm of a latency."""
_FEWEST: Final = 5
"""Calibration values that a metric needs to have an error of its own."""


def read_model_errors(set_name: str, path: Path = FILE) -> Mapping[str, float]:
    """By metric, for cases of that set; empty if none have been fitted. Raises InputError for a file that cannot be read."""
    errors = _read(path)
    from_a_log = errors.get("log_errors", {}) if set_name in (RERUNS, WHAT_IFS) else {}
    return {**errors.get("model_errors", {}), **from_a_log}


@cache
def _read(path: Path) -> Mapping[str, Mapping[str, float]]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: {str(k): float(v) for k, v in content[name].items()} for name in _LEARNT_FROM}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); 'lsmlab validate --write-docs' writes it") from None


def fit_model_errors(runs: Sequence[CaseRun], set_name: str = CALIBRATION) -> dict[str, float]:
    """For each metric the smallest error with which 90 % of the calibration runs' values lie inside their intervals.

    Of that set only runs of the calibration part count (split conformal prediction with a scale for each metric: Lei and
    others 2018, with the interval's half width as the score). The calibration set is not in the score; reruns
    are, and those of calibration runs lie inside their intervals because the error was learnt from them.
    """
    calibration = [r for r in runs if r.set == set_name and r.case.part == "calibration" and r.error is None]
    left = {m.name for m in METRICS if m.interval}
    found: dict[str, float] = {}
    for step in _STEPS.tolist():
        if not left:
            break
        held: dict[str, list[bool]] = {}
        for run in calibration:
            run.model_errors = dict.fromkeys(left, step)
            for row in rows_of(run):
                if row.scored_by.name in left and row.inside is not None:
                    held.setdefault(row.scored_by.name, []).append(row.inside)
        for name in sorted(left):
            inside = held.get(name, [])
            # one more value than there are is asked to be held: what holds for new values, not for these
            if len(inside) >= _FEWEST and sum(inside) >= min(len(inside), _WANTED * (len(inside) + 1)) - 1e-9:
                found[name] = step
                left.remove(name)
        left = {name for name in left if len(held.get(name, [])) >= _FEWEST}
    return {m.name: round(found[m.name], 5) for m in METRICS if m.name in found}


def write_model_errors(runs: Sequence[CaseRun], path: Path = FILE) -> None:
    """Fit them and write them down."""
    about = "standard deviation of the model's own error by metric; lsmlab validate --write-docs, from calibration runs alone"
    errors = {name: fit_model_errors(runs, set_name) for name, set_name in _LEARNT_FROM.items()}
    path.write_text(json.dumps({"about": about, **errors}, indent=1) + "\n", encoding="utf-8")
    _read.cache_clear()
