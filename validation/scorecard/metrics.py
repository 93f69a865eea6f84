"""Metrics of the scorecard: definition of the errors, and targets for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsmlab.sim.studies.intervals import Scale
from lsmlab.sim.yaml_text import read_yaml
from lsmlab.validation.logs.histogram_clock import bucket_of


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """A way to compare a simulated value with a real one."""

    name: str
    error: Callable[[float, float], float]
    """(simulated, real) -> signed error."""
    unit: str
    """Unit in which an error is printed: %, points, buckets, factor, distance."""


def _relative(simulated: float, real: float) -> float:
    return simulated / real - 1.0 if real else (0.0 if not simulated else math.inf)


def _factor(simulated: float, real: float) -> float:
    return math.log2(simulated / real) if simulated > 0 and real > 0 else (0.0 if simulated == real else math.inf)


RELATIVE: Final = ErrorKind("relative", _relative, "%")
DIFFERENCE: Final = ErrorKind("difference", lambda s, r: s - r, "points")
BUCKETS: Final = ErrorKind("buckets", lambda s, r: float(bucket_of(s) - bucket_of(r)), "buckets")
FACTOR: Final = ErrorKind("factor", _factor, "factor")
"""Errors are base-2 logarithms of the ratio: 1 is a factor of two."""
DISTANCE: Final = ErrorKind("distance", lambda s, _r: s, "distance")
"""The simulated value is a distance from the real run and equals the error; the real value is the distance between
repeats."""
WRONG: Final = ErrorKind("wrong", lambda s, r: float(s != r), "wrong")
"""The error is 0 if the values are equal, else 1."""


def error_text(value: float | None, kind: ErrorKind, *, signed: bool = False) -> str:
    """Return an error as text with its unit: per cent, points, buckets, a factor."""
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "none"
    sign = "+" if signed else ""
    if kind is RELATIVE:
        return f"{100 * value:{sign}.1f} %"
    if kind is DIFFERENCE:
        return f"{100 * value:{sign}.1f} pt"
    if kind is BUCKETS:
        return f"{value:{sign}.1f} b"
    if kind is FACTOR:
        return f"x{2.0**value:.2f}"
    if kind is WRONG:
        return f"{100 * value:.0f} %"
    return f"{value:.3f}"


SCALES: Final = {
    RELATIVE: Scale.RATIO, DIFFERENCE: Scale.POINTS, BUCKETS: Scale.LATENCY, FACTOR: Scale.LATENCY,
}  # fmt: skip
"""Scale on which the model's error is learnt, by kind."""


@dataclass(frozen=True, slots=True)
class ScoredMetric:
    """One number of the scorecard."""

    name: str
    """Name in summary.json, with dots; `*` matches one part of a name."""
    title: str
    kind: ErrorKind
    target: float | None = None
    """Target for the median absolute error; `WRONG`: for the mean; `DISTANCE`: for the distance / that of repeats."""
    worst: float | None = None
    """Target for the worst absolute error."""
    interval: bool = False
    """Whether the model's error is learnt, so that there are intervals for the real store."""
    least: float = 0.0
    """Smallest real value that is scored: the relative error of a smaller value is mostly chance."""

    def matches(self, name: str) -> bool:
        """Whether this metric scores the number `name`."""
        if "*" not in self.name:
            return name == self.name
        return re.fullmatch(re.escape(self.name).replace(r"\*", r"[^.]+"), name) is not None


KINDS: Final = {kind.name: kind for kind in (RELATIVE, DIFFERENCE, BUCKETS, FACTOR, DISTANCE, WRONG)}
"""Kinds by their names in metrics.yaml and in the JSON document."""
METRICS: Final = tuple(
    ScoredMetric(**{**row, "kind": KINDS[row["kind"]]}) for row in read_yaml(Path(__file__).with_name("metrics.yaml"))
)
"""All metrics in the order of the tables."""

SHARE: Final = 0.10
"""Smallest share of all bytes from which a level pair or a level is scored; smaller ones are noise.

See (behaviour/measurements.md, Noise between repeats).
"""

BACKGROUND: Final = (
    "write_amplification", "device_bytes_written", "flush_", "compaction_", "trivial_move_count", "pairs.", "levels.",
)  # fmt: skip
"""First parts of the names of numbers about background jobs."""

COVERAGE: Final = (0.85, 0.95)
"""Accepted range for the share of real values inside the 90 % intervals."""


def metric_of(name: str) -> ScoredMetric | None:
    """Return the metric that scores the number `name`, or None.

    >>> metric_of("pairs.0-1.bytes").title
    'compaction bytes per level pair (> 10 % of all)'
    """
    return next((m for m in METRICS if m.matches(name)), None)
