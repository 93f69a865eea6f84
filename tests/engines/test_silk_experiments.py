"""The settings of SILK's experiments have the intended effect in the store.

Source: (behaviour/evaluations.md, SILK's evaluation).
"""

from __future__ import annotations

import pytest
from running import configuration, run


def test_each_worker_has_its_own_queue() -> None:
    """A write waits behind reads in its worker's queue, so its P99 is about a read's duration, unlike with one queue.

    Source: (behaviour/evaluations.md, SILK's evaluation).
    """
    common = (
        "experiment=silk_motivation", "engine.options.disable_auto_compactions=true", "initial_tree=null", "workload.num=1M",
        "engine.options.cache_size=8MiB", "workload.duration=3s",
    )  # fmt: skip
    own, shared = (
        run(configuration(*common, f"workload.queue_per_thread={own}")).summary["write_latency_s"]
        for own in ("true", "false")
    )
    read_s = 120e-6

    assert own["p50"] == pytest.approx(shared["p50"], rel=0.2)
    assert shared["p99"] < 0.1 * read_s
    assert 0.5 * read_s < own["p99"] < 5.0 * read_s
