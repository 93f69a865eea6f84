"""Replays of recorded RocksDB 7.8.3 runs: the model's policies must make the recorded decisions."""

from __future__ import annotations

import dataclasses
import functools
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.tree.ages import AgeRule, data_from_s, input_ages
from lsmlab.validation.logs.lines import parse_event
from lsmlab.validation.logs.manifest import VersionEdit
from lsmlab.validation.logs.reader import parse_log, read_log
from lsmlab.validation.logs.records import StallLine
from lsmlab.validation.replays.match_counts import Check, ReplayResult
from lsmlab.validation.replays.recording import Recording, load_recording
from lsmlab.validation.replays.replay import Replay, main, replay

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "validation" / "recordings"
SAMPLES = ROOT.parent / "shared" / "data" / "parser_samples"
NAMES = ("static", "dynamic", "parallel")


@functools.cache
def recording(name: str) -> Recording:
    """Return a recording, cached."""
    return load_recording(RECORDINGS / name)


@functools.cache
def replayed(name: str) -> tuple[ReplayResult, int]:
    """Return the replay of a recording and the largest number of compactions that run at the same time, cached."""
    most = 0
    take = Replay._take

    def counting(player: Replay, *arguments: Any) -> None:
        nonlocal most
        take(player, *arguments)
        most = max(most, len(player.running))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Replay, "_take", counting)
        found = replay(recording(name))
    return found, most


@pytest.mark.parametrize("check", list(Check))
@pytest.mark.parametrize("name", NAMES)
def test_every_decision_equals_rocksdbs(name: str, check: str) -> None:
    """Pending bytes, stall lines with rates, picks with scores, file contents and cuts are as recorded."""
    found = replayed(name)[0].checks[check]
    assert found.mismatches == []
    assert found.matched == found.total
    assert found.total >= 10


@pytest.mark.parametrize(
    ("name", "reasons"), [("manual", {"ManualCompaction": 31}), ("ages", {"PeriodicCompaction": 8, "Ttl": 3})]
)
def test_jobs_that_no_score_asks_for_equal_rocksdbs(name: str, reasons: dict[str, int]) -> None:
    """Manual compactions and those of files that are too old have the recorded inputs, as all others beside them."""
    logged = Counter(event.data["compaction_reason"] for event in recording(name).log.events("compaction_started"))
    assert reasons == {reason: logged[reason] for reason in reasons}
    for check in (Check.PICKS, Check.MOVES, Check.STATE, Check.LINES):
        assert replayed(name)[0].checks[check].mismatches == []


@pytest.mark.parametrize("name", ["manual", "ages"])
def test_compacted_files_have_the_recorded_age(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data of an output is as old as the oldest input that overlaps it."""
    equal: Counter[bool] = Counter()
    apply = Replay._apply

    def comparing(player: Replay, job: int, edit: VersionEdit) -> None:
        ages = input_ages([f for _, files in player.inputs.get(job, ()) for f in files], AgeRule.OLDEST_OVERLAPPING)
        for file in (player._file(added) for added in edit.added if ages and not edit.moved):
            equal[data_from_s(ages, file.lo, file.hi) == file.data_from_s] += 1
        apply(player, job, edit)

    monkeypatch.setattr(Replay, "_apply", comparing)
    replay(recording(name))
    assert equal[False] <= 0.02 * equal[True] > 2.0  # where two files share a border key, RocksDB compares sequence numbers


def test_recordings_contain_every_kind_of_stall() -> None:
    """The recordings together contain every stop, slowdown and increase of compaction threads."""
    lines = [r.text for name in NAMES for r in recording(name).log.records if isinstance(r, StallLine)]
    kinds = Counter(
        (text.split()[0], "memtable" if "immutable" in text else "l0" if "level-0" in text else "pending")
        for text in lines
    )
    expected = {(verb, cause) for verb in ("Stopping", "Stalling") for cause in ("memtable", "l0", "pending")}
    expected |= {("Increasing", "l0"), ("Increasing", "pending")}
    assert set(kinds) == expected


def test_a_recording_contains_parallel_compactions() -> None:
    """In the parallel recording, at least four compactions run at the same time, so conflicts are tested."""
    assert replayed("parallel")[1] >= 4


@pytest.mark.parametrize(
    ("option", "value", "check"),
    [
        ("delayed_write_rate", 16 << 20, Check.LINES),
        ("max_bytes_for_level_multiplier", 5.0, Check.PENDING),
        ("target_file_size_base", 2 << 20, Check.OUTPUTS),
        ("max_bytes_for_level_base", 5 << 20, Check.PICKS),
    ],
)
def test_a_wrong_option_causes_mismatches(option: str, value: float, check: str) -> None:
    """The replay detects a model with a wrong option, and explains the first mismatches."""
    wrong = dataclasses.replace(recording("static"), options={**recording("static").options, option: value})
    found = replay(wrong).checks[check]
    assert found.matched < found.total
    assert 0 < len(found.mismatches) <= 5


def test_without_a_workload_contents_are_not_checked(tmp_path: Path) -> None:
    """A directory without meta.json is replayed without the check of compaction outputs."""
    for path in (RECORDINGS / "static").glob("*.xz"):
        shutil.copy(path, tmp_path)
    checks = replay(load_recording(tmp_path)).checks
    assert Check.OUTPUTS not in checks
    assert checks[Check.PICKS].matched == checks[Check.PICKS].total > 0


def test_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The command prints one line per check; its exit code is 0 for matches and 2 for unusable input."""
    assert main([str(RECORDINGS / "static")]) == 0
    printed = capsys.readouterr().out
    assert "stall lines" in printed
    assert "100.00 %" in printed
    assert main([str(tmp_path)]) == 2
    assert "needs LOG and MANIFEST.txt" in capsys.readouterr().err
    assert main([]) == 2


def test_truncated_json_is_recovered() -> None:
    """Complete fields of truncated JSON are kept; an incomplete number, text or list is not."""
    text = '{"time_micros": 17, "job": 5, "event": "compaction_finished", "lsm_state": [1, 2], "total_output_size": 12'
    assert parse_event(text) == (
        {"time_micros": 17, "job": 5, "event": "compaction_finished", "lsm_state": [1, 2]},
        False,
    )
    nested = '{"job": 3, "file_size": 9, "table_properties": {"data_size": 7, "compression": "Snap'
    assert parse_event(nested) == ({"job": 3, "file_size": 9, "table_properties": {"data_size": 7}}, False)
    assert parse_event('{"job": 3} trailing') == ({"job": 3}, True)


def test_records_are_ordered_by_their_original_time() -> None:
    """Delayed lines and events in UTC are sorted by their original time on the clock of the lines."""
    log = parse_log(
        [
            "2026/01/01-02:00:00.000900 1 [WARN] [cf.cc:1] [default] Stopping writes because we have 8 level-0 files",
            "2026/01/01-02:00:00.000950 2 (Original Log Time 2026/01/01-02:00:00.000100) EVENT_LOG_v1 "
            '{"time_micros": 1767229200000099, "job": 4, "event": "flush_finished"}',
            "2026/01/01-02:00:00.000960 2 [default] New memtable created with log file: #4. Immutable memtables: 1.",
            "no stamp at all",
        ],
        "text",
    )
    start = 1767232800000000  # 02:00 on the lines' clock; the event's clock is one hour behind
    assert [r.time_us - start for r in log.records] == [99, 900, 960]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="needs the reference data at ../shared/data")
@pytest.mark.parametrize(
    ("name", "version", "events"),
    [
        ("adoc_pc_nvme_wbs512M_6.11.log.gz", "6.11.0", 163),
        ("jhyu_rocksdb5.11.3_readonly.log.gz", "5.11.3", 3),
        ("windows_rocksdb_server_LOG.log.gz", "6.2.2", 3),
    ],
)
def test_logs_of_other_versions(name: str, version: str, events: int) -> None:
    """LOGs of other versions and platforms give their version and events."""
    log = read_log(SAMPLES / name)
    assert log.version == version
    assert len(list(log.events())) == events


def test_fifo_deletes_files_between_two_picks() -> None:
    """FIFO's deletions have no events, only lines; the replay takes them into account before the next pick."""
    found = replay(load_recording(ROOT / "validation" / "cases" / "test" / "fifo_bw80" / "1"))
    assert found.checks[Check.PICKS].mismatches == []
    assert found.checks[Check.PICKS].total == 37
    assert found.checks[Check.STATE].matched == found.checks[Check.STATE].total


def test_picks_with_tombstones_and_files_older_than_the_log() -> None:
    """Files older than the LOG have unknown tombstones: picks equal RocksDB's, scores agree within 1 %."""
    found = replay(load_recording(ROOT / "validation" / "cases" / "test" / "deletes_bw80" / "1"))
    picks = found.checks[Check.PICKS]
    assert picks.matched > 0.8 * picks.total
    for line in picks.mismatches:
        real, ours = line.removeprefix("job ").split("; ")[:2]
        assert real.split(": LOG ")[1].rpartition(", score ")[0] == ours.removeprefix("model compacts ").rpartition(", score ")[0]
        scores = [float(text.rpartition("score ")[2]) for text in (real, ours)]
        assert scores[1] == pytest.approx(scores[0], rel=0.01)


def test_several_column_families_are_refused() -> None:
    """A replay follows one tree, so the decisions of a store with two are not counted as wrong."""
    with pytest.raises(InputError, match="2 column families"):
        replay(load_recording(ROOT / "validation" / "cases" / "wider" / "cf2_bw80" / "1"))
