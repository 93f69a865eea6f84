"""Fit of the hypotheses to recorded jobs, and the choice of the most likely one.

Errors of log durations follow a Laplace distribution, weighted by the durations: a few jobs take several times as long
as any hypothesis says. The likelihood then depends on the mean absolute error alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.validation.importer.estimates import jackknife_error
from lsmlab.validation.importer.hypotheses.recorded_work import RecordedWork
from lsmlab.validation.importer.hypotheses.speeds import HYPOTHESES, Hypothesis
from lsmlab.validation.importer.reading import Floats
from numpy.typing import NDArray

_STEPS: Final = 30
"""Values of the unknown number that are tried first, at equal ratios; the best one is then refined."""
_REFINED: Final = 12
"""Golden-section steps: the error of the value is below 1 %."""
_GOLDEN: Final = 0.381966
_BLOCKS: Final = 10
_CERTAIN: Final = 2.0
"""Two hypotheses are told apart if their log likelihoods differ by more than this many standard errors."""
_PRECISION: Final = 0.02
"""Smaller errors of a duration do not tell hypotheses apart: the model of a job is not more exact."""
_SMALLEST: Final = 1e-9
"""Least progress: that of a job which a hypothesis does not let start."""


@dataclass(frozen=True)
class Fit:
    """A hypothesis with its most likely number."""

    hypothesis: Hypothesis
    value: float
    errors: Floats
    """Absolute errors of the logarithm of each job's duration. Shape (n,)."""
    error: float
    """Their mean, weighted by the durations."""


@dataclass(frozen=True)
class HypothesisChoice:
    """The most likely hypothesis, and those that the LOG does not tell apart from it, the more likely first."""

    best: Fit
    rivals: Sequence[Fit]


def choose(work: RecordedWork, hypotheses: Sequence[Hypothesis] = HYPOTHESES) -> HypothesisChoice:
    """Fit all hypotheses to recorded jobs; return the most likely one and its rivals."""
    fits = sorted((fit(work, hypothesis) for hypothesis in hypotheses), key=lambda found: found.error)
    best, *others = fits
    return HypothesisChoice(best, [other for other in others if not _apart(work, best, other)])


def fit(work: RecordedWork, hypothesis: Hypothesis) -> Fit:
    """Return the number of a hypothesis that makes the recorded durations most likely."""
    lowest, highest = hypothesis.bounds(work)
    grid = np.linspace(np.log(lowest), np.log(highest), _STEPS)
    tried = [_error(work, hypothesis, float(value)) for value in grid]
    place = int(np.argmin(tried))
    low, high = float(grid[max(0, place - 1)]), float(grid[min(_STEPS - 1, place + 1)])
    for _ in range(_REFINED):
        left, right = low + _GOLDEN * (high - low), high - _GOLDEN * (high - low)
        if _error(work, hypothesis, left) < _error(work, hypothesis, right):
            high = right
        else:
            low = left
    middle = (low + high) / 2.0
    errors = _errors(work, hypothesis, middle)
    return Fit(hypothesis, float(np.exp(middle)), errors, float(np.average(errors, weights=work.seconds)))


def _apart(work: RecordedWork, best: Fit, other: Fit) -> bool:
    """Whether the likelihoods differ by more than their difference varies between parts of the LOG."""
    errors = [np.maximum(found.errors, _PRECISION) for found in (best, other)]

    def difference(kept: NDArray[np.int64]) -> float:
        first, second = (np.average(values[kept], weights=work.seconds[kept]) for values in errors)
        return float(np.log(second / first))

    everything = np.arange(len(work.seconds))
    parts = np.array_split(everything, min(_BLOCKS, len(everything)))
    left_out = np.array([difference(np.delete(everything, part)) for part in parts])
    return difference(everything) > _CERTAIN * jackknife_error(left_out)


def _error(work: RecordedWork, hypothesis: Hypothesis, log_value: float) -> float:
    return float(np.average(_errors(work, hypothesis, log_value), weights=work.seconds))


def _errors(work: RecordedWork, hypothesis: Hypothesis, log_value: float) -> Floats:
    progress = work.progress(hypothesis.speeds(work, float(np.exp(log_value))))
    errors: Floats = np.abs(np.log(np.maximum(progress, _SMALLEST)))
    return errors
