"""Measures for SILK's claims: latency per second, stalls, spikes, and waits for flushes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from lsmlab.sim.results.finished import finished
from lsmlab.validation.papers.claim import Measure, Outcome
from numpy.typing import NDArray

SPIKE_S: Final = 0.01
"""P99 above which a second counts as a spike: ten times an unstalled operation, a hundredth of the paper's spikes."""
L0_TRIGGER: Final = 4
"""Files of L0 at which its compaction is due: level0_file_num_compaction_trigger of all of SILK's settings, RocksDB's default."""
COLLAPSE_S: Final = 1.0
"""P99 above which the store has collapsed: writes wait for seconds, as in the paper's spikes, not for one busy device."""


def ratio(measure: Callable[[Outcome], float], above: str, below: str) -> Measure:
    """Return a measure: the number of run `above` / the number of run `below`; infinite if the latter is 0."""

    def divided(outcomes: Mapping[str, Outcome]) -> float:
        divisor = measure(outcomes[below])
        return measure(outcomes[above]) / divisor if divisor > 0.0 else math.inf

    return divided


def served(of: Outcome) -> float:
    """Return operations per second."""
    return float(of.summary["ops_per_s"])


def latency(operation: str, percentile: str) -> Callable[[Outcome], float]:
    """Return a number of a run: a latency percentile in seconds."""
    return lambda of: float(of.summary[f"{operation}_latency_s"][percentile])


def stalled(of: Outcome) -> float:
    """Return the share of time in which writers are delayed or stopped."""
    return float(of.summary["stall_fraction"])


def by_second(of: Outcome, operation: str = "write") -> NDArray[np.float64]:
    """Return the P99 of each second of the run, in seconds."""
    return np.nan_to_num(np.asarray(of.series[f"{operation}_p99_s"], dtype=np.float64))


def worst_second_s(of: Outcome, begin: float = 0.0, end: float = 1.0) -> float:
    """Return the largest P99 of a second between two points of the run, in seconds; 0 is its start and 1 its end."""
    p99 = by_second(of)
    return float(p99[int(begin * len(p99)) : max(1, int(end * len(p99)))].max())


def first_spike_s(of: Outcome) -> float:
    """Return the second of the first spike; without a spike, the length of the run."""
    return _first_above(of, SPIKE_S)


def collapse_s(of: Outcome) -> float:
    """Return the second of the first collapse; without one, the length of the run."""
    return _first_above(of, COLLAPSE_S)


def _first_above(of: Outcome, p99_s: float) -> float:
    above = np.flatnonzero(by_second(of) > p99_s)
    return float(above[0]) if len(above) else float(of.summary["duration_s"])


def spike_share(of: Outcome) -> float:
    """Return the share of seconds with a spike."""
    return float((by_second(of) > SPIKE_S).mean())


def spike_correlation(of: Outcome) -> float:
    """Return the correlation between the logarithms of the P99 of reads and of writes per second."""
    read, write = by_second(of, "read"), by_second(of)
    both = (read > 0.0) & (write > 0.0)
    if both.sum() < 2 or np.ptp(read[both]) == 0.0 or np.ptp(write[both]) == 0.0:
        return 0.0
    return float(np.corrcoef(np.log(read[both]), np.log(write[both]))[0, 1])


def longest_l0_need_s(of: Outcome) -> float:
    """Return the longest time with at least four L0 files, in seconds: an L0 compaction is due, waits, or runs."""
    due = np.concatenate(([False], np.asarray(of.series["l0_files"]) >= L0_TRIGGER, [False]))
    edges = np.flatnonzero(np.diff(due.astype(np.int8)))
    return float((edges[1::2] - edges[::2]).max()) if len(edges) else 0.0


def flush_wait_share(of: Outcome) -> float:
    """Return the longest time from a full memtable to the end of its flush / the shortest time to fill a memtable."""
    jobs = finished(of.jobs, "kind", "queued_s", "end_s")
    flush = jobs["kind"] == "flush"
    starts, ends = jobs["queued_s"][flush], jobs["end_s"][flush]
    if len(starts) < 2:
        return 0.0
    fills = np.diff(np.sort(starts))
    return float((ends - starts).max() / fills[fills > 0.0].min())
