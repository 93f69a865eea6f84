"""The model's error: the part that neither seeds nor constants explain. It is fitted to calibration runs only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from lsmlab.sim.decisions.model_errors import FILE, forget_model_errors
from lsmlab.validation.scorecard.card import CALIBRATION, RERUNS
from lsmlab.validation.scorecard.metrics import METRICS
from lsmlab.validation.scorecard.runs import CaseRun
from lsmlab.validation.scorecard.score import rows_of

_LEARNT_FROM: Final[Mapping[str, str]] = {"model_errors": CALIBRATION, "log_errors": RERUNS}
"""Keys of the file, and the set with the calibration runs for each: the model with fitted constants, and the model with
constants inferred from one LOG. The latter have larger errors than their standard errors show."""
_WANTED: Final = 0.90
_STEPS: Final = np.concatenate(([0.0], np.geomspace(1e-3, 10.0, 72)))
"""Standard deviations to try: relative, in points of a share, or of the logarithm of a latency."""
_FEWEST: Final = 5
"""Smallest number of calibration values from which the error of a metric is fitted."""


def fit_model_errors(runs: Sequence[CaseRun], set_name: str = CALIBRATION) -> dict[str, float]:
    """Return for each metric the smallest error with which 90 % of the calibration values lie inside their intervals.

    Only runs of the set's calibration part count. The method is split conformal prediction with one scale per metric
    (Lei and others 2018; the score is the half width of the interval). The calibration set is not scored. Reruns are
    scored; reruns of calibration runs lie inside their intervals because the error was fitted to them.
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
            # count one value more than exists, so that the interval is valid for new values too
            if len(inside) >= _FEWEST and sum(inside) >= min(len(inside), _WANTED * (len(inside) + 1)) - 1e-9:
                found[name] = step
                left.remove(name)
        left = {name for name in left if len(held.get(name, [])) >= _FEWEST}
    return {m.name: round(found[m.name], 5) for m in METRICS if m.name in found}


def write_model_errors(runs: Sequence[CaseRun], path: Path = FILE) -> None:
    """Fit the model errors and write them to the file."""
    about = "standard deviation of the model's own error by metric; lsmlab validate --write-docs, from calibration runs alone"
    errors = {name: fit_model_errors(runs, set_name) for name, set_name in _LEARNT_FROM.items()}
    path.write_text(json.dumps({"about": about, **errors}, indent=1) + "\n", encoding="utf-8")
    forget_model_errors()
