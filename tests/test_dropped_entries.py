"""Entries that a compaction drops cost less CPU time, and deletes are keys without values (docs/decisions/0011)."""

from __future__ import annotations

import pandas as pd
import pytest
from lsmlab.models.costs.jobs import entry_share
from running import SMALL, simulate


def test_entry_share_is_linear() -> None:
    """The share is linear from 1.0 (all entries written) to 0.22 (all dropped), and 1.0 for a job without entries."""
    assert 1.0 == entry_share(10.0, 10.0, 0.22)
    assert entry_share(10.0, 0.0, 0.22) == pytest.approx(0.22)
    assert entry_share(10.0, 5.0, 0.22) == pytest.approx(0.61)
    assert 1.0 == entry_share(0.0, 0.0, 0.22)


def test_compactions_that_drop_entries_cost_less() -> None:
    """With overwrites of 20,000 keys, a compaction's CPU time is that of its entries and bytes by the entry share."""
    run = simulate(*SMALL, "workload=overwrite", "workload.num=20000", "workload.writes=400000")
    compactions = pd.DataFrame(run.jobs).query("kind == 'compaction' and not unfinished").to_dict("records")

    assert compactions
    for job in compactions:
        share = entry_share(job["entries_in"], job["entries_out"], 0.22)
        assert job["entries_out"] < 0.9 * job["entries_in"]
        assert job["cpu_s"] == pytest.approx(job["entries_in"] * (0.28e-6 + 116 * 1.2e-9) * share, rel=1e-3)


def test_a_delete_costs_its_key() -> None:
    """A flush of deletes costs CPU time for keys only."""
    run = simulate(*SMALL, "workload=deleterandom", "workload.num=10000000", "workload.writes=100000")
    flushes = pd.DataFrame(run.jobs).query("kind == 'flush' and not unfinished").to_dict("records")

    assert flushes
    for job in flushes:
        per_entry_s = 0.35e-6 + 16 * 1e-9
        assert job["cpu_s"] == pytest.approx(job["entries_in"] * per_entry_s, rel=0.01)
