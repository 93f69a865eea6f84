"""Metrics of the scorecard: definition of the errors, and targets for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

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
    """Whether the prediction interval of the value counts for coverage."""
    least: float = 0.0
    """Smallest real value that is scored: the relative error of a smaller value is mostly chance."""

    def matches(self, name: str) -> bool:
        """Whether this metric scores the number `name`."""
        if "*" not in self.name:
            return name == self.name
        return re.fullmatch(re.escape(self.name).replace(r"\*", r"[^.]+"), name) is not None


METRICS: Final = (
    ScoredMetric("ops_per_s", "throughput", RELATIVE, 0.03, 0.10, interval=True),
    ScoredMetric("write_amplification", "W-Amp, total", RELATIVE, 0.03, 0.08, interval=True),
    ScoredMetric("pairs.*.bytes", "compaction bytes per level pair (> 10 % of all)", RELATIVE, 0.08, 0.25, interval=True),
    ScoredMetric("device_bytes_written", "bytes written to the device", RELATIVE, 0.03, 0.10, interval=True),
    ScoredMetric("stall_fraction", "stall fraction", DIFFERENCE, 0.03, 0.08, interval=True),
    ScoredMetric("slow_seconds", "seconds in which each write sleeps (LevelDB)", DIFFERENCE, None, 0.08),
    ScoredMetric("dominant_cause", "dominant stall cause", WRONG, 0.05, None),
    ScoredMetric("write_latency_s.p50", "write latency P50", BUCKETS, interval=True),
    ScoredMetric("write_latency_s.p99", "write latency P99", BUCKETS, 1.0, 2.0, interval=True),
    ScoredMetric("write_latency_s.p999", "write latency P99.9", BUCKETS, 1.0, 2.0, interval=True),
    ScoredMetric("write_latency_s.p9999", "write latency P99.99", BUCKETS, 1.0, 2.0, interval=True),
    ScoredMetric("write_latency_s.max", "longest write", FACTOR, 1.0, None, interval=True),
    ScoredMetric("throughput.ks", "per-second throughput, distributions (KS)", DISTANCE, 2.0, None),
    ScoredMetric("throughput.area", "per-second throughput, area between distributions", DISTANCE),
    ScoredMetric("throughput.cumulative", "throughput curve, largest cumulative difference", DISTANCE),
    ScoredMetric("flush_count", "flushes", RELATIVE, interval=True),
    ScoredMetric("flush_bytes", "bytes written by flushes", RELATIVE),
    ScoredMetric("compaction_count", "compactions", RELATIVE, interval=True),
    ScoredMetric("trivial_move_count", "trivial moves", RELATIVE, least=10),
    ScoredMetric("compaction_read_bytes", "bytes read by compactions", RELATIVE, interval=True),
    ScoredMetric("compaction_write_bytes", "bytes written by compactions", RELATIVE, interval=True),
    ScoredMetric("pairs.*.read_bytes", "bytes read per level pair (> 10 % of all)", RELATIVE),
    ScoredMetric("pairs.*.write_bytes", "bytes written per level pair (> 10 % of all)", RELATIVE),
    ScoredMetric("levels.*.w_amp", "W-Amp by level", RELATIVE, least=0.1),
    ScoredMetric("levels.*.bytes", "bytes per level at the end (> 10 % of all)", RELATIVE),
    ScoredMetric("levels.*.mean_bytes", "bytes per level, mean over time (> 10 % of all)", RELATIVE),
    ScoredMetric("levels.*.files", "files per level at the end", RELATIVE, least=10),
    ScoredMetric("live_bytes", "bytes of all files at the end", RELATIVE),
    ScoredMetric("operations", "operations", RELATIVE),
    ScoredMetric("device_bytes_read", "bytes read from the device", RELATIVE, least=1e8),
    ScoredMetric("stall_share.*", "stall time by cause, as a share of the run", DIFFERENCE),
    ScoredMetric("stall_interval_share.*", "length of stalls by cause, as a share of the run, if waits are unknown", DIFFERENCE),
    ScoredMetric("stall_count.*", "stall count by cause", RELATIVE, least=20),
    ScoredMetric("read_latency_s.p50", "read latency P50", BUCKETS),
    ScoredMetric("read_latency_s.p99", "read latency P99", BUCKETS),
    ScoredMetric("read_latency_s.p999", "read latency P99.9", BUCKETS),
    ScoredMetric("read_latency_s.p9999", "read latency P99.99", BUCKETS),
    ScoredMetric("read_latency_s.max", "longest read", FACTOR),
    ScoredMetric("write_latency_s.*", "write latency, other percentiles and mean", BUCKETS),
    ScoredMetric("read_latency_s.*", "read latency, other percentiles and mean", BUCKETS),
    ScoredMetric("scan_latency_s.p50", "scan latency P50", BUCKETS),
    ScoredMetric("scan_latency_s.p99", "scan latency P99", BUCKETS),
    ScoredMetric("scan_latency_s.p999", "scan latency P99.9", BUCKETS),
    ScoredMetric("scan_latency_s.max", "longest scan", FACTOR),
    ScoredMetric("scan_latency_s.*", "scan latency, other percentiles and mean", BUCKETS),
)
"""All metrics in the order of the tables; most of the first ones have targets."""

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


KINDS: Final = {kind.name: kind for kind in (RELATIVE, DIFFERENCE, BUCKETS, FACTOR, DISTANCE, WRONG)}
"""Kinds by their names in the JSON document."""
