"""Random options, devices and workloads: invariants of every run."""

from __future__ import annotations

from typing import Any

import pytest
from draining import check_entries, contradictions
from hypothesis import given, settings
from hypothesis import strategies as st
from lsmlab.models.errors import InputError
from running import SMALL, configuration, run

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


@settings(max_examples=30)
@given(
    options=OPTIONS, workload=WORKLOADS, device=DEVICES, cores=st.sampled_from([1, 4, 32]),
    version=st.sampled_from(["5.7", "6.11", "7.5", "7.8", "8.11", "9.8"]), seed=st.integers(0, 5),
)  # fmt: skip
def test_invariants_of_random_runs(
    options: dict[str, Any], workload: dict[str, Any], device: dict[str, Any], cores: int, version: str, seed: int
) -> None:
    """Entries are conserved, and the summary contradicts nothing; each install checks the levels."""
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
    check_entries(result)
    assert [] == contradictions(result.summary)


HARSH_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "write_buffer_size": st.sampled_from(["64KiB", "1MiB"]),
        "max_bytes_for_level_base": st.sampled_from(["1KiB", "2MiB"]),
        "target_file_size_base": st.sampled_from(["1KiB", "1MiB"]),
        "delayed_write_rate": st.sampled_from([1, 1000, "16MiB/s"]),
        "level0_slowdown_writes_trigger": st.sampled_from([1, 4]),
        "level0_stop_writes_trigger": st.sampled_from([2, 6]),
        "soft_pending_compaction_bytes_limit": st.sampled_from(["1KiB", "20MiB"]),
        "hard_pending_compaction_bytes_limit": st.sampled_from(["2KiB", "60MiB"]),
        "disable_auto_compactions": st.booleans(),
    },
)
HARSH_WORKLOADS = st.fixed_dictionaries(
    {
        "duration": st.sampled_from(["1ms", "10ms", "1s"]),
        "threads": st.sampled_from([1, 4, 1000]),
        "num": st.sampled_from([1, 1000, 200_000]),
        "value_size": st.sampled_from([1, 100, 100_000]),
        "benchmark_write_rate_limit": st.sampled_from([0, 1000, "5MB/s"]),
    }
)
HARSH = {name: configuration(*SMALL, f"workload={name}") for name in ("fillrandom", "readwhilewriting")}


@settings(max_examples=40)
@given(
    options=HARSH_OPTIONS, workload=HARSH_WORKLOADS, name=st.sampled_from(sorted(HARSH)), cores=st.sampled_from([1, 4]),
    seed=st.integers(0, 5),
)  # fmt: skip
def test_no_summary_contradicts_itself(
    options: dict[str, Any], workload: dict[str, Any], name: str, cores: int, seed: int
) -> None:
    """Levels of 1 KiB, a delayed write rate of 1 byte/s, 1000 threads and runs of 1 ms give no contradictory summary."""
    base = HARSH[name]
    config = {
        **base,
        "seed": seed,
        "checks": False,
        "engine": {**base["engine"], "options": {**base["engine"]["options"], **options}},
        "workload": {**base["workload"], **workload},
        "host": {**base["host"], "cores": cores},
    }

    summary = run(config).summary
    assert [] == contradictions(summary)
    assert summary["longest_stall_s"] == 0.0 or summary["stall_fraction"] > 0.0


@pytest.mark.parametrize(
    ("options", "workload"),
    [
        ({"delayed_write_rate": 1, "level0_slowdown_writes_trigger": 1}, {"threads": 1000, "value_size": 1, "duration": "2s"}),
        ({}, {"num": 1, "value_size": 1, "duration": "10ms", "benchmark_write_rate_limit": 1000}),
        ({"level0_stop_writes_trigger": 2}, {"threads": 1000, "value_size": 100_000, "duration": "1s"}),
    ],
)  # fmt: skip
def test_shapes_that_contradicted_themselves(options: dict[str, Any], workload: dict[str, Any]) -> None:
    """A delay that outlasts the run (longest stall of 9 hours in 2 s, write of 13 s in 1 s), ten operations (mean above max)."""
    base = HARSH["fillrandom"]
    engine = {**base["engine"], "options": {**base["engine"]["options"], **options}}
    summary = run({**base, "seed": 19, "engine": engine, "workload": {**base["workload"], **workload}}).summary

    assert [] == contradictions(summary)


@pytest.mark.parametrize("rate", [1, 1_000, 1_000_000])
@pytest.mark.parametrize("duration", ["1ms", "1s"])
def test_no_more_operations_than_were_offered(rate: int, duration: str) -> None:
    """Clients of an open loop complete at most what arrives, also in 1 ms, and below the rate when writers are stopped."""
    base = configuration(*SMALL, "workload=constant")
    options = {**base["engine"]["options"], "max_bytes_for_level_base": "1KiB", "delayed_write_rate": 1}
    workload = {**base["workload"], "rate": rate, "duration": duration, "num": 1_000, "threads": 1_000}
    summary = run({**base, "engine": {**base["engine"], "options": options}, "workload": workload}).summary

    assert summary["ops_per_s"] <= rate * (1.0 + 1e-9)
    assert [] == contradictions(summary)
