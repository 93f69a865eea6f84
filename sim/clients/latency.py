"""Latency of every operation from two curves, without simulating operations (background/time.md, How time works).

Clients produce *pieces*: a number of operations whose extra delay (on top of an unstalled operation) rises or falls
linearly between two values, with the time of their completion. Percentiles follow from pieces exactly. The unstalled
time has a log-logistic distribution of measured spread. Around its median it resembles a lognormal distribution, but
it has power-law tails, as db_bench's histograms show: of 3.6 million recorded writes of 1.5 us on average, 0.45 % took
more than 4 us and 0.09 % between 6 and 22 us (validation/cases, rate80_bw80). With a spread of 0.36 this distribution
gives 0.30 and 0.05 %, a lognormal distribution of the same spread 0.07 and 0.001 %.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
_LOWEST_S: Final = 1e-8
_GROWTH: Final = 1.02
"""Ratio of two bucket bounds: percentiles are within 1 % of their value."""
EDGES: Final[Floats] = np.asarray(
    _LOWEST_S * _GROWTH ** np.arange(math.ceil(math.log(1e14) / math.log(_GROWTH))), dtype=np.float64
)
"""Upper bounds of the buckets, 10 ns to about 11 days. Shape (b,)."""


def loglogistic_cdf(x: Floats, mean_s: float, spread: float) -> Floats:
    """Distribution function of a log-logistic with the given mean and standard deviation of the logarithm."""
    if spread < _NO_SPREAD:
        return (x >= mean_s).astype(np.float64)
    width = _log_width(spread)
    z = (np.log(np.maximum(x, 1e-300)) - _log_median(mean_s, width)) / width
    result: Floats = 1.0 / (1.0 + np.exp(np.clip(-z, -700.0, 700.0)))
    return result


_NO_SPREAD: Final = 1e-6
"""Spreads below this count as zero."""


def _log_width(spread: float) -> float:
    """Scale of the logistic distribution of the logarithm whose standard deviation is `spread`."""
    return math.sqrt(3.0) / math.pi * spread


def _log_median(mean_s: float, width: float) -> float:
    return math.log(mean_s * math.sin(math.pi * width) / (math.pi * width))


class Pieces:
    """Operations with extra delay. Columns: completed at, count, delay at the beginning, delay at the end."""

    def __init__(self) -> None:
        self._rows = array("d")

    def add(self, completed_s: float, count: float, low_s: float, high_s: float) -> None:
        """Add `count` operations, completed at `completed_s`, whose extra delay is uniform between `low_s` and `high_s`."""
        if count > 0.0:
            self._rows.extend((completed_s, count, low_s, high_s))

    def extend(self, rows: Floats) -> None:
        """Add rows of shape (n, 4)."""
        self._rows.frombytes(np.ascontiguousarray(rows, dtype=np.float64).tobytes())

    def table(self) -> Floats:
        """All pieces, shape (n, 4)."""
        return np.frombuffer(self._rows, dtype=np.float64).reshape(-1, 4) if self._rows else np.empty((0, 4))


def pieces_below(pieces: Floats, x: Floats, shift_s: float) -> Floats:
    """Count the operations of `pieces` that took at most x, for each x; `shift_s` is added to every delay. Shape of x."""
    if not len(pieces):
        return np.zeros_like(x)
    count = pieces[:, 1]
    low = np.minimum(pieces[:, 2], pieces[:, 3]) + shift_s
    high = np.maximum(pieces[:, 2], pieces[:, 3]) + shift_s
    narrow = high <= low * _GROWTH
    middle = 0.5 * (low[narrow] + high[narrow])
    order = np.argsort(middle)
    heights = np.concatenate(([0.0], np.cumsum(count[narrow][order])))
    below = heights[np.searchsorted(middle[order], x, side="right")]
    wide = ~narrow
    if wide.any():
        slope = count[wide] / (high[wide] - low[wide])
        below = below + ramps(low[wide], slope, x) - ramps(high[wide], slope, x)
    return below


def ramps(start: Floats, slope: Floats, x: Floats) -> Floats:
    """Sum over i of slope[i] · max(0, x - start[i]), for each x."""
    order = np.argsort(start)
    start, slope = start[order], slope[order]
    a = np.concatenate(([0.0], np.cumsum(slope)))
    b = np.concatenate(([0.0], np.cumsum(slope * start)))
    index = np.searchsorted(start, x, side="right")
    result: Floats = a[index] * x - b[index]
    return result


@dataclass(frozen=True, slots=True)
class Unstalled:
    """Operations without a wait: their number and the distribution of their time."""

    count: float
    mean_s: float
    spread: float
    """Standard deviation of the logarithm; below 0.9, because the variance is infinite above."""

    def quantile(self, q: float) -> float:
        """Time in seconds that a fraction `q` of the operations does not exceed."""
        if self.spread < _NO_SPREAD:
            return self.mean_s
        width = _log_width(self.spread)
        return math.exp(_log_median(self.mean_s, width) + width * math.log(q / (1.0 - q)))

    @property
    def variation(self) -> float:
        """Square of the coefficient of variation."""
        angle = math.pi * _log_width(self.spread)
        return math.tan(angle) / angle - 1.0 if self.spread >= _NO_SPREAD else 0.0


def spread_of(variation: float) -> float:
    """Return the spread of a log-logistic time from the square of its coefficient of variation (`Unstalled.variation`).

    At most 0.8: the variance is infinite from 0.9 on.
    """
    low, high = 0.0, _MOST_SPREAD
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if Unstalled(1.0, 1.0, middle).variation < variation:
            low = middle
        else:
            high = middle
    return high


_MOST_SPREAD: Final = 0.8
_HALVINGS: Final = 20
"""Steps of the search for a spread, to 1e-6."""


class LatencyDistribution:
    """Latency distribution of one kind of operation over a run or over one second."""

    def __init__(self, unstalled: list[Unstalled], pieces: Floats) -> None:
        """`unstalled`: parts with their own means. The delays of `pieces` are added to the overall mean."""
        plain = sum(u.count for u in unstalled)
        mean_s = sum(u.count * u.mean_s for u in unstalled) / plain if plain > 0 else 0.0
        delayed = float(pieces[:, 1].sum()) if len(pieces) else 0.0
        self.count = plain + delayed
        self._plain = np.zeros_like(EDGES)
        for part in unstalled:
            if part.count > 0:
                self._plain += part.count * loglogistic_cdf(EDGES, part.mean_s, part.spread)
        below = pieces_below(pieces, EDGES, mean_s) + self._plain
        self._below = np.maximum.accumulate(np.clip(below, 0.0, self.count))
        self.mean_s = 0.0
        self.max_s = 0.0
        if self.count > 0:
            extra = float((pieces[:, 1] * 0.5 * (pieces[:, 2] + pieces[:, 3])).sum()) if len(pieces) else 0.0
            self.mean_s = mean_s + extra / self.count
            self.max_s = max((u.quantile(1.0 - 0.5 / max(1.0, u.count)) for u in unstalled if u.count > 0), default=0.0)
            if len(pieces):
                self.max_s = max(self.max_s, float(pieces[:, 2:].max()) + mean_s)

    def quantile(self, q: float) -> float:
        """Latency in seconds that a fraction `q` of the operations does not exceed; 0 for no operations."""
        return _quantile(self._below, q * self.count)

    def unstalled_quantiles(self) -> dict[str, float]:
        """Percentiles in seconds of operations without a wait; "max" is their P99.99."""
        result = {name: _quantile(self._plain, q * float(self._plain[-1])) for name, q in QUANTILES.items()}
        return {**result, "max": result["p9999"]}

    def summary(self, duration_s: float = math.inf) -> dict[str, float]:
        """Percentiles, mean and maximum in seconds, as in summary.json; ordered by construction.

        The maximum of a few operations is estimated by a quantile, which may be below their mean: then it is the mean.
        No operation that ended within `duration_s` took longer; a delay that outlasts the run is estimated at its end.
        """
        result = {name: self.quantile(q) for name, q in QUANTILES.items()}
        last = 0.0
        for name, value in result.items():
            last = result[name] = max(last, min(value, self.max_s) if self.max_s > 0 else value)
        result |= {"max": max(self.max_s, last, self.mean_s), "mean": self.mean_s}
        return {name: min(value, duration_s) for name, value in result.items()}

    def histogram(self) -> tuple[Floats, Floats]:
        """Non-empty buckets: (upper bounds in seconds, operations per bucket)."""
        counts = np.diff(self._below, prepend=0.0)
        used = np.flatnonzero(counts > 0)
        if not len(used):
            return np.empty(0), np.empty(0)
        window = slice(used[0], used[-1] + 1)
        return EDGES[window], counts[window]


def _quantile(below: Floats, wanted: float) -> float:
    """Latency in seconds that `wanted` operations do not exceed, where `below` of them took at most EDGES; 0 for none."""
    if wanted <= 0.0:
        return 0.0
    i = int(np.searchsorted(below, wanted, side="left"))
    if i == 0:
        return float(EDGES[0])
    if i >= len(EDGES):
        return float(EDGES[-1])
    low, high = float(below[i - 1]), float(below[i])
    part = (wanted - low) / (high - low) if high > low else 1.0
    return float(EDGES[i - 1] * _GROWTH**part)


def queue_pieces(times: Floats, arrived: Floats, served: Floats, extra_breaks: Floats) -> Floats:
    """Compute the pieces of a first-come-first-served queue from its cumulative curves.

    Args:
        times: times at which a rate changed, ascending, shape (n,).
        arrived: operations that had arrived by then; piecewise linear between. Shape (n,).
        served: operations that had been served by then. Shape (n,).
        extra_breaks: further times at which pieces end (the seconds of the series).

    Returns:
        Rows (completed at, count, delay at the piece's beginning, delay at its end) for operations that waited; those
        not served by the end are left out.

    """
    if len(times) < 2:
        return np.empty((0, 4))
    marks = np.concatenate((served, np.interp(extra_breaks, times, served), np.minimum(arrived, served[-1])))
    marks = np.sort(marks[(marks >= served[0]) & (marks <= served[-1])])
    marks = marks[np.append(True, marks[1:] != marks[:-1])]  # np.unique imports numpy.ma: 8 ms, 3 % of a short run
    if len(marks) < 2:
        return np.empty((0, 4))
    middle = 0.5 * (marks[1:] + marks[:-1])
    keep = np.diff(marks) > 1e-9 * max(1.0, float(marks[-1]))
    lows, highs, middle = marks[:-1][keep], marks[1:][keep], middle[keep]
    arrival = _inverse(times, arrived, middle)
    completion = _inverse(times, served, middle)
    begin = completion(lows) - arrival(lows)
    end = completion(highs) - arrival(highs)
    rows = np.column_stack((completion(middle), highs - lows, np.maximum(begin, 0.0), np.maximum(end, 0.0)))
    return rows[np.maximum(begin, end) > 1e-9]


def _inverse(times: Floats, curve: Floats, middle: Floats) -> Callable[[Floats], Floats]:
    """Invert a piecewise linear curve, for arguments in the segments that contain the heights `middle`."""
    segment = np.clip(np.searchsorted(curve, middle, side="left") - 1, 0, len(curve) - 2)
    start_s, start = times[segment], curve[segment]
    rise = curve[segment + 1] - start
    slope = np.divide(times[segment + 1] - start_s, rise, out=np.zeros_like(rise), where=rise > 0)
    return lambda height: start_s + (height - start) * slope


def waiting_mixture(
    part: Unstalled, utilisation: float, threads: int, residual_s: float | None = None
) -> tuple[Unstalled, Floats]:
    """Split operations of an open loop into those served at once and those that find all threads busy.

    For Poisson arrivals the share that waits is Erlang's C, and its mean wait is R / (threads · (1 - utilisation))
    (Pollaczek and Khinchine for one thread, Lee and Longton's approximation for several). R = E[S²] / 2 E[S] is the mean
    residual time of an operation in progress: `residual_s`, or that of `part` if it holds all operations. The wait is
    exponential, given as pieces of equal probability.
    """
    if part.count <= 0.0 or utilisation <= 0.0:
        return part, np.empty((0, 4))
    rho = min(utilisation, 0.98)
    share = erlang_c(threads, rho)
    if residual_s is None:
        residual_s = 0.5 * (1.0 + part.variation) * part.mean_s
    mean_wait_s = residual_s / (threads * (1.0 - rho))
    steps = np.concatenate((np.arange(0.0, 0.99, 0.03), 1.0 - np.logspace(-2.0, -6.0, 13)))
    bounds = -np.log1p(-steps) * mean_wait_s
    counts = np.diff(steps) * share * part.count
    rows = np.column_stack((np.full(len(counts), -1.0), counts, bounds[:-1], bounds[1:]))
    return Unstalled(part.count - float(counts.sum()), part.mean_s, part.spread), rows


def erlang_c(servers: int, utilisation: float) -> float:
    """Probability that an arrival finds all servers busy (M/M/c); equals the utilisation for one server."""
    load = servers * utilisation
    blocking = 1.0
    for n in range(1, servers + 1):
        blocking = load * blocking / (n + load * blocking)  # Erlang B by recursion
    return blocking / (1.0 - utilisation * (1.0 - blocking))
