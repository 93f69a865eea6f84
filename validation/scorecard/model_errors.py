"""The model's error: the part that neither seeds nor constants explain. It is learnt from one half of the scored runs."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from lsmlab.sim.studies.metrics import CHANGED, FITTED, FROM_A_LOG, MODEL_ERRORS, forget_model_errors
from lsmlab.validation.scorecard.card import PUBLIC, PUBLIC_2, RERUNS, TEST, WHAT_IFS, WIDER
from lsmlab.validation.scorecard.metrics import METRICS
from lsmlab.validation.scorecard.runs import CaseRun
from lsmlab.validation.scorecard.score import rows_of

_LEARNT_FROM: Final[Mapping[str, str]] = {FITTED: TEST, FROM_A_LOG: RERUNS, CHANGED: WHAT_IFS}
"""Keys of the file, and the set from which each is learnt. Constants of one LOG have larger errors than their standard errors
show, and predictions for another store or load larger ones than reruns."""
_BY_MACHINE: Final = (PUBLIC, PUBLIC_2, WIDER)
"""Sets whose errors are learnt by machine: other people's machines, and kinds of store and load that no calibration run of the
machine has."""
_WANTED: Final = 0.90
_STEPS: Final = np.concatenate(([0.0], np.geomspace(1e-3, 10.0, 72)))
"""Standard deviations to try: relative, in points of a share, or of the logarithm of a latency."""
_FEWEST: Final = 5
"""Smallest number of calibration values from which the error of a metric is fitted."""


def choose_learning_half(runs: Sequence[CaseRun]) -> None:
    """Set `learning` of half of the runs, by a checksum of the name: a case stays in its half when others come or go."""
    sets = (*_LEARNT_FROM.values(), *_BY_MACHINE)
    for run in runs:
        run.learning = run.set in sets and zlib.crc32(run.case.name.encode()) % 2 == 0


def fit_model_errors(runs: Sequence[CaseRun]) -> dict[str, float]:
    """Return for each metric the smallest error with which 90 % of the values lie inside their intervals.

    Only runs of the learning half count (`CaseRun.learning`); coverage is taken from the other half. The method is split
    conformal prediction with one scale per metric (Lei and others 2018; the score is the half width of the interval).
    """
    learning = [run for run in runs if run.learning and run.error is None]
    left = {m.name for m in METRICS if m.interval}
    found: dict[str, float] = {}
    for step in _STEPS.tolist():
        if not left:
            break
        held: dict[str, list[bool]] = {}
        for run in learning:
            run.model_errors = dict.fromkeys(left, step)
            for row in rows_of(run):
                if row.scored_by.name in left and row.contains is not None:
                    held.setdefault(row.scored_by.name, []).append(row.contains)
        for name in sorted(left):
            inside = held.get(name, [])
            # count one value more than exists, so that the interval is valid for new values too
            if len(inside) >= _FEWEST and sum(inside) >= min(len(inside), _WANTED * (len(inside) + 1)) - 1e-9:
                found[name] = step
                left.remove(name)
        left = {name for name in left if len(held.get(name, [])) >= _FEWEST}
    return {m.name: round(found[m.name], 5) for m in METRICS if m.name in found}


def write_model_errors(runs: Sequence[CaseRun], path: Path = MODEL_ERRORS) -> None:
    """Fit the model errors and write them to the file; machines of `_BY_MACHINE` have errors of their own."""
    about = "standard deviation of the model's own error by metric; lsmlab validate --write-docs, from one half of the runs"
    errors = {name: fit_model_errors([r for r in runs if r.set == of]) for name, of in _LEARNT_FROM.items()}
    others = [run for run in runs if run.set in _BY_MACHINE]
    for machine in sorted({run.parameters for run in others}):
        if found := fit_model_errors([run for run in others if run.parameters == machine]):
            errors[machine] = found
    path.write_text(json.dumps({"about": about, **errors}, indent=1) + "\n", encoding="utf-8")
    forget_model_errors()
