"""How vLSM's figures are read off simulated runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from lsmlab.models.policies.vlsm.picker import GOOD, MIXED, POOR
from lsmlab.validation.papers.claim import Measure, Outcome

Number = Callable[[Outcome], float]
"""A number of one run."""
_IN_USE: Final = 0.05
"""Share of its target from which a level counts as used: what spills past a full level is less."""


def of(name: str, number: Number) -> Measure:
    """A number of the run of that name."""
    return lambda o: number(o[name])


def ratio(name: str, over: str, number: Number) -> Measure:
    """A number of one run divided by that of another; infinite if that is 0, nothing to compare (NaN) if both are."""

    def measure(o: Mapping[str, Outcome]) -> float:
        above, below = number(o[name]), number(o[over])
        return above / below if below else float("inf" if above else "nan")

    return measure


def less(name: str, over: str, number: Number) -> Measure:
    """By which share a number of one run is below that of another."""
    return lambda o: 1.0 - number(o[name]) / number(o[over])


def difference(name: str, minus: str, number: Number) -> Measure:
    """A number of one run less that of another."""
    return lambda o: number(o[name]) - number(o[minus])


def p99_s(kind: str, name: str) -> Measure:
    """P99 of writes or reads, in seconds."""
    return lambda o: float(o[name].summary[f"{kind}_latency_s"]["p99"])


def p99(kind: str, name: str, over: str) -> Measure:
    """P99 of writes or reads of one run divided by that of another."""
    return ratio(name, over, lambda run: float(run.summary[f"{kind}_latency_s"]["p99"]))


def good_share(name: str) -> Measure:
    """Share of the L1 -> L2 jobs for which good vSSTs sufficed."""

    def measure(o: Mapping[str, Outcome]) -> float:
        reasons = o[name].summary["job_reasons"]
        counts = {reason: int(reasons.get(reason, 0)) for reason in (GOOD, MIXED, POOR)}
        return counts[GOOD] / max(1, sum(counts.values()))

    return measure


def stalled_s(run: Outcome) -> float:
    """Time in which writers waited."""
    return float(sum(run.summary["stall_seconds"].values()))


def stall_share(run: Outcome) -> float:
    """The same as a share of the run."""
    return float(run.summary["stall_fraction"])


def longest_s(run: Outcome) -> float:
    """The longest single wait."""
    return float(run.summary["longest_stall_s"])


def rate(run: Outcome) -> float:
    """Operations per second."""
    return float(run.summary["ops_per_s"])


def io_amplification(run: Outcome) -> float:
    """Bytes that flushes and compactions read and wrote, per byte that clients wrote."""
    s = run.summary
    moved = s["flush_bytes"] + s["compaction_read_bytes"] + s["compaction_write_bytes"]
    return float(moved / s["user_bytes_written"])


def chain_bytes(run: Outcome) -> float:
    """The longest chain: bytes that compactions wrote one after the other before a stall could end."""
    return float(run.summary["chain_bytes"]["max"])


def seconds_per_byte(run: Outcome) -> float:
    """Stalled time per byte of chain, over the stalls that waited for compactions."""
    size = np.asarray(run.stalls["chain_bytes"], dtype=np.float64)
    length = np.asarray(run.stalls["end_s"], dtype=np.float64) - np.asarray(run.stalls["start_s"], dtype=np.float64)
    return float(length[size > 0].sum() / size.sum())


def chain_levels(run: Outcome) -> float:
    """Levels below L0 in use: the longest that a chain can be."""
    rows = [row for row in run.summary["levels"] if row["target_bytes"]]
    return float(sum(row["bytes"] > _IN_USE * row["target_bytes"] for row in rows))


def core_s_per_op(run: Outcome) -> float:
    """Core time of flushes and compactions per operation."""
    return float(run.summary["cpu"]["background_core_seconds"] / run.summary["operations"])
