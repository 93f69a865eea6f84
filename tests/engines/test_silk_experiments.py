"""The settings of SILK's experiments reach the store as they are written down.

See (behaviour/evaluations.md, SILK's evaluation).
"""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.models.engines.make import make_engine
from lsmlab.sim.simulation import run
from running import configuration

EXPERIMENTS = ("silk_peaks", "silk_breakdown", "silk_one_peak", "silk_production", "silk_motivation", "silk_ycsb")


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("engine", ["silk", "rocksdb"])
def test_no_limit_is_changed_when_the_store_opens(name: str, engine: str) -> None:
    """RocksDB makes its triggers and limits consistent; what an experiment says of them must be so beforehand."""
    opened = make_engine(configuration(f"experiment={name}", f"engine={engine}")["engine"])

    assert not [note for note in opened.notes if "level0_" in note or "pending_compaction" in note]


def test_ten_files_fill_l0_in_the_motivation() -> None:
    """Writers stop at ten files of L0, without a slowdown before; elsewhere L0's limits are off."""
    options = make_engine(configuration("experiment=silk_motivation")["engine"]).options
    others = make_engine(configuration("experiment=silk_peaks", "engine=rocksdb")["engine"]).options

    assert (options.level0_slowdown_writes_trigger, options.level0_stop_writes_trigger) == (10, 10)
    assert others.level0_stop_writes_trigger == 1_000_000


def test_each_worker_has_a_queue_of_its_own() -> None:
    """A write waits behind a read of its own worker, so one in ten takes as long as what is left of a read.

    See (behaviour/evaluations.md, SILK's evaluation).
    """
    common = (
        "experiment=silk_motivation", "engine.options.disable_auto_compactions=true", "initial_tree=null", "workload.num=1M",
        "engine.options.cache_size=8MiB", "workload.duration=3s",
    )  # fmt: skip
    own, shared = (
        run(configuration(*common, f"workload.queue_per_thread={each}")).summary["write_latency_s"] for each in ("true", "false")
    )
    read_s = 120e-6

    assert own["p50"] == pytest.approx(shared["p50"], rel=0.2)
    assert shared["p99"] < 0.1 * read_s
    assert 0.5 * read_s < own["p99"] < 5.0 * read_s


def test_reads_beside_compactions_keep_up_with_what_clients_leave() -> None:
    """YCSB F: where three compactions coincide, bandwidth control leaves the drive to 18 K reads/s; priorities alone do not."""
    common = ("experiment=silk_ycsb", "workload.update=0", "workload.read_modify_write=0.5", "workload.duration=135s")
    variants = {
        "silk": ("engine=silk",), "bandwidth": ("engine=silk", "engine/scheduler=silk_bandwidth"),
        "priorities": ("engine=silk", "engine/scheduler=silk_priorities"), "rocksdb": ("engine=rocksdb",),
    }  # fmt: skip
    limit = 200e6 - 18_000 * 1.5 * (8 + 1024)  # T - C: each operation reads, every other writes too
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
