"""Writes to larger memtables take longer (host.memtable_depth, docs/decisions/0025)."""

from __future__ import annotations

import pytest
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import write_cpu
from running import SMALL, simulate

ENTRY_BYTES = 116.0
FILL = (
    *SMALL, "workload.num=1200000", "engine.options.disable_wal=true", "host.write_op=2us",
    "host.write_byte=0", "host.memtable_depth=0.5us", "engine.options.max_write_buffer_number=8",
)  # fmt: skip


@pytest.mark.parametrize(("size_mib", "doublings"), [(1, 0), (8, 0), (16, 1), (64, 3)])
def test_each_doubling_beyond_8_mib_costs_the_same(size_mib: int, doublings: int) -> None:
    """Up to 8 MiB of keys and values the cost is `write_op`."""
    cost = write_cpu(ENTRY_BYTES, logged=False, memtable_bytes=size_mib * 2**20)

    assert cost.seconds(Host(write_op=2e-6, memtable_depth=5e-7)) == pytest.approx(2e-6 + doublings * 5e-7)


def test_a_store_with_larger_memtables_writes_slower() -> None:
    """Without stalls, the simulated time per write grows by `memtable_depth` per doubling of the keys in a memtable."""
    small, large = (simulate(*FILL, f"engine.options.write_buffer_size={size}MiB") for size in (8, 64))
    times = [1.0 / run.summary["write_ops_per_s"] for run in (small, large)]

    assert [run.summary["stall_fraction"] for run in (small, large)] == [0.0, 0.0]
    assert times[1] - times[0] == pytest.approx(3 * 5e-7, rel=0.15)
