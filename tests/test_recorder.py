"""Recording a real store: command lines, limits, the files of a run, and cleaning up."""

from __future__ import annotations

import lzma
import os
import shutil
import signal
import stat
import sys
import time
from pathlib import Path

import pytest
import yaml
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.reports.cli.record import record
from lsmlab.validation.casefiles.case import case_from_mapping, read_case
from lsmlab.validation.recorder import rocksdict_bench
from lsmlab.validation.recorder.command import BenchPlan, bench_plan
from lsmlab.validation.recorder.drivers import rocksdict_tool
from lsmlab.validation.recorder.keep import MARK, is_recorded
from lsmlab.validation.recorder.limits import Cgroup, CgroupCaps, CgroupTraffic, disk_of
from lsmlab.validation.recorder.one_run import Budget, check_space, run_bench
from lsmlab.validation.recorder.outcome import combine, read_outcome, recorded_version
from lsmlab.validation.recorder.speed import Speed, measure_speed, speed_facts, speeds_differ

CASE = """name: tiny
source: a test
part: test
store: {engine: rocksdb, version: "7.8", preset: db_bench, options: {write_buffer_size: 4MiB, max_subcompactions: 2}}
device: {base: nvme}
workload: {base: fillrandom, num: 1000, value_size: 200, seed: 1, benchmark_write_rate_limit: 5MB/s}
"""
FAKE = """#!{python}
import sys, pathlib, time
flags = dict(a[2:].split("=", 1) for a in sys.argv[1:] if "=" in a)
if "--version" in sys.argv:
    print("db_bench version 7.8.3"); raise SystemExit
db = pathlib.Path(flags["db"])
(db / "OPTIONS-000007").write_text("[Version]\\n  rocksdb_version=7.8.3\\n")
(db / "MANIFEST-000001").write_text("")
(db / "LOG").write_text("2026/11/20-23:00:00.000000 1 RocksDB version: 7.8.3\\n")
time.sleep(float({sleep}))
if "report_file" in flags:
    pathlib.Path(flags["report_file"]).write_text("secs_elapsed,interval_qps\\n1,100\\n")
print("RocksDB:    version 7.8.3")
print("... finished 100 ops      \\r", end="")
print("fillrandom   :       2.000 micros/op 500 ops/sec 2.000 seconds 1000 operations;    0.1 MB/s")
print("Microseconds per write:\\nCount: 1000 Average: 2.0  StdDev: 1.0\\nMin: 1  Median: 2.0  Max: 900")
print("Percentiles: P50: 2.00 P75: 2.50 P99: 6.00 P99.9: 9.00 P99.99: 90.00")
print("Cumulative stall: 00:00:0.500 H:M:S, 25.0 percent")
"""


@pytest.fixture(autouse=True)
def steady_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the measurement of the machine's speed, which takes seconds, by a constant."""
    monkeypatch.setattr("lsmlab.validation.recorder.recording.measure_speed", lambda: Speed(0.1, 0.12, 5.0, 0.0))


def fake_tool(folder: Path, sleep_s: float = 0.0) -> Path:
    """Write a fake db_bench that leaves the files and output of the real one after `sleep_s`."""
    tool = folder / "db_bench"
    tool.write_text(FAKE.format(python=sys.executable, sleep=sleep_s))
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    return tool


def a_case(folder: Path, text: str = CASE) -> Path:
    """Write a case folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "case.yaml").write_text(text)
    return folder


def plan_of(text: str) -> BenchPlan:
    """Return the command lines of a case."""
    config = case_from_mapping(yaml.safe_load(text), Path()).config()
    return bench_plan(config, Path("report.csv"))


def flags_of(invocation: tuple[str, ...]) -> dict[str, str]:
    """Return the flags of an invocation by name."""
    return dict(flag[2:].split("=", 1) for flag in invocation)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            ("", ""),
            {"benchmarks": "fillrandom,stats", "write_buffer_size": str(4 << 20), "subcompactions": "2",
             "benchmark_write_rate_limit": "5000000", "use_existing_db": "false", "compression_type": "none",
             "max_bytes_for_level_base": None, "compression_ratio": None, "shards": None, "shard_spread": None},
        ),
        (("write_buffer_size: 4MiB", "sync: true"), {"sync": "true"}),  # although the workload has a flag of this name
        (("5MB/s", "16.4MB/s"), {"benchmark_write_rate_limit": "16400000"}),  # inexact in binary
        (
            ("options: {write_buffer_size: 4MiB", "compression_ratio: 0.3, options: {compression: kLZ4Compression"),
            {"compression_type": "lz4", "compression_ratio": "0.3"},
        ),
    ],
)  # fmt: skip
def test_a_case_becomes_flags(change: tuple[str, str], expected: dict[str, str | None]) -> None:
    """Options and workload become db_bench's flags in plain, whole numbers; unset ones, and shards, are left to db_bench."""
    flags = flags_of(plan_of(CASE.replace(*change)).measured)

    assert expected == {name: flags.get(name) for name in expected}


def test_phases_become_a_list_of_benchmarks() -> None:
    """Phases that db_bench has are its --benchmarks; a phase with flags of its own, or `wait`, cannot be recorded."""
    phased = CASE.replace("base: fillrandom", "base: phases, phases: [fillrandom, compact, overwrite]")
    flags = flags_of(plan_of(phased).measured)

    assert (flags["benchmarks"], "phases" in flags) == ("fillrandom,compact,overwrite,stats", False)
    for step in ("{wait: 5s}", "{overwrite: {threads: 2}}"):
        with pytest.raises(InputError, match=r"workload\.phases: .* cannot be recorded"):
            plan_of(phased.replace("compact,", f"{step},"))


@pytest.mark.parametrize(
    "text",
    [
        CASE.replace("preset: db_bench", "preset: db_bench, compaction_filter_ttl: 30s"),
        CASE.replace("seed: 1,", "seed: 1, actions: [{at: 5s, compact: {}}],"),
        CASE + "conditions: {snapshots: [{at: 2s, renew: 4s}]}\n",
    ],
)
def test_what_only_rocksdbjni_has(text: str) -> None:
    """db_bench has no compaction filter, actions or snapshots: the error names the driver that does."""
    with pytest.raises(InputError, match="record with rocksdbjni"):
        plan_of(text)


def families(parts: str) -> str:
    """Return the case with two column families that have these parts of the writes, in per cent."""
    first, second = parts.split()
    named = CASE.replace("options:", "families: {column_family_name_000001: {}}, options:")
    load = f"families: {{default: {{writes: {first}}}, column_family_name_000001: {{writes: {second}, num: 300}}}}"
    return named.replace("base: fillrandom,", f"base: fillrandom, {load},")


def test_column_families_become_a_distribution() -> None:
    """db_bench gives the first family one per cent more than its flag says, and the last one per cent less."""
    flags = flags_of(plan_of(families("71 29")).measured)
    assert flags["num_column_families"] == "2"
    assert flags["column_family_distribution"] == "70,30"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (families("70 20"), "sum to 100"),
        (families("71 29").replace("column_family_name_000001", "lock"), "column_family_name_000001"),
        (families("71 29").replace("000001: {}}", "000001: {options: {write_buffer_size: 1MiB}}}"), "the same options"),
        (families("71 29").replace("num: 300", "value_size: 30"), "whole per cent"),
    ],
)
def test_families_that_db_bench_does_not_have(text: str, words: str) -> None:
    """Families with options, names or sizes of their own raise an error with the key."""
    with pytest.raises(InputError, match=words):
        plan_of(text)


def test_a_prefill_runs_before_and_settles() -> None:
    """The prefill runs without limits and settles; the measured workload opens the store again."""
    plan = plan_of(CASE.replace("base: fillrandom", "base: overwrite") + "prefill: {base: fillrandom, num: 5000, seed: 3}\n")
    (prefill,) = plan.prefill
    assert "--benchmarks=fillrandom,flush,waitforcompaction" in prefill
    assert "--use_existing_db=false" in prefill
    assert "--use_existing_db=true" in plan.measured
    assert not any("write_rate_limit" in flag for flag in prefill)


def test_a_prefill_has_options_of_its_own() -> None:
    """db_bench fills with the options of the prefill and measures with those of the store; values are as compressible."""
    own = "options: {bloom_bits: 0, compression: lz4, disable_wal: true, write_buffer_size: 1MiB}"
    text = CASE.replace("options: {", "compression_ratio: 0.3, options: {bloom_bits: 10, rate_limiter_bytes_per_sec: 5MB/s, ")
    plan = plan_of(text + f"prefill: {{base: fillrandom, seed: 3, {own}}}\n")
    prefill, measured = flags_of(plan.prefill[0]), flags_of(plan.measured)
    names = ("bloom_bits", "compression_type", "compression_ratio", "disable_wal", "write_buffer_size", "subcompactions")

    assert ["0", "lz4", "0.3", "true", str(1 << 20), "2"] == [prefill[name] for name in names]
    assert ["10", "none", "0.3", None, str(4 << 20), "2"] == [measured.get(name) for name in names]
    assert ("5000000", None) == tuple(f.get("rate_limiter_bytes_per_sec") for f in (measured, prefill))
    assert not any("options" in name for name in prefill)


def test_a_prefill_may_have_a_rate_limit_of_its_own() -> None:
    """Only the run's rate limit is left out."""
    text = f"{CASE}prefill: {{base: fillrandom, seed: 3, options: {{rate_limiter_bytes_per_sec: 9MB/s}}}}\n"
    assert "9000000" == flags_of(plan_of(text).prefill[0])["rate_limiter_bytes_per_sec"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("num_levels: 4", r"prefill\.options\.num_levels: 4 must equal the run's, 7"),
        ("bloom: 4", r"prefill\.options\.bloom: no such option"),
    ],
)
def test_a_prefill_that_cannot_be_simulated_is_not_recorded(options: str, words: str) -> None:
    """Options that the simulator refuses raise the same error before db_bench starts."""
    with pytest.raises(InputError, match=words):
        plan_of(f"{CASE}prefill: {{base: fillrandom, seed: 3, options: {{{options}}}}}\n")


def test_real_rocksdb_opens_the_filled_store_with_other_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """db_bench reads a store that it filled without filters: it finds every key and has no filter to ask."""
    tool = shutil.which("db_bench")
    if tool is None:
        pytest.skip("db_bench is not installed")
    monkeypatch.chdir(tmp_path)  # db_bench writes its report file there
    text = CASE.replace("write_buffer_size: 4MiB", "bloom_bits: 10, statistics: true")
    text = text.replace("base: fillrandom", "base: readrandom").replace(", benchmark_write_rate_limit: 5MB/s", "")
    plan = plan_of(text + "prefill: {base: fillrandom, seed: 3, options: {bloom_bits: 0, write_buffer_size: 64KiB}}\n")
    run_bench([tool], plan, CgroupCaps(), Budget(60, 10**9), tmp_path / "db", tmp_path / "out")
    output = (tmp_path / "out" / "stdout.txt").read_text()

    assert "rocksdb.bloom.filter.useful COUNT : 0" in output
    assert "filter_policy: bloomfilter" in (tmp_path / "out" / "LOG").read_text()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("preset: db_bench", "preset: library"), "store.preset: must be db_bench"),
        (("seed: 1", "seed: 0"), "workload.seed"),
        (("base: fillrandom, num: 1000, value_size: 200, seed: 1, benchmark_write_rate_limit: 5MB/s", "base: ycsb_a"), "Ycsb"),
    ],
)
def test_cases_without_db_bench_flags_are_refused(change: tuple[str, str], words: str) -> None:
    """A case that db_bench's flags cannot express raises an error with the key."""
    with pytest.raises(InputError, match=words):
        plan_of(CASE.replace(*change))


def test_limits_of_cgroup_v1(tmp_path: Path) -> None:
    """Caps are written to the throttle files by device number; counters are read by direction."""
    group = Cgroup(tmp_path, 1, "254:0")
    group.limit(CgroupCaps(write_bytes_per_s=80_000_000, ios_per_s=500))
    assert (tmp_path / "blkio.throttle.write_bps_device").read_text() == "254:0 80000000"
    assert (tmp_path / "blkio.throttle.read_iops_device").read_text() == "254:0 500"
    assert not (tmp_path / "blkio.throttle.read_bps_device").exists()
    (tmp_path / "blkio.throttle.io_service_bytes").write_text("8:0 Read 9\n254:0 Read 10\n254:0 Write 20\nTotal 39\n")
    (tmp_path / "blkio.throttle.io_serviced").write_text("254:0 Read 1\n254:0 Write 2\n")
    assert group.traffic() == CgroupTraffic(10, 20, 1, 2)


def test_limits_of_cgroup_v2(tmp_path: Path) -> None:
    """Caps are written to io.max and counters are read from io.stat."""
    group = Cgroup(tmp_path, 2, "254:0")
    group.limit(CgroupCaps(write_bytes_per_s=80_000_000, read_bytes_per_s=60_000_000))
    assert (tmp_path / "io.max").read_text() == "254:0 wbps=80000000 rbps=60000000"
    (tmp_path / "io.stat").write_text("254:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n")
    assert group.traffic() == CgroupTraffic(10, 20, 1, 2)
    assert Cgroup(tmp_path, 2, "8:0").traffic() == CgroupTraffic()


def test_a_place_without_a_disk_is_refused(tmp_path: Path) -> None:
    """Caps need a block device: an overlay or memory file system raises an error with the remedy."""
    with pytest.raises(InputError, match="--scratch"):
        disk_of(tmp_path, block_devices=tmp_path)


def test_space_is_checked_first(tmp_path: Path) -> None:
    """A recording that does not fit on the disk does not start."""
    with pytest.raises(InputError, match="--max-disk"):
        check_space(tmp_path, 10**18)


def test_recording_a_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two repeats leave compressed files and a block of means and ranges after the hand-written part of case.yaml."""
    folder = a_case(tmp_path / "tiny")
    tool, scratch = fake_tool(tmp_path), tmp_path / "scratch"
    scratch.mkdir()
    arguments = [str(folder), "--db-bench", str(tool), "--scratch", str(scratch), "--max-disk", "1MB"]
    assert record(arguments) == 0
    text = (folder / "case.yaml").read_text()
    assert text.startswith(CASE.rstrip())
    case = read_case(folder)
    assert case.measured["ops_per_s"] == 500
    assert case.measured["stall_fraction"] == 0.25
    assert case.measured["write_latency_s.p99"] == pytest.approx(6e-6)
    assert case.noise["ops_per_s"] == 0
    assert len(case.series) == len(case.logs) == 2
    speeds = yaml.safe_load(text)["record"]["speed"]
    assert [{"alone_s": 0.1, "crowded_s": 0.12, "drift": 0.0, "stolen": 0.0}] * 2 == speeds
    assert "finished" not in lzma.decompress((folder / "1" / "stdout.txt.xz").read_bytes()).decode()
    assert list(scratch.iterdir()) == [], "no database is left"
    capsys.readouterr()
    assert record(arguments) == 0
    assert "--again" in capsys.readouterr().out
    assert record([*arguments, "--again", "--repeats", "1"]) == 0
    assert (folder / "case.yaml").read_text().count(MARK) == 1


def test_another_release_is_refused(tmp_path: Path) -> None:
    """A db_bench of another release than the case's is refused, because rules and defaults differ."""
    folder = a_case(tmp_path / "tiny", CASE.replace('"7.8"', '"8.11"'))
    with pytest.raises(InputError, match=r"7\.8\.3.*8\.11"):
        record([str(folder), "--db-bench", str(fake_tool(tmp_path)), "--scratch", str(tmp_path), "--max-disk", "1MB"])
    assert not is_recorded(folder)


def test_one_case_that_fails_does_not_stop_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If one case fails, the others are recorded, the error is printed, and the exit code is 2."""
    failing = a_case(tmp_path / "cases" / "a", CASE.replace('"7.8"', '"8.11"'))
    good = a_case(tmp_path / "cases" / "b")
    arguments = ["--db-bench", str(fake_tool(tmp_path)), "--scratch", str(tmp_path), "--max-disk", "1MB", "--repeats", "1"]
    code = record([str(failing), str(good), *arguments])
    assert (2, False, True) == (code, is_recorded(failing), is_recorded(good))
    assert "lsmlab: " in capsys.readouterr().err


def test_a_missing_tool_is_refused(tmp_path: Path) -> None:
    """Without db_bench the error names --db-bench."""
    with pytest.raises(InputError, match="--db-bench"):
        record([str(a_case(tmp_path / "tiny")), "--db-bench", str(tmp_path / "no"), "--scratch", str(tmp_path)])


def test_a_run_over_its_time_is_killed(tmp_path: Path) -> None:
    """A run longer than --max-time is killed, and its database is removed."""
    database, out = tmp_path / "db", tmp_path / "out"
    plan = BenchPlan((), ("--report_file=" + str(out / "report.csv"),))
    began_s = time.monotonic()
    with pytest.raises(InputError, match="--max-time"):
        run_bench([str(fake_tool(tmp_path, 60.0))], plan, CgroupCaps(), Budget(0.5, 10**9), database, out)
    assert time.monotonic() - began_s < 30
    assert not database.exists()


def test_interruption_cleans_up(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """SIGTERM ends db_bench, removes the database and exits with 130."""
    folder = a_case(tmp_path / "tiny")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    tool = fake_tool(tmp_path, 60.0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = main(["record", str(folder), "--db-bench", str(tool), "--scratch", str(scratch), "--max-disk", "1MB"])
        finally:
            os._exit(code)
    for _ in range(200):
        if list(scratch.glob("*/db/LOG")):
            break
        time.sleep(0.05)
    os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert list(scratch.iterdir()) == []
    assert not is_recorded(folder)


def test_dry_run_shows_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run prints the command lines and needs no db_bench."""
    assert record([str(a_case(tmp_path / "tiny")), "--dry-run"]) == 0
    assert "db_bench --batch_size=1" in capsys.readouterr().out


def test_means_and_ranges() -> None:
    """Numbers become means, ranges are relative to the mean, and keys that one repeat lacks are left out."""
    means, noise = combine([{"a": 9.0, "b": {"p": 2.0}, "c": 1}, {"a": 11.0, "b": {"p": 2.0}}])
    assert means == {"a": 10, "b": {"p": 2}}
    assert noise == {"a": 0.2, "b": {"p": 0.0}}


def test_the_machines_speed_is_measured() -> None:
    """With all cores busy, the computation takes at least half its time alone; stolen time is per second of the run."""
    speed = measure_speed()
    assert 0.0 < speed.alone_s < 2.0 * speed.crowded_s
    assert speed_facts(Speed(0.1, 0.2, 3.0, 40.0), Speed(0.12, 0.2, 9.0, 100.0)) == {
        "alone_s": 0.11, "crowded_s": 0.2, "drift": 0.2, "stolen": 0.1
    }  # fmt: skip


@pytest.mark.parametrize(("alone_s", "stolen", "reported"), [(0.101, 0.0, False), (0.12, 0.0, True), (0.1, 0.3, True)])
def test_a_change_of_machine_speed_is_reported(alone_s: float, stolen: float, reported: bool) -> None:
    """Repeats with a slower reference computation or with stolen CPU time are reported."""
    repeats = [{"alone_s": 0.1, "crowded_s": 0.2, "stolen": 0.0}, {"alone_s": alone_s, "crowded_s": 0.2, "stolen": stolen}]
    assert reported == bool(speeds_differ(repeats))


def test_rocksdict_refuses_what_it_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    """db_bench in Python names the first flag that it does not support, before it opens a store."""
    assert 1 == rocksdict_bench.main(["--benchmarks=fillrandom", "--bloom_bits=10", "--db=nowhere"])
    assert "--bloom_bits is not supported" in capsys.readouterr().err
    assert 1 == rocksdict_bench.main(["--benchmarks=readrandom", "--db=nowhere"])
    assert "--benchmarks=readrandom is not supported" in capsys.readouterr().err
    assert 1 == rocksdict_bench.main(["--benchmarks=fillrandom", "--threads=2", "--db=nowhere"])


def test_rocksdict_leaves_the_files_of_a_recording(tmp_path: Path) -> None:
    """A tiny store in real RocksDB gives an outcome with the numbers of db_bench."""
    pytest.importorskip("rocksdict")
    flags = ("--benchmarks=fillrandom,stats", "--num=5000", "--value_size=100", f"--report_file={tmp_path}/report.csv")
    plan = BenchPlan((), flags)
    run_bench(rocksdict_tool(), plan, CgroupCaps(), Budget(60, 10**9), tmp_path / "db", tmp_path)
    measured = read_outcome(tmp_path)

    assert 5000 == measured["operations"]
    assert measured["write_latency_s"]["p50"] <= measured["write_latency_s"]["max"]
    assert "9.8" == recorded_version(tmp_path)[:3]
    assert not (tmp_path / "db").exists()


def test_counters_are_those_of_the_end_of_the_measured_time(tmp_path: Path) -> None:
    """Bytes on the device and blob files are interpolated between two readings; a store without blob files has no entry."""
    (tmp_path / "stdout.txt").write_text("fillrandom   :  2.000 micros/op 500 ops/sec 2.000 seconds 1000 operations;  0.1 MB/s\n")
    (tmp_path / "LOG").write_text("2026/11/20-23:00:00.000000 1 RocksDB version: 7.8.3\n")
    counters = "second,read_bytes,write_bytes,blob_files,blob_bytes\n1.0,0,100,2,200\n3.0,0,300,4,600\n"
    (tmp_path / "counters.csv").write_text(counters)
    measured = read_outcome(tmp_path)

    assert (0.0, 200.0) == (measured["device_bytes_read"], measured["device_bytes_written"])
    assert {"files": 3.0, "bytes": 400.0} == measured["blobs"]
    (tmp_path / "counters.csv").write_text(counters.replace(",2,200", ",0,0").replace(",4,600", ",0,0"))
    assert "blobs" not in read_outcome(tmp_path)
