"""Admission of writes: memtable switches follow by division, stops hold writers up, delays bound their rate."""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.models.policies.decisions import StallCause
from lsmlab.models.tree.memtable import batch_bytes
from lsmlab.sim.clients.admission import Delay, WriteLimits
from lsmlab.sim.phase import SEEDS, Phase
from lsmlab.sim.setting import Setting
from running import SMALL, configuration, simulate

DIRECT = ("engine.options.use_direct_reads=true", "engine.options.use_direct_io_for_flush_and_compaction=true")


def test_limits_name_the_first_stop_and_every_delay() -> None:
    """Of three databases, the first that stops names the cause of the stop; a delay counts with its part of the writes."""
    setting = Setting.of(configuration(*SMALL, "workload.shards=3"))
    databases = Phase(setting, np.random.SeedSequence(1).spawn(SEEDS)).databases
    free = WriteLimits.of(databases, [0.9, 1.0, 1.1], held=False)
    delayed = databases[0].families[0]
    delayed.throttle = delayed.throttle._replace(cause=StallCause.L0_SLOWDOWN)
    databases[1].blocked, databases[1].blocked_by = True, StallCause.L0_STOP
    databases[2].blocked, databases[2].blocked_by = True, StallCause.MEMTABLE_STOP

    found = WriteLimits.of(databases, [0.9, 1.0, 1.1], held=True)

    assert (free.databases, free.stopped_by, free.held, free.delays) == (3, None, False, [])
    rate = databases[0].write_controller.rate_bytes_per_s
    assert (found.stopped_by, found.held) == (StallCause.L0_STOP, True)
    assert found.delays == [Delay(rate, 0.0, 0.9, StallCause.L0_SLOWDOWN)]


def test_memtables_of_a_steady_load_are_full_at_equal_intervals() -> None:
    """At 20,000 writes per second a flush starts whenever another memtable is full, to a millionth of the interval."""
    load = ("workload=constant", "workload.rate=20000", "workload.read=0", "workload.update=1", "workload.duration=6s")
    result = simulate(*SMALL, *load)
    flushes = np.asarray(result.jobs["kind"]) == "flush"
    starts, entries = np.asarray(result.jobs["start_s"])[flushes], np.asarray(result.jobs["entries_in"])[flushes]

    assert len(starts) > 10
    assert np.diff(starts) == pytest.approx(entries[1:] / 20_000.0, rel=1e-6)
    assert np.asarray(result.series["write_ops"]) == pytest.approx(20_000.0, rel=1e-6)


def test_nothing_is_written_during_a_stop_and_its_wait_is_a_latency() -> None:
    """In seconds of a write stop no write ends; the longest write waited for the longest stop."""
    result = simulate(*SMALL, *DIRECT, "device.write_cap=1MiB/s", "workload.duration=20s")
    stopped = np.sum([c for n, c in result.series.items() if n.endswith("_stop_s")], axis=0) > 1.0 - 1e-9

    assert 3 <= stopped.sum() < len(stopped)
    assert np.asarray(result.series["write_ops"])[stopped] == pytest.approx(0.0, abs=1e-6)
    longest_s = result.summary["longest_stall_s"]
    assert longest_s > 1.0
    assert result.summary["write_latency_s"]["max"] == pytest.approx(longest_s, rel=0.01)


def test_delayed_writers_keep_to_the_rate() -> None:
    """Behind a compaction of L0 that outlasts the run, writers write their batches at the delayed write rate."""
    result = simulate(
        *SMALL, *DIRECT, "device.write_cap=100KiB/s", "workload.duration=5s", "engine.options.write_buffer_size=64MiB",
        "initial_tree=[{level: 0, size_bytes: 1MiB, files: 10}]", "engine.options.level0_slowdown_writes_trigger=6",
        "engine.options.delayed_write_rate=2MiB/s",
    )  # fmt: skip
    batches = np.asarray(result.series["write_ops"]) * batch_bytes(16, 100)

    assert np.asarray(result.series["stall_l0_slowdown_s"]).min() > 0.9
    assert batches[1:] == pytest.approx(2 * 2**20, rel=0.02)
