"""Division of stalled time: it adds up, no share is negative, and each kind of wait gets its time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsmlab.sim.explain import stall_division
from lsmlab.sim.explain.bottleneck import Bottleneck, find_bottleneck, resource_seconds
from lsmlab.sim.explain.stall_division import HOLDERS, Held, Slots
from lsmlab.sim.explain.stall_waits import StallWaits, stall_waits
from running import SMALL, simulate

CAUSES = ("memtable_stop", "memtable_slowdown", "l0_stop", "l0_slowdown", "pending_slowdown", "background_error")
ONE = Slots(1, 1, 4)
WAITS = ("device_s", "device_alone_s", "core_wait_s", "limiter_wait_s", "sync_wait_s", "halted_s", "slot_wait_s")
Rows = list[dict[str, Any]]


def stall(cause: str, start_s: float, end_s: float, shard: int = 0, family: str = "a") -> dict[str, Any]:
    """Return a row of stalls.parquet."""
    return {"cause": cause, "start_s": start_s, "end_s": end_s, "shard": shard, "column_family": family}


def job(start_s: float, end_s: float, start_level: int = -1, output_level: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a row of jobs.parquet: a flush, or a compaction of a level."""
    kind = "flush" if start_level < 0 else "compaction"
    return {
        "job": 0, "kind": kind, "shard": 0, "column_family": "a", "start_s": start_s, "end_s": end_s,
        "start_level": start_level, "output_level": output_level, "unfinished": False, "subcompactions": 1,
        **dict.fromkeys(WAITS, 0.0), **changes,
    }  # fmt: skip


def divided(stalls: Rows, jobs: Rows, slots: Slots | None = ONE, *, log: bool = False, **seconds: float) -> StallWaits:
    """Divide stalls; `log`: leave out what a LOG does not record; `seconds`: stalled time by cause."""
    names = [n for n in job(0.0, 1.0) if not (log and n in WAITS and n != "halted_s")]
    table = {name: np.array([row[name] for row in jobs]) for name in names}
    return stall_waits(stalls, table, {}, seconds, slots)


def held(stalls: Rows, jobs: Rows, slots: Slots | None = ONE, *, log: bool = False) -> dict[str, float]:
    """Return the seconds by holder."""
    found = divided(stalls, jobs, slots, log=log).held
    total = np.bincount(found.holder, found.seconds, minlength=len(HOLDERS))
    return {holder.value: float(s) for holder, s in zip(HOLDERS, total, strict=True) if s > 0.0}


times = st.integers(0, 20).map(float)
intervals = st.tuples(times, times).map(lambda pair: (min(pair), max(pair)))
random_stalls = st.lists(
    st.builds(
        lambda cause, ends, shard, family: stall(cause, *ends, shard, family),
        st.sampled_from(CAUSES), intervals, st.integers(0, 1), st.sampled_from("ab"),
    ), min_size=1, max_size=8,
)  # fmt: skip
random_jobs = st.lists(
    st.builds(
        lambda ends, levels, more: job(*ends, *levels, **more), intervals,
        st.sampled_from([(-1, 0), (0, 1), (0, 0), (1, 2), (2, 3)]),
        st.fixed_dictionaries({
            **dict.fromkeys(WAITS, st.sampled_from([0.0, 0.5, 3.0])), "shard": st.integers(0, 1),
            "column_family": st.sampled_from("ab"), "unfinished": st.booleans(), "subcompactions": st.integers(1, 3),
        }),
    ), min_size=1, max_size=12,
)  # fmt: skip


@given(random_stalls, random_jobs, st.sampled_from([None, ONE, Slots(1, 2, 1), Slots(2, 6, 4)]), st.booleans())
@settings(max_examples=150)
def test_the_parts_of_each_stall_add_up_to_its_time(stalls: Rows, jobs: Rows, slots: Slots | None, log: bool) -> None:
    """Whatever the jobs, the pieces of a stall are positive and add up to its length."""
    found = divided(stalls, jobs, slots, log=log).held
    total = np.bincount(found.stall, found.seconds, minlength=len(stalls))

    assert (found.seconds > 0.0).all()
    assert total == pytest.approx([row["end_s"] - row["start_s"] for row in stalls])


@given(random_stalls, random_jobs, st.sampled_from([ONE, Slots(2, 6, 4)]))
@settings(max_examples=50)
def test_stalls_may_be_divided_one_at_a_time(stalls: Rows, jobs: Rows, slots: Slots) -> None:
    """A stall has the same pieces whether it is divided alone or together with others."""
    together = divided(stalls, jobs, slots).held
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stall_division, "_STALLS_AT_ONCE", 1)
        alone = divided(stalls, jobs, slots).held

    def seconds(found: Held) -> dict[tuple[int, ...], float]:
        return {(int(s), int(h), int(j)): float(t) for s, h, j, t in zip(*found, strict=True)}

    assert seconds(together) == pytest.approx(seconds(alone))


def test_the_time_of_a_cause_is_that_which_writers_waited() -> None:
    """Slowed writers also work: the pieces of a cause add up to the time in the summary, not to the length of the stalls."""
    stalls = [stall("l0_slowdown", 0.0, 10.0), stall("memtable_stop", 10.0, 14.0)]
    found = divided(stalls, [job(0.0, 20.0, 0, 1), job(0.0, 20.0)], l0_slowdown=5.0, memtable_stop=4.0).held

    assert [5.0, 4.0] == pytest.approx(np.bincount(found.stall, found.seconds).tolist())


def test_a_log_tells_the_time_for_the_only_compaction_thread() -> None:
    """An L0 stall of 29.7 s during which the only thread compacts deeper levels for 25.3 s waited 25.3 s for the thread."""
    jobs = [job(0.0, 10.0, 2, 3), job(10.0, 25.3, 1, 2), job(25.3, 29.7, 0, 1)]
    found = divided([stall("l0_stop", 0.0, 29.7)], jobs, log=True)

    names = ["2 to 3", "1 to 2", "0 to 1"]
    assert {
        "compaction_slots": pytest.approx({"1 to 2": 15.3, "2 to 3": 10.0}), "unknown": pytest.approx({"0 to 1": 4.4}),
    } == found.seconds(found.held, np.arange(3), names)  # fmt: skip


def test_a_compaction_that_began_late_for_a_busy_thread_is_told() -> None:
    """An L0 compaction was due before the stall, and the thread was busy: it would have ended earlier."""
    flushes = [job(t, t + 1.0) for t in (0.0, 1.0, 2.0, 3.0)]
    jobs = [*flushes, job(0.0, 7.0, 2, 3), job(7.0, 12.0, 0, 1)]

    assert {"late_start": 3.0, "unknown": 2.0} == pytest.approx(held([stall("l0_stop", 7.0, 12.0)], jobs, log=True))
    assert {"unknown": 5.0} == held([stall("l0_stop", 7.0, 12.0)], jobs, Slots(1, 2, 4), log=True)


def test_files_are_locked_if_a_thread_is_free_and_the_next_level_is_busy() -> None:
    """A compaction of the level below L0 locks files that an L0 compaction needs; a deeper one does not."""
    wait, after = stall("l0_stop", 0.0, 5.0), job(6.0, 7.0, 0, 1)

    assert {"locked_files": 5.0} == held([wait], [job(0.0, 5.0, 1, 2), after], Slots(1, 2, 4))
    assert {"unknown": 5.0} == held([wait], [job(0.0, 5.0, 2, 3), after], Slots(1, 2, 4))


def test_without_the_number_of_threads_a_log_does_not_tell_why_no_work_ran() -> None:
    """A LOG without options has no number of threads, so nobody can tell threads from locked files."""
    assert {"unknown": 5.0} == held([stall("l0_stop", 0.0, 5.0)], [job(0.0, 5.0, 1, 2)], None, log=True)


def test_a_running_job_is_divided_by_its_own_waits() -> None:
    """Waits per thread count as shares of the job's time; the rest is its own speed, or unknown if it did not end."""
    waits = {"device_s": 6.0, "device_alone_s": 2.0, "core_wait_s": 2.0, "limiter_wait_s": 1.0, "sync_wait_s": 0.5}
    parts = {"device": 2.0, "cores": 1.0, "rate_limiter": 0.5, "fsync": 0.5}
    stalls = [stall("memtable_stop", 0.0, 10.0)]

    assert {**parts, "own_speed": 6.0} == pytest.approx(held(stalls, [job(0.0, 10.0, subcompactions=2, **waits)]))
    assert {**parts, "own_speed": 1.0, "unknown": 5.0} == pytest.approx(
        held(stalls, [job(0.0, 10.0, subcompactions=2, unfinished=True, **waits)])
    )


def test_the_oldest_flush_has_the_time_of_a_memtable_stall() -> None:
    """Flushes commit in order, so the oldest one must end first; another one that waits for a thread makes it the thread."""
    flushes = [job(0.0, 8.0, device_s=8.0), job(1.0, 9.0, core_wait_s=8.0)]
    behind = [job(0.0, 8.0), job(8.0, 9.0, slot_wait_s=8.0)]

    assert {"device": 5.0} == held([stall("memtable_stop", 3.0, 8.0)], flushes, Slots(2, 1, 4))
    assert {"flush_slots": 5.0} == held([stall("memtable_stop", 3.0, 8.0)], behind)


def test_work_of_other_families_and_databases_ends_no_stall() -> None:
    """The jobs of another family occupy threads, those of another database nothing."""
    other = job(0.0, 5.0, 0, 1, column_family="b")

    assert {"compaction_slots": 5.0} == held([stall("l0_stop", 0.0, 5.0)], [other])
    assert {"throttle": 5.0} == held([stall("l0_stop", 0.0, 5.0)], [job(0.0, 5.0, 0, 1, shard=1)])


def test_a_slowdown_before_work_is_due_is_the_throttle() -> None:
    """Where the slowdown begins together with its compaction, the store had no time to act; a stop is none of this."""
    flushes = [job(t, t + 1.0) for t in (0.0, 1.0, 2.0, 3.0)]
    jobs = [*flushes, job(4.0, 9.0, 0, 1)]

    assert {"throttle": 5.0} == held([stall("l0_slowdown", 4.0, 9.0)], jobs)
    assert {"own_speed": 5.0} == held([stall("l0_stop", 4.0, 9.0)], jobs)
    assert {"own_speed": 4.0} == held([stall("l0_slowdown", 5.0, 9.0)], jobs)


def test_the_bottleneck_is_the_largest_part() -> None:
    """Parts add up by resource; the time of a job itself counts as memtables, L0 compaction or throttle."""
    stalls = [stall("memtable_stop", 0.0, 4.0), stall("l0_stop", 4.0, 7.0), stall("pending_stop", 7.0, 9.0)]
    found = divided(stalls, [job(0.0, 4.0), job(4.0, 7.0, 0, 1), job(7.0, 9.0, 0, 1)])
    resources = resource_seconds(found.held, found.jobs, found.work, {})

    parts = {Bottleneck.MEMTABLES: 4.0, Bottleneck.L0_COMPACTION: 3.0, Bottleneck.COMPACTION_SPEED: 2.0}
    assert parts == pytest.approx(resources)
    assert Bottleneck.MEMTABLES == find_bottleneck(resources, lost_share=0.5)
    assert Bottleneck.NONE == find_bottleneck(resources, lost_share=0.001)
    assert Bottleneck.UNKNOWN == find_bottleneck({}, lost_share=0.5)


def test_a_device_that_moves_few_bytes_is_short_of_requests() -> None:
    """Where the device is busy and its bandwidth is not in use, the time for the device is that of requests."""
    found = divided([stall("memtable_stop", 0.0, 4.0)], [job(0.0, 4.0, device_s=4.0)])

    for bandwidth, resource in ((0.2, Bottleneck.DEVICE_REQUESTS), (0.8, Bottleneck.DEVICE_BANDWIDTH)):
        uses = {"device": 0.9, "bandwidth": bandwidth}
        assert [resource] == list(resource_seconds(found.held, found.jobs, found.work, uses))


@pytest.mark.parametrize("load", [(), ("workload.shards=3",)])
def test_the_parts_of_a_run_add_up_to_its_stalled_time(load: tuple[str, ...]) -> None:
    """Summary and groups divide the same seconds that the summary calls stalled."""
    summary = simulate(*SMALL, "device.write_cap=20MB/s", *load, "workload.duration=10s").summary
    parts = {name: sum(jobs.values()) for name, jobs in summary["stall_waits_s"].items()}

    assert summary["stalls"] > 0
    assert sum(parts.values()) == pytest.approx(sum(summary["stall_seconds"].values()))
    assert list(parts.values()) == sorted(parts.values(), reverse=True)
    assert 1.0 == pytest.approx(sum(summary["bottleneck"]["shares"].values()))
