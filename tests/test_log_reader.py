"""LOGs of other versions, platforms and host programs."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from log_forms import CEPH, COCKROACHDB, OWN, stamped
from log_sample import ENTRIES, Sample, write_log
from lsmlab.models.errors import InputError
from lsmlab.validation.importer.reading import Reading, read
from lsmlab.validation.logs.reader import parse_log, read_log
from lsmlab.validation.logs.records import Event, OptionsChange

DATA = Path(__file__).parents[2] / "shared" / "data"
PUBLIC = DATA / "public_runs"
TIKV = stamped("[{year}/{month}/{day} {time}.{millis} +08:00] [INFO] [<unknown>] [{quoted}]")
JAVA = stamped("{year}-{month}-{day} {time},{millis} INFO  [pool-{thread}] o.r.Logger - {message}")


def syslog(found: re.Match[str]) -> str:
    """Put a syslog prefix before RocksDB's own time stamp."""
    return f"Nov 14 22:13:20 host mydb[123]: {found[0]}"


def assert_totals(sample: Sample, reading: Reading) -> None:
    """Check that the reading has all totals of the sample and reports nothing missing."""
    assert sample.totals == {name: reading.summary[name] for name in sample.totals}
    assert sample.stalls == {name: n for name, n in reading.summary["stall_count"].items() if n}
    assert {} == dict(reading.problems)


@pytest.mark.parametrize("wrap", [CEPH, TIKV, COCKROACHDB, JAVA, syslog])
def test_a_host_programs_prefix(wrap: Callable[[re.Match[str]], str], tmp_path: Path) -> None:
    """Messages inside a host program's log are read with their times."""
    sample = Sample().run(20)
    lines = [wrap(found) if (found := OWN.match(line)) else line for line in sample.lines]
    reading = read(write_log(tmp_path, lines, "host.log"))

    assert_totals(sample, reading)
    assert {} == dict(reading.log.troubles)
    assert (wrap is not syslog) == reading.log.wrapped
    assert sample.now_us - 10**5 <= reading.end_us <= sample.now_us + 10**5


@pytest.mark.parametrize("thread", ["7f14e0e99700", "4ccc", "140412749195072", "0x70000dc4f000"])
def test_thread_ids_of_all_platforms(thread: str, tmp_path: Path) -> None:
    """Thread ids in hex, short hex (Windows) and decimal, and source paths with backslashes, are read."""
    sample = Sample().run(20)
    lines = [
        re.sub(r" (7\d{3}) ", lambda m: f" {thread[:-1]}{m[1][-1]} ", line, count=1).replace(
            "[db/", "[d:\\build\\rocksdb\\db\\"
        )
        for line in sample.lines
    ]

    assert_totals(sample, read(write_log(tmp_path, lines)))


@pytest.mark.parametrize("hours", [-8, 0, 2, 5])
def test_local_clocks(hours: int, tmp_path: Path) -> None:
    """Time stamps in local time and event times in UTC are converted to one clock."""
    sample = Sample(hours=hours).run(10)
    reading = read(write_log(tmp_path, sample.lines))
    started = next(reading.log.events("flush_started"))
    switched = next(r for r in reading.log.records if r.line < started.line)

    assert 0 <= started.time_us - switched.time_us < 10**6
    assert_totals(sample, reading)


@pytest.mark.parametrize("hours", [1, -1])
def test_summer_time(hours: int, tmp_path: Path) -> None:
    """A clock change for summer time causes no gap and no overlap, because event times are UTC."""
    sample = Sample(hours=2)
    sample.open()
    sample.fill(20)
    before = len(sample.lines)
    sample.hours += hours
    sample.fill(20)
    sample.close()
    reading = read(write_log(tmp_path, sample.lines))

    assert before < len(sample.lines)
    assert_totals(sample, reading)
    assert 0 == reading.log.troubles["unreadable_stamps"]
    assert reading.summary["duration_s"] < 30


def test_a_truncated_compressed_log(tmp_path: Path) -> None:
    """A truncated gzip file is read as far as possible, and the loss is reported."""
    packed = gzip.compress(Sample().run(40).text.encode())
    reading = read(write_log(tmp_path, packed[: len(packed) // 2], "LOG.gz"))

    assert 1 == reading.log.troubles["cut_input"]
    assert reading.summary["flush_count"] > 5


def test_several_opens(tmp_path: Path) -> None:
    """Job ids and file numbers that restart at every open are kept apart."""
    first, second = Sample().run(20), Sample()
    second.now_us = first.now_us + 5_000_000
    second.run(12)
    reading = read(write_log(tmp_path, [*first.lines, *second.lines]))

    assert first.totals + second.totals == {name: reading.summary[name] for name in first.totals}
    assert {} == dict(reading.problems)
    assert 2 == len(reading.log.openings)


def test_options_that_change_while_the_store_is_open() -> None:
    """Each successful SetOptions() is a record with its column family; a call that failed is none."""
    sample = Sample()
    sample.say("[/db_impl/db_impl.cc:1202] SetOptions() on column family [lock], inputs:")
    sample.say("[/db_impl/db_impl.cc:1206] write_buffer_size: 16777216")
    sample.say("[/db_impl/db_impl.cc:1210] [lock] SetOptions() succeeded")
    sample.say("[WARN] [/db_impl/db_impl.cc:1214] [default] SetOptions() failed")
    records = parse_log(sample.lines, "LOG").records

    assert [(OptionsChange, "lock")] == [(type(r), r.column_family) for r in records if isinstance(r, OptionsChange)]


def test_many_column_families(tmp_path: Path) -> None:
    """Interleaved jobs of two column families keep their own files per level."""
    first, second = Sample().run(20), Sample(first_job=1000, file=5000)
    second.open()
    second.fill(12)
    inner = [line for line in second.lines if OWN.match(line)]
    inner = inner[next(i for i, line in enumerate(inner) if "DB pointer" in line) + 1 :]
    inner = [line.replace("[default]", "[meta]").replace('"cf_name": "default"', '"cf_name": "meta"') for line in inner]
    inner = [line.replace(" 700", " 800") for line in inner if "DUMPING" not in line and not line.endswith(" ")]
    lines = [line for line in first.lines if OWN.match(line)]
    head = next(i for i, line in enumerate(lines) if "DB pointer" in line) + 1
    merged = [*lines[:head], *sorted([*lines[head:-2], *inner], key=lambda line: line[:26]), *lines[-2:]]
    reading = read(write_log(tmp_path, merged))

    assert ["default", "meta"] == sorted(reading.jobs.families)
    assert first.totals + second.totals == {name: reading.summary[name] for name in first.totals}
    assert [a + b for a, b in zip(first.state(), second.state(), strict=True)] == reading.summary["files_per_level"]


def test_messages_of_10_x(tmp_path: Path) -> None:
    """Renamed num_entries, added column family names and the changed flush commit message of 10.x are read."""
    sample = Sample(version="10.4.2").run(20)
    lines = [
        line.replace('"num_entries": 8000, "num_deletes"', '"total_num_input_entries": 8000, "num_deletes"')
        .replace('"event": "compaction_started"', '"cf_name": "default", "event": "compaction_started"')
        .replace("Level-0 commit table", "Level-0 commit flush result of table")
        for line in sample.lines
    ]  # fmt: skip
    reading = read(write_log(tmp_path, lines))

    assert_totals(sample, reading)
    assert sample.totals["flush_count"] * ENTRIES == reading.summary["entries_flushed"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "not a RocksDB LOG"), (b"hello\nworld\n", "not a RocksDB LOG"), (b"\x1f\x8b\x08garbage", "cannot be read")],
)
def test_other_files_are_refused(content: bytes, words: str, tmp_path: Path) -> None:
    """Empty files, other texts and damaged archives raise an error that names the problem."""
    with pytest.raises(InputError, match=words):
        read_log(write_log(tmp_path, content))


needs_data = pytest.mark.skipif(not PUBLIC.is_dir(), reason=f"the reference data are not at {DATA}")


@needs_data
@pytest.mark.parametrize("table", ["throttled_fillrandom.csv", "rate_limited_and_ablations.csv"])
def test_public_logs_have_the_published_counts(table: str) -> None:
    """Flushes, compactions, moves and W-Amp of public runs equal those of their table, and nothing is missing."""
    with (PUBLIC / "logs_index.csv").open(newline="") as file:
        logs = {row["run_path"]: row["log"] for row in csv.DictReader(file)}
    with (PUBLIC / table).open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["path"] in logs]
    assert len(rows) >= 10
    for row in rows[::12]:
        reading = read(PUBLIC / "logs" / logs[row["path"]])
        compactions = [j for j in reading.jobs.jobs if j.kind == "compaction" and j.end_us]
        assert {} == dict(reading.problems), row["path"]
        assert int(float(row["n_flush"])) == sum(j.kind == "flush" and j.end_us is not None for j in reading.jobs.jobs)
        assert int(float(row.get("n_compactions") or row["n_comp"])) == len(compactions)
        assert int(float(row.get("trivial_moves") or row["n_trivial_move"])) == reading.summary["trivial_move_count"]


@pytest.mark.parametrize("digits", [19, 400, 5000])
def test_endless_numbers_are_damage(digits: int) -> None:
    """A number above 10^18 in a line or an event is no number of a store: the line is counted, the field is unknown."""
    stamp, number = "2023/11/14-22:13:20.000013 7001", "9" * digits
    event = f'{{"time_micros": 1700000000000013, "job": 2, "event": "flush_started", "num_entries": {number}}}'
    stall = f"[/c.cc:1] [default] Stalling writes because we have {number} level-0 files rate 5"
    log = parse_log([f"{stamp} {stall}", f"{stamp} EVENT_LOG_v1 {event}"], "LOG")
    (found,) = log.records.of(Event)

    assert found.whole("num_entries") is None
    assert 1 == log.troubles["unreadable_lines"]
