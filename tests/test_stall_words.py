"""Sentences on the cost and reason of stalls, and the latency of an open loop at the same rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lsmlab.sim.explain.bottleneck import Bottleneck
from lsmlab.sim.explain.holder_sentences import bottleneck_text, held_text, jobs_text
from lsmlab.sim.explain.lost_operations import open_loop_latency
from lsmlab.sim.explain.sentences import reason_text, stall_group_text
from lsmlab.sim.explain.stall_division import Holder
from lsmlab.sim.explain.summary_text import summary_text
from running import SMALL, simulate

STALL_GROUP: dict[str, Any] = {
    "cause": "l0_slowdown", "start_s": 240.38, "end_s": 264.9, "stalls": 1, "lost_ops": 11_000_000.0, "lost_share": 0.053,
    "culprits": [{
        "job": 7, "name": "flush", "start_s": 240.0, "end_s": 250.0, "read_bytes": 0, "write_bytes": 2**30,
        "waits_s": {"device": 6.0, "slot": 2.0, "sync": 0.001}, "neighbours": 3, "neighbours_at_a_time": 2.5,
        "device_shares": {"compaction from L0 to L1": 0.7, "itself": 0.3},
    }],
}  # fmt: skip


HELD: dict[str, dict[str, float]] = {
    "compaction_slots": {"compaction from L1 to L2": 15.3, "compaction from L2 to L3": 10.0}, "unknown": {"flush": 4.4},
}  # fmt: skip


def summary(resource: Bottleneck, held: dict[str, dict[str, float]] = HELD, **changes: Any) -> dict[str, Any]:
    """Return the part of a summary that the sentence on the bottleneck needs."""
    found = {
        "resource": resource.value, "lost_share": 0.5, "lost_by_cause": {"l0_slowdown": 1.0},
        "uses": {"device": 0.93, "cores": 0.1}, "threads": {"flushes": 1, "compactions": 1},
    }  # fmt: skip
    about = {"engine": "rocksdb", "device": {"name": "sata"}, "options": {"max_background_jobs": 2}, "stall_waits_s": held}
    return {"bottleneck": {**found, **changes}, **about}


def test_a_group_of_stalls_has_cause_length_and_cost() -> None:
    """The sentence starts with the cause, as the list of stalls does."""
    assert (
        "L0 files, slowed: 24.5 s from 240.4 s, 11 million operations lost (5.3 % of all lost)" == stall_group_text(STALL_GROUP)
    )
    assert "from 240.4 s (3 stalls), " in stall_group_text({**STALL_GROUP, "stalls": 3})


def test_the_reason_names_the_job_and_what_it_waited_for() -> None:
    """Waits of at least a twentieth of the job's time are named, the device with its other users."""
    assert (
        "flush (job 7), 10 s for 1.0 GiB; the job itself waited 6 s for the device, shared with 3 other jobs, 2.5 at a "
        "time (it had 30 % of the bytes; compaction from L0 to L1 70 %) and 2 s for a slot" == reason_text(STALL_GROUP)
    )
    assert "" == reason_text({**STALL_GROUP, "culprits": []})


def test_a_job_at_full_speed_has_no_wait() -> None:
    """A job without waits is said to have none; a LOG, which does not tell waits, says nothing about them."""
    fast = {**STALL_GROUP["culprits"][0], "waits_s": {"sync": 0.001}}

    assert "flush (job 7), 10 s for 1.0 GiB, without waits of its own" == reason_text({**STALL_GROUP, "culprits": [fast]})
    unknown = {**fast, "waits_s": {}}
    assert "flush (job 7), 10 s for 1.0 GiB" == reason_text({**STALL_GROUP, "culprits": [unknown]})


@pytest.mark.parametrize("resource", Bottleneck)
def test_each_bottleneck_has_a_sentence(resource: Bottleneck) -> None:
    """Every resource has words, also where device, threads and options are not known."""
    for mine in (summary(resource), {"bottleneck": summary(resource, threads=None, uses={})["bottleneck"]}):
        text = bottleneck_text(mine)

        assert text
        assert not [part for part in ("{", "None", "  ") if part in text]


@pytest.mark.parametrize("holder", Holder)
@pytest.mark.parametrize("jobs", [{"": 1.0}, {"flush": 1.0, "compaction within L0": 2.0, "discarded from L0 to L1": 0.5}])
def test_each_holder_has_a_phrase(holder: Holder, jobs: dict[str, float]) -> None:
    """What held up a stall has words, with the jobs that it concerned and without."""
    text = held_text({holder.value: jobs}, summary(Bottleneck.UNKNOWN))

    assert text.startswith("100 % ")
    assert not [part for part in ("{", "None", "  ") if part in text]


def test_the_sentence_names_share_threads_and_jobs() -> None:
    """The parts of the stalled time have their share, the number of threads and the jobs on them; uses follow."""
    assert (
        "the only compaction thread (max_background_jobs=2): of 29.7 s stalled, 85 % waited for the only compaction thread, "
        "which ran compactions from L1 to L2 and from L2 to L3; 15 % passed in flushes, unfinished at the end of the run, so "
        "that their waits are not all known; in use meanwhile: device 93 %, cores 10 %"
    ) == bottleneck_text(summary(Bottleneck.SLOTS))


@pytest.mark.parametrize(
    ("changed", "begins"),
    [
        ({}, "no bottleneck: write stalls cost 0 %"),
        ({"overload": {"asked_ops_per_s": 2.0, "takes_ops_per_s": 1.0}, "use": 0.7}, "the clients' threads: operations arrive"),
        ({"overload": {"asked_ops_per_s": 2.0, "takes_ops_per_s": 1.0}, "use": 0.96}, "the device: sata was busy 96 %"),
        ({"read_latency_s": {"p99": 1.05}, "use": 0.7}, "the clients' threads: at times operations arrived"),
        ({"read_latency_s": {"p99": 1.05}, "use": None}, "no bottleneck"),
    ],
)
def test_a_queue_without_stalls_has_a_reason(changed: dict[str, Any], begins: str) -> None:
    """A store that lets operations wait is not said to have no bottleneck, although write stalls cost nothing."""
    found = {"resource": Bottleneck.NONE, "lost_share": 0.0, "uses": {}}
    device = {"name": "sata", "utilisation": changed.pop("use", 0.1)}

    assert bottleneck_text({"bottleneck": found, "device": device, **changed}).startswith(begins)


def test_a_log_is_said_not_to_contain_the_waits_of_a_job() -> None:
    """Where the work ran all the time, a LOG does not tell whether the device or the cores were short."""
    imported = {**summary(Bottleneck.UNKNOWN, {"unknown": {"flush": 4.4}}, uses={}), "import": {}}

    text = "the flushes themselves: of 4.4 s stalled, 100 % passed in flushes, whose use of device and cores is not in a LOG"
    assert text == bottleneck_text(imported)


def test_jobs_are_named_in_the_plural() -> None:
    """Compactions are named once, with their levels, where the first of them stands."""
    assert "flushes, and compactions within L0" == jobs_text(["flush", "compaction within L0"])
    assert "compactions within L0 and from L0 to L1, and flushes" == jobs_text(
        ["compaction within L0", "flush", "compaction from L0 to L1"]
    )


def test_the_terminal_tells_the_costliest_first() -> None:
    """Causes are in the order of lost operations; costliest group of stalls, what held it up and the bottleneck follow."""
    result = simulate(*SMALL, "device.write_cap=20MB/s", "workload.duration=10s")
    lines = summary_text(result.summary).splitlines()
    labels = [line[:16].strip() for line in lines if line[:1] != " "]
    at = labels.index("write stalls")

    assert ["costliest", "of this", "bottleneck", "open loop"] == labels[at + 1 : at + 5]
    assert "operations lost" in lines[at]
    assert f" in {result.summary['stalls']} stalls" in lines[at]
    assert any("% of the lost operations" in line for line in lines)
    assert max(len(line) for line in lines[: lines.index("")]) <= 120


def test_an_open_loop_waits_for_the_end_of_a_stop_and_its_queue() -> None:
    """A store that does 100 operations/s, stops for 5 s, and does 100/s again delays arrivals at the mean rate."""
    found = open_loop_latency(np.array([0.0, 10.0, 15.0, 20.0]), np.array([0.0, 1000.0, 1000.0, 1500.0]))

    assert 75.0 == found["ops_per_s"]
    assert 5.0 == pytest.approx(found["max"], abs=0.01)  # an arrival at the start of the stop
    assert 0.0 == found["p50"] == pytest.approx(np.quantile([0.0, 0.0, 5.0], 0.5))


def test_an_open_loop_at_a_steady_store_waits_for_nothing() -> None:
    """Without stalls the arrivals are served as they come."""
    found = open_loop_latency(np.array([0.0, 10.0]), np.array([0.0, 1000.0]))

    assert {"ops_per_s": 100.0, "p50": 0.0, "p99": 0.0, "p999": 0.0, "max": 0.0} == pytest.approx(found)
