"""LOGs of stores with blob files: jobs, statistics and sizes of values (behaviour/blob-files.md, What is printed)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import log_sample
import numpy as np
import pytest
from log_sample import ENTRIES, KEY_BYTES, Sample, write_log
from lsmlab.sim import configure
from lsmlab.sim.explain.summary_text import summary_text
from lsmlab.validation.importer.importing import ImportRequest, read_store
from lsmlab.validation.importer.reading import read
from lsmlab.validation.importer.tables import tables_of
from lsmlab.validation.importer.workload import infer_workload
from lsmlab.validation.logs.history.builder import jobs_of
from lsmlab.validation.logs.history.summary import summarise_log
from lsmlab.validation.logs.reader import read_log
from lsmlab.validation.logs.stats import StatsReader

VALUE = 4000
RECORD = 32 + KEY_BYTES + VALUE
INDEX = 10
READ_MIB = 1.5
"""MiB that each compaction reads from blob files."""


_BLOB_LINE = re.compile(r"Generated blob file .* (\d+) total bytes")
_COMPACTED = re.compile(r"(Compacted .*=> )(\d+)")
"""The line of a compaction's end has the bytes of SST files and blob files together."""
LINE = "Blob file count: 20, total size: 2.0 GB, garbage size: 0.5 GB, space amp: 1.3"


class BlobSample(Sample):
    """A LOG of a store whose flushes write one blob file each, and whose compactions relocate 300 blobs."""

    events = True
    """Whether the LOG has events of blob files, or only the text lines of releases before 6.25."""

    def created(self, size: int, entries: int) -> int:
        """Add a blob file before each table file: all values of a flush, or 300 of a compaction."""
        merges = "Generated table" in self.lines[-1]
        blobs = 300 if merges else entries
        self.file += 1
        if merges:
            self.lines[-1] = self.lines[-1].replace(f"table #{self.file}", f"table #{self.file + 1}")
        if self.events:
            self.event({
                "cf_name": "default", "job": self.job, "event": "blob_file_creation", "file_number": self.file,
                "total_blob_count": blobs, "total_blob_bytes": blobs * RECORD, "file_checksum": "",
                "file_checksum_func_name": "Unknown", "status": "OK",
            })  # fmt: skip
        self.say(
            f"[db/blob/blob_file_builder.cc:387] [default] [JOB {self.job}] Generated blob file #{self.file}: "
            f"{blobs} total blobs, {blobs * RECORD} total bytes"
        )
        return super().created(size, entries)


@pytest.fixture(params=[True, False], ids=["events", "lines"])
def text(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a LOG with blob files in events, or in text lines only."""
    return blob_log(monkeypatch, events=request.param)


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a LOG with events of blob files."""
    return blob_log(monkeypatch, events=True)


def blob_log(monkeypatch: pytest.MonkeyPatch, *, events: bool) -> str:
    """Return the LOG of a store with blob files and garbage collection."""
    monkeypatch.setattr(log_sample, "VALUE_BYTES", INDEX)
    monkeypatch.setitem(log_sample.FAMILY, "enable_blob_files", "true")
    monkeypatch.setitem(log_sample.FAMILY, "min_blob_size", "1000")
    monkeypatch.setitem(log_sample.FAMILY, "enable_blob_garbage_collection", "true")
    sample = BlobSample()
    sample.events = events
    plain, blobs = "", 0
    for line in sample.run(24).text.splitlines():
        blobs = 0 if "Compacting" in line else blobs
        if (created := _BLOB_LINE.search(line)) is not None:
            blobs += int(created[1])
        plain += _COMPACTED.sub(lambda found, both=blobs: f"{found[1]}{int(found[2]) + both}", line) + "\n"  # type: ignore[misc]
    payload = ENTRIES * (KEY_BYTES + 8 + 1 + 2 + VALUE)
    return (
        plain.replace(f'"total_data_size": {ENTRIES * (KEY_BYTES + 100)}', f'"total_data_size": {payload}')
        .replace(f'"total_data_size": {ENTRIES * (KEY_BYTES + INDEX)}', f'"total_data_size": {payload}')
        .replace(" +0.0 blob) out(", f" +{READ_MIB} blob) out(")
        .replace("Stalls(count)", f"{LINE}\n\nStalls(count)")
    )


def test_jobs_have_their_blob_files(text: str, tmp_path: Path) -> None:
    """Each flush has one blob file with its entries; compactions have those of all subcompactions, and what they read."""
    jobs = jobs_of(read_log(write_log(tmp_path, text.encode())))
    flushes, merges = jobs.done("flush"), jobs.done("compaction")

    assert {} == {kind: n for kind, n in jobs.problems.items() if n}
    assert all(job.blob_files == 1 and job.blob_write_bytes == job.entries_out * RECORD for job in flushes)
    assert all(job.blob_write_bytes == job.blob_files * 300 * RECORD for job in merges)
    assert all(job.blob_files == job.output_files for job in merges)
    assert all(job.blob_read_bytes == READ_MIB * 2**20 for job in merges)


def test_the_summary_counts_blobs_as_rocksdb_does(text: str, tmp_path: Path) -> None:
    """W-Amp, bytes of flushes and compactions include blobs; the state is that of the last dump."""
    log = read_log(write_log(tmp_path, text.encode()))
    jobs, found = jobs_of(log), summarise_log(log)
    flushed, written = (
        sum(job.write_bytes + job.blob_write_bytes for job in jobs.done(kind)) for kind in ("flush", "compaction")
    )
    blobs: dict[str, Any] = found["blobs"]

    assert (flushed, written) == (found["flush_bytes"], found["compaction_write_bytes"])
    assert pytest.approx((flushed + written) / flushed) == found["write_amplification"]
    assert (20, 2.0 * 2**30, 0.5 * 2**30) == (blobs["files"], blobs["bytes"], blobs["garbage_bytes"])
    assert pytest.approx(4 / 3) == blobs["space_amplification"]
    assert found["live_bytes"] > 2.0 * 2**30
    line = "blob files      20, 2.0 GiB, 512.0 MiB of garbage, space amp as RocksDB prints it 1.33"
    assert line in summary_text({**found, "drop_count": 0})


def test_values_have_the_size_that_they_have_in_memtables(text: str, tmp_path: Path) -> None:
    """Table properties show the size of references; the load has that of the values, and the store its options."""
    path = write_log(tmp_path, text.encode())
    workload = infer_workload(read([path]))
    folder = read_store(ImportRequest(logs=(path,), device=None)).in_memory("LOG")
    config = configure(["experiment=imported"], folders=[folder])

    assert workload.value_bytes == pytest.approx(VALUE, abs=2.0)
    assert workload.table_value_bytes == pytest.approx(INDEX)
    assert config["workload"]["value_size"] == pytest.approx(VALUE, abs=2.0)
    assert config["engine"]["options"]["enable_blob_files"] in (True, "true")
    assert config["engine"]["options"]["min_blob_size"] == 1000


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Blob file count: 3, total size: 1.5 GB", {"files": 3, "bytes": 1.5 * 2**30}),
        (
            "Blob file count: 12, total size: 4.0 GB, garbage size: 1.0 GB, space amp: 1.3",
            {"files": 12, "bytes": 4.0 * 2**30, "garbage_bytes": 2.0**30, "space_amplification": 1.3},
        ),
    ],
)
def test_the_line_of_blob_files_is_read(line: str, expected: dict[str, float]) -> None:
    """Since 6.19 with count and size, since 7.0 with garbage and space amp."""
    reader = StatsReader()
    reader.begin(0, 0, 1)
    for one in ("** Compaction Stats [default] **", line):
        reader.take(one, 0, 0)

    assert expected == reader.dumps[0].families["default"].blobs
    assert 0 == reader.dumps[0].unreadable


CREATION = re.compile(r'"blob_file_creation", "file_number": (\d+).*?"total_blob_bytes": (\d+)')


def counted(logged: str, files: int) -> str:
    """Return the LOG whose statistics tell this number of blob files."""
    return logged.replace("Blob file count: 20", f"Blob file count: {files}")


def test_events_give_the_exact_size_of_blob_files(logged: str, tmp_path: Path) -> None:
    """Where the events know as many files as the last dump, the size is theirs; a deleted file does not count."""
    before, last = logged.rsplit("Blob file count", 1)
    created = {int(number): int(size) + 62 for number, size in CREATION.findall(before)}
    first = min(created)
    gone = next(line for line in before.splitlines() if '"blob_file_creation"' in line)
    gone = gone.replace("blob_file_creation", "blob_file_deletion")
    deleted = before.replace(LINE, f"{LINE}\n{gone}", 1) + "Blob file count" + last

    def found(text: str) -> dict[str, Any]:
        blobs: dict[str, Any] = summarise_log(read_log(write_log(tmp_path, text.encode())))["blobs"]
        return blobs

    assert sum(created.values()) == found(counted(logged, len(created)))["bytes"]
    assert 2.0 * 2**30 == found(counted(logged, len(created) - 1))["bytes"]
    assert sum(created.values()) - created[first] == found(counted(deleted, len(created) - 1))["bytes"]


def test_events_give_the_state_at_the_end_where_they_know_all_files(logged: str, tmp_path: Path) -> None:
    """After the last dump, two older blob files are deleted and new ones come: without these deletions the rest is unknown."""
    lines = logged.splitlines()
    dump = max(i for i, line in enumerate(lines) if "DUMPING STATS" in line)
    kept = lines[:dump] + [line for line in lines[dump:] if "Shutdown" in line]
    number = len(CREATION.findall("\n".join(kept[: kept.index(LINE)])))
    all_of = sum(62 + int(size) for _, size in CREATION.findall(logged))
    event = next(line for line in kept[kept.index(LINE) :] if '"blob_file_creation"' in line)
    event = event.replace("blob_file_creation", "blob_file_deletion")

    def found(*deleted: int) -> dict[str, Any]:
        gone = [re.sub(r'"file_number": \d+', f'"file_number": {old}', event) for old in deleted]
        text = "\n".join(kept).replace(LINE, "\n".join((LINE, *gone)))
        blobs: dict[str, Any] = summarise_log(read_log(write_log(tmp_path, counted(text, number + 2).encode())))["blobs"]
        return blobs

    whole, part = found(3, 4), found(3)
    assert (all_of, None, None) == (whole["bytes"], whole["garbage_bytes"], whole["space_amplification"])
    assert (number + 2, 2.0 * 2**30, 0.5 * 2**30) == (part["files"], part["bytes"], part["garbage_bytes"])


def test_what_the_lines_do_not_tell_is_unknown(logged: str, tmp_path: Path) -> None:
    """Before 6.20 the line of a compaction does not have the bytes that it read from blob files."""
    old = logged.replace(f" +{READ_MIB} blob) out(", ") out(")
    blobs = summarise_log(read_log(write_log(tmp_path, old.encode())))["blobs"]

    assert blobs["compaction_read_bytes"] is None
    assert blobs["compaction_write_bytes"] > 0


def test_the_end_of_a_compaction_tells_files_whose_events_are_lost(logged: str, tmp_path: Path) -> None:
    """compaction_finished has the number of new blob files and their bytes."""
    kept = "\n".join(line for line in logged.splitlines() if "blob_file_creation" not in line and "Generated blob" not in line)
    told = kept.replace('"event": "compaction_finished"', '"event": "compaction_finished", "num_blob_output_files": 2, '
                        '"total_blob_output_size": 5000')  # fmt: skip
    merges = jobs_of(read_log(write_log(tmp_path, told.encode()))).done("compaction")

    assert merges
    assert {(2, 5000)} == {(job.blob_files, job.blob_write_bytes) for job in merges}


def test_statistics_alone_tell_the_blob_files(logged: str, tmp_path: Path) -> None:
    """A LOG whose jobs write no blob file has those of its dumps, and a store without any has none."""
    kept = "\n".join(line for line in logged.splitlines() if "blob_file_creation" not in line and "Generated blob" not in line)

    assert 20 == summarise_log(read_log(write_log(tmp_path, kept.encode())))["blobs"]["files"]
    none = kept.replace(LINE, "Blob file count: 0, total size: 0.0 GB, garbage size: 0.0 GB, space amp: 0.0")
    assert "blobs" not in summarise_log(read_log(write_log(tmp_path, none.encode())))


def test_the_series_has_the_states_of_the_dumps(logged: str, tmp_path: Path) -> None:
    """Files, bytes and garbage are unknown before the first dump, and then those of the last one."""
    reading = read([write_log(tmp_path, logged.encode())])
    series = tables_of(reading, infer_workload(reading))[0][2][1]

    assert np.isnan(series["blob_files"][0])
    assert (20.0, 2.0 * 2**30, 0.5 * 2**30) == tuple(
        series[name][-1] for name in ("blob_files", "blob_bytes", "blob_garbage_bytes")
    )


def test_wblob_counts_in_statistics_alone() -> None:
    """Of a table without a LOG, W-Amp and bytes written include the column Wblob."""
    from lsmlab.validation.logs.statistics_tables import _all_written

    assert 3.5 == _all_written({"Write(GB)": 1.0, "Wblob(GB)": 2.5})
    assert 1.0 == _all_written({"Write(GB)": 1.0})
