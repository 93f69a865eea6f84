"""CPU work of clients outside the store takes their time (Clients.client_work)."""

from __future__ import annotations

import pytest
from lsmlab.models.workloads.mixgraph import DRAWING
from running import SMALL, simulate

PUTS = (
    *SMALL, "workload=mixgraph", "workload.mix_put_ratio=1", "workload.mix_get_ratio=0", "workload.mix_seek_ratio=0",
    "workload.sine_mix_rate=false", "workload.use_existing_db=false", "workload.num=200000", "workload.reads=1000000",
    "workload.value_theta=100", "engine.options.disable_wal=true", "engine.options.max_write_buffer_number=100",
    "engine.options.write_buffer_size=64MiB", "host.memtable_depth=0",
)  # fmt: skip


def test_drawing_keys_by_the_power_law_slows_clients() -> None:
    """Without stalls, an operation takes 1 + DRAWING times as long as with uniform keys, also in its latency."""
    plain = simulate(*PUTS, "workload.key_dist_a=0", "workload.key_dist_b=0").summary
    drawn = simulate(*PUTS, "workload.key_dist_a=0.002312", "workload.key_dist_b=0.3467").summary

    assert plain["stall_fraction"] == 0.0
    assert drawn["stall_fraction"] == 0.0
    assert plain["ops_per_s"] / drawn["ops_per_s"] == pytest.approx(1.0 + DRAWING, rel=0.05)
    ratio = drawn["write_latency_s"]["p50"] / plain["write_latency_s"]["p50"]
    assert ratio == pytest.approx(1.0 + DRAWING, rel=0.1)
