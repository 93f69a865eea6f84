"""Measures for vLSM's claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from lsmlab.models.policies.vlsm.picker import GOOD, MIXED, POOR
from lsmlab.validation.papers.claim import Measure, Outcome

Number = Callable[[Outcome], float]
"""Function that computes a number of one run."""
_IN_USE: Final = 0.05
"""Share of its target from which a level counts as used; files that pass a full level are smaller than this."""


def of(name: str, number: Number) -> Measure:
    """Return a measure: the number of the named run."""
    return lambda o: number(o[name])


def ratio(name: str, over: str, number: Number) -> Measure:
    """Return a measure: the number of run `name` / that of run `over`; infinite for x / 0, NaN for 0 / 0."""

    def measure(o: Mapping[str, Outcome]) -> float:
        above, below = number(o[name]), number(o[over])
        return above / below if below else float("inf" if above else "nan")

    return measure


def reduction(name: str, over: str, number: Number) -> Measure:
    """Return a measure: 1 - (the number of run `name` / that of run `over`)."""
    return lambda o: 1.0 - number(o[name]) / number(o[over])


def difference(name: str, minus: str, number: Number) -> Measure:
    """Return a measure: the number of run `name` minus that of run `minus`."""
    return lambda o: number(o[name]) - number(o[minus])


def p99_s(kind: str, name: str) -> Measure:
    """Return a measure: the P99 of writes or reads in seconds."""
    return lambda o: float(o[name].summary[f"{kind}_latency_s"]["p99"])


def p99(kind: str, name: str, over: str) -> Measure:
    """Return a measure: the P99 of writes or reads of run `name` / that of run `over`."""
    return ratio(name, over, lambda run: float(run.summary[f"{kind}_latency_s"]["p99"]))


def good_share(name: str) -> Measure:
    """Return a measure: the share of L1 -> L2 jobs with only good vSSTs as inputs."""

    def measure(o: Mapping[str, Outcome]) -> float:
        reasons = o[name].summary["job_reasons"]
        counts = {reason: int(reasons.get(reason, 0)) for reason in (GOOD, MIXED, POOR)}
        return counts[GOOD] / max(1, sum(counts.values()))

    return measure


def stalled_s(run: Outcome) -> float:
    """Return the stalled seconds of all causes."""
    return float(sum(run.summary["stall_seconds"].values()))


def stall_share(run: Outcome) -> float:
    """Return the stall fraction of the run."""
    return float(run.summary["stall_fraction"])


def longest_s(run: Outcome) -> float:
    """Return the longest stall in seconds."""
    return float(run.summary["longest_stall_s"])


def rate(run: Outcome) -> float:
    """Return operations per second."""
    return float(run.summary["ops_per_s"])


def io_amplification(run: Outcome) -> float:
    """Return bytes read and written by flushes and compactions, per byte written by clients."""
    s = run.summary
    moved = s["flush_bytes"] + s["compaction_read_bytes"] + s["compaction_write_bytes"]
    return float(moved / s["user_bytes_written"])


def chain_bytes(run: Outcome) -> float:
    """Return the longest chain: bytes written by compactions in sequence before a stall could end."""
    return float(run.summary["chain_bytes"]["max"])


def mean_chain_bytes(run: Outcome) -> float:
    """Return the mean chain of the stalls that wait for compactions: bytes written in sequence before the stall could end."""
    return float(run.summary["chain_bytes"]["mean"])


def seconds_per_byte(run: Outcome) -> float:
    """Return stalled seconds per byte of chain, over the stalls that wait for compactions."""
    size = np.asarray(run.stalls["chain_bytes"], dtype=np.float64)
    length = np.asarray(run.stalls["end_s"], dtype=np.float64) - np.asarray(run.stalls["start_s"], dtype=np.float64)
    return float(length[size > 0].sum() / size.sum())


def chain_levels(run: Outcome) -> float:
    """Return the number of levels in use below L0, which is the largest number of steps in a chain."""
    rows = [row for row in run.summary["levels"] if row["target_bytes"]]
    return float(sum(row["bytes"] > _IN_USE * row["target_bytes"] for row in rows))


def core_s_per_op(run: Outcome) -> float:
    """Return the CPU time of flushes and compactions per operation, in seconds."""
    return float(run.summary["cpu"]["background_core_seconds"] / run.summary["operations"])
