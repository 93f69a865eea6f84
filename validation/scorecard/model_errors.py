"""The model's error: what neither seeds nor constants explain. It is learnt from the development cases, by kind.

The method is normalised conformal prediction with cross-fitting (Papadopoulos and others 2011; Barber and others 2021): the
width of an error is a sum of what widens it with weights that are fitted to the absolute errors; the interval is the shortest
range of error / width with 90 % of the values, each with the weights of the other folds. A checksum decides the fold of a
case, so that it stays there when other cases come or go; cases of one group of runs on one machine share it, because their
errors are alike.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.sim.studies.intervals import (
    ALWAYS,
    MODEL_ERRORS,
    WIDENING,
    ErrorRange,
    Knowledge,
    LearntError,
    ModelErrors,
    Scale,
    of_change,
    read_model_errors,
)
from lsmlab.sim.studies.statistics import CONFIDENCE

FOLDS: Final = 5
FEWEST: Final = 20
"""Smallest number of values from which an error is learnt: with 19, the 90 % interval is that of the extremes."""
_CHOICE: Final = 0.2
"""Values per root of their number that the choice of the shortest range costs: with them, ranges of 20 to 300 normal values, and
of such with the tails of Student's t of two degrees of freedom, hold 90 to 92 % of new values; without, 84 to 89 %."""
_CAPPED: Final = 0.95
"""Quantile of the absolute errors at which they are capped for the fit of the weights, so that no single case decides."""
_FLOOR: Final = 0.25
"""Smallest width, as a share of the median absolute error of the kind."""
_STEPS: Final = 8
"""Steps of the fit of the weights, which then no longer change."""
_LEAST: Final = {Scale.RATIO: 0.002, Scale.POINTS: 0.002, Scale.LATENCY: 0.1}
"""Smallest width on each scale: real values are printed with three or four digits."""


@dataclass(frozen=True, slots=True)
class ErrorValue:
    """Error of one number of one recorded run."""

    metric: str
    scale: Scale
    knowledge: Knowledge
    device: str | None
    """Class of the drive."""
    case: str
    group: str
    """Cases of one group share a fold."""
    machine: str
    """Machine and drive, as in the case: changes are those between two cases of one machine."""
    place: float
    """Simulated value of the first seed, on the scale of the metric."""
    error: float
    """Real minus simulated, of the first seed, on the scale of the metric."""
    known: Mapping[str, float]
    """What the run knows of its own error, by name of `WIDENING`."""

    @property
    def fold(self) -> int:
        """Number of the fold, from 0."""
        return checksum(self.group) % FOLDS


def checksum(text: str) -> int:
    """Return a checksum of a name, which no other case changes."""
    return zlib.crc32(text.encode())


def learn(values: Sequence[ErrorValue]) -> ModelErrors:
    """Return the errors of all kinds with at least `FEWEST` values: of each class of drives, and of all classes together."""
    found = []
    for (metric, knowledge), own in _grouped(values, lambda v: (v.metric, v.knowledge)).items():
        classes = _grouped([v for v in own if v.device is not None], lambda v: v.device)
        if len(own) >= FEWEST:
            every = _learnt(own, metric, knowledge, None)
            of_class = (_learnt(of, metric, knowledge, name, every.change) for name, of in classes.items() if len(of) >= FEWEST)
            found += [every, *of_class]
    return ModelErrors.of(found)


def out_of_fold(values: Sequence[ErrorValue]) -> dict[int, ModelErrors]:
    """Return for each fold the errors that are learnt without it."""
    return {fold: learn([v for v in values if v.fold != fold]) for fold in range(FOLDS)}


def _grouped(values: Iterable[ErrorValue], key: Any) -> dict[Any, list[ErrorValue]]:
    """Return the values by a key, in the order in which the keys first occur."""
    found: dict[Any, list[ErrorValue]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)
    return found


def _learnt(
    values: Sequence[ErrorValue], metric: str, knowledge: Knowledge, device: str | None, change: float = 1.0
) -> LearntError:
    """Return the error of one kind. `change`: ratio of the errors of changes if there are few pairs."""
    typical = {}
    for name in WIDENING:
        known = [v.known[name] for v in values if name in v.known]
        if known:
            typical[name] = float(np.median(known))
    weights = _weights(values, typical)
    learnt = LearntError(metric, values[0].scale, knowledge, device, len(values), weights, typical, 0.0, 0.0)
    low, high = shortest(list(_scores(values, learnt)))
    learnt = replace(learnt, low=low, high=high)
    return replace(learnt, change=_change(values, replace(learnt, change=change)))


def shortest(scores: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the shortest range that holds 0 and enough values that 90 % of new ones are inside.

    >>> shortest([-1.0, *([0.1] * 38), 9.0])
    (-1.0, 0.1)
    """
    ordered, n = sorted(scores), len(scores)
    wanted = min(n, math.ceil((n + 1) * CONFIDENCE + _CHOICE * math.sqrt(n)))
    ranges = [(min(0.0, a), max(0.0, b)) for a, b in zip(ordered, ordered[wanted - 1 :], strict=False)]
    return min(ranges, key=lambda ends: ends[1] - ends[0])


def _scores(values: Sequence[ErrorValue], learnt: LearntError) -> Iterator[float]:
    """Yield error / width of each value, with weights from the other folds; of a single fold, with its own."""
    for fold in sorted({v.fold for v in values}):
        others = [v for v in values if v.fold != fold] or values
        of_others = replace(learnt, weights=_weights(others, learnt.typical))
        yield from (v.error / of_others.width(v.known) for v in values if v.fold == fold)


def _weights(values: Sequence[ErrorValue], typical: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of what widens the errors: the fit of the absolute errors with the least relative deviations.

    No weight is below 0. Each step is a least-squares fit of the absolute errors over the widths of the last step.
    """
    from scipy.optimize import nnls

    names = [name for name in WIDENING if name == ALWAYS or name in typical]
    rows = np.array([[1.0 if n == ALWAYS else v.known.get(n, typical.get(n, 0.0)) for n in names] for v in values])
    sizes = np.abs([v.error for v in values])
    sizes = np.minimum(sizes, np.quantile(sizes, _CAPPED))
    floor = max(_LEAST[values[0].scale], _FLOOR * float(np.median(sizes)))
    widths = np.full(len(sizes), max(floor, float(np.mean(sizes))))
    for _ in range(_STEPS):
        fitted, _residual = nnls(rows / widths[:, None], sizes / widths)
        fitted[0] = max(fitted[0], floor)
        widths = rows @ fitted
    return {name: float(weight) for name, weight in zip(names, fitted, strict=True) if weight > 0.0}


def _change(values: Sequence[ErrorValue], learnt: LearntError) -> float:
    """Return the ratio of the errors of changes to those of independent errors (`LearntError.change`).

    The changes are those between disjoint pairs of cases of one machine. Neighbours by name are pairs, because they differ in
    little, as a store and an alternative do. For few pairs, it is that of `learnt`.
    """
    ratios = []
    for own in _grouped(values, lambda v: v.machine).values():
        ordered = sorted(own, key=lambda v: v.case)
        for before, after in zip(ordered[::2], ordered[1::2], strict=False):
            both = of_change(learnt.range(before.known), learnt.range(after.known), 1.0)
            ratios.append(_exceeds(after.error - before.error, both))
    if len(ratios) < FEWEST:
        return learnt.change
    return sorted(ratios)[min(len(ratios), math.ceil((len(ratios) + 1) * CONFIDENCE)) - 1]


def _exceeds(error: float, of: ErrorRange) -> float:
    """Return an error over the end of its range on the same side."""
    end = of.high if error > 0.0 else -of.low
    return abs(error) / end if end > 0.0 else math.inf if error else 0.0


# --- how well the intervals hold --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Held:
    """Coverage and width of the intervals of one kind, on values from which they were not learnt."""

    metric: str
    scale: Scale
    knowledge: Knowledge
    device: str | None
    """Class of the drive; None: all classes together."""
    values: int
    inside: float
    """Share of the real values inside their 90 % interval."""
    half_width: float
    """Median of half the width, on the scale of the metric."""


def held(values: Sequence[ErrorValue]) -> list[Held]:
    """Return coverage and width by kind; each value has the interval that was learnt without its fold."""
    by_fold = out_of_fold(values)
    seen: dict[tuple[str, Knowledge, str | None], list[tuple[bool, float]]] = {}
    scales = {v.metric: v.scale for v in values}
    for v in values:
        found = by_fold[v.fold].of_kind(v.metric, v.knowledge, v.device)
        if found is None:
            continue
        of = found.range(v.known)
        for device in dict.fromkeys((None, v.device)):
            kind = (v.metric, v.knowledge, device)
            seen.setdefault(kind, []).append((of.low <= v.error <= of.high, _half_width(v, of)))
    return [
        Held(metric, scales[metric], knowledge, device, len(own), float(np.mean([i for i, _ in own])),
             float(np.median([w for _, w in own])))
        for (metric, knowledge, device), own in seen.items()
        if len(own) >= FEWEST
    ]  # fmt: skip


def _half_width(value: ErrorValue, of: ErrorRange) -> float:
    """Return half the width of an interval on the scale of its metric; that of a share ends at 0 and 1."""
    ends = [value.place + end for end in (of.low, of.high)]
    if value.scale is Scale.POINTS:
        ends = [value.scale.at(end) for end in ends]
    return 0.5 * (ends[1] - ends[0])


def held_json(several: Iterable[Held]) -> list[dict[str, Any]]:
    """Return coverage and width in the form of `lsmlab validate --json`."""
    return [asdict(one) for one in several]


def write_model_errors(values: Sequence[ErrorValue], path: Path = MODEL_ERRORS) -> None:
    """Learn the errors from all values and write them to the file."""
    about = "errors of the model by kind (docs/background/confidence.md); written by lsmlab validate --write-docs"
    rows = ",\n".join(json.dumps(_rounded(asdict(one))) for one in learn(values).learnt.values())  # one line per kind
    path.write_text(f'{{\n"about": {json.dumps(about)},\n"errors": [\n{rows}\n]\n}}\n', encoding="utf-8")
    read_model_errors.cache_clear()


def _rounded(row: Any) -> Any:
    """Return the numbers of a row with four digits."""
    if isinstance(row, dict):
        return {key: _rounded(value) for key, value in row.items()}
    return float(f"{row:.4g}") if isinstance(row, float) else row
