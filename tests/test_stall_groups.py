"""Groups of write stalls: lost operations, merged intervals, and the waits of the jobs behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from lsmlab.sim.explain.delaying_jobs import JobTable
from lsmlab.sim.explain.lost_operations import ClientCurves, client_curves, curves_of_series, lost_per_stall
from lsmlab.sim.explain.resource_use import busy_curve, mean_uses, running_curve
from lsmlab.sim.explain.stall_groups import group_stalls
from running import SMALL, simulate

Row = tuple[str, float, float, int]
CAPPED = (*SMALL, "device.write_cap=20MB/s", "workload.duration=10s")


def curves(*rows: tuple[float, float, float]) -> ClientCurves:
    """Return the curves of one group that only writes, from rows of (time, operations asked for, operations served)."""
    return client_curves([(np.array(rows), 1.0)])


def stalls(*rows: Row) -> dict[str, list[Any]]:
    """Return stalls from rows of (cause, start, end, shard)."""
    return {
        name: [row[i] for row in rows] for i, name in enumerate(("cause", "start_s", "end_s", "shard"))
    }  # fmt: skip


FLAT = curves((0.0, 0.0, 0.0), (10.0, 1000.0, 0.0), (20.0, 2000.0, 1000.0), (30.0, 3000.0, 1000.0))
"""No service in seconds 0 to 10 and 20 to 30, full service between."""


def test_operations_that_are_served_later_were_lost_when_they_waited() -> None:
    """Lost operations are those asked for and not served at the time; a later surplus does not bring them back."""
    late = curves((0.0, 0.0, 0.0), (10.0, 1000.0, 0.0), (20.0, 1000.0, 1000.0))

    assert [1000.0, 0.0] == lost_per_stall(np.array([0.0, 10.0]), np.array([10.0, 20.0]), late).tolist()


def test_stalls_at_the_same_time_share_their_lost_operations() -> None:
    """The operations lost in an interval count once, however many stalls cover it."""
    lost = lost_per_stall(np.array([0.0, 5.0]), np.array([10.0, 10.0]), FLAT)

    assert [750.0, 250.0] == pytest.approx(lost.tolist())


def test_stalls_between_which_half_a_memtable_fills_are_two_groups() -> None:
    """Stalls of one database are one group until clients have filled half a memtable between them."""
    near = stalls(("l0_stop", 0.0, 11.0, 0), ("memtable_stop", 12.0, 13.0, 0))

    assert 1 == len(group_stalls(near, FLAT, memtable_writes=200.0))
    assert 2 == len(group_stalls(near, FLAT, memtable_writes=199.0))


def test_databases_have_groups_of_their_own() -> None:
    """Stalls of two shards are never merged."""
    both = stalls(("l0_stop", 0.0, 10.0, 0), ("l0_stop", 0.0, 10.0, 1))

    assert [0, 1] == [e.shard for e in group_stalls(both, FLAT, memtable_writes=1e9)]


def test_the_costliest_group_and_cause_come_first() -> None:
    """Groups are sorted by lost operations, not by length, and so are the causes within a group."""
    long_and_cheap = ("l0_slowdown", 11.0, 19.9, 0)
    rows = stalls(long_and_cheap, ("l0_slowdown", 20.5, 22.0, 0), ("memtable_stop", 22.0, 26.0, 0))
    first, second = group_stalls(rows, FLAT, memtable_writes=10.0)

    assert (20.5, 26.0, "memtable_stop") == (first.start_s, first.end_s, first.cause)
    assert {"memtable_stop": 400.0, "l0_slowdown": 150.0} == pytest.approx(dict(first.lost_by_cause))
    assert {"memtable_stop": 4.0, "l0_slowdown": 1.5} == pytest.approx(dict(first.seconds_by_cause))
    assert (1, 2) == first.stalls
    assert 0.0 == second.lost_ops


def test_a_series_gives_lost_operations_by_the_rate_without_stalls() -> None:
    """A stalled row loses what it lacks to the rate of the rows without stalls, at most for its stalled time."""
    writes, stalled_s = np.array([100.0, 40.0, 40.0, 20.0]), np.array([0.0, 1.0, 0.5, 0.0])
    found = curves_of_series(np.array([1.0, 2.0, 3.0, 4.0]), writes, np.zeros(4), stalled_s)
    rate = (100.0 + 0.5 * 40.0 + 20.0) / 2.5

    assert [0.0, 0.0, rate - 40.0, rate - 40.0 + min(rate - 40.0, rate / 2), 2 * (rate - 40.0)] == pytest.approx(found.lost)
    assert 200.0 == found.served[-1]


def test_a_series_that_is_stalled_all_the_time_is_compared_with_its_fastest_row() -> None:
    """Without a row that has no stall, the highest rate is the best that the clients are known to do."""
    found = curves_of_series(np.array([1.0, 2.0]), np.array([100.0, 50.0]), np.zeros(2), np.ones(2))

    assert [0.0, 0.0, 50.0] == found.lost.tolist()


def test_use_of_resources() -> None:
    """Amounts and slots become shares of an interval."""
    at_s = np.array([0.0, 1.0, 2.0, 4.0])
    flow = busy_curve(np.array([0.0]), np.array([2.0]), np.array([100.0]), at_s, capacity_per_s=100.0)
    slots = running_curve(np.array([1.0, 0.0, 3.0]), np.array([1.0, 1.0, -1.0]), 4.0, most=2)

    curves = {"flow": flow, "slots": slots}
    assert {"flow": 0.5, "slots": 0.5} == pytest.approx(mean_uses(curves, [(0.0, 1.0, 1.0)]))
    assert {"flow": 0.25, "slots": 0.75} == pytest.approx(mean_uses(curves, [(0.0, 4.0, 1.0)]))


def job(number: int, start_s: float, end_s: float, **changes: Any) -> dict[str, Any]:
    """Return a flush of 100 bytes."""
    values = {
        "job": number, "shard": 0, "kind": "flush", "start_level": -1, "output_level": 0, "start_s": start_s,
        "end_s": end_s, "read_bytes": 0, "write_bytes": 100, "subcompactions": 1, "device_s": 0.0,
        "device_alone_s": 0.0, "core_wait_s": 0.0, "limiter_wait_s": 0.0, "slot_wait_s": 0.0, "sync_wait_s": 0.0,
    }  # fmt: skip
    return {**values, **changes}


def table(*rows: dict[str, Any]) -> JobTable:
    """Return jobs without client traffic."""
    return JobTable({name: np.array([r[name] for r in rows]) for name in rows[0]}, {"t_s": np.array([1.0, 2.0])})


def test_delaying_jobs_are_those_that_ran_longest_during_the_group() -> None:
    """Only the time within the group of stalls counts; jobs that ended before it delayed nothing."""
    found = table(job(1, 0.0, 5.0), job(2, 4.0, 10.0), job(3, 0.0, 2.0)).delaying(0, [1, 2, 3, 99], 3.0, 8.0)

    assert [(2, 4.0), (1, 2.0)] == [(c.job, c.held_s) for c in found]


def test_waits_of_a_job_are_per_thread_and_beyond_the_time_alone() -> None:
    """The wait for the device is its time minus the time alone; threads share it; waits that are zero are left out."""
    (found,) = table(job(1, 0.0, 10.0, device_s=8.0, device_alone_s=2.0, subcompactions=2, slot_wait_s=1.0)).delaying(
        0, [1], 0.0, 10.0
    )

    assert {"device": 3.0, "slot": 1.0} == found.waits_s
    assert ["device", "slot"] == list(found.waits_s)


def test_jobs_share_the_device_by_their_bytes_of_the_time() -> None:
    """The bytes of a neighbour count as far as it ran at the same time."""
    deeper = {"kind": "compaction", "start_level": 1, "output_level": 2, "write_bytes": 600}
    sharing = table(job(1, 0.0, 1.0), job(2, 0.0, 2.0, **deeper), job(3, 5.0, 6.0)).sharing(0, 1)

    assert {"compaction from L1 to L2": 0.75, "itself": 0.25} == pytest.approx(dict(sharing.shares))
    assert 1 == sharing.neighbours


def test_the_parts_of_a_job_add_up_to_its_time() -> None:
    """Computing, device, core, limiter, fsyncs and the fixed start fill the time of a job with direct I/O and one thread."""
    jobs = pd.DataFrame(simulate(*SMALL, "host.cores=2", "workload.duration=4s").jobs)
    jobs = jobs[(jobs.kind == "compaction") & (jobs.subcompactions == 1) & ~jobs.unfinished]
    parts = jobs.cpu_s + jobs.device_s + jobs.core_wait_s + jobs.limiter_wait_s + jobs.sync_wait_s

    assert len(jobs) > 20
    start_s = (jobs.end_s - jobs.start_s - parts).to_numpy()
    assert start_s == pytest.approx(np.full(len(jobs), start_s[0]), abs=1e-6)
    assert 0.0 < start_s[0] < 0.01


def test_a_job_that_has_the_device_to_itself_does_not_wait_for_it() -> None:
    """The first flush runs alone: its time on the device is the time alone, and it needs no slot."""
    first = pd.DataFrame(simulate(*SMALL, "workload.duration=1s").jobs).iloc[0]

    assert ("flush", 0.0) == (first.kind, first.slot_wait_s)
    assert first.device_alone_s == pytest.approx(first.device_s, rel=1e-6)


def test_waits_name_what_held_a_job_up() -> None:
    """A cap makes jobs wait for the device, a rate limiter for its tokens, one core for the core."""
    capped = pd.DataFrame(simulate(*CAPPED).jobs)
    limited = pd.DataFrame(simulate(*SMALL, "engine.options.rate_limiter_bytes_per_sec=10MiB/s", "workload.duration=2s").jobs)
    one_core = pd.DataFrame(simulate(*SMALL, "host.cores=1", "workload.duration=1s").jobs)

    assert capped.device_s.sum() > 3.0 * capped.device_alone_s.sum()
    assert limited.limiter_wait_s.sum() > 1.0
    assert one_core.core_wait_s.sum() > one_core.cpu_s.sum()
    assert {0.0} == set(capped.limiter_wait_s)


def test_lost_operations_add_up() -> None:
    """Groups and causes have the same total, and the share compares it with the operations done."""
    summary = simulate(*CAPPED).summary
    lost = summary["lost_operations"]

    assert lost["total"] == pytest.approx(sum(lost["by_cause"].values()))
    shares = [e["lost_share"] for e in summary["episodes"]]
    assert sorted(shares, reverse=True) == shares
    assert 0.0 < sum(shares) <= 1.0 + 1e-9
    assert lost["share"] == pytest.approx(lost["total"] / (lost["total"] + summary["operations"]))
    assert summary["stall_fraction"] == pytest.approx(lost["share"], abs=0.1)  # a closed loop loses the time it waits


def test_an_open_loop_loses_what_arrives_and_is_not_served() -> None:
    """Arrivals at a stopped store are lost at that time: at least those that still wait at the end, at most all."""
    load = ("workload=constant", "workload.rate=100000", "workload.insert=1", "workload.read=0", "workload.update=0")
    result = simulate(*load, *CAPPED, "workload.preload=0")

    assert result.series["backlog_ops"][-1] < result.summary["lost_operations"]["total"] < 1_000_000
