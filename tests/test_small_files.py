"""Small memtables and files: entries in them, and the time to open and to delete files (docs/decisions/0058)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.jobs import compaction_cpu, deletions
from lsmlab.sim.clients.memtable_fill import MemtableFill
from lsmlab.sim.machine.machine import Machine
from running import SMALL, simulate


def test_memtables_of_several_databases_fill_from_nothing() -> None:
    """Each begins empty, grows with every write, and is full after a random number of writes."""
    fill = MemtableFill([1.0] * 50, [100.0], [1.0], np.random.default_rng(1))

    begun, soon = fill.unflushed(0.0), fill.unflushed(2.0)

    assert begun == pytest.approx([0.0] * 50, abs=1e-9)
    assert all(1.2 < entries < 2.9 for entries in soon), "some 2 entries, by chance"
    assert len({round(entries, 6) for entries in soon}) == 50
    switched = [entries for _, entries in fill.switch_full(100.0)]
    assert 10 < len(switched) < 40
    assert set(switched) == {100.0}


@pytest.mark.parametrize(("disable_wal", "wals"), [(True, 0), (False, 1)])
def test_a_flush_deletes_a_wal_only_if_it_is_written(disable_wal: bool, wals: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without writes to the WAL the next memtable goes on with the same one (`DBImpl::SwitchMemtable`)."""
    counts: list[int] = []
    unlink = Machine.unlink

    def counted(self: Machine, count: int, *rest: float) -> Any:
        counts.append(count)
        return unlink(self, count, *rest)

    monkeypatch.setattr(Machine, "unlink", counted)
    result = simulate(*SMALL, f"engine.options.disable_wal={disable_wal}", "engine.options.disable_auto_compactions=true")

    flushes = result.summary["flush_count"]
    assert flushes > 10
    assert sum(counts) == wals * flushes


def test_costs_of_small_files() -> None:
    """A deletion takes time by size; an input file costs CPU time, and more where its last direct read is nearly empty."""
    host = Host(cpu_speed=2.0)

    def cpu_s(**files: float) -> float:
        return compaction_cpu(host, entries_in=1e4, entries_out=1e4, raw_bytes=1e6, **files).seconds(host)

    assert deletions(2, 64 << 20).seconds(host) == pytest.approx(2 * 0.15e-3 + 6.7e-3, rel=0.01)
    assert cpu_s(input_files=10) - cpu_s() == pytest.approx(10 * 0.065e-3)
    assert cpu_s(buffer_bytes=2e6) - cpu_s() == pytest.approx(0.35e-3)
