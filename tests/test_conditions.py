"""Conditions of the device over time, a full device, and failing compactions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lsmlab.models.devices.capped import Capped
from lsmlab.models.devices.conditions import devices_over_time, read_conditions
from lsmlab.models.errors import InputError
from lsmlab.models.policies.rocksdb.errors import Severity, WriteFailure, has_room, severity
from lsmlab.models.version import Version
from lsmlab.reports.folder_page import page_of
from lsmlab.reports.run_data import load_run
from lsmlab.sim.explain.resource_use import spliced
from lsmlab.sim.machine.space import DeviceSpace, Faults
from lsmlab.sim.machine.steps import Step, StepProgress
from lsmlab.sim.results.conditions import condition_sentences
from lsmlab.sim.results.results import Result
from running import SMALL, configuration, run, simulate

LOAD = (
    *SMALL, "workload=constant", "workload.read=0", "workload.update=1", "workload.rate=60k", "workload.num=200k",
    "workload.preload=1", "workload.duration=40s", "workload.value_size=100",
)  # fmt: skip


def device(**changes: Any) -> dict[str, Any]:
    """Return the device group of a small drive with these settings."""
    return {**configuration()["device"], **changes}


def written(result: Result, start_s: int, end_s: int) -> float:
    """Return the bytes that jobs wrote between two times."""
    columns = [np.asarray(result.series[name]) for name in result.series if name.startswith("write_bytes_")]
    return float(sum(column[start_s:end_s].sum() for column in columns))


def test_a_change_holds_until_the_next_and_starts_from_the_entry() -> None:
    """Each change scales and replaces numbers of the entry, not of the change before; unknown numbers stay unknown."""
    own = device(read_iops=None)
    changes = read_conditions({
        "changes": [{"at": 9}, {"at": "5s", "scale": {"write_bandwidth": 0.5, "read_iops": 0.5}, "set": {"read_latency": "1ms"}}]
    }).changes  # fmt: skip
    start, (first, second) = devices_over_time(own, changes)

    assert (5.0, 9.0) == (first.at_s, second.at_s)
    assert 0.5 * start.device.write_bandwidth == first.setup.device.write_bandwidth  # type: ignore[attr-defined]
    assert (None, 1e-3) == (first.setup.device.read_iops, first.setup.device.read_latency)  # type: ignore[attr-defined]
    assert start == second.setup
    assert "write_bandwidth x 0.5, read_latency = 1ms" == first.text


def test_a_cap_in_one_change_gives_all_devices_one_kind_of_state() -> None:
    """With a cap at one time, the device is throttled at all times; without caps it lets everything pass."""
    start, (change,) = devices_over_time(device(), read_conditions({"changes": [{"at": 5, "set": {"write_cap": 1e6}}]}).changes)

    assert isinstance(start.device, Capped)
    assert (None, 1e6) == (start.device.write_cap, change.setup.device.write_cap)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (5, "conditions: 5 must be a mapping"),
        ({"change": []}, "conditions.change: no such key; valid keys: changes, compaction_errors"),
        ({"changes": {"at": 1}}, "conditions.changes: must be a list"),
        ({"changes": [{"scale": {}}]}, r"conditions.changes\[0\].at: a value is required"),
        ({"changes": [{"at": 1, "scale": {"write_speed": 2}}]}, r"scale.write_speed: this device has no such number"),
        ({"changes": [{"at": 1, "scale": {"write_bandwidth": 0}}]}, "write_bandwidth: 0 must be above 0"),
        ({"changes": [{"at": 1, "set": {"_target_": "x"}}]}, "a device stays of one kind"),
        ({"changes": [{"at": 1, "set": {"write_latency": "soon"}}]}, r"conditions.changes\[0\].write_latency"),
        ({"compaction_errors": [{"at": 1, "count": 0}]}, r"compaction_errors\[0\].count"),
    ],
)
def test_bad_conditions_are_named(conditions: object, message: str) -> None:
    """Each bad condition gives one error with its key."""
    with pytest.raises(InputError, match=message):
        devices_over_time(device(), read_conditions(conditions).changes)


def test_jobs_write_as_fast_as_the_device_of_their_time() -> None:
    """Under a cap from 10 s to 25 s jobs write at its rate, and before and after it faster."""
    result = simulate(*LOAD, "conditions.changes=[{at: 10s, set: {write_cap: 9MB/s}}, {at: 25s}]")

    assert 15 * 9e6 == pytest.approx(written(result, 10, 25), rel=0.05)
    assert written(result, 0, 10) > written(result, 10, 25)
    assert written(result, 25, 35) > written(result, 10, 25)
    assert "write_cap" == result.summary["bottleneck"]["resource"]


def test_a_full_device_stops_writes_until_space_is_free() -> None:
    """The flush without room stops all writes; they go on within a poll of 5 s after space is free."""
    result = simulate(*LOAD, "conditions.changes=[{at: 10s, space: 1MB}, {at: 31s}]")
    (error,) = [e for e in result.summary["conditions"]["errors"] if e["severity"] == "hard"]
    writes = np.asarray(result.series["write_ops"])

    assert (True, True) == (10.0 < error["start_s"] < 11.0, 31.0 < error["end_s"] < 36.5)
    assert 0.0 == writes[12:31].sum()
    assert 60_000 * 40 == pytest.approx(writes.sum(), rel=0.01)
    assert error["end_s"] - error["start_s"] == pytest.approx(result.summary["stall_seconds"]["background_error"])
    assert "background_error" == result.summary["bottleneck"]["resource"]
    assert "no_space" in np.asarray(result.jobs["reason"]).tolist()
    assert any("accepted no write, for 2" in text for text in condition_sentences(result.summary))


def test_a_failed_compaction_is_repeated_and_loses_nothing() -> None:
    """Compactions that fail cost time and bytes; the store then holds the same keys as without them."""
    usual = simulate(*LOAD)
    failing = simulate(*LOAD, "conditions.compaction_errors=[{at: 20s, count: 8}]")
    discarded = np.asarray(failing.jobs["kind"]) == "discarded"

    assert (0, 8) == (usual.summary["discarded_count"], failing.summary["discarded_count"])
    assert {"io_error"} == set(np.asarray(failing.jobs["reason"])[discarded])
    assert (np.asarray(failing.jobs["write_bytes"])[discarded] > 0).all()
    assert usual.summary["operations"] == pytest.approx(failing.summary["operations"])
    assert usual.summary["live_entries"] == pytest.approx(failing.summary["live_entries"], rel=0.1)
    assert "conditions" not in usual.summary


def test_an_old_release_accepts_no_write_after_a_failed_compaction() -> None:
    """Before 6.12 an I/O error of a compaction is fatal: writes stop until the end of the run."""
    result = simulate(*LOAD, "engine.version='6.4'", "conditions.compaction_errors=[{at: 20s}]")

    assert 0.0 == np.asarray(result.series["write_ops"])[22:].sum()
    assert "fatal" == result.summary["conditions"]["errors"][0]["severity"]


def test_severity_follows_release_failure_and_job() -> None:
    """RocksDB's table of severities: retryable errors since 6.12, recovery from ENOSPC since 5.17."""
    new, old = Version(8, 11), Version(5, 7)

    assert Severity.NONE is severity(new, WriteFailure.IO_ERROR, flush=False)
    assert Severity.SOFT is severity(new, WriteFailure.NO_SPACE, flush=False)
    assert Severity.HARD is severity(new, WriteFailure.NO_SPACE, flush=True)
    assert {Severity.FATAL} == {severity(old, failure, flush=flush) for failure in WriteFailure for flush in (True, False)}


def test_a_compaction_after_enospc_needs_room_for_twice_its_inputs() -> None:
    """The check of EnoughRoomForCompaction: reserved bytes, the inputs twice, and a write buffer."""
    assert has_room(250.0, input_bytes=60.0, reserved_bytes=100.0, write_buffer_bytes=30.0)
    assert not has_room(249.0, input_bytes=60.0, reserved_bytes=100.0, write_buffer_bytes=30.0)


def test_an_io_error_comes_after_its_share_of_the_output() -> None:
    """A job whose writes fail after 90 bytes writes 90 bytes."""
    progress, step = StepProgress(fails_after_bytes=90.0), Step(0.0, 0.0, 60.0)
    for _ in range(2):
        progress.done(progress.admitted(step, DeviceSpace()))

    assert (WriteFailure.IO_ERROR, 90.0) == (progress.failure, progress.write_bytes)


def test_faults_hit_the_next_compactions_only() -> None:
    """`count` compactions that start at or after `at` fail, in their order."""
    faults = Faults(read_conditions({"compaction_errors": [{"at": 5, "count": 2, "done": 0.25}]}).compaction_errors)

    assert [None, 0.25, 0.25, None] == [faults.next_compaction(t) for t in (4.9, 5.0, 7.0, 8.0)]


def test_curves_are_spliced_at_the_changes() -> None:
    """The use of a cap counts only while the cap holds."""
    times = np.array([0.0, 5.0, 10.0])
    found = spliced([{"device": (times, times)}, {"device": (times, 2 * times), "cap": (times, times)}], [0.0, 5.0])

    assert ([0.0, 5.0, 15.0], [0.0, 0.0, 5.0]) == (found["device"][1].tolist(), found["cap"][1].tolist())


def test_the_page_begins_with_the_experiment_and_its_changes(tmp_path: Path) -> None:
    """The story of a page starts with the description of the experiment, and its figures mark the changes."""
    full = "conditions.changes=[{at: 10s, space: 1MB}, {at: 31s}]"
    run({**configuration(*LOAD, full), "description": f"a full device: {'x ' * 60}"}).save(tmp_path)
    page = page_of(load_run(tmp_path)).html()

    assert "<p>Experiment: a full device: x x" in page
    starts = ("Experiment: ", "Conditions change: at 10 s space = 976.6 KiB", "What stopped the store?")
    assert sorted(map(page.index, starts)) == list(map(page.index, starts))
    assert "device changes" in page


def test_what_comes_after_the_end_of_the_run_is_named() -> None:
    """Conditions and actions with later times have no effect, and a note says so; those in time are not named."""
    given = ("conditions.snapshots=[{at:200s}]", "conditions.changes=[{at:1s,scale:{write_bandwidth:0.9}}]")
    late = simulate(*SMALL, "workload.duration=3s", *given, "+workload.actions=[{at:9s,compact:{}}]")

    named = [note for note in late.summary["notes"] if "the run ends" in note]
    assert named == [
        "the run ends after 3 s, before conditions.snapshots[0] (200 s), workload.actions[0] (9 s): that has no effect"
    ]
