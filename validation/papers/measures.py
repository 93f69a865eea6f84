"""Functions of the expressions of claims: combinations of numbers, and measures of one run.

A measure takes a run and returns a number of its tables or of several keys of its summary (docs/reference/summary.md).
An expression reads other numbers from the summary by their keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from lsmlab.models.policies.vlsm.picker import GOOD, MIXED, POOR
from lsmlab.sim.results.job_sums import finished
from lsmlab.validation.papers.claim import PaperRun
from numpy.typing import NDArray

SPIKE_S: Final = 0.01
"""P99 above which a second counts as a spike: ten times an unstalled operation, a hundredth of SILK's spikes."""
COLLAPSE_S: Final = 1.0
"""P99 above which a store has collapsed: writes wait for seconds, as in SILK's spikes, not for one busy device."""
AT_ONCE_S: Final = 0.01
"""Longest time between a full memtable and a flush that starts at once: SILK's scheduler acts every 10 ms."""
KNEE: Final = 0.95
"""Share of the best value of a sweep at which its knee lies."""
_IN_USE: Final = 0.05
"""Share of its target from which a level counts as used; files that pass a full level are smaller than this."""

# --- numbers ----------------------------------------------------------------------------------------------------------


def ratio(above: float, below: float, unbounded: float | None = None) -> float:
    """Return above / below; if `below` is 0, `unbounded`, by default infinity, or NaN for 0 / 0.

    >>> ratio(3, 2), ratio(3, 0), ratio(0, 0), ratio(0, 0, math.inf), ratio(3, 0, math.nan)
    (1.5, inf, nan, inf, nan)
    """
    if below:
        return above / below
    if unbounded is not None:
        return unbounded
    return math.inf if above else math.nan


def smallest(*values: float) -> float:
    """Return the smallest value that is not NaN. Raises ValueError if all are NaN."""
    return min(v for v in values if not math.isnan(v))


def largest(*values: float) -> float:
    """Return the largest value that is not NaN. Raises ValueError if all are NaN."""
    return max(v for v in values if not math.isnan(v))


def mean(*values: float) -> float:
    """Return the arithmetic mean."""
    return sum(values) / len(values)


def argmax(sweep: Mapping[float, float]) -> float:
    """Return the key with the largest value, the first of several; NaN if all values are 0."""
    return float(max(sweep, key=lambda key: sweep[key])) if any(sweep.values()) else math.nan


def knee(sweep: Mapping[float, float]) -> float:
    """Return the first key whose value is at least 95 % of the largest."""
    least = KNEE * max(sweep.values())
    return float(next(key for key, value in sweep.items() if value >= least))


# --- stalls -----------------------------------------------------------------------------------------------------------


def stalled_s(run: PaperRun, *causes: str) -> float:
    """Return the seconds for which clients waited, of all causes or of those that begin with one of `causes`."""
    stalls = run.summary["stall_seconds"]
    return float(sum(s for cause, s in stalls.items() if not causes or cause.startswith(causes)))


def listener_stall_s(run: PaperRun, *causes: str) -> float:
    """Return the seconds of slowdown and stop of the store, as its listener counts them, of all causes or of `causes`.

    The causes are memtable, l0 and pending.
    """
    cause, length = np.asarray(run.stalls["cause"]), np.asarray(run.stalls["end_s"]) - np.asarray(run.stalls["start_s"])
    mine = np.array([not causes or str(c).split("_")[0] in causes for c in cause], dtype=np.bool_)
    return float(length[mine].sum()) if len(length) else 0.0


def last_half_ops_per_s(run: PaperRun) -> float:
    """Return operations per second in the last half of the run: what a profiling run sustains."""
    ops = np.asarray(run.series["write_ops"]) + np.asarray(run.series["read_ops"])
    return float(ops[len(ops) // 2 :].mean())


# --- work and tree ----------------------------------------------------------------------------------------------------


def io_amplification(run: PaperRun) -> float:
    """Return bytes read and written by flushes and compactions, per byte written by clients."""
    s = run.summary
    moved = s["flush_bytes"] + s["compaction_read_bytes"] + s["compaction_write_bytes"]
    return float(moved / s["user_bytes_written"])


def compaction_bytes(run: PaperRun) -> float:
    """Return the bytes that compactions read and wrote."""
    return float(run.summary["compaction_read_bytes"] + run.summary["compaction_write_bytes"])


def client_mb_s(run: PaperRun) -> float:
    """Return the MB that clients read from the device per second: C of SILK, as its stores run without a WAL."""
    return float(np.asarray(run.series["read_bytes_client_per_s"]).mean() / 1e6)


def level_writes(run: PaperRun, level: int) -> float:
    """Return the bytes that compactions wrote into a level, per byte written by clients."""
    rows = [row for row in run.summary["levels"] if row["level"] == level]
    return float(sum(row["write_bytes"] for row in rows) / run.summary["user_bytes_written"])


def used_levels(run: PaperRun) -> float:
    """Return the number of levels in use below L0, which is the largest number of steps in a chain."""
    rows = [row for row in run.summary["levels"] if row["target_bytes"]]
    return float(sum(row["bytes"] > _IN_USE * row["target_bytes"] for row in rows))


def good_share(run: PaperRun) -> float:
    """Return the share of L1 -> L2 jobs of vLSM with only good vSSTs as inputs."""
    reasons = run.summary["job_reasons"]
    counts = {reason: int(reasons.get(reason, 0)) for reason in (GOOD, MIXED, POOR)}
    return counts[GOOD] / max(1, sum(counts.values()))


def pending_bytes(run: PaperRun) -> float:
    """Return the estimated bytes of compactions that are due at the end of the run: the work that is put off beyond it."""
    return float(np.asarray(run.series["pending_bytes"])[-1])


def memtable_bytes(run: PaperRun) -> float:
    """Return the mean size of all memtables in bytes; the active one counts with its full size."""
    sizes = run.series.get("option_write_buffer_size", run.summary["options"]["write_buffer_size"])
    return float(np.mean(np.asarray(sizes) * (1.0 + np.asarray(run.series["immutables"]))))


# --- jobs -------------------------------------------------------------------------------------------------------------


def job_speed(run: PaperRun, kind: str) -> float:
    """Return bytes read and written by all jobs of a kind per second of job time, as in RocksDB's statistics.

    The kinds are flush, l0 (compactions out of L0) and deep (all other compactions). NaN without such jobs.
    """
    jobs = finished(run.jobs, "kind", "start_level", "start_s", "merged_s", "read_bytes", "write_bytes")
    compaction, from_l0 = jobs["kind"] == "compaction", jobs["start_level"] == 0
    mine = {"flush": jobs["kind"] == "flush", "l0": compaction & from_l0, "deep": compaction & (jobs["start_level"] > 0)}[kind]
    length = jobs["merged_s"] - jobs["start_s"]
    moved = jobs["read_bytes"] + jobs["write_bytes"]
    return float(moved[mine].sum() / length[mine].sum()) if mine.any() else math.nan


def longest_flush_s(run: PaperRun) -> float:
    """Return the longest time from a full memtable to the end of its flush, in seconds; NaN without a flush."""
    starts, ends = _flushes(run)
    return float((ends - starts).max()) if len(starts) else math.nan


def delayed_flushes(run: PaperRun) -> float:
    """Return the number of flushes that waited for a thread for more than 10 ms after their memtable was full."""
    jobs = finished(run.jobs, "kind", "slot_wait_s")
    return float((jobs["slot_wait_s"][jobs["kind"] == "flush"] > AT_ONCE_S).sum())


def _flushes(run: PaperRun) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the times in s at which memtables were full and at which their flushes ended."""
    jobs = finished(run.jobs, "kind", "start_s", "slot_wait_s", "end_s")
    flush = jobs["kind"] == "flush"
    return (jobs["start_s"] - jobs["slot_wait_s"])[flush], jobs["end_s"][flush]


# --- latencies --------------------------------------------------------------------------------------------------------


def quantile_s(run: PaperRun, share: float) -> float:
    """Return the latency in seconds that a share of all operations, reads and writes, does not exceed: 0.999 is P99.9."""
    order = np.argsort(run.latency["upper_s"], kind="stable")
    upto = np.cumsum(run.latency["count"][order])
    return float(run.latency["upper_s"][order][np.searchsorted(upto, share * upto[-1])])


def mean_latency_s(run: PaperRun) -> float:
    """Return the mean latency of all writes and point reads in seconds."""
    s = run.summary
    kinds = ((s["write_ops_per_s"], s["write_latency_s"]), (s["read_ops_per_s"], s["read_latency_s"]))
    return float(sum(rate * latency["mean"] for rate, latency in kinds if latency) / sum(rate for rate, _ in kinds))


def worst_second_s(run: PaperRun, begin: float = 0.0, end: float = 1.0) -> float:
    """Return the largest P99 of a second between two points of the run, in seconds; 0 is its start and 1 its end."""
    return float(_between(_by_second(run), begin, end).max())


def first_spike_s(run: PaperRun) -> float:
    """Return the second of the first spike; without a spike, the length of the run."""
    return _first_above(run, SPIKE_S)


def collapse_s(run: PaperRun) -> float:
    """Return the second of the first collapse; without one, the length of the run."""
    return _first_above(run, COLLAPSE_S)


def spike_share(run: PaperRun, begin: float = 0.0, end: float = 1.0) -> float:
    """Return the share of seconds with a spike between two points of the run; 0 is its start and 1 its end."""
    return float((_between(_by_second(run), begin, end) > SPIKE_S).mean())


def longest_queue(run: PaperRun) -> float:
    """Return the largest number of operations that wait at the end of a second."""
    return float(np.asarray(run.series["backlog_ops"]).max())


def spike_correlation(run: PaperRun) -> float:
    """Return the correlation between the logarithms of the P99 of reads and of writes per second."""
    read, write = _by_second(run, "read"), _by_second(run)
    both = (read > 0.0) & (write > 0.0)
    if both.sum() < 2 or np.ptp(read[both]) == 0.0 or np.ptp(write[both]) == 0.0:
        return 0.0
    return float(np.corrcoef(np.log(read[both]), np.log(write[both]))[0, 1])


def _by_second(run: PaperRun, operation: str = "write") -> NDArray[np.float64]:
    """Return the P99 of each second of the run, in seconds."""
    return np.nan_to_num(np.asarray(run.series[f"{operation}_p99_s"], dtype=np.float64))


def _between(seconds: NDArray[np.float64], begin: float, end: float) -> NDArray[np.float64]:
    return seconds[int(begin * len(seconds)) : max(1, int(end * len(seconds)))]


def _first_above(run: PaperRun, p99_s: float) -> float:
    above = np.flatnonzero(_by_second(run) > p99_s)
    return float(above[0]) if len(above) else float(run.summary["duration_s"])


CONSTANTS: Final[Mapping[str, float]] = {"inf": math.inf, "nan": math.nan}
_MEASURES: Final[tuple[Callable[..., float], ...]] = (
    stalled_s, listener_stall_s, last_half_ops_per_s, io_amplification, compaction_bytes, client_mb_s, level_writes,
    used_levels, good_share, pending_bytes, memtable_bytes, job_speed, longest_flush_s, delayed_flushes, quantile_s,
    mean_latency_s, worst_second_s, first_spike_s, collapse_s, spike_share, longest_queue, spike_correlation,
)  # fmt: skip
FUNCTIONS: Final[Mapping[str, Callable[..., float]]] = {
    "ratio": ratio, "min": smallest, "max": largest, "mean": mean, "sqrt": math.sqrt, "argmax": argmax, "knee": knee,
    **{measure.__name__: measure for measure in _MEASURES},
}  # fmt: skip
"""Functions by their names in expressions."""
