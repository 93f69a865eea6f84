"""Actions beside clients: bulk loads, range deletes, manual compactions and flushes while clients read and write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from draining import check_entries
from lsmlab.models.errors import InputError
from lsmlab.models.options.compact_range import CompactRangeOptions
from lsmlab.models.options.options import resolve_options
from lsmlab.models.policies.decisions import StallCause, StallInputs, ThrottleState
from lsmlab.models.policies.rocksdb.manual import flush_would_stall
from lsmlab.models.policies.rocksdb.throttle import RocksDbThrottle
from lsmlab.models.version import Version
from lsmlab.models.workloads.make import make_workload
from lsmlab.reports.palette import STALL_NAMES, STALLS
from lsmlab.sim.explain.sentences import CAUSE_WORDS
from lsmlab.sim.explain.summary_text import summary_text
from lsmlab.sim.results.results import Result
from running import SMALL, simulate

WRITES = (
    *SMALL, "workload=constant", "workload.rate=20000", "workload.read=0.2", "workload.update=0.8", "workload.duration=10s",
    "workload.threads=4",
)  # fmt: skip
"""16,000 puts of 116 bytes per second: a memtable of 1 MiB is full after half a second."""


def beside(*actions: str, load: tuple[str, ...] = WRITES) -> Result:
    """Simulate clients with these actions beside them."""
    return simulate(*load, f"workload.actions=[{','.join(actions)}]")


# --- times and spellings ------------------------------------------------------------------------------------------------


def timed(actions: Any, **more: Any) -> Any:
    """Return the actions of a workload."""
    target = "lsmlab.models.workloads.generic.Constant"
    return make_workload({"_target_": target, "rate": 1.0, "duration": 60, "actions": actions, **more}).actions


def test_times_of_actions() -> None:
    """`at` is the first time, `every` the time from one to the next and, without `at`, also the first."""
    found = timed([{"at": "5s", "flush": None}, {"every": "1min", "compact": {}}, {"at": 1, "every": 2, "flush": {}}])

    assert [(5.0, None), (60.0, 60.0), (1.0, 2.0)] == [(one.at_s, one.every_s) for one in found]
    assert ["flush", "compact", "flush"] == [one.step.name for one in found]


def test_ranges_of_repeated_actions_move_on() -> None:
    """`step` moves each range behind the one before; after the last key they begin again at the first."""
    (found,) = timed([{"every": 1, "step": 0.4, "deleterange": {"begin": 0.1, "end": 0.3}}])

    spans = [found.number(count).span for count in range(4)]
    assert [(0.1, 0.3), (0.5, 0.7), (0.9, 1.0), (0.3, 0.5)] == [pytest.approx(span) for span in spans]


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ("compact", "workload.actions: must be a list"),
        ([{"compact": {}}], "workload.actions[0]: a time is required"),
        (["compact"], "workload.actions[0]: a time is required"),
        ([{"at": 1}], "workload.actions[0]: must have a time"),
        ([{"at": 1, "wait": "5s"}], "one of flush, compact"),
        ([{"at": 1, "flush": {}, "compact": {}}], "workload.actions[0]: must have a time"),
        ([{"at": 1, "ingest": {"begin": 0.5, "end": 0.2}}], "workload.actions[0].ingest: end: 0.2 must be above"),
        ([{"at": 1, "flush": {"wait": True}}], "workload.actions[0].flush: this action has no settings"),
        ([{"evry": 1, "flush": {}}], "workload.actions[0]"),
        ([{"at": 1, "step": 0.1, "flush": {}}], "no effect without every"),
        ([{"every": 1, "step": 0.1, "compact": {}}], "workload.actions[0].step: compact has no range"),
    ],
)  # fmt: skip
def test_actions_that_cannot_be_read_are_refused(actions: Any, message: str) -> None:
    """One error names the action and the remedy."""
    with pytest.raises(InputError) as error:
        timed(actions)
    assert message in str(error.value)


def test_engines_with_rules_of_their_own_are_refused() -> None:
    """The rules of an ingestion are RocksDB's."""
    with pytest.raises(InputError, match=r"workload\.actions: ingest.*engine=ldc"):
        beside("{at:1s,ingest:{begin:0,end:1}}", load=(*WRITES, "engine=ldc"))


def test_an_action_repeats_until_the_clients_finish() -> None:
    """A flush every 3 s of 10 s happens three times; the summary has a row for each, with its time."""
    rows = beside("{every:3s,flush:{}}").summary["actions"]

    assert [3.0, 6.0, 9.0] == pytest.approx([row["start_s"] for row in rows])
    assert {"flush"} == {row["action"] for row in rows}
    assert all(row["flush_bytes"] > 0 and row["duration_s"] > 0.0 for row in rows)


def test_actions_belong_to_a_phase_of_several() -> None:
    """Times count from the start of the phase; the phases after it have none. A workload with phases gives actions to them."""
    steps = "workload.phases=[fillrandom,{overwrite:{actions:[{at:0.2s,compact:{}}]}},waitforcompaction]"
    summary = simulate(*SMALL, "workload=phases", steps).summary
    (row,) = summary["actions"]

    assert row["start_s"] == pytest.approx(summary["phases"][1]["start_s"] + 0.2)
    with pytest.raises(InputError, match="give them to a phase"):
        simulate(*SMALL, "workload=phases", "workload.actions=[{at:1s,flush:{}}]")


# --- flush and manual compaction ----------------------------------------------------------------------------------------


def test_a_compaction_beside_clients() -> None:
    """It flushes, and goes level by level, while the clients go on writing."""
    result = beside("{at:5s,compact:{}}")
    (row,) = result.summary["actions"]

    check_entries(result)
    assert result.summary["job_reasons"]["ManualCompaction"] >= 1
    assert row["compaction_write_bytes"] > row["flush_bytes"] > 0
    assert "Manual Compaction" in {*result.jobs["reason"][result.jobs["kind"] == "flush"]}
    assert result.summary["operations"] == pytest.approx(200_000, rel=0.01)
    assert "Action" in summary_text(result.summary)


@pytest.mark.parametrize("exclusive", [True, False])
def test_an_exclusive_compaction_lets_no_other_begin(exclusive: bool) -> None:
    """Between its first and its last job no automatic compaction starts; without the option some do."""
    result = beside(f"{{at:5s,compact:{{exclusive_manual_compaction:{str(exclusive).lower()}}}}}")
    jobs, compactions = result.jobs, result.jobs["kind"] == "compaction"
    manual = compactions & (jobs["reason"] == "ManualCompaction")
    begin_s, end_s = jobs["start_s"][manual].min(), jobs["end_s"][manual].max()
    others = compactions & ~manual & (jobs["start_s"] > begin_s) & (jobs["start_s"] < end_s)

    assert exclusive is not others.any()


def stalls(immutables: int, l0_files: int, **options: Any) -> bool:
    """Return whether a flush waits for the store to get room."""
    version = Version.parse("7.8")
    own = resolve_options(version, "library", {"level0_slowdown_writes_trigger": 8, **options}).options
    throttle = RocksDbThrottle(own, version)
    return flush_would_stall(throttle, throttle.initial(), StallInputs(immutables, l0_files, 0), own)


def test_a_flush_waits_while_it_would_stall_writers() -> None:
    """One more memtable or L0 file would reach a trigger; below the triggers of flushes and compactions it never waits."""
    assert [False, True, False, True] == [stalls(0, 6), stalls(0, 7), stalls(0, 0), stalls(1, 0)]
    assert not stalls(0, 3, level0_slowdown_writes_trigger=4, level0_file_num_compaction_trigger=4)


def test_a_flush_begins_after_the_compaction_that_makes_room() -> None:
    """L0 is one file below the slowdown: since 5.16 the flush begins when a compaction has ended, before at once."""
    load = ("workload=phases", "workload.phases=[fillrandom,flush]", "workload.num=40000", "device.write_cap=20MB/s")
    room = ("engine.options.level0_file_num_compaction_trigger=2", "engine.options.level0_slowdown_writes_trigger=4")
    begun = {}
    for version in ("5.15", "5.16"):
        result = simulate(*SMALL, f"engine.version='{version}'", *load, *room)
        jobs = result.jobs
        (begun[version],) = jobs["start_s"][jobs["reason"] == "Manual Flush"] - result.summary["phases"][1]["start_s"]
        ends_s = jobs["end_s"][jobs["kind"] == "compaction"] - result.summary["phases"][1]["start_s"]

    assert 0.0 == begun["5.15"] < begun["5.16"]
    assert begun["5.16"] == pytest.approx(ends_s[ends_s > 0.0].min(), abs=2e-3)


def test_allow_write_stall_and_old_releases_do_not_wait() -> None:
    """CompactRange waits since 5.12, unless allow_write_stall is set."""
    new, old = Version.parse("5.12"), Version.parse("5.11")

    assert [True, False] == [CompactRangeOptions().awaits_stalls(version) for version in (new, old)]
    assert not CompactRangeOptions(allow_write_stall=True).awaits_stalls(new)


# --- ranges -------------------------------------------------------------------------------------------------------------


def test_ranges_are_deleted_beside_clients() -> None:
    """A range delete takes the entries from before it; keys that are written later stay."""
    plain = simulate(*WRITES)
    deleted = beside("{at:5s,deleterange:{begin:0,end:0.5}}", "{at:5s,deletefilesinrange:{begin:0,end:0.5}}")

    check_entries(deleted)
    assert deleted.summary["live_entries"] < 0.9 * plain.summary["live_entries"]
    assert ["deleterange", "deletefilesinrange"] == [row["action"] for row in deleted.summary["actions"]]


# --- ingestion ----------------------------------------------------------------------------------------------------------


def test_an_ingestion_stops_writers_while_it_flushes() -> None:
    """The memtable overlaps the files: its flush and the commit stop all writers, and the parts of the stall add up."""
    result = beside("{at:5.2s,ingest:{begin:0.4,end:0.6,files:4,move_files:true}}")
    summary, (row,) = result.summary, result.summary["actions"]
    stopped_s = summary["stall_seconds"]["ingestion"]
    (stall,) = [stall for stall in result.stalls if stall["cause"] == "ingestion"]

    check_entries(result)
    assert "External File Ingestion" in {*result.jobs["reason"]}
    assert 0.0 < stopped_s == pytest.approx(row["stall_seconds"]["ingestion"])
    assert stall["end_s"] - stall["start_s"] == pytest.approx(stopped_s) == row["duration_s"]
    assert summary["stall_fraction"] == pytest.approx(sum(summary["stall_seconds"].values()) / summary["duration_s"])
    waits = {holder: sum(jobs.values()) for holder, jobs in summary["stall_waits_s"].items()}
    assert sum(waits.values()) == pytest.approx(sum(summary["stall_seconds"].values()))
    assert waits["fsync"] > 0.0
    assert "Stopped by it" in summary_text(summary)
    assert "ingestion" not in summary["stall_count"]  # RocksDB counts none


def test_a_copy_takes_the_device_and_stops_no_writer() -> None:
    """Without move_files the files are read and written into the store first, past the rate limiter."""
    limits = ("device.write_cap=20MB/s", "engine.options.rate_limiter_bytes_per_sec=10MB/s")
    slow = (*WRITES, *limits, "workload.read=0", "workload.update=1", "engine.options.disable_auto_compactions=true")
    moved, copied = (beside(f"{{at:5.2s,ingest:{{begin:0.4,end:0.6,move_files:{how}}}}}", load=slow) for how in ("true", "false"))
    ((linked,), (written,)) = (result.summary["actions"] for result in (moved, copied))

    size = 0.2 * 200_000 * 116
    assert written["duration_s"] > 1.2 * sum(written["stall_seconds"].values()) > 0.0
    assert sum(linked["stall_seconds"].values()) == pytest.approx(linked["duration_s"])
    for way in ("device_bytes_written", "device_bytes_read"):
        assert copied.summary[way] - moved.summary[way] == pytest.approx(size, rel=0.25)


def test_a_copy_without_room_is_given_up() -> None:
    """The device has no room for the files: the call fails, and the store goes on without them."""
    full = (*WRITES, "+conditions.changes=[{at:4s,space:40MiB}]", "workload.rate=2000")
    result = beside("{at:5.2s,ingest:{begin:0,end:1}}", load=full)

    check_entries(result)
    assert result.summary["stall_seconds"].get("ingestion", 0.0) == 0.0
    assert result.summary["live_bytes"] < 40 * 2**20


def test_an_ingestion_beside_other_keys_stops_writers_for_its_commit_alone() -> None:
    """Clients that write other keys have no memtable to flush."""
    hot = ("workload.distribution=hotspot", "workload.hot_keys=0.5", "workload.hot_operations=1")
    apart = beside("{at:5.2s,ingest:{begin:0.6,end:0.7,files:2}}", load=(*WRITES, *hot))
    within = beside("{at:5.2s,ingest:{begin:0.2,end:0.3,files:2}}", load=(*WRITES, *hot))

    assert "External File Ingestion" not in {*apart.jobs["reason"]}
    assert 0.0 < apart.summary["stall_seconds"]["ingestion"] < within.summary["stall_seconds"]["ingestion"]


def test_the_flush_of_another_family_holds_up_an_ingestion() -> None:
    """Nearly all keys go to the second family, so its flush, not that of the default family, has the stalled time."""
    families = ("+engine.families={big: {}}", "+workload.families={default: {writes: 1, reads: 1}, big: {writes: 1e6}}")
    result = beside("{at:5.2s,ingest:{begin:0,end:1,move_files:true}}", load=(*WRITES, *families))
    waits = result.summary["stall_waits_s"]

    assert result.summary["stall_seconds"]["ingestion"] == pytest.approx(sum(result.summary["stall_seconds"].values()))
    assert waits["own_speed"]["flush"] > 0.0
    assert "flush_slots" not in waits


def test_each_of_several_databases_has_its_actions() -> None:
    """Actions of the workload are those of every database by itself, those of an entry of its databases."""
    own = "b: {workload: {actions: [{at: 1s, flush: {}}]}}"
    result = simulate(
        *WRITES, "workload.actions=[{at:5.2s,ingest:{begin:0.4,end:0.6}}]", f"databases={{a: {{count: 2}}, {own}}}",
        "workload.rate=5000",
    )  # fmt: skip

    assert [("b", "flush"), ("a", "ingest")] == [(row["database"], row["action"]) for row in result.summary["actions"]]
    reasons = result.jobs["reason"] == "External File Ingestion"
    assert [0, 1] == sorted(result.jobs["shard"][reasons].tolist())


def test_ingestion_holds_no_token() -> None:
    """What stops writers outside of the write controller speeds up no compaction."""
    states = [ThrottleState(cause, 0, 0, pressure=False) for cause in (StallCause.INGESTION, StallCause.L0_STOP, None)]

    assert [False, True, False] == [state.speedup for state in states]
    assert [True, True, False] == [state.stopped for state in states]


def test_every_cause_has_its_words_and_colour() -> None:
    """Terminal and pages name each cause of a stall."""
    for names in (CAUSE_WORDS, STALLS, STALL_NAMES):
        assert {cause.value for cause in StallCause} == set(names)


def test_a_run_without_actions_has_no_rows() -> None:
    """The summary names actions only where a run has them."""
    assert "actions" not in simulate(*WRITES).summary
    assert not np.isin("External File Ingestion", simulate(*WRITES).jobs["reason"])
