"""Sentences on the cost and reason of stalls, and the latency of an open loop at the same rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lsmlab.sim.explain.bottleneck import Bottleneck
from lsmlab.sim.explain.lost_operations import open_loop_latency
from lsmlab.sim.explain.sentences import bottleneck_text, reason_text, stall_group_text
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


def summary(resource: Bottleneck, **changes: Any) -> dict[str, Any]:
    """Return the part of a summary that the sentence on the bottleneck needs."""
    found = {
        "resource": resource.value, "lost_share": 0.5, "lost_by_cause": {"l0_slowdown": 1.0},
        "uses": {"device": 0.93, "cores": 0.1}, "waits": {"device": 0.35, "sync": 0.01},
    }  # fmt: skip
    return {"bottleneck": {**found, **changes}, "device": {"name": "sata"}, "options": {"max_background_jobs": 4}}


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
    """Every resource has words, also without the use of some resources."""
    text = bottleneck_text(summary(resource))

    assert "{" not in text
    assert "None" not in text
    assert ("35 % of their time for the device" in text) == (resource is not Bottleneck.NONE)
    assert bottleneck_text(summary(resource, uses={}, waits={}))


def test_the_sentence_has_the_numbers_that_show_the_bottleneck() -> None:
    """The device is named, with its use and the waits for it."""
    assert (
        "device bandwidth: sata was busy 93 % of the stalled time; the jobs behind the stalls waited 35 % of their time "
        "for the device" == bottleneck_text(summary(Bottleneck.DEVICE_BANDWIDTH))
    )


def test_the_terminal_tells_the_costliest_first() -> None:
    """Causes are in the order of lost operations; costliest group of stalls, its reason and the bottleneck follow."""
    result = simulate(*SMALL, "device.write_cap=20MB/s", "workload.duration=10s")
    lines = summary_text(result.summary).splitlines()
    labels = [line[:16].strip() for line in lines if line[:1] != " "]
    at = labels.index("write stalls")

    assert ["costliest", "waited for", "bottleneck", "open loop"] == labels[at + 1 : at + 5]
    assert "operations lost" in lines[at]
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
