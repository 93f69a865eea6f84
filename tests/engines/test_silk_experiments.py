"""The settings of SILK's experiments reach the store as they are written down (engines.md §4.2 S8, §4.6)."""

from __future__ import annotations

import pytest
from lsmlab.models.engines.make import make_engine
from lsmlab.sim.simulation import run
from running import configuration

EXPERIMENTS = ("silk_peaks", "silk_breakdown", "silk_one_peak", "silk_production", "silk_motivation")


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
    """A write waits behind a read of its own worker, so one in ten takes as long as what is left of a read (§4.4, §4.7)."""
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
