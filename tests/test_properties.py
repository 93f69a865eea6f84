"""Random options, devices and workloads: invariants of every run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsmlab.models.errors import InputError
from lsmlab.sim.simulation import run
from running import SMALL, configuration

BASE = configuration(*SMALL, "workload.duration=4s")

OPTIONS = st.fixed_dictionaries(
    {
        "write_buffer_size": st.sampled_from(["512KiB", "1MiB", "3MiB"]),
        "max_write_buffer_number": st.integers(2, 6),
        "min_write_buffer_number_to_merge": st.integers(1, 2),
        "level0_file_num_compaction_trigger": st.integers(1, 8),
        "level0_slowdown_writes_trigger": st.integers(4, 24),
        "level0_stop_writes_trigger": st.integers(6, 40),
        "max_background_jobs": st.integers(1, 10),
        "max_subcompactions": st.integers(1, 4),
        "target_file_size_base": st.sampled_from(["512KiB", "1MiB", "2MiB"]),
        "max_bytes_for_level_base": st.sampled_from(["2MiB", "4MiB", "16MiB"]),
        "max_bytes_for_level_multiplier": st.sampled_from([2, 4, 10]),
        "level_compaction_dynamic_level_bytes": st.booleans(),
        "soft_pending_compaction_bytes_limit": st.sampled_from(["20MiB", "1GiB"]),
        "hard_pending_compaction_bytes_limit": st.sampled_from(["60MiB", "4GiB"]),
        "compaction_style": st.sampled_from(["kCompactionStyleLevel", "kCompactionStyleUniversal"]),
        "compaction_pri": st.sampled_from(["kMinOverlappingRatio", "kByCompensatedSize", "kRoundRobin"]),
        "use_direct_reads": st.booleans(),
        "bytes_per_sync": st.sampled_from([0, "1MiB"]),
        "disable_wal": st.booleans(),
    }
)
WORKLOADS = st.fixed_dictionaries(
    {
        "value_size": st.sampled_from([20, 100, 1000]),
        "threads": st.integers(1, 8),
        "shards": st.integers(1, 3),
        "num": st.sampled_from([20_000, 400_000]),
        "benchmark_write_rate_limit": st.sampled_from([0, "5MB/s"]),
        "use_existing_db": st.booleans(),
    }
)
DEVICES = st.fixed_dictionaries(
    {"write_cap": st.sampled_from([None, "20MiB/s"]), "page_cache": st.sampled_from([0, "1GiB"])}
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    options=OPTIONS, workload=WORKLOADS, device=DEVICES, cores=st.sampled_from([1, 4, 32]),
    version=st.sampled_from(["5.7", "6.11", "7.5", "7.8", "8.11", "9.8"]), seed=st.integers(0, 5),
)  # fmt: skip
def test_invariants_of_random_runs(
    options: dict[str, Any], workload: dict[str, Any], device: dict[str, Any], cores: int, version: str, seed: int
) -> None:
    """Entries are conserved, shares are at most 1 and percentiles are ordered; each install checks the levels."""
    config = {
        **BASE,
        "seed": seed,
        "engine": {**BASE["engine"], "version": version, "options": {**BASE["engine"]["options"], **options}},
        "workload": {**BASE["workload"], **workload},
        "device": {**BASE["device"], **device},
        "host": {**BASE["host"], "cores": cores},
    }
    try:
        result = run(config)
    except InputError:  # an option that this version lacks
        return
    summary, jobs = result.summary, result.jobs
    kind = np.where(jobs["unfinished"], "unfinished", np.asarray(jobs["kind"]))
    flushed = jobs["entries_out"][kind == "flush"].sum() if len(kind) else 0.0
    dropped = (jobs["entries_in"] - jobs["entries_out"])[kind == "compaction"].sum() if len(kind) else 0.0

    assert dropped >= -1e-6
    assert flushed + summary["preloaded_entries"] == pytest.approx(summary["live_entries"] + dropped, rel=1e-9, abs=1e-6)
    assert summary["space_amplification"] >= 1.0
    assert 0.0 <= summary["device"]["utilisation"] <= 1.0 + 1e-9
    assert 0.0 <= summary["stall_fraction"] <= 1.0 + 1e-9
    latency = summary["write_latency_s"]
    if latency is None:  # a store opened above its hard pending limit may allow no write in a short run
        assert summary["stall_fraction"] > 0.0
        return
    ordered = [latency[p] for p in ("p50", "p90", "p95", "p99", "p999", "p9999", "max")]
    assert sorted(ordered) == ordered
