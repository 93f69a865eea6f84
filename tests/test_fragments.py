"""Parts of LOGs and pasted statistics: they give what they tell, "unknown" otherwise, and nothing that cannot be."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_sample import Sample, write_log
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import Compression, RateLimiterMode
from lsmlab.models.options.options_file import read_options
from lsmlab.models.text.plain_lines import PlainLines
from lsmlab.models.version import Version
from lsmlab.reports.cli.import_log import import_log
from lsmlab.reports.cli.main import main
from lsmlab.sim.configuration.options_input import options_shown
from lsmlab.validation.importer.importing import _clock_text
from lsmlab.validation.importer.reading import Reading, read
from lsmlab.validation.importer.statistics import read_rate_per_s
from lsmlab.validation.logs.history.summary import _shares_of

STAMP = "2026/05/06-{} 7f0a{:04} "
DB = [
    "** DB Stats **", "Uptime(secs): {0:.1f} total, {0:.1f} interval",
    "Cumulative writes: {1}K writes, {1}K keys, {1}K commit groups, 1.0 writes per commit group, ingest: {2:.2f} GB, 1.00 MB/s",
    "Cumulative WAL: {1}K writes, 0 syncs, 0.00 writes per sync, written: 0.20 GB, 1.00 MB/s",
    "Cumulative stall: 00:{3:06.3f} H:M:S, 5.0 percent",
]  # fmt: skip
TABLE = [
    "", "** Compaction Stats [default] **",
    "Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) "
    "CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop",
    "-" * 150,
    "  L0      3/0   12.00 MB   0.7      0.0     0.0      0.0       0.4      0.4       0.0   1.0      0.0     40.0     10.00"
    "              8.00        40    0.250       0      0",
    "  L1      9/0   80.00 MB   0.9      1.1     0.4      0.7       1.0      0.3       0.0   2.5     50.0     45.0     20.00"
    "             16.00        10    2.000   3000K   100K",
    " Sum     12/0   92.00 MB   0.0      1.1     0.4      0.7       1.4      0.7       0.0   3.5     34.0     43.0     30.00"
    "             24.00        50    0.600   3000K   100K",
]  # fmt: skip


def line(time: str, text: str, thread: int = 1) -> str:
    """Return a line of a LOG."""
    return STAMP.format(time if "." in time else f"{time}.000000", thread) + text


def stall(seconds: float) -> str:
    """Return minutes and seconds as a statistics line has them, as a number for the format of `DB`."""
    return f"{int(seconds // 60):02}:{seconds % 60:06.3f}"


def database(uptime_s: float, kilo_writes: int, stalled_s: float) -> list[str]:
    """Return the lines of the database's statistics."""
    texts = [text.format(uptime_s, kilo_writes, kilo_writes / 2000, 0.0) for text in DB[:-1]]
    return [*texts, f"Cumulative stall: 00:{stall(stalled_s)} H:M:S, 5.0 percent"]


def dump(time: str, uptime_s: float, kilo_writes: int, stalled_s: float, table: list[str] = TABLE) -> list[str]:
    """Return the lines of a statistics dump."""
    head = [line(time, "[db/db_impl/db_impl.cc:1105] ------- DUMPING STATS -------"), line(time, "[db/db_impl/db_impl.cc:1107] ")]
    return [*head, *database(uptime_s, kilo_writes, stalled_s), *table]


def imported(tmp_path: Path, lines: list[str]) -> dict[str, Any]:
    """Return the summary of an import, after its page was drawn."""
    path = write_log(tmp_path, lines)
    assert 0 == import_log([str(path), "--out", str(tmp_path / "out")])
    assert (tmp_path / "out" / "report.html").is_file()
    found: dict[str, Any] = json.loads((tmp_path / "out" / "summary.json").read_text())
    return found


HEADER = [line("10:00:00", "RocksDB version: 7.8.3"), line("10:00:00", "         Options.write_buffer_size: 1048576")]
OPENED = [*HEADER, line("10:00:00", "DB pointer 0x7f0000001000")]
STOP = "[WARN] [db/column_family.cc:921] [default] Stopping writes because we have {} level-0 files"


@pytest.mark.parametrize("part", ["dump", "with lines around", "block", "database alone"])
def test_counters_belong_to_the_uptime(part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """800,000 writes in 400 s with 30 s of stalls are 2,000 writes/s and 7.5 %, whatever the stamps around them are."""
    lines = {
        "dump": dump("12:00:01", 400.0, 800, 30.0), "block": [*database(400.0, 800, 30.0), *TABLE],
        "database alone": database(400.0, 800, 30.0),
        "with lines around": [
            *dump("12:00:01", 400.0, 800, 30.0),
            line("12:00:01.300000", "[db/flush_job.cc:333] [default] [JOB 9] Flushing memtable"),
            line("12:00:01.400000", 'EVENT_LOG_v1 {"time_micros": 1, "job": 9, "event": "flush_started", "num_entries": 7}'),
        ],
    }[part]  # fmt: skip
    summary = imported(tmp_path, lines)

    assert 2000.0 == pytest.approx(summary["write_ops_per_s"])
    assert 0.075 == pytest.approx(summary["stall_fraction"])
    assert 400.0 == summary["duration_s"]
    assert 30.0 == pytest.approx(summary["stall_unattributed_s"])
    with_table = part != "database alone"
    assert (3.5 if with_table else None) == (pytest.approx(summary["write_amplification"]) if with_table else None)
    printed = capsys.readouterr().out
    assert "no bottleneck" not in printed
    assert ("jobs            unknown" in printed) is not with_table


@pytest.mark.parametrize(("dumps", "rate", "share"), [(1, 5.0, 0.02), (2, 2000.0, 0.1)])
def test_counters_of_an_older_open(dumps: int, rate: float, share: float, tmp_path: Path) -> None:
    """A store that was open for a day before the LOG: one dump tells its uptime, two tell what happened between them."""
    day_s, moves = 86_400.0, [{"job": n, "event": "trivial_move", "files": 1, "destination_level": 2} for n in (1, 2)]
    moved = [line(f"12:0{n}:30", "EVENT_LOG_v1 " + json.dumps(move)) for n, move in enumerate(moves, 1)]
    lines = [*moved, *dump("12:10:00", day_s + 600.0, 1632 if dumps == 2 else 435, 1788.0 if dumps == 2 else 1740.0)]
    if dumps == 2:
        lines = [*dump("12:00:00", day_s, 432, 1728.0), *lines]
    summary = read(write_log(tmp_path, lines)).summary

    assert rate == pytest.approx(summary["write_ops_per_s"], rel=0.01)
    assert share == pytest.approx(summary["stall_fraction"], rel=0.01)


def test_tickers_belong_to_the_uptime(tmp_path: Path) -> None:
    """Reads that a store counted in the day before the LOG are not those of the LOG's minutes."""
    ticker = "rocksdb.number.keys.read COUNT : 864000"
    lines = [*dump("12:10:00", 86_400.0, 432, 0.0), line("12:10:00", "[db/db_impl/db_impl.cc:900] STATISTICS:"), ticker]
    reading = read(write_log(tmp_path, lines))

    assert 10.0 == pytest.approx(read_rate_per_s(reading))


def test_a_table_alone_has_no_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Compaction Stats alone give levels and write amplification; time, rates and stalls are unknown."""
    summary = imported(tmp_path, TABLE)

    assert 3.5 == pytest.approx(summary["write_amplification"])
    assert [3, 9] == [level["files"] for level in summary["levels"]]
    assert (None, None, None) == tuple(summary.get(name) for name in ("duration_s", "write_ops_per_s", "stall_fraction"))
    assert "unknown time" in capsys.readouterr().out


@pytest.mark.parametrize(("stalled_s", "words"), [(None, "unknown: "), (0.0, "none"), (6.0, "1.0 % of the time")])
def test_none_is_only_what_the_statistics_say(
    stalled_s: float | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a line of a stall the answer is unknown, unless statistics say that there was none."""
    told = [] if stalled_s is None else dump("10:10:00", 600.0, 1200, stalled_s)
    summary = imported(tmp_path, [*OPENED, *told, line("10:10:01", "Shutdown complete")])

    assert re.search(rf"write stalls    {re.escape(words)}", capsys.readouterr().out)
    assert (None if stalled_s is None else pytest.approx(stalled_s / 600.0, rel=0.01)) == summary["stall_fraction"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert ("Unknown: the input does not tell" in page) == (stalled_s is None)


def test_stall_lines_alone_have_no_lengths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of stalls that grep left tell how many there were, not how long they lasted."""
    summary = imported(tmp_path, [line("10:00:00", STOP.format(20)), line("10:07:00", STOP.format(21))])

    assert 2 == summary["stall_count"]["l0_stop"]
    assert (None, None) == (summary["stall_fraction"], summary["stall_seconds"]["l0_stop"])
    assert "for an unknown time" in capsys.readouterr().out


@pytest.mark.parametrize("stopped_s", [45, 150, 280])
def test_a_stopped_store_has_a_bottleneck(stopped_s: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Stops without a rate of writes: their time is known, what they cost is not, and something held writers back."""
    end = f"10:{stopped_s // 60:02}:{stopped_s % 60:02}"
    after = [line(end, "[db/flush_job.cc:333] [default] [JOB 4] Level-0 flush table #10: started")]
    lines = [*OPENED, line("10:00:00.000100", STOP.format(36)), *after, line("10:05:00", "Shutdown: canceling all")]
    summary = imported(tmp_path, lines)

    assert stopped_s / 300.0 == pytest.approx(summary["stall_fraction"], rel=0.01)
    assert (None, None) == (summary["lost_operations"]["total"], summary["lost_operations"]["share"])
    assert "none" != summary["bottleneck"]["resource"]
    printed = capsys.readouterr().out
    assert not re.search(r"no bottleneck|\b0 operations|at most 0\.0 %", printed)


@given(
    st.lists(st.floats(0.0, 1e3), min_size=6, max_size=6), st.one_of(st.none(), st.floats(0.0, 1e4)),
)  # fmt: skip
def test_parts_of_stalls_add_up(seconds: list[float], waited_s: float | None) -> None:
    """Causes never have more than the time that writers waited, nor than their intervals, and stops come first."""
    names = ["memtable_stop", "l0_stop", "pending_stop", "memtable_slowdown", "l0_slowdown", "pending_slowdown"]
    intervals = dict(zip(names, seconds, strict=True))
    shares = _shares_of(intervals, waited_s)

    if waited_s is None:
        assert {None} == set(shares.values())
        return
    found = {cause: share or 0.0 for cause, share in shares.items()}
    assert sum(found.values()) <= waited_s * (1 + 1e-9) + 1e-9
    assert sum(found.values()) == pytest.approx(min(waited_s, sum(seconds)), abs=1e-6)
    assert all(share <= intervals[cause] * (1 + 1e-9) + 1e-9 for cause, share in found.items())
    slowed = any(share > 1e-9 for cause, share in found.items() if cause.endswith("slowdown"))
    assert not slowed or all(found[c] == pytest.approx(intervals[c]) for c in names[:3])


def test_the_printed_parts_are_those_of_the_printed_share(tmp_path: Path) -> None:
    """Stops that the store did not notice do not stand beside a share of the time in which they have no room."""
    stops = [(s, s + 2) for s in range(10, 40, 10)]
    lines = list(OPENED)
    for number, (start, end) in enumerate(stops, 1):
        event = {"time_micros": 1, "job": number, "event": "flush_finished", "lsm_state": [1, 0], "immutable_memtables": 0}
        lines += [line(f"10:00:{start}", STOP.format(36), number), line(f"10:00:{end}", f"EVENT_LOG_v1 {json.dumps(event)}", 99)]
    lines += dump("10:00:45", 45.0, 100, 0.045)
    reading = read(write_log(tmp_path, lines))
    summary = reading.summary

    assert 0.045 / summary["stall_until_s"] == pytest.approx(summary["stall_fraction"], rel=0.01)
    parts = sum(s or 0.0 for s in summary["stall_seconds"].values()) + summary["stall_unattributed_s"]
    assert parts == pytest.approx(summary["stall_fraction"] * summary["stall_until_s"])


def test_a_stop_after_the_last_switch_delays_its_write(tmp_path: Path) -> None:
    """The flush of the last memtable is not in the LOG, but a write waited for it: its stop counts."""
    sample = Sample()
    sample.open()
    for _ in range(3):
        sample.switch()
        sample.flush()
    sample.switch(waiting=1, gap_us=5_000)
    sample.now_us += 400_000
    sample.say("[db/flush_job.cc:333] [default] [JOB 99] Level-0 flush table #10: started")
    lines = [text for text in sample.lines if "Cumulative" not in text]
    summary = read(write_log(tmp_path, lines)).summary

    assert 0.4 == pytest.approx(summary["stall_seconds"]["memtable_stop"], rel=0.05)
    assert summary["longest_stall_s"] == pytest.approx(summary["stall_seconds"]["memtable_stop"], rel=0.05)


def refused(tmp_path: Path, lines: list[str], words: str) -> None:
    """Check that a LOG is refused in one line that names the file, a line and these words."""
    path = write_log(tmp_path, lines)
    with pytest.raises(InputError, match=words) as caught:
        read(path)
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(caught.value))
    assert "\n" not in str(caught.value)


def test_a_stop_of_days_is_refused(tmp_path: Path) -> None:
    """Two greps, days apart: no store stands still for nine days without a line."""
    later = [text.replace("2026/05/06", "2026/05/15") for text in Sample().lines if "2026" in text]
    lines = [*OPENED, line("10:00:01", "[default] [JOB 3] Flushing memtable"), line("10:00:02", STOP.format(36)), *later]
    lines += [line("10:00:03", "[default] [JOB 4] Flushing memtable").replace("05/06", "05/15"),
              line("10:00:04", "[default] [JOB 5] Flushing memtable").replace("05/06", "05/15")]  # fmt: skip

    refused(tmp_path, lines, "stopped for 9.0 days")


def test_time_that_goes_back_is_refused(tmp_path: Path) -> None:
    """LOGs of two times, of which the second has lost its first lines, are not one history."""
    earlier = [line(f"10:00:0{n}", f"[default] [JOB {n}] Flushing memtable").replace("2026", "2024") for n in range(1, 5)]
    lines = [*OPENED, *(line(f"10:00:0{n}", f"[default] [JOB {n}] Flushing memtable") for n in range(1, 5)), *earlier]

    refused(tmp_path, lines, "the time goes back by 730 days")


def test_two_stores_in_one_file_are_refused(tmp_path: Path) -> None:
    """The line at which the LOG of another store begins is named."""
    first, second = Sample().run(4), Sample(now_us=1_700_000_900_000_000).run(4)
    lines = [*first.lines, *(text.replace("<db>", "/data/other") for text in second.lines)]

    refused(tmp_path, lines, "the LOG of another store begins here .*/data/other")


def test_statistics_of_two_stores_are_refused(tmp_path: Path) -> None:
    """Without an open, the uptime of one store rises; after an open whose lines are lost it is shorter than the time since."""
    refused(tmp_path, [*dump("10:00:00", 2_000.0, 100, 1.0), *dump("10:00:04", 1_990.0, 7, 0.0)], "several stores are mixed")
    reopened = [*dump("10:00:00", 2_000.0, 100, 1.0), *dump("10:30:00", 1_000.0, 7, 0.0)]
    assert imported(tmp_path, reopened)["operations"] == 7_000


def test_stops_by_the_write_buffer_manager_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their counter stands in the statistics of the whole database; the others are those of its families."""
    counter = "Write Stall (count): write-buffer-manager-limit-stops: 3"
    summary = imported(tmp_path, [*dump("10:00:02", 2_000.0, 100, 150.0), counter])

    assert (3, None) == tuple(summary[key]["write_buffer_manager_limit"] for key in ("stall_count", "stall_seconds"))
    assert "write buffer manager full" in capsys.readouterr().out


@pytest.mark.parametrize("minutes", [0, 4])
def test_a_few_events_hide_no_statistics(minutes: int, tmp_path: Path) -> None:
    """A tail with one flush and a stall, and the table of the whole time a moment or minutes later: the table counts 50 jobs."""
    flush = '{"time_micros": 1700000000000000, "job": 900, "event": "flush_started", "num_memtables": 1, "num_entries": 100}'
    lines = [line("10:00:00", f"EVENT_LOG_v1 {flush}"), line("10:00:01", f"[WARN] {STOP[7:].format(20)}")]
    found = imported(tmp_path, [*lines, *dump(f"10:0{minutes}:02", 2_000.0, 100, 150.0)])

    assert (found["write_amplification"], found["stall_fraction"]) == (pytest.approx(3.5, rel=0.01), pytest.approx(0.075))
    assert "tables" == found["counted_from"]


NO_EVENTS = ("no write stalls", "started and ended", "No background job ran", "stayed empty", "No level ever", "wrote nothing")
"""Words of a page that say that nothing was, or that the LOG shows times."""


def page_text(directory: Path) -> str:
    """Return the text of an import's page."""
    page = (directory / "report.html").read_text()
    body = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", page)
    return html.unescape(re.sub(r"<[^>]+>", " ", body))


@pytest.mark.parametrize("stalled_s", [0.0, 150.0])
def test_a_page_of_statistics_does_not_tell_times(stalled_s: float, tmp_path: Path) -> None:
    """Sums since the open show no job and no stall, so the page says nothing of their times, and has no explorer."""
    imported(tmp_path, [*database(2_000.0, 100, stalled_s), *TABLE])
    text = page_text(tmp_path / "out")
    claims = NO_EVENTS[bool(not stalled_s) :]

    assert not [claim for claim in claims if claim in text]
    assert "Flushes wrote 409.6 MiB, compactions read 1.1 GiB, compactions wrote 1.0 GiB." in text
    assert "RocksDB's sums, and no times" in text
    assert not {"Explorer", "Background jobs by thread"} & set(re.split(r" {2,}|\n", text))


def test_a_log_without_lines_of_stalls_shows_the_times_of_its_jobs(tmp_path: Path) -> None:
    """Events without a line of a stall and without statistics: the jobs have times, and the stalls are unknown."""
    lines = [text for text in Sample().run(6).lines if "EVENT_LOG" in text]
    assert imported(tmp_path, lines)["stall_fraction"] is None
    text = page_text(tmp_path / "out")

    assert "The times of jobs are the LOG's; those of stalls are unknown" in text
    assert not [claim for claim in ("no write stalls", "RocksDB's sums", "statistics and") if claim in text]


def test_statistics_without_tables_are_dumps_of_their_own(tmp_path: Path) -> None:
    """Numbers of a dump belong to its own uptime; where the uptime falls, the store was opened anew."""
    found = imported(tmp_path, [*database(1_200.0, 2_400, 90.5), *database(1_800.0, 3_600, 270.0)])
    assert (1_800.0, 2_000.0, 0.15) == (found["duration_s"], found["write_ops_per_s"], pytest.approx(found["stall_fraction"]))
    reopened = imported(tmp_path, [*database(1_200.0, 2_400, 90.5), *database(600.0, 600, 0.0)])
    assert (600.0, 0.0) == (reopened["duration_s"], reopened["stall_fraction"])
    assert any("earlier opens (uptime 1,200 s)" in note for note in reopened["import"]["notes"])


COUNTED = (
    "Stalls(count): 0 level0_slowdown, 0 level0_slowdown_with_compaction, {0} level0_numfiles, "
    "0 level0_numfiles_with_compaction, 0 stop for pending_compaction_bytes, 0 slowdown for pending_compaction_bytes, "
    "0 memtable_compaction, 0 memtable_slowdown, "
    "interval 0 total count"
)


@pytest.mark.parametrize(
    ("lines", "fraction", "l0_stops"),
    [
        ([*database(600.0, 100, 0.0), *TABLE, COUNTED.format(0)], 0.0, 0),
        ([*TABLE, COUNTED.format(0)], 0.0, 0),  # counters of 0 tell it
        ([*database(600.0, 100, 0.0), *TABLE, COUNTED.format(1)], None, 1),  # the sum has waits that ended
        ([*TABLE, "Cumulative stall: 05:34:0.428 H:M:S, 35.5 percent"], 0.355, 0),  # of an unknown uptime
        ([line("10:00:00", f"[WARN] {STOP[7:].format(36)}"), *dump("10:00:10", 600.0, 100, 0.0, [])], None, 1),
        ([line("10:00:00", f"[WARN] {STOP[7:].format(36)}"), *dump("10:00:10", 600.0, 100, 60.0, [])], 0.1, 1),
    ],
)  # fmt: skip
def test_stalls_of_statistics(lines: list[str], fraction: float | None, l0_stops: int, tmp_path: Path) -> None:
    """The share of waits, the counters and lines of stalls beside them; no stall is none that the input denies."""
    found = imported(tmp_path, lines)

    assert found["stall_fraction"] == (None if fraction is None else pytest.approx(fraction, abs=1e-4))
    assert l0_stops == found["stall_count"]["l0_stop"]
    assert ("no write stalls" in page_text(tmp_path / "out")) is (fraction == 0.0)


def test_a_line_of_a_stall_at_the_end_has_no_length(tmp_path: Path) -> None:
    """What ended a stall, and when, is not in a text that ends with its line, nor in lines of stalls beside begins of jobs."""
    alone = [text for text in Sample().run(2).lines if "flush" in text]
    last = imported(tmp_path, [*alone, line("23:59:00", f"[WARN] {STOP[7:].format(36)}").replace("2026/05/06", "2026/05/07")])
    job = line("10:09:00", "[db/compaction/compaction_job.cc:18] [default] [JOB 44] Compacting 4@0 + 4@1 files to L1, score 1.00")
    beside = imported(tmp_path, [line("10:00:00", STOP.format(36)), line("10:01:00", STOP.format(37)), job])

    assert (1, None, None) == (last["stall_count"]["l0_stop"], last["stall_fraction"], last["stall_seconds"]["l0_stop"])
    assert (2, None, None) == (beside["stall_count"]["l0_stop"], beside["stall_fraction"], beside["stall_seconds"]["l0_stop"])


def test_a_compaction_without_its_begin_took_the_time_of_its_event(tmp_path: Path) -> None:
    """An excerpt that begins inside of a compaction has its end only, whose event tells how long it ran."""
    event = (
        '{"time_micros": 1700000000000000, "job": 132, "event": "compaction_finished", "compaction_time_micros": 8211035, '
        '"output_level": 1, "num_output_files": 1, "total_output_size": 66608557, "num_input_records": 13191300, '
        '"num_output_records": 13191300, "num_subcompactions": 1, "lsm_state": [0, 6, 39]}'
    )
    found = imported(tmp_path, [line("10:00:00", f"EVENT_LOG_v1 {event}")])

    assert 8.211 == pytest.approx(next(row["busy_s"] for row in found["levels"] if row["level"] == 1), rel=1e-3)


def test_statistics_begin_with_their_uptime(tmp_path: Path) -> None:
    """The time of an excerpt's first line is the end of the time that its statistics cover."""
    found = imported(tmp_path, dump("10:00:00", 3_600.0, 100, 0.0))

    assert "2026-05-06 09:00:00" == found["import"]["begins"]


def test_a_store_that_statistics_show_is_there_at_the_start(tmp_path: Path) -> None:
    """What a store holds and nobody flushed since its open was there before; of its machine and its error nothing is known."""
    old = [text.replace("80.00 MB", "80.00 GB").replace("92.00 MB", "80.01 GB") for text in TABLE]
    found = imported(tmp_path, [*database(600.0, 1_000, 6.0), *old])
    load = (tmp_path / "out" / "workload" / "imported.yaml").read_text()
    run = ["run", "--config-dir", str(tmp_path / "out"), "experiment=imported", "workload.duration=1s"]

    assert "preload: 1.0" in load
    assert any("79.6 GiB or more before its statistics begin" in note for note in found["import"]["notes"])
    assert 0 == main([*run, "--out", str(tmp_path / "run"), "--no-report"])
    assert not json.loads((tmp_path / "run" / "summary.json").read_text()).get("interval")


@pytest.mark.parametrize(
    "text",
    [
        "Our options: write_buffer_size=268435456;max_background_jobs=8",
        "opts.write_buffer_size = 256 << 20;\nopts.max_background_jobs = 8;",
    ],
)
def test_options_beside_statistics_are_those_of_the_store(text: str, tmp_path: Path) -> None:
    """A report has options, statistics and prose in one text; what it sets is not said to be missing."""
    found = imported(tmp_path, ["Hello, our store is slow = bad.", *text.split("\n"), *database(600.0, 100, 6.0), *TABLE])

    assert {"write_buffer_size": 256 << 20, "max_background_jobs": 8} == found["options"]
    assert not any("contains no options" in note for note in found["import"]["notes"])


def test_spaces_of_a_web_page_are_spaces(tmp_path: Path) -> None:
    """Tables copied from the source of a page have &nbsp; between their columns."""
    plain = [*database(600.0, 100, 6.0), *TABLE]
    found, true = (imported(tmp_path, [text.replace("  ", end) for text in plain]) for end in ("&nbsp; ", "  "))

    assert found["levels"] == true["levels"]
    assert found["write_amplification"] == true["write_amplification"]


def test_l0_of_a_table_has_the_amplification_of_its_own_merges(tmp_path: Path) -> None:
    """Merges within L0 write more than was flushed; its W-Amp is relative to the flushed bytes that the statistics have."""
    found = imported(tmp_path, [*database(600.0, 100, 6.0), *TABLE, "Flush(GB): cumulative 0.200, interval 0.000"])

    assert 2.0 == pytest.approx(found["levels"][0]["w_amp"], rel=0.01)


def test_writes_of_several_keys_are_noted(tmp_path: Path) -> None:
    """RocksDB counts batches as writes; rates and the simulated load count keys."""
    lines = [text.replace("100K writes, 100K keys", "100K writes, 5000K keys") for text in database(600.0, 100, 6.0)]
    found = imported(tmp_path, [*lines, *TABLE])

    assert 5e6 == found["operations"]
    assert any("a write has 50.0 keys" in note for note in found["import"]["notes"])


def test_pasted_tables_of_several_families_have_a_row_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each family has its own bytes, W-Amp and counters; the database has their sums."""
    users = [text.replace("[default]", "[users]") for text in TABLE]
    found = imported(tmp_path, [*database(600.0, 100, 6.0), *TABLE, COUNTED.format(3), *users, COUNTED.format(0)])
    families = found["column_families"]

    assert ["default", "users"] == list(families)
    assert [3, 0] == [family["stall_count"]["l0_stop"] for family in families.values()]
    assert found["flush_bytes"] == pytest.approx(sum(family["flush_bytes"] for family in families.values()))
    assert "users" in capsys.readouterr().out


def test_lines_of_stalls_name_their_families(tmp_path: Path) -> None:
    """Lines that grep left have no jobs, and the families that stopped writers."""
    lines = [line("10:00:00", STOP.format(36)), line("10:01:00", STOP.format(36).replace("[default]", "[users]"))]
    families = imported(tmp_path, lines)["column_families"]

    assert [("default", 1, None), ("users", 1, None)] == [
        (name, family["stall_count"]["l0_stop"], family["flush_count"]) for name, family in families.items()
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (r'"total_output_size": \d+', '"total_output_size": 900000000000000', r"job \d+ would have moved"),
        (r'"num_entries": 8000, "num_deletes"', '"num_entries": 80000000000000, "num_deletes"', "would have written"),
        (r"(\d+)K keys", r"\1G keys", "the statistics would have written"),
    ],
)
def test_rates_beyond_physics_are_refused(old: str, new: str, words: str, tmp_path: Path) -> None:
    """Bytes and entries that no drive and no cores move in the time are refused with their line."""
    text = re.sub(old, new, Sample().run(20).text)
    if "total_output_size" in old:  # all sources agree
        text = re.sub(r"=> \d+ bytes", "=> 900000000000000 bytes", text)

    refused(tmp_path, text.split("\n"), words)


def test_a_file_whose_events_are_all_damaged_is_refused(tmp_path: Path) -> None:
    """Events in an unknown quoting are not "0 flushes"."""
    lines = [text.replace('"', "%22") if "EVENT_LOG" in text else text for text in Sample().run(6).lines]

    refused(tmp_path, lines, r"all \d+ events are damaged")


@pytest.mark.parametrize("number", ["", '"job": 3, '])
def test_jobs_without_a_number_of_their_own_have_no_endless_chain(number: str, tmp_path: Path) -> None:
    """Events of a damaged LOG may have no job, or all the same: what a stall waited for still ends."""
    text = re.sub(r'"job": \d+, ', number, Sample().run(12).text)

    assert "stalls" in imported(tmp_path, text.split("\n"))


def test_a_load_that_the_log_does_not_show_must_be_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The experiment of a LOG without a load is refused with the keys to set, and runs with them."""
    monkeypatch.chdir(tmp_path)
    imported(tmp_path, OPENED)
    for experiment, keys in (
        ("imported", ["rate", "key_size", "value_size", "duration"]),
        ("imported_full_speed", ["duration", "key_size", "value_size"]),
    ):  # fmt: skip
        command = ["run", "--config-dir", "out", f"experiment={experiment}", "--no-report", "--out", "run"]
        assert 2 == main(command)
        message = capsys.readouterr().err
        assert all(f"workload.{key}" in message for key in keys)
        given_keys = {"rate": "1k", "duration": "1s", "key_size": "16", "value_size": "100"}
        assert 0 == main([*command, *(f"workload.{key}={given_keys[key]}" for key in keys)])


def test_the_first_memtable_of_a_part_was_filled_before_it(tmp_path: Path) -> None:
    """A LOG that begins later does not tell when its first memtable began to fill: it gives no rate."""
    whole = Sample().run(20)
    begins = next(i for i, text in enumerate(whole.lines) if "New memtable" in text and i > len(whole.lines) // 2)

    def rates(lines: list[str]) -> Reading:
        return read(write_log(tmp_path, [text for text in lines if "stall" not in text]))

    part, all_of_it = rates(whole.lines[begins:]), rates(whole.lines)
    assert part.fills[0].start_us > part.origin_us - 1
    assert max(f.entries / (f.end_us - f.start_us) for f in part.fills) <= max(
        f.entries / (f.end_us - f.start_us) for f in all_of_it.fills
    )


def test_the_line_of_the_open_is_not_after_the_first_write(tmp_path: Path) -> None:
    """A stamp of the line that ends the open may be damaged: no job or stall is before the origin of time."""
    lines = Sample().run(12).lines
    at = next(i for i, text in enumerate(lines) if "DB pointer" in text)
    reading = read(write_log(tmp_path, [*lines[:at], lines[at].replace("-22:", "-23:"), *lines[at + 1 :]]))

    assert reading.stalls.intervals
    assert 0.0 <= min(reading.seconds(one.start_us) for one in (*reading.jobs.jobs, *reading.stalls.intervals))


def test_lines_of_two_greps_have_the_time_of_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of the LOG before those of LOG.old: the time is that from the earliest to the latest line."""
    stops = [line(time, STOP.format(36)) for time in ("12:10:00", "11:40:00", "11:50:00")]
    summary = imported(tmp_path, [stops[0], "$ grep Stopping LOG.old.1611178514471066", *stops[1:]])

    assert (1800.0, 3) == (summary["duration_s"], summary["stall_count"]["l0_stop"])
    assert "1,800 s from 2026-05-06 11:40:00" in capsys.readouterr().out


def test_files_of_a_compaction_that_the_text_lacks(tmp_path: Path) -> None:
    """The event of the end has the number and bytes of all files; what the text has of one of them is not the whole."""
    lines = Sample().run(8).lines
    ends = [text for text in lines if "compaction_finished" in text and '"num_output_files": 1' not in text]
    job = re.search(r'"job": (\d+)', ends[0])
    assert job is not None
    first = next(i for i, text in enumerate(lines) if "table_file_creation" in text and f'"job": {job[1]},' in text)
    cut = [text for i, text in enumerate(lines) if i not in (first - 1, first)]

    assert Sample().run(8).totals["compaction_write_bytes"] == read(write_log(tmp_path, cut)).summary["compaction_write_bytes"]


def test_a_lost_line_of_a_commit_ends_no_stall_later(tmp_path: Path) -> None:
    """Threads commit flushes for each other, but a flush whose memtable no line releases has lost this line."""
    lines = Sample().run(20).lines
    for number, text in enumerate(lines):
        if "memtable #1 done" in text:
            found = read(write_log(tmp_path, [*lines[:number], *lines[number + 1 :]])).summary
            assert 0.021 > found["longest_stall_s"]


def test_statistics_that_begin_with_the_database(tmp_path: Path) -> None:
    """Programs print the statistics of the database, then those of each family: all are of one moment."""
    other = [text.replace("[default]", "[__system__]").replace(" 1.4      0.7       0.0   3.5", " 0.0      0.0       0.0   1.0")
             for text in TABLE]  # fmt: skip
    blocks = [["  Type: DBSTATS"], database(400.0, 800, 30.0), ["  Type: CF_COMPACTION"], TABLE, ["  Name: __system__"], other]
    summary = read(write_log(tmp_path, [text for block in blocks for text in block])).summary

    assert (400.0, 184.0 * 2**20, 2000.0) == tuple(summary[name] for name in ("duration_s", "live_bytes", "write_ops_per_s"))
    assert ([6, 18], 3.5) == (summary["files_per_level"], pytest.approx(summary["write_amplification"]))


def test_repeated_rows_of_a_table_count_once(tmp_path: Path) -> None:
    """Who copies a table in parts may copy a row twice."""
    repeated = [*TABLE[:-1], TABLE[-2], TABLE[-1]]

    assert [3, 9] == read(write_log(tmp_path, [*database(400.0, 800, 30.0), *repeated])).summary["files_per_level"]


@pytest.mark.parametrize(
    ("cells", "damaged", "files"),
    [("0.3       0.0   2.5", "-0.3       0.0   2.5", [3, 9]), ("1.1     0.4", "-1.1     0.4", [3])],
)
def test_only_new_bytes_may_be_negative(cells: str, damaged: str, files: list[int], tmp_path: Path) -> None:
    """A level whose compactions drop much has less output than input; any other negative number is damage."""
    rows = [text.replace(cells, damaged) if text.startswith("  L1") else text for text in TABLE]

    assert rows != TABLE
    assert files == read(write_log(tmp_path, [*database(400.0, 800, 30.0), *rows])).summary["files_per_level"]


def test_of_two_tables_the_last_counts(tmp_path: Path) -> None:
    """Who compares two cases pastes the table of each, without the statistics of the database."""
    second = [text.replace("  L0      3/0 ", "  L0      5/0 ") for text in TABLE]

    assert [5, 9] == read(write_log(tmp_path, ["Case 1:", *TABLE, "Case 2:", *second])).summary["files_per_level"]
    assert [3, 9] == read(write_log(tmp_path, [*TABLE, *TABLE])).summary["files_per_level"]


def test_items_of_a_list_keep_their_level() -> None:
    """The header of a LOG has the compression of each level in a line of its own, of which a text may lack the first."""
    found = read_options("    Options.compression[1]: Snappy\n    Options.compression[2]: LZ4\n    Options.num_levels: 4\n")

    assert (Compression.SNAPPY, Compression.SNAPPY, Compression.LZ4) == found.overrides["compression_per_level"]
    assert "the text lacks item 0" in found.notes[0]


def test_a_table_without_its_sum_may_be_cut(tmp_path: Path) -> None:
    """The rows of the levels that are there do not tell the size of the store."""
    summary = read(write_log(tmp_path, TABLE[:-1])).summary

    assert ([3, 9], None) == (summary["files_per_level"], summary["live_bytes"])


def test_tickers_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Statistics of the program, without the LOG, tell bytes and stalled time, but no rate."""
    counts = {
        "rocksdb.flush.write.bytes": 2 << 30, "rocksdb.compact.write.bytes": 6 << 30, "rocksdb.compact.read.bytes": 7 << 30,
        "rocksdb.number.keys.written": 10**7, "rocksdb.stall.micros": 12_500_000,
    }  # fmt: skip
    summary = imported(tmp_path, [f"{name} COUNT : {count}" for name, count in counts.items()])

    names = ("write_amplification", "flush_bytes", "compaction_write_bytes", "compaction_read_bytes", "stall_unattributed_s")
    assert [4.0, 2 << 30, 6 << 30, 7 << 30, 12.5] == [summary[name] for name in names]
    assert (None, None) == (summary["duration_s"], summary["stall_fraction"])
    printed = capsys.readouterr().out
    assert all(text in printed for text in ("10,000,000 writes in an unknown time", "write stalls    12.5 s of an unknown time"))


def test_statistics_of_old_releases(tmp_path: Path) -> None:
    """Releases before 3.10 name no family, and have the stalled time in the line of the writes."""
    columns = TABLE[2].replace("Files   Size ", "Files  Size(MB)").replace("CompMergeCPU(sec) ", "")
    rows = ["  L0  3/0  12 0.7 0.0 0.0 0.0 10.0 10.0 0.0 1.0 0.0 40.0 10.0 40 0.25 0 0",
            " Sum  3/0  12 0.0 0.0 0.0 0.0 30.0 10.0 0.0 3.0 0.0 40.0 10.0 40 0.25 0 0"]  # fmt: skip
    writes = "2000000 writes, 2000000 keys, 1000 batches, 2.0 writes per batch, 9.31 GB user ingest, stall micros: 7000000"
    lines = ["** Compaction Stats **", columns, *rows, "Flush(GB): accumulative 10.000, interval 0.1", "** DB Stats **",
             "Uptime(secs): 1000.0 total, 10.0 interval", f"Cumulative writes: {writes}"]  # fmt: skip
    summary = read(write_log(tmp_path, lines)).summary

    assert (2000.0, 3.0, 0.007) == tuple(summary[name] for name in ("write_ops_per_s", "write_amplification", "stall_fraction"))


def test_a_header_without_stamps_and_families(tmp_path: Path) -> None:
    """Options as a program prints them have no time, and those of the table belong to the default family."""
    lines = [
        "RocksDB version: 5.14.2", "  Options.max_background_jobs: 6", "        Options.write_buffer_size: 33554432",
        "            table_factory options:   flush_block_policy_factory: Factory (0x55)", "  block_size: 16384",
    ]  # fmt: skip
    reading = read(write_log(tmp_path, lines))

    wanted = {"max_background_jobs": 6, "write_buffer_size": 32 << 20, "block_size": 16384}
    assert reading.options is not None
    assert wanted == reading.options.overrides
    assert reading.summary["duration_s"] is None


@pytest.mark.parametrize(
    "prefix",
    ["I20230413 23:48:03.560353    80 EventListener.h:21] ", "I0413 23:48:03.560353 93631 event_logger.cc:67] T 46ad [R]: ",
     '<Event Time="1681429683.5" DateTime="2023-04-13T23:48:03Z" Type="RocksDBLog" Message="'],
)  # fmt: skip
def test_stamps_and_quotes_of_host_programs(prefix: str, tmp_path: Path) -> None:
    """Stamps of glog, with a year and without one, and events in attributes of XML."""
    event = {"time_micros": 1_681_429_683_560_000, "job": 3, "event": "flush_started", "num_entries": 7, "num_memtables": 1}
    end = {"time_micros": 1_681_429_684_560_000, "job": 3, "event": "flush_finished", "lsm_state": [1]}
    xml = prefix.startswith("<")
    texts = [json.dumps(one) for one in (event, end)]
    quoted = [text.replace('"', "&quot;") + '" Machine="1" />' if xml else text for text in texts]
    reading = read(write_log(tmp_path, [f"{prefix}EVENT_LOG_v1 {text}" for text in quoted]))

    assert ("2023-04-13 23:48:03", 7) == (_clock_text(reading.origin_us), reading.summary["entries_flushed"])
    assert {} == dict(reading.log.troubles)


def test_options_alone_are_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who imports options is told what to do with them."""
    path = write_log(tmp_path, ["write_buffer_size=64M;max_write_buffer_number=5"], "options.txt")

    assert 2 == main(["import", str(path), "--out", str(tmp_path / "out")])
    assert "has the options of a store, but no LOG of it; give the LOG, too" in capsys.readouterr().err


@pytest.mark.parametrize(("release", "noted"), [("7.8.1", False), ("8.3.2", True)])
def test_the_release_is_that_of_the_log(release: str, noted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An OPTIONS file of another release than the LOG's gives the options, not the rules."""
    log = write_log(tmp_path, Sample().run(6).lines)
    options = tmp_path / "OPTIONS"
    options.write_text(f'[Version]\nrocksdb_version={release}\n[DBOptions]\n[CFOptions "default"]\nwrite_buffer_size=64M\n')

    assert Version(7, 8) == read(log, options).version
    assert 0 == main(["import", str(log), "--options", str(options), "--out", str(tmp_path / "out")])
    note = "the options are of RocksDB 8.3, the LOG of RocksDB 7.8, whose rules apply"
    assert noted == (note in " ".join(capsys.readouterr().out.split()))


def test_two_writes_do_not_tell_whether_keys_repeat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A flush of a few entries without a repeated key says nothing on the keys of the load."""
    few = [text.replace('"num_entries": 8000', '"num_entries": 20') for text in Sample(overwritten=7980).run(1).lines]
    imported(tmp_path, [text.replace("8000", "20") for text in few if "stall" not in text])
    printed = capsys.readouterr().out

    assert "number of keys unknown" in printed
    assert "every key new" not in printed


def test_a_key_size_that_is_assumed_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Statistics have the bytes of an entry, not those of its key."""
    imported(tmp_path, database(400.0, 800, 30.0))

    assert "keys of 16 B (assumed), values of" in capsys.readouterr().out


OPTIONS: dict[str, Any] = {"write_buffer_size": 64 << 20, "max_write_buffer_number": 5, "max_bytes_for_level_multiplier": 8.0}


@pytest.mark.parametrize(
    "text",
    [
        "write_buffer_size=64M;max_write_buffer_number=5;max_bytes_for_level_multiplier=8;",
        "write_buffer_size=67108864,max_write_buffer_number=5,max_bytes_for_level_multiplier=8.0,compaction_threads=32",
        "write_buffer_size=64MB\nmax_write_buffer_number=5\n# no filter\nmax_bytes_for_level_multiplier=8,000000",
        "[osd]\nbluestore_rocksdb_options = write_buffer_size=64M,max_write_buffer_number=5,max_bytes_for_level_multiplier=8",
        "[mysqld]\nloose-rocksdb_default_cf_options='write_buffer_size=64m;max_write_buffer_number=5;max_bytes_for_level_multiplier=8'",
        '"bluestore_rocksdb_options": "write_buffer_size=64M,max_write_buffer_number=5,max_bytes_for_level_multiplier=8",',
        "options.write_buffer_size = 64 * 1024 * 1024;\ncf_options.max_write_buffer_number = 5;\n"
        "options.max_bytes_for_level_multiplier = 8;",
        "--write_buffer_size=67108864 --max_write_buffer_number=5 --max_bytes_for_level_multiplier=8",
        "{write_buffer_size=64M;max_write_buffer_number=5;block_based_table_factory={whole_key_filtering=1;};"
        "max_bytes_for_level_multiplier=8;}",
        "[CFOptions \"default\"]\n  write_buffer_size=64M\n  max_write_buffer_number=5\n  max_bytes_for_level_multiplier=8,00",
        "> [CFOptions \"default\"]\n>   write_buffer_size=64M\n>   max_write_buffer_number=5\n"
        ">   max_bytes_for_level_multiplier=8",
        '{"write_buffer_size": "64M", "max_write_buffer_number": 5, "max_bytes_for_level_multiplier": 8}',
        '{\n  "write_buffer_size": "67108864",\n  "max_write_buffer_number": "5",\n  "max_bytes_for_level_multiplier": "8"\n}',
        "--daemonize=true\n--rocksdb_block_cache=4096\n--rocksdb_db_options={}\n"
        '--rocksdb_column_family_options={"write_buffer_size":"67108864","max_write_buffer_number":"5",'
        '"max_bytes_for_level_multiplier":"8"}',
        "port : 9221\nrequirepass :\nwrite-buffer-size : 64M\nmax-write-buffer-number : 5\nmax-bytes-for-level-multiplier : 8",
        "zeebe:\n  data:\n    columnFamilyOptions:\n      write_buffer_size: 64 MB\n      max_write_buffer_number: 5\n"
        '      max_bytes_for_level_multiplier: "8"',
        "state.backend.rocksdb.writebuffer.size: 64mb\nstate.backend.rocksdb.writebuffer.count: 5\n"
        "max_bytes_for_level_multiplier: 8",
        '[rocksdb]\nmax-background-jobs = 8\n[rocksdb.defaultcf]\nwrite-buffer-size = "64MB"\nmax-write-buffer-number = 5\n'
        'max-bytes-for-level-multiplier = 8\n[raftdb.defaultcf]\nwrite-buffer-size = "32MB"\n[rocksdb.defaultcf.titan]\n'
        'min-blob-size = "1KB"',
        "[mysqld]\nrocksdb\nskip-innodb\nloose-rocksdb_default_cf_options=write_buffer_size=64m;max_write_buffer_number=5;"
        "max_bytes_for_level_multiplier=8",
    ],
)  # fmt: skip
def test_option_strings(text: str) -> None:
    """Option strings of RocksDB, Ceph, MyRocks and db_bench give the options that an OPTIONS file would."""
    found = read_options(text + "\n")

    assert OPTIONS == {name: found.overrides[name] for name in OPTIONS}
    assert ("default",) == found.families


def test_options_inside_of_option_strings() -> None:
    """Tables, caches and the families of MyRocks are read from inside of the string."""
    table = "block_based_table_factory={block_size=8k;filter_policy=bloomfilter:10:false;block_cache=1G;}"
    found = read_options(f"rocksdb_default_cf_options={table};compression_per_level=kNoCompression:kZSTD\n")
    families = "rocksdb_override_cf_options=a={num_levels=4;};b={num_levels=3}\n"
    other = read_options(f"rocksdb_default_cf_options=num_levels=5\n{families}", "b")

    assert (8192, 10.0, 1 << 30) == tuple(found.overrides[name] for name in ("block_size", "bloom_bits", "cache_size"))
    assert (("default", "a", "b"), 3) == (other.families, other.overrides["num_levels"])


def test_sections_of_tikv_are_column_families() -> None:
    """The sections of a TiKV file have the options of one family each; the cache is that of all of them."""
    text = (
        '[storage.block-cache]\ncapacity = "8GB"\n[rocksdb.defaultcf]\ncompression-per-level = ["no", "no", "lz4"]\n'
        'write-buffer-size = "128MiB"\n[rocksdb.writecf]\nwrite-buffer-size = "64MB"\n[readpool.unified]\nnum-levels = 2\n'
    )
    found, write = read_options(text), read_options(text, "write")
    wanted = {
        "cache_size": 8 << 30, "write_buffer_size": 128 << 20,
        "compression_per_level": (Compression.NONE, Compression.NONE, Compression.LZ4),
    }  # fmt: skip

    assert (wanted, ("default", "write")) == (found.overrides, found.families)
    assert {"write_buffer_size": 64 << 20} == write.overrides


@pytest.mark.parametrize("name", ["cf_link", "rev:cf_link", "__system__", "p-1", "$0"])
@pytest.mark.parametrize("before", ["", "[mysqld]\nrocksdb_default_cf_options=num_levels=5\n"])
def test_families_that_my_cnf_overrides(name: str, before: str, tmp_path: Path) -> None:
    """A family of any name, with simulated options or without, stands beside the default family."""
    path = tmp_path / "my.cnf"
    path.write_text(f"{before}rocksdb_override_cf_options={name}={{prefix_extractor=capped:12}};b={{num_levels=3}}\n")
    found, shown = read_options(path), options_shown(path)

    assert ({"num_levels": 5} if before else {}, ("default", name, "b")) == (found.overrides, found.families)
    assert ({}, {"prefix_extractor": "capped:12"}) == ((own := read_options(path, name)).overrides, own.ignored)
    assert 3 == read_options(path, "b").overrides["num_levels"]
    assert [("prefix_extractor", "capped:12")] == [(one["name"], one["value"]) for one in shown["not_simulated"]]


def test_every_section_of_tikv_is_named(tmp_path: Path) -> None:
    """Titan is not simulated, with a large effect; sections on something else are left out; the limit on bytes is RocksDB's."""
    path = tmp_path / "tikv.toml"
    titan = '[rocksdb.titan]\nenabled = {}\n[rocksdb.writecf.titan]\nmin-blob-size = "2KB"\nlevel-merge = true\n'
    others = "[raftdb]\nmax-background-jobs = 3\n[raftdb.defaultcf]\nnum-levels = 3\n[readpool.unified]\nmax-thread-count = 9\n"
    path.write_text(f'[rocksdb]\nrate-bytes-per-sec = "30MB"\n{titan.format("true")}{others}')
    found, shown = read_options(path), options_shown(path)

    assert ({"rate_limiter_bytes_per_sec": 30 << 20}, ("default", "write")) == (found.overrides, found.families)
    assert {"titan.min_blob_size": "2KB", "titan.level_merge": "true"} == read_options(path, "write").ignored
    assert [("titan.enabled", "large")] == [(one["name"], one["effect"]) for one in shown["not_simulated"]]
    assert ["[raftdb], [raftdb.defaultcf], [readpool.unified]"] == [note.partition(": ")[2] for note in found.notes]
    path.write_text(f"[rocksdb]\nnum-levels = 4\n{titan.format('false')}")
    assert ([], []) == (read_options(path).notes, options_shown(path)["not_simulated"])


def test_names_of_tikv_are_those_of_rocksdb() -> None:
    """TiKV has names, and numbers of the limiter's mode, of its own for options of RocksDB."""
    found = read_options(
        "[rocksdb]\nrate-limiter-mode = 3\nauto-tuned = true\nmax-sub-compactions = 3\n[rocksdb.defaultcf]\n"
        "dynamic-level-bytes = true\npin-l0-filter-and-index-blocks = true\n[rocksdb.lockcf]\ndisable-block-cache = true\n"
    )
    wanted = {
        "rate_limiter_mode": RateLimiterMode.ALL, "rate_limiter_auto_tuned": True, "max_subcompactions": 3,
        "level_compaction_dynamic_level_bytes": True,
    }  # fmt: skip

    assert (wanted, {"pin_l0_filter_and_index_blocks_in_cache": "true"}) == (found.overrides, found.ignored)


@pytest.mark.parametrize(
    ("printed", "read_as"),
    [
        ("8,000000", "8.000000"), ("-1,5", "-1.5"), ("139,5K", "139.5K"), ("1,5e+07", "1.5e+07"), ("(5,0)", "(5.0)"),
        ("p(3,0-12)", "p(3,0-12)"), ("O(3,0-)", "O(3,0-)"), ("1,2,3", "1,2,3"), ("cf1,2", "cf1,2"), ("/a/1,2/b", "/a/1,2/b"),
        ("1,234.5", "1,234.5"), ("in(240,0, 1,5)", "in(240.0, 1.5)"), ("0,5 GB, 1,0 MB/s", "0.5 GB, 1.0 MB/s"),
    ],
)  # fmt: skip
def test_decimal_commas_are_those_of_numbers(printed: str, read_as: str) -> None:
    """A comma between digits is a decimal point in a number, and stays in ranges, lists, names and paths."""
    assert [(1, f"of_a_fork={read_as}")] == list(PlainLines([f"of_a_fork={printed}"]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("write_buffer_size=64M;oops;num_levels=4\n", "options text:1: 'oops' is not of the form name=value"),
        ("server.port=80\nserver.name=x\n", "no options found"),
        ("num_levels=4;table_factory={block_size=1\n", "options text:1: braces do not match"),
        ("num_levels=4\nwrite_buffer_size=-3\n", "options text:2: write_buffer_size"),
    ],
)
def test_bad_option_strings_are_named(text: str, words: str) -> None:
    """A part that is no option is named with its line; a file without any option is refused."""
    with pytest.raises(InputError, match=re.escape(words)):
        read_options(text)


@pytest.mark.parametrize(
    ("printed", "release"),
    [("RocksDB version: 6.4.6", Version(6, 4)), ("Speedb version: 2.6.0-? (8.1.1)", Version(8, 1)),
     ("SpeeDB version: 2.0.0 (7.2.2)", Version(7, 2)), ("SpeeDB version: 6.22.1", Version(6, 22))],
)  # fmt: skip
def test_version_lines_of_forks(printed: str, release: Version, tmp_path: Path) -> None:
    """A fork's LOG has the rules of the RocksDB release that it is based on, and begins with its open."""
    lines = [text.replace("RocksDB version: 7.8.3", printed) for text in Sample().run(6).lines]
    reading = read(write_log(tmp_path, lines))

    assert release == reading.version == read_options(tmp_path / "LOG").version
    assert {} == dict(reading.problems)


@pytest.mark.parametrize("name", ["Shop.Data.UserInfo", "größe", "a b", "it's", "x{y}", "kv/1"])
def test_any_name_of_a_column_family(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RocksDB allows any bytes in a name; results have it as it is."""
    monkeypatch.chdir(tmp_path)
    section = '[CFOptions "{}"]\n  write_buffer_size={}\n'
    text = f"[Version]\n  rocksdb_version=8.3.2\n[DBOptions]\n{section.format('default', 1 << 20)}{section.format(name, 2 << 20)}"
    Path("OPTIONS").write_text(text, encoding="utf-8")
    small = ["device=nvme", "workload.num=20k", "workload.duration=1s", "--no-report", "--out", "run"]

    assert 0 == main(["run", "--options", "OPTIONS", *small])
    families = json.loads(Path("run/summary.json").read_text())["column_families"]
    assert ["default", name] == list(families)
