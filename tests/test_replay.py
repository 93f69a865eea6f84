"""Recorded runs of RocksDB 7.8.3, replayed: the model's policies must give the answers that the store gave."""

from __future__ import annotations

import dataclasses
import functools
import shutil
from collections import Counter
from pathlib import Path

import pytest
from lsmlab.models.errors import InputError
from lsmlab.validation.logs.manifest import parse_manifest
from lsmlab.validation.logs.reader import StallLine, parse_event, parse_log, read_log
from lsmlab.validation.replays.checks import (
    FLUSHES,
    IDLE,
    IMMUTABLES,
    INDEXES,
    LINES,
    MOVES,
    OUTPUTS,
    PENDING,
    PICKS,
    STATE,
    ReplayResult,
)
from lsmlab.validation.replays.recording import Recording, load_recording
from lsmlab.validation.replays.replay import Replay, main, replay

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "validation" / "recordings"
SAMPLES = ROOT.parent / "shared" / "data" / "parser_samples"
NAMES = ("static", "dynamic", "parallel")


@functools.cache
def recording(name: str) -> Recording:
    """One recording, read once."""
    return load_recording(RECORDINGS / name)


@functools.cache
def result(name: str) -> ReplayResult:
    """Its replay, run once."""
    return replay(recording(name))


@pytest.mark.parametrize("check", [PENDING, LINES, STATE, IMMUTABLES, PICKS, MOVES, IDLE, FLUSHES, OUTPUTS, INDEXES])
@pytest.mark.parametrize("name", NAMES)
def test_every_answer_is_rocksdbs(name: str, check: str) -> None:
    """Debt, stall lines with their rates, picks with their scores, file contents and cuts are all as recorded."""
    found = result(name).checks[check]
    assert found.mismatches == []
    assert found.matched == found.total
    assert found.total >= 10


def test_recordings_hold_every_kind_of_stall() -> None:
    """The recordings together contain each stop and each slowdown, so that the replay exercises all of them."""
    lines = [r.text for name in NAMES for r in recording(name).log.records if isinstance(r, StallLine)]
    kinds = Counter(
        (text.split()[0], "memtable" if "immutable" in text else "l0" if "level-0" in text else "pending")
        for text in lines
    )
    expected = {(verb, cause) for verb in ("Stopping", "Stalling") for cause in ("memtable", "l0", "pending")}
    expected |= {("Increasing", "l0"), ("Increasing", "pending")}
    assert set(kinds) == expected


def test_recordings_hold_several_jobs_at_once() -> None:
    """In the parallel recording at least four compactions run at the same time, so that conflicts are exercised."""
    player = Replay(recording("parallel"))
    most = 0
    take = player._take

    def counting(*arguments: object) -> None:
        nonlocal most
        take(*arguments)  # type: ignore[arg-type]
        most = max(most, len(player.running))

    player._take = counting  # type: ignore[method-assign,assignment]
    player.run()
    assert most >= 4


@pytest.mark.parametrize(
    ("option", "value", "check"),
    [
        ("delayed_write_rate", 16 << 20, LINES),
        ("max_bytes_for_level_multiplier", 5.0, PENDING),
        ("target_file_size_base", 2 << 20, OUTPUTS),
        ("max_bytes_for_level_base", 5 << 20, PICKS),
    ],
)
def test_another_option_gives_other_answers(option: str, value: float, check: str) -> None:
    """The replay notices a model that is set up wrongly, and explains the first differences."""
    wrong = dataclasses.replace(recording("static"), options={**recording("static").options, option: value})
    found = replay(wrong).checks[check]
    assert found.matched < found.total
    assert 0 < len(found.mismatches) <= 5


def test_without_a_workload_contents_are_not_asked(tmp_path: Path) -> None:
    """A directory without meta.json is replayed as far as LOG and MANIFEST go."""
    for path in (RECORDINGS / "static").glob("*.xz"):
        shutil.copy(path, tmp_path)
    checks = replay(load_recording(tmp_path)).checks
    assert OUTPUTS not in checks
    assert checks[PICKS].matched == checks[PICKS].total > 0


def test_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The command prints one line per check and tells right (0) from unusable input (2)."""
    assert main([str(RECORDINGS / "static")]) == 0
    printed = capsys.readouterr().out
    assert "stall lines" in printed
    assert "100.00 %" in printed
    assert main([str(tmp_path)]) == 2
    assert "needs LOG and MANIFEST.txt" in capsys.readouterr().err
    assert main([]) == 2


def test_cut_off_json_is_recovered() -> None:
    """Of JSON that the logger cut off all whole fields are kept, a broken number or list is not."""
    text = '{"time_micros": 17, "job": 5, "event": "compaction_finished", "lsm_state": [1, 2], "total_output_size": 12'
    assert parse_event(text) == (
        {"time_micros": 17, "job": 5, "event": "compaction_finished", "lsm_state": [1, 2]},
        False,
    )
    nested = '{"job": 3, "file_size": 9, "table_properties": {"data_size": 7, "compression": "Snap'
    assert parse_event(nested) == ({"job": 3, "file_size": 9, "table_properties": {"data_size": 7}}, False)
    assert parse_event('{"job": 3} trailing') == ({"job": 3}, True)


def test_records_are_ordered_by_their_original_time() -> None:
    """Lines that were buffered, and events in UTC, sort by when they happened on the clock of the lines."""
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
    start = 1767232800000000  # 02:00 on the line's clock; the event's own clock is one hour behind
    assert [r.time_us - start for r in log.records] == [99, 900, 960]


def test_stall_line_values() -> None:
    """A stall line gives its debt and its rate, where it prints them."""
    line = StallLine(0, "1", 1, "Stalling writes because of estimated pending compaction bytes 12 rate 34")
    assert (line.pending_bytes, line.rate_bytes_per_s) == (12, 34)
    line = StallLine(0, "1", 1, "Stopping writes because we have 8 level-0 files")
    assert (line.pending_bytes, line.rate_bytes_per_s) == (None, None)


def test_manifest_edits() -> None:
    """An edit lists files put in and taken out; a file that only changes level is a move."""
    edits = parse_manifest(
        "VersionEdit {\n  LastSeq: 9\n  DeleteFile: 1 20\n"
        "  AddFile: 2 20 1055 '00FF' seq:3, type:1 .. '01AA' seq:4, type:1 oldest_ancester_time:1\n}\n"
        "VersionEdit {\n  LogNumber: 4\n}\n"
    )
    assert len(edits) == 2
    assert edits[0].moved == frozenset({20})
    assert edits[0].deleted == ((1, 20),)
    assert edits[0].last_sequence == 9
    file = edits[0].added[0]
    assert (file.level, file.number, file.size_bytes) == (2, 20, 1055)
    assert (file.smallest, file.largest) == (b"\x00\xff", b"\x01\xaa")
    assert not edits[1].changes_files


def test_not_a_log(tmp_path: Path) -> None:
    """A file that is no LOG, is damaged or is absent is refused with its name."""
    (tmp_path / "LOG").write_text("hello\n")
    with pytest.raises(InputError, match="LOG: not a RocksDB LOG"):
        read_log(tmp_path / "LOG")
    (tmp_path / "LOG.gz").write_bytes(b"\x1f\x8b\x08damaged")
    with pytest.raises(InputError, match=r"LOG\.gz: cannot be read"):
        read_log(tmp_path / "LOG.gz")
    with pytest.raises(InputError, match="absent: cannot be read"):
        read_log(tmp_path / "absent")


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


def test_fifo_throws_files_away_between_two_picks() -> None:
    """FIFO's deletions have no event of their own, only lines: what it merges next is picked without these files."""
    found = replay(load_recording(ROOT / "validation" / "cases" / "test" / "fifo_bw80" / "1"))
    assert found.checks[PICKS].mismatches == []
    assert found.checks[PICKS].total == 37
    assert found.checks[STATE].matched == found.checks[STATE].total


def test_tombstones_weigh_in_a_store_that_is_older_than_its_log() -> None:
    """Of the files that were there before, the LOG says nothing: picks are RocksDB's, scores within one in a hundred."""
    found = replay(load_recording(ROOT / "validation" / "cases" / "test" / "deletes_bw80" / "1"))
    picks = found.checks[PICKS]
    assert picks.matched > 0.8 * picks.total
    for line in picks.mismatches:
        told, ours = line.removeprefix("job ").split("; ")[:2]
        assert told.split(": log ")[1].rpartition(", score ")[0] == ours.removeprefix("model merges ").rpartition(", score ")[0]
        scores = [float(text.rpartition("score ")[2]) for text in (told, ours)]
        assert scores[1] == pytest.approx(scores[0], rel=0.01)
