"""`lsmlab import`: its output can be read, simulated and drawn."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from log_sample import ENTRIES, KEY_BYTES, VALUE_BYTES, Sample
from lsmlab.models.costs.assertions import of_build
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import write_cpu
from lsmlab.models.errors import InputError
from lsmlab.models.text.files import read_text
from lsmlab.models.units import build, parse_quantity
from lsmlab.reports.cli.import_log import import_log
from lsmlab.reports.cli.main import main
from lsmlab.reports.folder_page import draw
from lsmlab.reports.run_data import load_run
from lsmlab.sim import configure
from lsmlab.sim.configuration.catalogue import MemoryFolder
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.parameters import read_parameters
from lsmlab.sim.results.schema.run_tables import JOB_BLOBS, JOB_WAITS, JOBS
from lsmlab.validation.importer.estimates import Observation
from lsmlab.validation.importer.importing import ESTIMATORS, ImportRequest, estimate, read_store
from lsmlab.validation.importer.reading import Reading, read
from lsmlab.validation.importer.workload import distinct_keys, infer_workload, zipf_constant
from running import run

ROOT = Path(__file__).parents[1]
RECORDING = ROOT / "validation" / "recordings" / "static" / "LOG.xz"
DATA = ROOT.parent / "shared" / "data"


THROTTLED = DATA / "public_runs" / "logs"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the reference data are not at {DATA}")


@pytest.fixture(scope="module")
def sample() -> Sample:
    """Return a synthetic LOG with known totals."""
    return Sample().run(40)


@pytest.fixture(scope="module")
def imported(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory into which that LOG was imported."""
    folder = tmp_path_factory.mktemp("import")
    (folder / "LOG").write_text(sample.text)
    assert 0 == import_log([str(folder / "LOG"), "--out", str(folder / "out")])
    return folder / "out"


def in_memory(log: Path, device: str | None = None) -> MemoryFolder:
    """Return the configuration that a LOG gives."""
    return read_store(ImportRequest(logs=(log,), device=device)).in_memory(log.name)


def with_report(sample: Sample, folder: Path, text: str) -> Reading:
    """Return the synthetic LOG, read with a report of db_bench."""
    (folder / "LOG").write_text(sample.text)
    (folder / "report.csv").write_text(text)
    return read(folder / "LOG", None, folder / "report.csv")


def test_files_of_an_import(imported: Path) -> None:
    """An import writes tables, configurations, a trace, a summary and a page, and leaves no temporary files."""
    assert {
        "jobs.parquet", "stalls.parquet", "series.parquet", "levels.parquet", "statistics.parquet", "compaction_tables.parquet",
        "latency.parquet", "summary.json", "trace.csv", "experiment/imported.yaml", "experiment/imported_full_speed.yaml",
        "engine/imported.yaml", "engine/options/imported.yaml", "device/imported.yaml", "host/imported.yaml",
        "limits/imported.yaml", "workload/imported.yaml", "workload/imported_full_speed.yaml",
        "parameters/imported.yaml", "report.html",
    } == {str(path.relative_to(imported)) for path in imported.rglob("*") if path.is_file()}  # fmt: skip
    assert {"LOG", "out"} == {path.name for path in imported.parent.iterdir()}


def test_stalls_of_a_log_are_explained(imported: Path) -> None:
    """A LOG has lost operations, groups of stalls with their jobs, and its stalled time divided among what held it up."""
    summary = json.loads((imported / "summary.json").read_text(encoding="utf-8"))
    stalls = pq.read_table(imported / "stalls.parquet").to_pandas()

    assert len(stalls) > 0
    assert summary["lost_operations"]["total"] == pytest.approx(stalls.lost_ops.sum())
    held = {name: sum(jobs.values()) for name, jobs in summary["stall_waits_s"].items()}
    assert sum(held.values()) == pytest.approx(sum(summary["stall_seconds"].values()))
    assert len(stalls) == summary["stalls"]
    assert {"flushes", "compactions"} == set(summary["bottleneck"]["threads"])
    assert {} == summary["episodes"][0]["uses"]


def test_tables_have_the_simulators_columns(imported: Path, sample: Sample) -> None:
    """Tables of an import have the columns of a run, and their sums are the totals of the LOG."""
    jobs = pq.read_table(imported / "jobs.parquet").to_pandas()
    series = pq.read_table(imported / "series.parquet").to_pandas()
    levels = pq.read_table(imported / "levels.parquet").to_pandas()

    assert {c.name for c in JOBS.columns} - {c.name for c in (*JOB_WAITS, *JOB_BLOBS)} <= set(jobs.columns)
    assert sample.totals["flush_bytes"] == jobs[jobs.kind == "flush"].write_bytes.sum()
    assert sample.totals["compaction_read_bytes"] == jobs[jobs.kind == "compaction"].read_bytes.sum()
    assert sample.totals["compaction_write_bytes"] + sample.totals["flush_bytes"] == levels.write_bytes.sum()
    assert sample.totals["flush_count"] * ENTRIES == pytest.approx(series.write_ops.sum())
    assert sample.totals["flush_bytes"] == pytest.approx(series.write_bytes_flush_per_s.sum())
    assert [len(level) for level in sample.levels] == [series[f"level_files_{i}"].iloc[-1] for i in range(7)]
    assert sum(sample.levels[2].values()) == series.level_bytes_2.iloc[-1]
    assert list(np.arange(1, len(series) + 1)) == list(series.t_s)


def test_stalls_end_with_a_flush(imported: Path, sample: Sample) -> None:
    """The chain of a memtable stop is the flush whose commit ended it."""
    stalls = pq.read_table(imported / "stalls.parquet").to_pandas()
    jobs = pq.read_table(imported / "jobs.parquet").to_pandas().set_index("job")
    stops = stalls[stalls.cause == "memtable_stop"]

    assert sample.stalls["memtable_stop"] == len(stops)
    for stop in stops.itertuples():
        assert ["flush"] == [jobs.kind[number] for number in stop.chain_jobs]
        assert jobs.end_s[stop.chain_jobs[-1]] == pytest.approx(stop.end_s, abs=1e-3)


def test_statistics_keep_their_columns(imported: Path) -> None:
    """Statistics dumps and both kinds of compaction tables become rows with RocksDB's own column names."""
    statistics = pq.read_table(imported / "statistics.parquet").to_pandas()
    tables = pq.read_table(imported / "compaction_tables.parquet").to_pandas()

    assert 2 == len(statistics)
    assert {"cumulative_keys", "interval_keys", "cumulative_stall_s", "stall_count_memtable_stop"} <= set(
        statistics.columns
    )
    assert {("level", "Sum"), ("level", "Int"), ("priority", "High")} == set(zip(tables.table, tables.row, strict=True))
    assert {"Write(GB)", "W-Amp", "Comp(cnt)", "KeyIn"} <= set(tables.columns)


def test_the_configuration_composes(imported: Path) -> None:
    """`lsmlab run` accepts the experiment with its store, load, and fitted costs with their errors."""
    config = compose(["experiment=imported"], [imported])

    assert "7.8" == config["engine"]["version"]
    assert 1048576 == config["engine"]["options"]["write_buffer_size"]
    assert (KEY_BYTES, VALUE_BYTES) == (config["workload"]["key_size"], config["workload"]["value_size"])
    fitted = read_parameters("imported", [imported])
    assert fitted.host["compaction_record"] == config["host"]["compaction_record"]
    assert {"host.compaction_record", "host.compaction_byte"} <= set(config["parameters"]["standard_errors"])
    configure(["experiment=imported"], folders=[imported])


def test_a_what_if_replaces_one_part(imported: Path) -> None:
    """Another drive, engine, limit or load replaces that part of an import and keeps the others."""
    base = compose(["experiment=imported_full_speed"], [imported])

    def changed(override: str) -> set[str]:
        config = compose(["experiment=imported_full_speed", override], [imported])
        return {group for group in config if group != "parameters" and config[group] != base[group]}

    assert "imported" == base["device"]["name"]
    assert {"device"} == changed("device=sata")
    assert base["device"]["page_cache"] == compose(["experiment=imported", "device=sata"], [imported])["device"]["page_cache"]
    assert {"workload"} == changed("workload=ycsb_load")
    assert {"limits"} == changed("limits.write_cap=10MB/s")
    assert {"engine"} == changed("engine=silk")
    silk = compose(["experiment=imported", "engine=silk"], [imported])["engine"]
    assert ("7.8", 1048576) == (silk["version"], silk["options"]["target_file_size_base"])
    assert "limits" not in changed("device=hdd")


def test_the_configuration_runs(imported: Path, sample: Sample, tmp_path: Path) -> None:
    """The simulated store does as many writes as the LOG's within 5 %, and flushes as many bytes within 10 %."""
    assert 0 == main(
        ["run", "--config-dir", str(imported), "experiment=imported", "--out", str(tmp_path), "--no-report"]
    )
    summary = json.loads((tmp_path / "summary.json").read_text())

    assert sample.totals["flush_count"] * ENTRIES == pytest.approx(summary["operations"], rel=0.05)
    assert sample.totals["flush_bytes"] == pytest.approx(summary["flush_bytes"], rel=0.1)


def test_json_is_the_summary(imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints summary.json with the output directory and the next command, and writes no page."""
    assert 0 == import_log([str(imported.parent / "LOG"), "--out", str(tmp_path / "out"), "--json"])
    printed = json.loads(capsys.readouterr().out)
    saved = json.loads((tmp_path / "out" / "summary.json").read_text())

    assert saved == {key: value for key, value in printed.items() if key not in ("directory", "command")}
    assert not (tmp_path / "out" / "report.html").exists()
    assert 0 == saved["import"]["unreadable"]


def test_the_printed_summary(imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output gives totals, load, completeness of the LOG and the commands to run next; constants are on the page."""
    import_log([str(imported.parent / "LOG"), "--out", str(tmp_path / "out"), "--no-report"])
    printed_text = capsys.readouterr().out

    assert re.search(r"^jobs +48 flushes \(45\.8 MiB\), 12 compactions", printed_text, re.MULTILINE)
    assert "CPU per entry" not in printed_text
    assert "CPU per entry" in (imported / "report.html").read_text()
    assert re.search(r"\d+ constants of the machine with their errors, and \d+ assumptions", printed_text)
    assert "lines were read. No gaps or contradictions were found." in printed_text
    for name in ("imported", "imported_full_speed"):
        assert f"  lsmlab run --config-dir {tmp_path / 'out'} experiment={name}\n" in printed_text
    assert max(len(line) for line in printed_text.splitlines() if "lsmlab run" not in line and "Saved" not in line) <= 120


def test_the_page(imported: Path) -> None:
    """The page shows jobs, stalls, inferred load and machine, and the time since open; `lsmlab report` redraws it."""
    page = (imported / "report.html").read_text()

    for part in ("Throughput and write stalls", "Bytes moved by each consumer", "Background jobs",
                 "Load and machine, as inferred", "time since the store was opened (s)", "RocksDB 7.8.3"):  # fmt: skip
        assert part in page
    assert "simulated time" not in page
    assert load_run(imported).summary["import"]["lines"] > 700
    again = draw(imported, imported.parent / "again.html")
    assert page == again.read_text()
    again.unlink()


def test_damage_of_a_log_is_reported(sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unreadable lines are reported on the terminal, in the JSON and on the page."""
    lines = [
        line.replace("flush_finished", "flush_fin\x00shed") if i == 150 else line for i, line in enumerate(sample.lines)
    ]
    (tmp_path / "LOG").write_text("\n".join(line for line in lines if "flush_finished" not in line or "10" not in line))
    assert 0 == import_log([str(tmp_path / "LOG"), "--out", str(tmp_path / "out")])
    printed_text = capsys.readouterr().out
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())

    assert "Incomplete or contradictory input:" in printed_text
    assert summary["import"]["unreadable"] > 0
    assert "What could not be read" in (tmp_path / "out" / "report.html").read_text()


def test_a_report_gives_the_rate(sample: Sample, tmp_path: Path) -> None:
    """The rate comes from db_bench's report, not from memtables, if there is a report."""
    length_s = 6
    mean_rate = sample.totals["flush_count"] * ENTRIES / length_s
    rows = [mean_rate * (1 + 0.1 * (-1) ** i) for i in range(length_s)]
    lines = "".join(f"{i + 1},{n}\n" for i, n in enumerate(rows))
    found = infer_workload(with_report(sample, tmp_path, f"secs_elapsed,interval_qps\n{lines}"))

    assert ("report", length_s) == (found.source, found.until_s)
    assert rows == pytest.approx(list(found.rate_per_s))


def test_a_report_in_microseconds(sample: Sample, tmp_path: Path) -> None:
    """A report with ten rows per second and times in microseconds, as of some releases, gives the rate per second."""
    per_row = round(sample.totals["flush_count"] * ENTRIES / 60)
    lines = "".join(f"{1_601_756_502_388_423 + 100_000 * i},{per_row}\n" for i in range(60))
    found = infer_workload(with_report(sample, tmp_path, f"now_micros,interval_qps\n{lines}"))

    assert 6.0 == pytest.approx(found.until_s)
    assert [10.0 * per_row] * 60 == pytest.approx(list(found.rate_per_s))


@pytest.mark.parametrize("rows", ["1,200000\n2,200000\n3,200000\n", "1,10\n2,10\n3,10\n"])
def test_a_report_of_another_run_is_not_used(rows: str, sample: Sample, tmp_path: Path) -> None:
    """If the operations of the report differ from those of the flushes, the LOG's rate is used, and a note says why."""
    reading = with_report(sample, tmp_path, f"secs_elapsed,interval_qps\n{rows}")

    assert "memtables" == infer_workload(reading).source
    assert any("report.csv is not used" in note for note in reading.notes)


def test_the_load_of_a_recording() -> None:
    """Key count and sizes of a recorded fillrandom are those of its db_bench flags."""
    found = infer_workload(read(RECORDING))
    flags = json.loads((RECORDING.parent / "meta.json").read_text())["workload"]

    assert (flags["key_size"], flags["value_size"]) == (found.key_bytes, found.value_bytes)
    assert found.keys is not None
    assert found.keys_error is not None
    assert flags["num"] == pytest.approx(found.keys, rel=4 * found.keys_error)
    assert "overwrite" == found.pattern


def test_keys_from_repetitions() -> None:
    """The number of keys is recovered from repetitions among random draws, within the standard error."""
    rng = np.random.default_rng(5)
    keys, batches = 200_000, [9_000] * 20
    dropped = sum(n - len(np.unique(rng.integers(0, keys, n))) for n in batches)

    assert keys == pytest.approx(distinct_keys(batches, dropped), rel=4 / np.sqrt(dropped))


def test_zipf_from_collisions() -> None:
    """The zipfian constant is recovered from the probability that two draws are equal."""
    ranks = np.arange(1, 100_001, dtype=float)
    chances = ranks**-0.9 / (ranks**-0.9).sum()

    assert 0.9 == pytest.approx(zipf_constant(1 / float((chances**2).sum()), 100_000), abs=0.002)


def test_estimators_depend_only_on_the_estimates_they_name(sample: Sample, tmp_path: Path) -> None:
    """Each estimator runs after those in `needs`, and depends on no other state: two calls give the same estimates."""
    (tmp_path / "LOG").write_text(sample.text)
    observation = Observation(read(tmp_path / "LOG"), entry_bytes=116.0)
    whole = estimate(observation)
    names: list[str] = []

    for step in ESTIMATORS:
        known = {name: whole.get(name) if name in names else None for name in step.needs}
        first, again = (step.estimate(observation, known) for _ in range(2))
        assert first == again
        names += [found.name for found in first.estimates]

    assert [found.name for found in whole.estimates] == names
    assert {"host.compaction_record", "device.write_bandwidth"} <= set(names)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing"], "cannot be read: No such file"),
        (["README.md"], "not a RocksDB LOG"),
        (["LOG", "README.md"], "give an OPTIONS file or a LOG of RocksDB"),
        (["LOG", "--out", "README.md"], "this is a file"),
        (["LOG", "--report-csv", "README.md"], "two rows of seconds"),
        ([], "LOG"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], words: str, sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bad input raises an error with its remedy and leaves no files."""
    monkeypatch.chdir(tmp_path)
    Path("LOG").write_text(sample.text)
    Path("README.md").write_text("# Compaction Stats\n\nwords\n")
    with pytest.raises(InputError, match=words):
        import_log(arguments)
    assert {"LOG", "README.md"} == {path.name for path in tmp_path.iterdir()}


@needs_data
@pytest.mark.parametrize(
    ("run", "limit_bytes_per_s"),
    [("silk/lp_T40_p40_off", 40e6), ("adoc/bw60_wb8_ADOC", 60 * 2**20)],
)
def test_a_cap_is_found(run: str, limit_bytes_per_s: float) -> None:
    """The write cap of a device is found within 5 % and within two standard errors."""
    reading = read(DATA / "real_engines" / run / "LOG.gz")
    found = estimate(Observation(reading, entry_bytes=1016.0))
    written = found.get("device.write_limit")

    assert found.write_limited
    assert written is not None
    assert written.standard_error is not None
    assert limit_bytes_per_s == pytest.approx(written.value, rel=0.05)
    assert abs(limit_bytes_per_s - written.value) <= 2 * written.standard_error


@needs_data
def test_idle_clients_are_not_at_full_speed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An open loop stalled for a third of its time still writes at its own rate, so the import suggests the trace."""
    log = DATA / "real_engines" / "silk" / "lp_T40_p40_silk2" / "LOG.gz"
    assert 0 == import_log([str(log), "--out", str(tmp_path), "--no-report"])
    found = read_parameters("imported", [tmp_path])

    assert "Simulate it with the load that the store accepted" in capsys.readouterr().out
    assert "write_op" not in found.host


@pytest.mark.parametrize(("case", "logged"), [("cpu_v100", False), ("cpu_v1000_wal", True)])
def test_the_wal_has_a_cost_of_its_own(case: str, logged: bool) -> None:
    """A LOG with a WAL shows the sum of write_op and wal_op, a LOG without one only write_op; wal_op is in its proportion."""
    log = ROOT / "validation" / "cases" / "calibration" / case / "1" / "LOG.xz"
    found = read_parameters("imported", [in_memory(log)]).host
    known = of_build(build(Host, dict(read_parameters("recording_vm").host), "recording_vm"))
    write_s, wal_s = (parse_quantity(found[name], "seconds") for name in ("write_op", "wal_op"))
    recorded_s = known.write_op + (known.wal_op if logged else 0.0)

    assert Host().wal_op / Host().write_op == pytest.approx(wal_s / write_s, rel=0.01)
    assert recorded_s == pytest.approx(write_s + (wal_s if logged else 0.0), rel=0.3)


def test_codecs_are_as_fast_as_compactions() -> None:
    """A LOG without compression tells the codecs of a what-if: the default costs, scaled as those of a compaction per byte."""
    log = ROOT / "validation" / "cases" / "calibration" / "cpu_v100" / "1" / "LOG.xz"
    found = read_parameters("imported", [in_memory(log)]).host
    names = ("compress_byte", "decompress_byte", "compaction_byte")
    compress, decompress, compaction = (parse_quantity(found[n], "seconds") / getattr(Host(), n) for n in names)

    assert compaction == pytest.approx(compress, rel=1e-3) == pytest.approx(decompress, rel=1e-3)
    assert abs(compaction - 1.0) > 0.05, "this machine is not as fast as the default"


@pytest.mark.parametrize(("case", "threads", "ops_per_s"), [("sync_t1", 1, 7490.0), ("sync_t4_v400", 4, 13244.0)])
def test_synced_writers_and_their_fsync(case: str, threads: int, ops_per_s: float) -> None:
    """A LOG of synced writes gives the fsync of the WAL, and its rerun the recorded throughput."""
    log = ROOT / "validation" / "cases" / "wider" / case / "1" / "LOG.xz"
    config = compose(["experiment=imported_full_speed"], [in_memory(log)])

    assert (True, threads) == (config["workload"]["sync"], config["workload"]["threads"])
    assert not config["engine"]["options"]["disable_wal"]
    assert ops_per_s == pytest.approx(run(config).summary["ops_per_s"], rel=0.05)


def test_ingestions_are_commits_of_their_own() -> None:
    """Files that the application ingests belong to no job: they are counted and noted, and leave no gap in the history."""
    log = ROOT / "validation" / "cases" / "wider" / "act_ingest" / "1" / "LOG.xz"
    store = read_store(ImportRequest(logs=(log,), device=None))

    assert (32, {}) == (store.reading.summary["ingested_files"], store.reading.problems)
    assert any("ingested 32 files" in note for note in store.inferred.notes)


def test_range_tombstones_are_no_entries() -> None:
    """Table properties count range tombstones as entries and deletions, the events of jobs do not."""
    reading = read(ROOT / "validation" / "cases" / "wider" / "act_ranges" / "1" / "LOG.xz")

    assert {} == reading.problems
    assert 0 == sum(file.deletions for file in reading.jobs.files.values())


def test_the_compression_ratio_of_the_data() -> None:
    """The ratio follows from the files' properties, and the codec's CPU time from that of the compactions."""
    log = ROOT / "validation" / "cases" / "wider" / "lz4_r50_bw60" / "1" / "LOG.xz"
    config = compose(["experiment=imported"], [in_memory(log)])

    assert "kLZ4Compression" == config["engine"]["options"]["compression"]
    assert config["engine"]["compression_ratio"] == pytest.approx(0.556, abs=0.003)  # db_bench was asked for 0.5
    assert 0.1e-9 < parse_quantity(config["host"]["compress_byte"], "seconds") < 3e-9


def test_the_rate_of_a_limiter_is_estimated() -> None:
    """A LOG gives a rate limiter without its rate; the rate comes from the writes, and no device cap is set."""
    log = ROOT / "validation" / "cases" / "calibration" / "rl60_v200" / "1" / "LOG.xz"
    config = compose(["experiment=imported"], [in_memory(log)])

    assert 60e6 == pytest.approx(config["engine"]["options"]["rate_limiter_bytes_per_sec"], rel=0.05)
    assert config["limits"]["write_cap"] is None


@needs_data
@pytest.mark.parametrize(
    ("log", "base", "bandwidth_bytes_per_s", "fsync_s"),
    [
        ("disk_type_influence_pm_results_device_influence_NVMeSSD_2CPU_64MB_LOG_199.gz", "nvme", 861e6, 4.26e-3),
        ("disk_type_influence_pm_results_device_influence_SATASSD_2CPU_64MB_LOG_302.gz", "nvme", 519e6, 6.77e-3),
        ("disk_type_influence_pm_results_device_influence_SATAHDD_2CPU_64MB_LOG_986.gz", "hdd", 117e6, 35.4e-3),
    ],
)
def test_the_machine_of_a_log(log: str, base: str, bandwidth_bytes_per_s: float, fsync_s: float) -> None:
    """Bandwidth, fsync and write cost are those of a fit to all LOGs of that machine."""
    store = in_memory(THROTTLED / log)
    found = read_parameters("imported", [store])
    drive = found.devices["imported"]
    config = compose(["experiment=imported_full_speed"], [store])

    assert f"device={base}" in config["device"]["description"]
    assert bandwidth_bytes_per_s == pytest.approx(parse_quantity(drive["write_bandwidth"], "bytes_per_s"), rel=0.05)
    assert fsync_s == pytest.approx(parse_quantity(drive["fsync_latency"], "seconds"), rel=0.5)  # quantile, median
    put_s = write_cpu(1016.0, logged=True, memtable_bytes=2.0**26).seconds(build(Host, dict(found.host), "imported"))
    assert put_s == pytest.approx(3.5e-6, rel=0.2)
    assert config["limits"]["write_cap"] is None


def test_the_user_names_the_kind_of_drive(imported: Path) -> None:
    """--device sets the model of the drive to which the fitted constants belong."""
    config = compose(["experiment=imported"], [in_memory(imported.parent / "LOG", "sata")])

    assert config["device"]["_target_"].endswith("SataSsd")


@needs_data
def test_a_cgroup_cap_is_not_a_slow_device() -> None:
    """Under a cap of 400 MiB/s, short fsyncs are faster than long ones, unlike on a slow device: a cap is set."""
    log = "list_all_threads_pm_results_bandwidth_20GB_read_after_write_400_NVMeSSD_4CPU_64MB_LOG_284.gz"
    config = compose(["experiment=imported"], [in_memory(THROTTLED / log)])

    assert 400 * 2**20 == pytest.approx(config["limits"]["write_cap"], rel=0.05)


@needs_data
def test_db_bench_output_is_a_log_too(tmp_path: Path) -> None:
    """A file with only db_bench's output gives the numbers of its tables."""
    path = DATA / "parser_samples" / "aislsm_dbbench_7.10.0_8KB_stalls.txt"
    assert 0 == import_log([str(path), "--out", str(tmp_path / "out"), "--json"])
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())

    assert (1234, 394) == (summary["flush_count"], summary["compaction_count"])
    assert 6.4 == pytest.approx(summary["write_amplification"], abs=0.05)
    assert 0.813 == pytest.approx(summary["stall_fraction"], abs=0.001)
    assert 924 == summary["stall_count"]["memtable_stop"]
    assert ["no_events"] == [entry["kind"] for entry in summary["import"]["problems"]]


@pytest.mark.parametrize(("told", "w_amp"), [(32, 5.87), (8, None)])
def test_ingested_bytes_come_in(told: int, w_amp: float | None, tmp_path: Path) -> None:
    """W-Amp divides by flushed and ingested bytes, as RocksDB does; it is unknown where the statistics lack some files."""
    folder = ROOT / "validation" / "cases" / "wider" / "act_ingest" / "1"
    text = read_text(folder / "LOG.xz")
    *_, last = re.finditer(r"^(\S+) (\d+) ", text, re.MULTILINE)
    stamp, counted = f"{last[1]} {last[2]} ", f"AddFile(Total Files): cumulative {told}, interval {told}"
    dump = ["[db/db_impl/db_impl.cc:1190] ------- DUMPING STATS -------", "[db/db_impl/db_impl.cc:1191] "]
    table = ["** DB Stats **", "Uptime(secs): 60.1 total, 60.1 interval", "** Compaction Stats [default] **",
             "AddFile(GB): cumulative 0.159, interval 0.159", counted]  # fmt: skip
    (tmp_path / "LOG").write_text("\n".join([text.rstrip(), *(f"{stamp}{line}" for line in dump), *table, ""]))

    found = read(tmp_path / "LOG").summary["write_amplification"]
    assert found == (None if w_amp is None else pytest.approx(w_amp, rel=0.02))
