"""What SILK's paper looks at: latency by the second, stalls, spikes, and how long a memtable waits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from lsmlab.sim.results.finished import finished
from lsmlab.validation.papers.claim import Measure, Outcome
from numpy.typing import NDArray

SPIKE_S: Final = 0.01
"""A second whose P99 is above has a spike: an order above unstalled operations, two below the spikes in the paper."""


def ratio(measure: Callable[[Outcome], float], above: str, below: str) -> Measure:
    """A measure of one run by the same of another, by `Setting.name`; infinite where that is 0."""

    def divided(outcomes: Mapping[str, Outcome]) -> float:
        bottom = measure(outcomes[below])
        return measure(outcomes[above]) / bottom if bottom > 0.0 else math.inf

    return divided


def served(of: Outcome) -> float:
    """Operations per second."""
    return float(of.summary["ops_per_s"])


def latency(operation: str, percentile: str) -> Callable[[Outcome], float]:
    """A percentile over the run, in seconds."""
    return lambda of: float(of.summary[f"{operation}_latency_s"][percentile])


def stalled(of: Outcome) -> float:
    """Share of time in which writers were held back."""
    return float(of.summary["stall_fraction"])


def by_second(of: Outcome, operation: str = "write") -> NDArray[np.float64]:
    """P99 of every second, in seconds."""
    return np.nan_to_num(np.asarray(of.series[f"{operation}_p99_s"], dtype=np.float64))


def worst_second_s(of: Outcome, begin: float = 0.0, end: float = 1.0) -> float:
    """Largest P99 of a second between two points of the run (0 to 1)."""
    p99 = by_second(of)
    return float(p99[int(begin * len(p99)) : max(1, int(end * len(p99)))].max())


def good_until_s(of: Outcome) -> float:
    """Second of the first spike; the end of the run if there was none."""
    spikes = np.flatnonzero(by_second(of) > SPIKE_S)
    return float(spikes[0]) if len(spikes) else float(of.summary["duration_s"])


def spike_share(of: Outcome) -> float:
    """Share of seconds with a spike."""
    return float((by_second(of) > SPIKE_S).mean())


def spikes_together(of: Outcome) -> float:
    """Correlation of the logarithms of P99 of reads and of writes by the second."""
    read, write = by_second(of, "read"), by_second(of)
    both = (read > 0.0) & (write > 0.0)
    if both.sum() < 2 or np.ptp(read[both]) == 0.0 or np.ptp(write[both]) == 0.0:
        return 0.0
    return float(np.corrcoef(np.log(read[both]), np.log(write[both]))[0, 1])


def flush_wait_share(of: Outcome) -> float:
    """Longest flush, from the moment that the memtable was full, by the shortest time in which a memtable filled."""
    jobs = finished(of.jobs, "kind", "queued_s", "end_s")
    flush = jobs["kind"] == "flush"
    starts, ends = jobs["queued_s"][flush], jobs["end_s"][flush]
    if len(starts) < 2:
        return 0.0
    fills = np.diff(np.sort(starts))
    return float((ends - starts).max() / fills[fills > 0.0].min())
