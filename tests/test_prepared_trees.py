"""Prepared trees: very many L0 files, inverted, bulk-loaded; and how the store recovers."""

from __future__ import annotations

import numpy as np
from lsmlab.sim.results.results import Result
from running import SMALL, simulate

LOAD = (
    *SMALL, "workload=constant", "workload.read=0", "workload.update=1", "workload.rate=2k", "workload.num=10M",
    "workload.value_size=100", "workload.duration=60s", "engine.options.level_compaction_dynamic_level_bytes=false",
)  # fmt: skip


def released_s(result: Result, cause: str) -> float:
    """Return the end of the stall with this cause that began with the run."""
    (stall,) = [s for s in result.stalls if s["cause"] == cause and s["start_s"] == 0.0]
    return float(stall["end_s"])


def test_writes_stop_until_all_files_of_a_huge_l0_are_compacted() -> None:
    """5,000 L0 files are one compaction; no write is accepted before it ends, and all that waited are served after it."""
    result = simulate(*LOAD, "initial_tree=[{level: 0, size_bytes: 200KiB, files: 5000}]")
    jobs, ended_s = result.jobs, released_s(result, "l0_stop")
    first = int(np.argmax(np.asarray(jobs["read_bytes"])))
    writes = np.asarray(result.series["write_ops"])

    assert (5000, 0) == (jobs["input_files"][first], jobs["start_level"][first])
    assert jobs["end_s"][first] <= ended_s < jobs["end_s"][first] + 2.0
    assert 0.0 == writes[: int(ended_s)].sum()
    assert 2000 * 60 == round(writes.sum())


def test_writes_stop_until_the_debt_of_an_inverted_tree_is_below_the_hard_limit() -> None:
    """An inverted tree owes more than the hard limit; writes begin once the debt has fallen below it."""
    both = (("soft", "150MiB"), ("hard", "300MiB"))
    limits = [f"engine.options.{kind}_pending_compaction_bytes_limit={size}" for kind, size in both]
    tree = "initial_tree=[{level: 1, size_bytes: 1MiB, files: 300}, {level: 2, size_bytes: 1MiB, files: 100}]"
    result = simulate(*LOAD, *limits, tree)
    pending, ended_s = np.asarray(result.series["pending_bytes"]), released_s(result, "pending_stop")
    bytes_1, bytes_2 = (np.asarray(result.series[f"level_bytes_{level}"])[-1] for level in (1, 2))

    (moment,) = np.flatnonzero((result.series["t_s"] >= ended_s) & (result.series["t_s"] < ended_s + 1.0))
    assert pending[moment] < 300 * 2**20
    assert pending[-1] < 30 * 2**20
    assert bytes_1 < bytes_2


def test_a_bulk_loaded_store_writes_less_at_first_than_later() -> None:
    """While the upper levels fill, compactions write fewer bytes per flushed byte than afterwards."""
    result = simulate(*LOAD, "workload.rate=40k", "initial_tree=[{level: 6, size_bytes: 1MiB, files: 400}]")
    jobs = result.jobs
    early = np.asarray(jobs["end_s"]) < 20.0
    written, flush = np.asarray(jobs["write_bytes"]), np.asarray(jobs["kind"]) == "flush"
    first, later = (written[part].sum() / written[part & flush].sum() for part in (early, ~early))

    assert later > 1.15 * first
