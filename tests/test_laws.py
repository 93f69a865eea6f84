"""Laws that no setting may break: caps only slow a store down, bytes are conserved, cores are finite, nobody waits for ever."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsmlab.models.costs.host import Host
from lsmlab.models.errors import InputError
from running import SMALL, configuration, phase_of, run

BLOCK_BYTES = 4096.0 + 512.0
"""Bytes of a direct read of one block: it begins anywhere in its file."""
DEVICES = st.sampled_from(["hdd", "samsung_970_pro", "intel_s4500", "aws_gp3", "optane_pmm"])
CAPS = st.fixed_dictionaries(
    {},
    optional={
        "write_cap": st.sampled_from(["2MB/s", "20MB/s", "200MB/s"]),
        "read_cap": st.sampled_from(["2MB/s", "20MB/s", "200MB/s"]),
        "iops_cap": st.sampled_from([5, 20, 500, 50_000]),
    },
)  # fmt: skip
THREADS = st.sampled_from([1, 4, 32])
UNCACHED = (
    *SMALL, "engine.options.use_direct_reads=true", "engine.options.use_direct_io_for_flush_and_compaction=true",
    "engine.options.cache_size=0", "engine.options.bloom_bits=10",
)  # fmt: skip
READ_ONLY = configuration(*UNCACHED, "workload=readrandom", "workload.num=200000", "workload.duration=4s")


def under(config: dict[str, Any], caps: dict[str, Any], device: str, threads: int) -> dict[str, Any]:
    """Return the configuration on another device under caps, with this number of client threads."""
    other = configuration(f"device={device}")["device"]
    return {
        **config,
        "device": {**other, "page_cache": 0},
        "limits": {**(config["limits"] or {}), **caps},
        "workload": {**config["workload"], "threads": threads},
    }


@settings(max_examples=20)
@given(caps=CAPS, device=DEVICES, threads=THREADS)
def test_reads_obey_their_caps(caps: dict[str, Any], device: str, threads: int) -> None:
    """Clients that only read are slower under caps, read what the device transfers, and no more than the caps allow."""
    free = run(under(READ_ONLY, {}, device, threads))
    capped = run(under(READ_ONLY, caps, device, threads))

    for result in (free, capped):
        blocks = result.summary["operations"] * result.summary["read_amplification"]
        moved = float(np.sum(result.series["read_bytes_client_per_s"]))
        assert moved == pytest.approx(blocks * BLOCK_BYTES, rel=0.02)
        assert result.summary["device_bytes_read"] == pytest.approx(moved, rel=1e-6)
    assert capped.summary["ops_per_s"] <= 1.02 * free.summary["ops_per_s"]
    duration_s = capped.summary["duration_s"] + 0.1  # the first slice has its allowance at once
    reads = capped.summary["device_bytes_read"] / BLOCK_BYTES
    assert reads <= 1.02 * caps.get("iops_cap", np.inf) * duration_s + 1.0


@settings(max_examples=10)
@given(cap=st.sampled_from(["1MB/s", "20MB/s"]), device=DEVICES, threads=THREADS)
def test_a_cap_on_writes_leaves_clients_alone_that_only_read(cap: str, device: str, threads: int) -> None:
    """Without a job, a cap on writes changes nothing."""
    free, capped = (
        run(under(READ_ONLY, caps, device, threads)).summary["ops_per_s"] for caps in ({}, {"write_cap": cap})
    )

    assert capped == pytest.approx(free, rel=0.005)


FILLING = (
    *UNCACHED, "workload.num=200000", "workload.duration=1s", "engine.options.write_buffer_size=256KiB",
    "engine.options.target_file_size_base=256KiB", "engine.options.max_bytes_for_level_base=1MiB",
)  # fmt: skip
MIXED = {
    name: configuration(*FILLING, f"workload={name}") for name in ("fillrandom", "readrandomwriterandom", "readwhilewriting")
}


@settings(max_examples=20)
@given(caps=CAPS, device=DEVICES, threads=THREADS, workload=st.sampled_from(sorted(MIXED)), seed=st.integers(0, 3))
def test_a_cap_never_speeds_a_store_up(
    caps: dict[str, Any], device: str, threads: int, workload: str, seed: int
) -> None:
    """Under caps reads and writes do not both become faster, but for the scatter of jobs that meet other files.

    A cap on one direction may speed up the clients of the other one, which have more of the device.
    """
    free, capped = (
        run({**under(MIXED[workload], some, device, threads), "seed": seed}).summary for some in ({}, caps)
    )
    ways = [way for way in ("read_ops_per_s", "write_ops_per_s") if free[way] > 0.0]

    assert min(capped[way] / free[way] for way in ways) <= 1.1


TIMES = [f.name for f in fields(Host) if "quantity" in f.metadata and f.metadata["quantity"].kind == "seconds"]


@settings(max_examples=12)
@given(name=st.sampled_from(TIMES), value=st.sampled_from(["1us", "1s", "1000000s"]), cores=st.sampled_from([1, 16]))
def test_busy_cores_are_cores(name: str, value: str, cores: int) -> None:
    """With any constant of the host, however absurd, jobs use no more cores than there are."""
    base = MIXED["fillrandom"]
    cpu = run({**base, "host": {**base["host"], name: value, "cores": cores}}).summary["cpu"]

    assert 0.0 <= cpu["background_busy_cores"] <= cores * (1.0 + 1e-9)


LIMITS = st.fixed_dictionaries(
    {
        "hard_pending_compaction_bytes_limit": st.sampled_from(["1MiB", "3MiB", "30MiB"]),
        "write_buffer_size": st.sampled_from(["256KiB", "1MiB"]),
        "target_file_size_base": st.sampled_from(["256KiB", "1MiB"]),
        "max_bytes_for_level_base": st.sampled_from(["1MiB", "4MiB"]),
        "max_background_jobs": st.sampled_from([1, 8]),
    },
    optional={
        "level0_file_num_compaction_trigger": st.sampled_from([1, 4]),
        "level0_stop_writes_trigger": st.sampled_from([4, 20]),
    },
)
ENGINES = st.sampled_from(["rocksdb", "rocksdb_io", "rocksdb_overflow", "vlsm", "lsmi", "silk", "triad"])


@settings(max_examples=15)
@given(options=LIMITS, engine=ENGINES)
def test_nobody_waits_while_nothing_runs(options: dict[str, Any], engine: str) -> None:
    """At every moment at which writers are stopped a job runs, with any limit that the engine accepts."""
    try:
        phase = phase_of(
            f"engine={engine}", "device=samsung_970_pro", "workload=fillrandom", "workload.num=200000",
            "workload.value_size=100", "workload.duration=1s", *(f"engine.options.{k}={v}" for k, v in options.items()),
        )  # fmt: skip
    except InputError as refused:
        if "neither would ever go on" not in str(refused):
            raise
        return
    phase.run()

    assert not any(database.blocked and not database.background.view.jobs for database in phase.databases)


@pytest.mark.parametrize(
    "limits",
    [("level0_slowdown_writes_trigger=4", "level0_stop_writes_trigger=6"), ("hard_pending_compaction_bytes_limit=300MiB",)],
)  # fmt: skip
def test_limits_that_triad_never_leaves_are_refused(limits: tuple[str, ...]) -> None:
    """TRIAD lets six files wait in L0 for a seventh: a store whose writers stop before has come to rest for ever."""
    with pytest.raises(InputError, match="neither would ever go on; set it above"):
        phase_of("engine=triad", *(f"engine.options.{limit}" for limit in limits))


def test_outputs_of_a_job_do_not_enclose_those_of_another() -> None:
    """LSMi takes files from both sides of a job that runs; its output ends before that job's."""
    phase = phase_of(
        "engine=lsmi", "workload=overwrite", "workload.num=400k", "workload.value_size=1000", "workload.duration=15s",
        "engine.options.write_buffer_size=16MiB", "engine.options.max_write_buffer_number=4",
        "engine.options.max_bytes_for_level_multiplier=2", "engine.options.hard_pending_compaction_bytes_limit=200MiB",
        "engine.options.soft_pending_compaction_bytes_limit=20MiB", "engine.options.max_background_jobs=8",
    )  # fmt: skip
    phase.preload()
    phase.run()  # a level checks that its files do not overlap
