"""Ingested files and blob files in pasted statistics: lines AddFile and Blob file count, columns Rblob and Wblob."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_sample import write_log
from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.compose import compose
from lsmlab.validation.importer.importing import ImportedStore, ImportRequest, read_store
from lsmlab.validation.importer.text import import_text
from lsmlab.validation.logs.stats import StatsReader

GIB = 2.0**30
COLUMNS = (
    "Files", "Size", "Score", "Read(GB)", "Rn(GB)", "Rnp1(GB)", "Write(GB)", "Wnew(GB)", "Moved(GB)", "W-Amp", "Rd(MB/s)",
    "Wr(MB/s)", "Comp(sec)", "CompMergeCPU(sec)", "Comp(cnt)", "Avg(sec)", "KeyIn", "KeyDrop", "Rblob(GB)", "Wblob(GB)",
)  # fmt: skip
UPTIME = [
    "** DB Stats **", "Uptime(secs): 1000.0 total, 600.0 interval",
    "Cumulative writes: 400K writes, 400K keys, 400K commit groups, 1.0 writes per commit group, ingest: 40.00 GB, 40.96 MB/s",
    "Cumulative stall: 00:00:0.000 H:M:S, 0.0 percent",
]
ADDED = [
    "AddFile(GB): cumulative 60.000, interval 1.500", "AddFile(Total Files): cumulative 2400, interval 60",
    "AddFile(L0 Files): cumulative 7, interval 0", "AddFile(Keys): cumulative 90000000, interval 70000",
]  # fmt: skip
BLOBS = "Blob file count: 300, total size: 80.0 GB, garbage size: 16.0 GB, space amp: 1.2"


def row(name: str, **cells: str | float) -> str:
    """Return a row of a table; columns that are not given are 0. `Rblob` stands for "Rblob(GB)" and so on."""
    given = {"Files": "4/0", "Size": "1.00 GB", **cells}
    return f" {name}  " + "  ".join(str(given.get(c, given.get(c.partition("(")[0], 0.0))) for c in COLUMNS)


def table(*rows: str, by: str = "Level") -> list[str]:
    """Return a table of compactions."""
    return ["** Compaction Stats [default] **", f"{by}    " + "  ".join(COLUMNS), "-" * 150, *rows]


def pasted(tmp_path: Path, *lines: str) -> ImportedStore:
    """Return the import of pasted lines."""
    return read_store(ImportRequest(logs=(write_log(tmp_path, list(lines)),)))


INGESTING = table(
    row("L0", Write=20.0, Wnew=20.0), row("L6", Read=70.0, Rn=40.0, Rnp1=30.0, Write=60.0),
    row("Sum", Size="2.00 GB", Read=70.0, Rn=40.0, Rnp1=30.0, Write=80.0),
)  # fmt: skip


def test_ingested_files_came_in_as_flushed_bytes_did(tmp_path: Path) -> None:
    """20 GB of flushes and 60 GB of ingested files, of which jobs wrote 80 GB: W-Amp is 1, that of L0 a quarter."""
    store = pasted(tmp_path, *UPTIME, *INGESTING, "Flush(GB): cumulative 20.000, interval 0.500", *ADDED)

    assert 1.0 == pytest.approx(store.summary["write_amplification"])
    assert [0.25, 1.5] == pytest.approx([level["w_amp"] for level in store.summary["levels"]])
    assert (20.0, 60.0) == pytest.approx(tuple(store.summary[f"{job}_bytes"] / GIB for job in ("flush", "compaction_write")))
    assert 2400 == store.summary["ingested_files"]
    assert "2,400 files ingested" in " ".join(import_text(store.summary).split())
    note = next(note for note in store.inferred.notes if "ingested" in note)
    assert "2,400 files (60.0 GiB, 90,000,000 keys), which are not part of it" in note


def test_without_ingested_files_nothing_changes(tmp_path: Path) -> None:
    """The same table of a store that ingested nothing has W-Amp 4, and no note."""
    none = [line.replace("cumulative 60.000", "cumulative 0.000").replace("2400", "0") for line in ADDED]
    store = pasted(tmp_path, *UPTIME, *INGESTING, "Flush(GB): cumulative 20.000, interval 0.500", *none)

    assert 4.0 == pytest.approx(store.summary["write_amplification"])
    assert [1.0, 1.5] == pytest.approx([level["w_amp"] for level in store.summary["levels"]])
    assert 0 == store.summary["ingested_files"]
    assert not any("ingested" in note for note in store.inferred.notes)


def test_flushed_bytes_by_the_printed_w_amp(tmp_path: Path) -> None:
    """Without the line of flushes, 80 GB at a W-Amp of 1.0 came in; 60 GB of them were ingested."""
    told = [line if "Sum" not in line else row("Sum", Write=80.0, **{"W-Amp": 1.0}) for line in INGESTING]

    assert 20.0 == pytest.approx(pasted(tmp_path, *UPTIME, *told, *ADDED).summary["flush_bytes"] / GIB)


def test_the_lines_of_ingested_files_are_read() -> None:
    """Each has its name; a damaged one is counted."""
    reader = StatsReader()
    for line in (*INGESTING[:1], *ADDED, "AddFile(Keys): cumul"):
        assert reader.take(line, None, 0)

    assert {"bytes": 60 * GIB, "files": 2400, "l0_files": 7, "keys": 90_000_000} == reader.dumps[0].families["default"].ingested
    assert 1 == reader.dumps[0].unreadable


def apart(read: float, *, by_priority: bool = True, line: str = BLOBS) -> list[str]:
    """Return the statistics of a store with blob files; `read` is Read of the compactions."""
    merged = {"Read": read, "Rn": 2.0, "Rnp1": 4.0, "Rblob": 18.0}
    levels = table(
        row("L0", Write=2.0, Wblob=38.0), row("L6", Write=5.0, Wblob=15.0, **merged),
        row("Sum", Size="6.00 GB", Write=7.0, Wblob=53.0, **merged),
    )  # fmt: skip
    pools = table(row("Low", Write=5.0, Wblob=15.0, **merged), row("High", Write=2.0, Wblob=38.0), by="Priority")
    return [*UPTIME, *levels, *(pools if by_priority else []), line, "Flush(GB): cumulative 40.000, interval 0.500"]


@pytest.mark.parametrize("read", [24.0, 6.0], ids=["Read with Rblob, as RocksDB prints it", "Read without Rblob"])
def test_blob_bytes_count_as_rocksdb_counts_them(read: float, tmp_path: Path) -> None:
    """W-Amp of a level is (Write + Wblob) / (Rn + Rblob), compactions read Rn + Rnp1 + Rblob."""
    summary = pasted(tmp_path, *apart(read)).summary
    printed = "blob files      300, 80.0 GiB, 16.0 GiB of garbage, space amp as RocksDB prints it 1.25\n"
    expected = {
        "files": 300, "bytes": 80 * GIB, "garbage_bytes": 16 * GIB, "space_amplification": 1.25, "flush_write_bytes": 38 * GIB,
        "compaction_read_bytes": 18 * GIB, "compaction_write_bytes": 15 * GIB,
    }  # fmt: skip

    assert [1.0, 1.0] == pytest.approx([level["w_amp"] for level in summary["levels"]])
    assert (24.0, 20.0) == pytest.approx(tuple(summary[f"compaction_{kind}_bytes"] / GIB for kind in ("read", "write")))
    assert 6.0 == pytest.approx(summary["levels"][1]["read_bytes"] / GIB)
    assert 1.5 == pytest.approx(summary["write_amplification"])
    assert 86.0 == pytest.approx(summary["live_bytes"] / GIB)
    assert expected == pytest.approx(summary["blobs"])
    assert printed in import_text(summary)


def test_parts_of_blobs_that_the_text_does_not_have_are_unknown(tmp_path: Path) -> None:
    """Columns alone tell neither files nor the part of flushes; without blobs there is no entry."""
    blobs: dict[str, Any] = pasted(tmp_path, *apart(24.0, by_priority=False, line="")).summary["blobs"]
    none = pasted(tmp_path, *UPTIME, *INGESTING, "Blob file count: 0, total size: 0.0 GB, garbage size: 0.0 GB, space amp: 0.0")

    assert {"compaction_read_bytes": 18 * GIB} == {name: number for name, number in blobs.items() if number is not None}
    assert "blobs" not in none.summary


def composed(store: ImportedStore, *overrides: str) -> dict[str, Any]:
    """Return the configuration of the experiment of an import."""
    found: dict[str, Any] = compose(["experiment=imported", *overrides], [store.in_memory("pasted")])
    return found


def test_a_store_with_blob_files_is_not_simulated_without_them(tmp_path: Path) -> None:
    """Options that the text does not have must be given, and a note says so; Rblob proves that garbage is collected."""
    store = pasted(tmp_path, *apart(24.0))
    with pytest.raises(InputError) as refused:
        composed(store)
    options = composed(store, "engine.options.min_blob_size=1000")["engine"]["options"]

    assert "engine.options.min_blob_size: unknown, because the LOG does not show the options; give each" in str(refused.value)
    assert (True, True) == (options["enable_blob_files"], options["enable_blob_garbage_collection"])
    note = next(note for note in store.inferred.notes if "enable_blob_files" in note)
    assert "the store has blob files and collects their garbage" in note
    assert "set engine.options.min_blob_size;" in note


def test_an_unknown_collection_of_garbage_must_be_given(tmp_path: Path) -> None:
    """Without Rblob garbage may be collected or not; both kinds of unknown keys are named at once."""
    store = pasted(tmp_path, *(line.replace("18.0", "0.0") for line in apart(6.0) if line not in UPTIME))
    with pytest.raises(InputError) as refused:
        composed(store)

    assert "engine.options.min_blob_size, engine.options.enable_blob_garbage_collection: unknown" in str(refused.value)
    assert "the LOG does not show the load and the options; give each, as workload.rate=VALUE" in str(refused.value)


def test_options_of_blob_files_in_the_text_are_taken(tmp_path: Path) -> None:
    """With the options of the store nothing is asked."""
    stamp = "2026/05/06-10:00:00.000000 7f0a0001 "
    header = ["RocksDB version: 7.8.3", *(f" Options.{one}" for one in ("enable_blob_files: true", "min_blob_size: 512"))]
    store = pasted(tmp_path, *(stamp + line for line in header), *apart(24.0))

    assert 512 == composed(store)["engine"]["options"]["min_blob_size"]
    assert not any("enable_blob_files" in note for note in store.inferred.notes)


def test_large_values_have_no_exponent(tmp_path: Path) -> None:
    """102,400 bytes are written so, and so are thousands of millions of keys."""
    summary = pasted(tmp_path, *UPTIME, *INGESTING).summary
    known = {"key_bytes": 16.0, "key_bytes_assumed": False, "value_bytes": 102_400.0, "keys": 5.21e9, "keys_assumed": False}
    load = summary["import"]["workload"] | known
    text = import_text(summary | {"import": summary["import"] | {"workload": load}})

    assert "keys of 16 B, values of 102,400 B" in text
    assert "spread over 5,210 M keys" in text
