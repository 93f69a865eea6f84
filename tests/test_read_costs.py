"""A read pays for each place that it searches (models/costs/operations.py, docs/decisions/0050)."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import Searched, point_read_cpu, scan_cpu
from lsmlab.validation.calibrate.scaled_defaults import read_costs
from running import SMALL, simulate

COSTS = {"memtables": "read_memtable", "doublings": "read_memtable_depth", "runs": "read_run",
         "indexes": "read_index", "index_doublings": "index_depth", "blocks": "read_block", "block_doublings": "block_depth",
         "calls": "read_call", "requests": "read_request", "opens": "table_open"}  # fmt: skip
FREE = (*(f"host.{name}=0" for name in COSTS.values()), "host.read_op=1us")
"""Reads that cost 1 us, wherever they search."""
READ = (
    *SMALL, *FREE, "workload=readwhilewriting", "workload.num=100000", "workload.reads=200000", "workload.threads=1",
    "workload.benchmark_write_rate_limit=100KB/s",
    "engine.options.bloom_bits=10",
)  # fmt: skip


def read_s(*overrides: str) -> float:
    """Mean time of a read in a small simulated store whose blocks are in the page cache."""
    mean: float = simulate(*READ, *overrides).summary["read_latency_s"]["mean"]
    return mean


@pytest.mark.parametrize(("place", "cost"), COSTS.items())
def test_each_place_has_its_own_cost(place: str, cost: str) -> None:
    """One place more adds its constant to a read and to a scan, and nothing else."""
    host, before = Host(), Searched(runs=2.0)
    after = replace(before, **{place: getattr(before, place) + 1.0})

    for cpu in (point_read_cpu, lambda searched: scan_cpu(searched, entries=10.0)):
        assert cpu(after).seconds(host) - cpu(before).seconds(host) == pytest.approx(getattr(host, cost))
    assert {*COSTS, "block_bytes", "decompress_bytes"} == {f.name for f in fields(Searched)}


def test_a_simulated_read_searches_the_active_memtable() -> None:
    """While another thread writes, every read searches one memtable, or more while one is flushed."""
    assert 10e-6 <= read_s("host.read_memtable=10us") - read_s() < 12e-6


def test_blocks_in_the_block_cache_need_no_system_call() -> None:
    """With a block cache as large as the store, nearly no read pays for a call."""
    cold, warm = (f"engine.options.cache_size={size}" for size in ("8KiB", "1GiB"))

    assert 8e-6 < read_s("host.read_call=10us", cold) - read_s(cold) < 15e-6
    assert read_s("host.read_call=10us", warm) - read_s(warm) < 1e-6


def test_costs_of_another_machine_follow_its_compactions() -> None:
    """A machine whose compactions take half of the CPU time reads in half of the time."""
    slow, fast = (Host(compaction_record=x * 239.1e-9, compaction_byte=x * 1.344e-9) for x in (1.0, 0.5))

    assert read_costs(slow)["read_run"] == pytest.approx(Host().read_run, rel=1e-3)
    assert read_costs(fast)["read_run"] == pytest.approx(0.5 * Host().read_run, rel=1e-3)
