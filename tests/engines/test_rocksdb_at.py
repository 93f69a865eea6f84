"""The auto-tuned rate limiter follows its own queue, and costs nothing if its bound is high.

Source: (background/rocksdb_at.md, What it does).
"""

from __future__ import annotations

import numpy as np
from lsmlab.sim.results.results import Result
from running import configuration, run

COMMON = (
    "device=nvme", "device.page_cache=8GiB", "workload.num=2M", "workload.key_size=16", "workload.value_size=1000",
    "workload.duration=60s", "engine.options.write_buffer_size=8MiB", "engine.options.target_file_size_base=8MiB",
    "engine.options.max_bytes_for_level_base=32MiB", "engine.options.max_background_jobs=2", "keys.samples_per_file=64",
)  # fmt: skip


def result(bound: str | None) -> Result:
    """Return a run of a closed-loop writer with buffered files, under a limiter with this bound or without one."""
    if bound is None:
        return run(configuration(*COMMON, "engine=rocksdb"))
    return run(configuration(*COMMON, "engine=rocksdb_at", f"engine.options.rate_limiter_bytes_per_sec={bound}"))


def test_a_buffered_store_with_a_high_bound_is_faster() -> None:
    """Jobs never wait for such a limiter, and their files are written back while they compute (bytes_per_sync of 1 MiB)."""
    free, limited = result(None), result("100GB/s")

    assert limited.summary["ops_per_s"] > 1.02 * free.summary["ops_per_s"]


def test_a_low_bound_limits_background_writes() -> None:
    """Under saturation, background writes follow the rate, which rises from half of the bound by 5 % per 10 s."""
    series = result("100MB/s").series
    written = series["write_bytes_flush_per_s"] + series["write_bytes_l0_per_s"] + series["write_bytes_deeper_per_s"]
    early, late = float(np.mean(written[2:9])), float(np.mean(written[51:59]))

    assert 0.8 * 50e6 < early < 1.1 * 50e6
    assert 1.1 * early < late < 1.4 * early
