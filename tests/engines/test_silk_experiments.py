"""The settings of SILK's experiments have the intended effect in the store.

Source: (behaviour/evaluations.md, SILK's evaluation).
"""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.models.engines.make import make_engine
from running import configuration, run

EXPERIMENTS = ("silk_peaks", "silk_breakdown", "silk_one_peak", "silk_production", "silk_motivation", "silk_ycsb")


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("engine", ["silk", "rocksdb"])
def test_no_limit_is_changed_when_the_store_opens(name: str, engine: str) -> None:
    """RocksDB sanitises triggers and limits at open; those of an experiment need no change."""
    opened = make_engine(configuration(f"experiment={name}", f"engine={engine}")["engine"])

    assert not [note for note in opened.notes if "level0_" in note or "pending_compaction" in note]


def test_ten_files_fill_l0_in_the_motivation() -> None:
    """Writes stop at ten L0 files without a slowdown before; in other experiments L0's limits are off."""
    options = make_engine(configuration("experiment=silk_motivation")["engine"]).options
    others = make_engine(configuration("experiment=silk_peaks", "engine=rocksdb")["engine"]).options

    assert (options.level0_slowdown_writes_trigger, options.level0_stop_writes_trigger) == (10, 10)
    assert others.level0_stop_writes_trigger == 1_000_000


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


@pytest.mark.slow
def test_bandwidth_control_leaves_the_drive_to_reads() -> None:
    """During three compactions of YCSB F, bandwidth control leaves room for 18 K reads/s; priorities alone do not."""
    common = ("experiment=silk_ycsb", "workload.update=0", "workload.read_modify_write=0.5", "workload.duration=135s")
    variants = {
        "silk": ("engine=silk",), "bandwidth": ("engine=silk", "engine/scheduler=silk_bandwidth"),
        "priorities": ("engine=silk", "engine/scheduler=silk_priorities"), "rocksdb": ("engine=rocksdb",),
    }  # fmt: skip
    limit = 200e6 - 18_000 * 1.5 * (8 + 1024)  # T - C: each operation reads and every other one writes
    for name, overrides in variants.items():
        done = run(configuration(*common, *overrides))
        together = np.asarray(done.series["running_compactions"]) >= 3
        written = sum(np.asarray(done.series[f"write_bytes_{of}_per_s"])[together] for of in ("flush", "l0", "deeper"))
        reads = np.asarray(done.series["read_ops"])[together]
        p99_s = done.summary["write_latency_s"]["p99"]

        assert together.sum() >= 5, name
        if name in ("silk", "bandwidth"):
            assert np.mean(written) < limit, name
            assert reads.min() > 0.95 * 18_000, name
            assert p99_s < 0.1, name
        else:
            assert np.mean(written) > limit, name
            assert reads.mean() < 0.75 * 18_000, name
            assert p99_s > 1.0, name
