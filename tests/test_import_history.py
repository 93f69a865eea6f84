"""Several LOG files of one store, imported as one history in time order."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import lsmlab
import pyarrow.parquet as pq
import pytest
from log_sample import ENTRIES, Sample
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.import_log import import_log
from lsmlab.sim.configuration.compose import compose
from lsmlab.validation.importer.reading import read

GAP_S = 7_200.0
"""Time for which the store of a history was closed."""


@dataclass(frozen=True)
class History:
    """LOG files of a store: RocksDB changed the file during the first open, and the store was opened again later."""

    folder: Path
    sample: Sample
    whole: Path
    """The lines of the first open as one LOG."""


def written(folder: Path, session: str = "") -> History:
    """Write a history; `session`: head of the names of the opens, which older releases do not write."""
    sample, first = Sample(), 0
    sample.header()
    sample.lines.append(f"{sample.lines[-1][:31]} DB Session ID:  {session}1") if session else None
    sample.fill(12)
    first = len(sample.lines)
    sample.header()
    roll = len(sample.lines)
    sample.lines.append(f"{sample.lines[-1][:31]} DB Session ID:  {session}1") if session else None
    sample.fill(8)
    sample.close()
    second = len(sample.lines)
    sample.now_us += round(GAP_S * 1e6)
    sample.pointer = "0x7f0000000001" if not session else sample.pointer
    sample.open()
    sample.lines.append(f"{sample.lines[-1][:31]} DB Session ID:  {session}2") if session else None
    for _ in range(4):
        sample.switch()
        sample.flush()
    sample.close()
    whole = folder.parent / "whole.LOG"
    whole.write_text("\n".join([*sample.lines[:first], *sample.lines[roll:second]]) + "\n")
    folder.mkdir()
    (folder / "LOG").write_text("\n".join(sample.lines[second:]) + "\n")
    with gzip.open(folder / "LOG.old.1700000005000000.gz", "wt") as old:
        old.write("\n".join(sample.lines[first:second]) + "\n")
    (folder / "LOG.old.1700000002000000").write_text("\n".join(sample.lines[:first]) + "\n")
    (folder / "CURRENT").write_text("MANIFEST-000001\n")
    return History(folder, sample, whole)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Return LOG files of a store."""
    return written(tmp_path_factory.mktemp("history") / "db")


@pytest.fixture(scope="module")
def imported(history: History, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of their import."""
    out = tmp_path_factory.mktemp("imported") / "out"
    assert 0 == import_log([str(history.folder), "--out", str(out)])
    return out


@pytest.mark.parametrize("hours", [-1, 1])
def test_the_clock_may_be_set_in_a_gap(hours: int, history: History, imported: Path, tmp_path: Path) -> None:
    """Summer time that begins or ends while the store is closed moves no job, stall or second on the time axis."""
    folder = Path(shutil.copytree(history.folder, tmp_path / "db"))
    log = folder / "LOG"
    log.write_text(re.sub(r"(?m)^(\d{4}/\d\d/\d\d-[\d:]{8})", lambda found: _later(found[1], hours), log.read_text()))
    assert 0 == import_log([str(folder), "--out", str(tmp_path / "out")])

    for table in ("jobs", "stalls", "series"):
        assert pq.read_table(imported / f"{table}.parquet").equals(pq.read_table(tmp_path / "out" / f"{table}.parquet")), table


def _later(stamp: str, hours: int) -> str:
    """Return a time stamp of a line by a clock that is set forward by some hours."""
    form = "%Y/%m/%d-%H:%M:%S"
    return (datetime.strptime(stamp, form).replace(tzinfo=UTC) + timedelta(hours=hours)).strftime(form)


@pytest.mark.parametrize("session", ["", "761351e4-"])
def test_a_folder_is_one_history(session: str, tmp_path: Path) -> None:
    """All jobs are there, none is torn at the end of a file, and the change of the file is no open of the store."""
    found = written(tmp_path / "db", session)
    reading = read(found.folder)

    assert found.sample.totals == {name: reading.summary[name] for name in found.sample.totals}
    assert [True, False, True] == [part.opens for part in reading.log.parts]
    assert 2 == len(reading.log.openings) == reading.log.shutdowns
    assert {} == {kind: n for kind, n in reading.problems.items() if kind not in ("table_mismatches", "stall_mismatches")}
    assert {} == dict(reading.log.troubles)


def test_two_files_of_one_open_are_as_one_file(history: History) -> None:
    """A history without a gap gives the numbers of the same lines in one file."""
    old = sorted(history.folder.glob("LOG.old.*"))
    parts, whole = read(old), read(history.whole)

    assert whole.summary == parts.summary
    assert whole.fills == parts.fills
    assert whole.options is not None
    assert parts.options is not None
    assert whole.options.overrides == parts.options.overrides


def test_a_gap_is_left_out_and_said(history: History, imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No time passes in a gap: rates are those of the LOG's time. Terminal, JSON and page say the gap and its length."""
    summary = json.loads((imported / "summary.json").read_text())
    series = pq.read_table(imported / "series.parquet").to_pandas()
    import_log([str(history.folder), "--out", str(imported.parent / "again"), "--no-report"])
    printed, page = capsys.readouterr().out, (imported / "report.html").read_text()

    assert ["LOG.old.1700000002000000", "LOG.old.1700000005000000.gz", "LOG"] == [f["name"] for f in summary["import"]["files"]]
    assert [0.0, 0.0, pytest.approx(GAP_S, abs=1.0)] == [f["gap_s"] for f in summary["import"]["files"]]
    assert summary["duration_s"] < 60.0
    assert len(series) < 60
    assert history.sample.totals["flush_count"] * ENTRIES == pytest.approx(series.write_ops.sum())
    for text in (printed, page):
        assert "2 h" in text
        assert "from 2023-11-14 22:13" in text
        assert "closed" in text


def test_the_order_of_files_is_that_of_their_lines(history: History, tmp_path: Path) -> None:
    """Files may be given in any order, and the same file twice counts once."""
    files = sorted(history.folder.glob("LOG*"))
    copy = tmp_path / files[1].name
    copy.write_bytes(files[1].read_bytes())
    backward, again = read(files[::-1]), read([*files, copy])

    assert read(history.folder).summary == backward.summary == again.summary


def test_the_options_of_a_later_open_are_noted(history: History, tmp_path: Path) -> None:
    """The configuration has the options of the first open; a note names what a later open changed."""
    for path in history.folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    changed = (tmp_path / "LOG").read_text().replace("max_write_buffer_number: 2", "max_write_buffer_number: 6")
    (tmp_path / "LOG").write_text(changed)
    reading = read(tmp_path)

    assert 2 == reading.option("max_write_buffer_number")
    assert any("max_write_buffer_number 2 -> 6" in note and note.startswith("LOG:") for note in reading.notes)


def test_other_stores_and_releases_are_noted(history: History, tmp_path: Path) -> None:
    """A note names the releases of a history, and says where an open without files shows that there are several stores."""
    shutil.copytree(history.folder, tmp_path / "upgraded")
    log = tmp_path / "upgraded" / "LOG"
    log.write_text(log.read_text().replace("RocksDB version: 7.8.3", "RocksDB version: 8.1.1"))
    shutil.copytree(tmp_path / "upgraded", tmp_path / "mixed")
    other = tmp_path / "mixed" / "LOG"
    other.write_text(re.sub(r"Total Num: \d+", "Total Num: 0", other.read_text()))

    assert not [note for note in read(history.folder).notes if "RocksDB" in note or "more than one store" in note]
    upgraded, mixed = ([*read(tmp_path / name).notes] for name in ("upgraded", "mixed"))
    assert "the store was opened by RocksDB 7.8.3, 8.1.1; the rules of 7.8.3 apply" in upgraded
    assert not [note for note in upgraded if "more than one store" in note]
    assert [note for note in mixed if note.startswith("1 open found no files") and "more than one store" in note]


def test_an_options_file_beside_logs_without_header(history: History, tmp_path: Path) -> None:
    """Where no LOG has options, the newest OPTIONS file of the folder gives them, and a note says so."""
    lines = [line for line in history.whole.read_text().splitlines() if "Options" not in line]
    (tmp_path / "LOG").write_text("\n".join(lines) + "\n")
    for number, memtables in ((7, 3), (12, 5), (9, 4)):
        (tmp_path / f"OPTIONS-{number:06}").write_text(
            "[Version]\n  rocksdb_version=7.8.3\n[DBOptions]\n  max_background_jobs=2\n"
            f'[CFOptions "default"]\n  max_write_buffer_number={memtables}\n[TableOptions/BlockBasedTable "default"]\n'
        )
    reading = read(tmp_path)

    assert 5 == reading.option("max_write_buffer_number")
    assert any("OPTIONS-000012" in note for note in reading.notes)


def test_the_api_reads_a_history(history: History) -> None:
    """The API takes a folder or several files, in memory, and the rerun has the time of the LOG files."""
    store = lsmlab.import_log(history.folder)
    files = lsmlab.import_log(sorted(history.folder.glob("LOG*")))
    config = compose(["experiment=imported"], [store.folder])

    assert 3 == len(store.summary["import"]["files"])
    assert {**store.summary, "import": None} == {**files.summary, "import": None}
    assert config["workload"]["duration"] < 60.0


def test_bad_folders_are_one_error(history: History, tmp_path: Path) -> None:
    """A folder without a LOG, with LOGs of two stores, or with an empty one, and a file without times, are one error."""
    (tmp_path / "none").mkdir()
    for name in ("a_LOG", "b_LOG", "b_LOG.old.1700000005000000"):
        (tmp_path / "two").mkdir(exist_ok=True)
        (tmp_path / "two" / name).write_text(history.whole.read_text())
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "LOG").touch()
    (tmp_path / "words").write_text("no times\n")
    cases = {
        "none": "contains no file LOG", "two": r"LOGs of 2 stores \(a_LOG, b_LOG\)", "empty": "is empty",
        "words": "no time stamps",
    }  # fmt: skip
    for name, words in cases.items():
        with pytest.raises(InputError, match=words):
            import_log([str(tmp_path / name), *([str(history.whole)] if name == "words" else [])])


def test_stalls_of_several_opens_add_up(history: History) -> None:
    """RocksDB's own stall time begins anew with each open, so the LOG's is the sum of the last dump of each open."""
    whole, reading = read(history.whole), read(history.folder)
    measured = whole.summary["stall_measured"]

    assert measured is not None
    assert measured == reading.summary["stall_measured"], "the second open has no dump"
    again = Sample(pointer="0x7f0000000002", now_us=history.sample.now_us + 10**9).run(10)
    (history.folder.parent / "later.LOG").write_text(again.text)
    both = read([history.whole, history.folder.parent / "later.LOG"])
    last = [dump.db["cumulative_stall_s"] for dump in both.log.dumps]
    assert measured["seconds"] + last[-1] == pytest.approx(both.summary["stall_measured"]["seconds"])
    assert whole.summary["stall_measured"]["until_s"] < both.summary["stall_measured"]["until_s"] < 60.0
