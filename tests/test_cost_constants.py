"""Constants of a host in runs: each pays for its own part of a write, a read or a job (models/costs)."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lsmlab.models.costs import jobs as job_costs
from lsmlab.models.costs import operations
from lsmlab.models.costs.host import Host, entry_speed
from lsmlab.models.costs.jobs import entry_share
from lsmlab.models.costs.operations import Searched, point_read_cpu, scan_cpu, write_cpu
from lsmlab.models.units import submodels_of
from lsmlab.models.workloads.mixgraph import DRAWING
from running import SMALL, configuration, run, simulate

PUTS = (
    *SMALL, "workload=mixgraph", "workload.mix_put_ratio=1", "workload.mix_get_ratio=0", "workload.mix_seek_ratio=0",
    "workload.sine_mix_rate=false", "workload.use_existing_db=false", "workload.num=200000", "workload.reads=1000000",
    "workload.value_theta=100", "engine.options.disable_wal=true", "engine.options.max_write_buffer_number=100",
    "engine.options.write_buffer_size=64MiB", "host.memtable_depth=0",
)  # fmt: skip
FILL = (
    *SMALL, "workload.num=1200000", "engine.options.disable_wal=true", "host.write_op=2us",
    "host.memtable_depth=0.5us", "engine.options.max_write_buffer_number=8",
)  # fmt: skip
COSTS = {"memtables": "_MEMTABLE_S", "doublings": "_MEMTABLE_DEPTH_S", "runs": "_RUN_S", "indexes": "_INDEX_S",
         "index_doublings": "_INDEX_DEPTH_S", "blocks": "_BLOCK_S", "block_doublings": "_BLOCK_DEPTH_S", "calls": "_CALL_S",
         "opens": "_OPEN_S"}  # fmt: skip
READ = (
    *SMALL, "workload=readwhilewriting", "workload.num=100000", "workload.reads=200000", "workload.threads=1",
    "workload.benchmark_write_rate_limit=100KB/s",
    "engine.options.bloom_bits=10",
)  # fmt: skip


# ---- writes ----


def test_drawing_keys_by_the_power_law_slows_clients() -> None:
    """Without stalls, an operation takes 1 + DRAWING times as long as with uniform keys, also in its latency."""
    plain = simulate(*PUTS, "workload.key_dist_a=0", "workload.key_dist_b=0").summary
    drawn = simulate(*PUTS, "workload.key_dist_a=0.002312", "workload.key_dist_b=0.3467").summary

    assert plain["stall_fraction"] == 0.0
    assert drawn["stall_fraction"] == 0.0
    assert plain["ops_per_s"] / drawn["ops_per_s"] == pytest.approx(1.0 + DRAWING, rel=0.05)
    ratio = drawn["write_latency_s"]["p50"] / plain["write_latency_s"]["p50"]
    assert ratio == pytest.approx(1.0 + DRAWING, rel=0.1)


@pytest.mark.parametrize(("size_mib", "doublings"), [(1, 0), (8, 0), (16, 1), (64, 3)])
def test_each_doubling_beyond_8_mib_costs_the_same(size_mib: int, doublings: int) -> None:
    """Up to 8 MiB of keys and values the cost is `write_op`."""
    cost = write_cpu(0.0, logged=False, memtable_bytes=size_mib * 2**20)

    assert cost.seconds(Host(write_op=2e-6, memtable_depth=5e-7)) == pytest.approx(2e-6 + doublings * 5e-7)


def test_a_store_with_larger_memtables_writes_slower() -> None:
    """Without stalls, the simulated time per write grows by `memtable_depth` per doubling of the keys in a memtable."""
    small, large = (simulate(*FILL, f"engine.options.write_buffer_size={size}MiB") for size in (8, 64))
    times = [1.0 / run.summary["write_ops_per_s"] for run in (small, large)]

    assert [run.summary["stall_fraction"] for run in (small, large)] == [0.0, 0.0]
    assert times[1] - times[0] == pytest.approx(3 * 5e-7, rel=0.15)


# ---- reads (docs/decisions/0050) ----


def read_s(*overrides: str) -> float:
    """Mean time of a read in a small simulated store whose blocks are in the page cache."""
    mean: float = simulate(*READ, *overrides).summary["read_latency_s"]["mean"]
    return mean


def further_s(monkeypatch: pytest.MonkeyPatch, cost: str, *overrides: str) -> float:
    """Return by how much the mean time of a read grows if a place costs 10 us more."""
    before = read_s(*overrides)
    with monkeypatch.context() as dearer:
        dearer.setattr(operations, cost, getattr(operations, cost) + 10e-6)
        after: float = run(configuration(*READ, *overrides)).summary["read_latency_s"]["mean"]
    return after - before


@pytest.mark.parametrize(("place", "cost"), COSTS.items())
def test_each_place_has_its_own_cost(place: str, cost: str) -> None:
    """One place more adds its cost to a read and to a scan, and nothing else; a core twice as fast needs half of the time."""
    host, before = Host(), Searched(runs=2.0)
    fast = replace(host, read_speed=2.0, cpu_speed=2.0)
    after = replace(before, **{place: getattr(before, place) + 1.0})

    for cpu in (point_read_cpu, lambda searched, host: scan_cpu(searched, host, entries=10.0)):
        found = [cpu(after, core).seconds(core) - cpu(before, core).seconds(core) for core in (host, fast)]
        assert found == pytest.approx([getattr(operations, cost), getattr(operations, cost) / 2.0])
    assert {*COSTS, "requests", "block_bytes", "decompress_bytes"} == {f.name for f in fields(Searched)}


def test_a_simulated_read_searches_the_active_memtable(monkeypatch: pytest.MonkeyPatch) -> None:
    """While another thread writes, every read searches one memtable, or more while one is flushed."""
    assert 9.9e-6 <= further_s(monkeypatch, "_MEMTABLE_S") < 12e-6


def test_blocks_in_the_block_cache_need_no_system_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a block cache as large as the store, nearly no read pays for a call."""
    cold, warm = (f"engine.options.cache_size={size}" for size in ("8KiB", "1GiB"))

    assert 8e-6 < further_s(monkeypatch, "_CALL_S", cold) < 15e-6
    assert further_s(monkeypatch, "_CALL_S", warm) < 1e-6


def test_the_speed_of_a_core_is_that_of_a_compacted_entry() -> None:
    """A machine whose compactions take half of the CPU time of the default's is twice as fast."""
    usual = Host()
    fast = replace(usual, compaction_record=usual.compaction_record / 2.0, compaction_byte=usual.compaction_byte / 2.0)

    assert (entry_speed(usual), entry_speed(fast)) == pytest.approx((1.0, 2.0))


def test_constants_of_the_default_model_are_few() -> None:
    """Without its sub-models, a host has at most 30 constants; those of sub-models are off or have a name of their own."""
    parts = submodels_of(Host)
    in_parts = {name for names in parts.values() for name in names}

    assert parts.keys() == {
        "assertions", "statistics", "software_crc", "cold_caches", "wake_ups", "interrupts", "core_contention",
    }  # fmt: skip
    assert len({f.name for f in fields(Host)} - in_parts) <= 30


# ---- jobs (docs/decisions/0011) ----


def test_entry_share_is_linear() -> None:
    """The share is linear from 1.0 (all entries written) to 0.22 (all dropped), and 1.0 for a job without entries."""
    assert 1.0 == entry_share(10.0, 10.0, 0.22)
    assert entry_share(10.0, 0.0, 0.22) == pytest.approx(0.22)
    assert entry_share(10.0, 5.0, 0.22) == pytest.approx(0.61)
    assert 1.0 == entry_share(0.0, 0.0, 0.22)


def test_compactions_that_drop_entries_cost_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """With overwrites of 20,000 keys, a compaction's CPU time is that of its entries and bytes by the entry share.

    The time per input file is left out.
    """
    for name in ("_INPUT_FILE_S", "_BUFFER_BYTE_S"):
        monkeypatch.setattr(job_costs, name, 0.0)
    run = simulate(*SMALL, "workload=overwrite", "workload.num=20000", "workload.writes=400000")
    compactions = pd.DataFrame(run.jobs).query("kind == 'compaction' and not unfinished").to_dict("records")

    assert compactions
    for job in compactions:
        share = entry_share(job["entries_in"], job["entries_out"], 0.22)
        assert job["entries_out"] < 0.9 * job["entries_in"]
        assert job["cpu_s"] == pytest.approx(job["entries_in"] * (0.28e-6 + 116 * 1.12e-9) * share, rel=1e-3)


def test_a_delete_costs_its_key() -> None:
    """A flush of deletes costs CPU time for keys only."""
    run = simulate(*SMALL, "workload=deleterandom", "workload.num=10000000", "workload.writes=100000")
    flushes = pd.DataFrame(run.jobs).query("kind == 'flush' and not unfinished").to_dict("records")

    assert flushes
    for job in flushes:
        per_entry_s = 0.35e-6 + 16 * 1e-9
        assert job["cpu_s"] == pytest.approx(job["entries_in"] * per_entry_s, rel=0.01)


def first_jobs(cost: str) -> dict[str, Any]:
    """Return columns of the first flush and of the first compaction, at a cost per checksummed byte."""
    jobs = simulate("engine=rocksdb", "workload=fillrandom", *SMALL, f"host.checksum_byte={cost}").jobs
    kind = np.asarray(jobs["kind"])
    rows = [int(np.flatnonzero(kind == name)[0]) for name in ("flush", "compaction")]
    return {name: np.asarray(jobs[name])[rows] for name in ("cpu_s", "read_bytes", "write_bytes", "entries_in")}


def test_flushes_checksum_writes_and_compactions_also_reads() -> None:
    """A flush checksums the bytes that it writes; a compaction also those that it reads."""
    free, checksummed = first_jobs("0"), first_jobs("1ns")

    assert free["entries_in"].tolist() == checksummed["entries_in"].tolist()
    flush_s, compaction_s = (checksummed["cpu_s"] - free["cpu_s"]).tolist()
    assert 1e-9 * checksummed["write_bytes"][0] == pytest.approx(flush_s)
    assert 1e-9 * (checksummed["read_bytes"][1] + checksummed["write_bytes"][1]) == pytest.approx(compaction_s)
