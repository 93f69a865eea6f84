"""What a store counted itself, and options that differ from its release's defaults: in JSON, on the page and in the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from log_sample import FAMILY, Sample
from lsmlab.models.options.options import changed_options
from lsmlab.models.version import Version
from lsmlab.reports.cli.import_log import import_log
from lsmlab.validation.importer.clients import read_latency
from lsmlab.validation.importer.reading import read
from lsmlab.validation.importer.statistics import busy_readers, store_statistics
from lsmlab.validation.importer.workload import point_reads

TICKERS = {
    "rocksdb.block.cache.miss": 300, "rocksdb.block.cache.hit": 700, "rocksdb.block.cache.data.miss": 300,
    "rocksdb.block.cache.data.hit": 500, "rocksdb.block.cache.index.miss": 0, "rocksdb.block.cache.index.hit": 200,
    "rocksdb.bloom.filter.useful": 990, "rocksdb.bloom.filter.full.positive": 60, "rocksdb.bloom.filter.full.true.positive": 50,
    "rocksdb.number.keys.read": 5000,
}  # fmt: skip
HISTOGRAMS = {
    "rocksdb.db.get.micros": "P50 : 12.8 P95 : 50.5 P99 : 93.1 P100 : 1320.0 COUNT : 5000 SUM : 98912",
    "rocksdb.db.write.micros": "P50 : 3.2 P95 : 21.2 P99 : 1162.9 P100 : 2050583.0 COUNT : 320000 SUM : 1051904",
    "rocksdb.db.seek.micros": "P50 : 0.0 P95 : 0.0 P99 : 0.0 P100 : 0.0 COUNT : 0 SUM : 0",
}


def with_statistics(sample: Sample, factor: int = 1) -> None:
    """Add a dump of tickers and histograms, all counts times a factor."""
    sample.say("[_impl/db_impl.cc:638] STATISTICS:", 7008)
    sample.lines += [f" {name} COUNT : {factor * n}" for name, n in TICKERS.items()]
    sample.lines += [f"{name} {text.replace('COUNT : 5000', f'COUNT : {factor * 5000}')}" for name, text in HISTOGRAMS.items()]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an import with statistics."""
    folder = tmp_path_factory.mktemp("statistics")
    sample = Sample()
    sample.open()
    sample.fill(20)
    with_statistics(sample)
    sample.close()
    (folder / "LOG").write_text(sample.text)
    assert 0 == import_log([str(folder / "LOG"), "--out", str(folder / "out")])
    return folder / "out"


def test_statistics_of_a_log(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cache, filters, and rates and percentiles of the calls that happened are in JSON, on the page and in the terminal."""
    summary = json.loads((imported / "summary.json").read_text())
    found: dict[str, Any] = summary["import"]["statistics"]
    page = (imported / "report.html").read_text()
    import_log([str(imported.parent / "LOG"), "--out", str(imported.parent / "again"), "--no-report"])

    assert {"all": 0.7, "data": 0.625, "index": 1.0} == {name: row["hit_share"] for name, row in found["block_cache"].items()}
    assert 0.01 == pytest.approx(found["filter"]["false_positive_share"])
    assert ["write", "get"] == [row["call"] for row in found["latencies"]]
    assert 93.1e-6 == pytest.approx(found["latencies"][1]["p99_s"]) == pytest.approx(summary["read_latency_s"]["p99"])
    assert summary["read_ops_per_s"] == pytest.approx(5000 / found["covered_s"])
    assert summary["ops_per_s"] == pytest.approx(summary["read_ops_per_s"] + summary["write_ops_per_s"])
    for text in ("What the store counted", "<td class=\"number\">93.1 µs</td>", "index blocks", "they let 1.0 % pass"):
        assert text in page
    assert "P99 93.1 us; block cache hit rate 70.0 %" in " ".join(capsys.readouterr().out.split())


def test_statistics_of_several_opens(tmp_path: Path) -> None:
    """Counts are summed over the opens; percentiles are those of the open with most calls."""
    sample = Sample()
    for pointer, factor in (("0x1", 1), ("0x2", 3)):
        sample.pointer = pointer
        sample.open()
        sample.switch()
        sample.flush()
        with_statistics(sample, factor)
        sample.close()
        sample.now_us += 10**9
    (tmp_path / "LOG").write_text(sample.text.replace("P99 : 93.1", "P99 : 50.1", 1))
    found = store_statistics(read(tmp_path / "LOG"))

    assert found is not None
    assert 2 == found["opens"]
    assert 4 * 700 == found["block_cache"]["all"]["hits"]
    assert (20_000, 93.1e-6) == (found["latencies"][1]["calls"], pytest.approx(found["latencies"][1]["p99_s"]))


@pytest.mark.parametrize("largest", [" 100 : 81234.000000", ""])
def test_histograms_of_old_releases(largest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Percentiles without counts are read; calls, rate and mean are unknown, and the maximum if the line lacks it."""
    old = "rocksdb.db.{}.micros statistics Percentiles :=> 50 : {}.500000 95 : {}.250000 99 : {}.750000{}"
    idle = "rocksdb.db.seek.micros statistics Percentiles :=> 50 : 0.000000 95 : 0.000000 99 : 0.000000 100 : 0.000000"
    lines = [old.format("write", 7, 31, 640, largest), old.format("get", 15, 95, 210, largest), idle]
    (tmp_path / "LOG").write_text("rocksdb.number.keys.written COUNT : 90000\n" + "\n".join(lines) + "\n")
    assert 0 == import_log([str(tmp_path / "LOG"), "--out", str(tmp_path / "out")])
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    rows = summary["import"]["statistics"]["latencies"]

    expected = {"p50": 7.5e-6, "p95": 31.25e-6, "p99": 640.75e-6} | ({"max": 0.081234} if largest else {})
    assert expected == pytest.approx(summary["write_latency_s"])
    assert 15.5e-6 == pytest.approx(summary["read_latency_s"]["p50"])
    assert ["write", "get"] == [row["call"] for row in rows]
    assert {None} == {row[name] for row in rows for name in ("calls", "per_s", "mean_s")}
    assert "write P50 7.5 us, P99 641 us; get P50 15.5 us, P99 211 us" in " ".join(capsys.readouterr().out.split())
    assert '<td class="number">unknown</td>' in (tmp_path / "out" / "report.html").read_text()


def test_a_log_without_statistics_has_none(tmp_path: Path) -> None:
    """A LOG without tickers has unknown reads and latencies, not zero ones."""
    (tmp_path / "LOG").write_text(Sample().run(10).text)
    assert 0 == import_log([str(tmp_path / "LOG"), "--out", str(tmp_path / "out")])
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())

    assert summary["import"]["statistics"] is None
    assert [None] * 3 == [summary[name] for name in ("read_ops_per_s", "read_latency_s", "write_latency_s")]
    assert "What the store counted" not in (tmp_path / "out" / "report.html").read_text()


def test_options_that_differ_from_the_defaults_are_marked(imported: Path) -> None:
    """The page lists the options whose value is not the release's default, with both values, and no other."""
    found = json.loads((imported / "summary.json").read_text())["import"]["changed_options"]
    rows = {row["name"]: (row["value"], row["default"]) for row in found["options"]}
    page = (imported / "report.html").read_text()

    assert "7.8" == found["release"]
    assert (1048576, 67108864) == rows["write_buffer_size"]
    assert not {"level0_file_num_compaction_trigger", "max_write_buffer_number", "num_levels"} & set(rows)
    assert {"write_buffer_size", "target_file_size_base"} <= set(rows) <= set(FAMILY) | {"delayed_write_rate", "block_size"}
    assert "Options that differ from the defaults" in page
    assert "<td>1.0 MiB</td><td>64.0 MiB</td>" in page


def test_defaults_are_those_of_the_release() -> None:
    """The same value is a change in one release and the default of another; a value that RocksDB derives is none."""
    old, new = Version.parse("8.3.2"), Version.parse("8.4.0")
    values = {"level_compaction_dynamic_level_bytes": True, "max_bytes_for_level_multiplier_additional": (1,) * 7}

    assert {"level_compaction_dynamic_level_bytes": (True, False)} == changed_options(old, values)
    assert {} == changed_options(new, values)
    for arena in (0, 2**20):  # as OPTIONS files have it before the open, and as a LOG has it after
        assert {} == changed_options(new, {"arena_block_size": arena})
    derived = {"write_buffer_size": 4 * 2**20, "arena_block_size": 2**19}
    assert {"write_buffer_size"} == set(changed_options(new, derived))
    assert {"arena_block_size"} == set(changed_options(new, {"arena_block_size": 2**19}))


@pytest.mark.parametrize(
    ("count", "buffered", "found"), [(500_000, False, 95e-6), (500_000, True, None), (900, False, None), (4000, False, None)]
)
def test_reads_of_files_give_the_latency_of_a_read(count: int, buffered: bool, found: float | None) -> None:
    """The median of many direct reads is that of clients; few reads, and those of jobs, tell nothing about it."""
    histogram = {"P50": 95.0, "COUNT": float(count)}
    log = SimpleNamespace(statistics=[SimpleNamespace(histograms={"rocksdb.sst.read.micros": histogram})])
    reading = SimpleNamespace(log=log, summary={"compaction_read_bytes": 2000 * 2**18})
    estimate = read_latency(SimpleNamespace(reading=reading, buffered_reads=buffered), {}).get("device.read_latency")
    assert (None if estimate is None else estimate.value) == (found if found is None else pytest.approx(found))


def test_reads_are_in_the_proportion_that_the_store_counts() -> None:
    """The last dump of statistics is older than the last flush: reads count in proportion to the writes up to it."""
    tickers = {"rocksdb.number.keys.read": 3000.0, "rocksdb.number.keys.written": 2000.0}
    log = SimpleNamespace(ticker_sum=lambda name: tickers.get(name, 0.0))
    assert point_reads(log, 2600.0) == pytest.approx(3900.0)
    del tickers["rocksdb.number.keys.written"]
    assert point_reads(log, 2600.0) == 3000.0


def test_clients_that_wait_for_reads_are_threads(imported: Path) -> None:
    """The time that clients spent in gets, divided by the time of the statistics, is the mean number of clients in a get."""
    found = json.loads((imported / "summary.json").read_text())["import"]["statistics"]
    assert busy_readers(read(imported.parent / "LOG")) == pytest.approx(98912e-6 / found["covered_s"])
