"""Scans are an operation of their own: their latencies and the requests of short and long ones (docs/decisions/0046)."""

from __future__ import annotations

import numpy as np
import pytest
from running import SMALL, simulate

READS = (
    *SMALL, "workload=full_speed", "workload.duration=2s", "workload.update=0", "workload.scan_length=500",
    "engine.options.use_direct_reads=true",
)  # fmt: skip


def test_point_reads_and_scans_have_their_own_latencies() -> None:
    """Scans of 500 entries take longer than point reads; both are in the summary and, once each, in the histogram."""
    both = simulate(*READS, "workload.read=0.9", "workload.scan=0.1")
    summary = both.summary
    ops, count = np.asarray(both.latency["op"]), np.asarray(both.latency["count"])

    assert summary["scan_latency_s"]["p50"] > 2.0 * summary["read_latency_s"]["p50"]
    assert summary["scan_latency_s"]["mean"] > summary["read_latency_s"]["mean"]
    counts = {op: float(count[ops == op].sum()) for op in ("write", "read", "scan")}
    assert counts == pytest.approx({"write": 0.0, "read": 0.9 * sum(counts.values()), "scan": 0.1 * sum(counts.values())})
    assert sum(counts.values()) == pytest.approx(summary["operations"], rel=0.01)


def test_a_load_of_scans_has_no_latency_of_reads() -> None:
    """Without point reads, `read_latency_s` is null; without scans, `scan_latency_s` is."""
    scans = simulate(*READS, "workload.read=0", "workload.scan=1").summary
    reads = simulate(*READS, "workload.read=1", "workload.scan=0").summary

    assert (scans["read_latency_s"], reads["scan_latency_s"]) == (None, None)
    assert scans["scan_latency_s"]["p50"] > reads["read_latency_s"]["p50"]
