"""Recording with Maven's rocksdbjni: options as text, the search for the jar, messages, and real runs where a jar is present."""

from __future__ import annotations

import csv
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from lsmlab.models.errors import InputError
from lsmlab.models.text.files import read_text
from lsmlab.models.version import Version
from lsmlab.reports.cli.record import record
from lsmlab.validation.casefiles.case import case_from_mapping
from lsmlab.validation.recorder import rocksdbjni
from lsmlab.validation.recorder.command import BenchPlan, bench_plan
from lsmlab.validation.recorder.drivers import ROCKSDBJNI
from lsmlab.validation.recorder.limits import CgroupCaps
from lsmlab.validation.recorder.one_run import Budget, run_bench
from lsmlab.validation.recorder.outcome import read_outcome, recorded_version
from lsmlab.validation.recorder.rocksdbjni import MAVEN, download_command, find_jar, option_flags, rocksdbjni_tool

CASE = """name: tiny
source: a test
part: test
store: {engine: rocksdb, version: "9.8", preset: library, options: {write_buffer_size: 1MiB, max_background_jobs: 3}}
device: {base: nvme}
workload: {base: fillrandom, num: 4000, value_size: 200, threads: 2, seed: 1}
"""


def plan_of(text: str, report: Path = Path("report.csv")) -> BenchPlan:
    """Return the command lines of a case."""
    config = case_from_mapping(yaml.safe_load(text), Path()).config()
    return bench_plan(config, report, ROCKSDBJNI)


def a_jar(maven: Path, release: str, classifier: str = "-linux64", members: tuple[str, ...] = ()) -> Path:
    """Write a jar without classes where Maven keeps that of a release."""
    path = maven / release / f"rocksdbjni-{release}{classifier}.jar"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as jar:
        for name in members:
            jar.writestr(name, "")
    return path


@pytest.fixture(name="tool", scope="module")
def installed_tool(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command with the newest jar of this machine; skips without a JDK or a jar."""
    releases = [Version.parse(f.name) for f in MAVEN.expanduser().glob("*") if f.name[:1].isdigit()]
    if shutil.which("javac") is None or not releases:
        pytest.skip("needs a JDK and a jar of rocksdbjni in Maven's folder")
    return rocksdbjni_tool(None, str(max(releases)), tmp_path_factory.mktemp("java"))


def test_options_become_rocksdbs_own_text() -> None:
    """Options of the case have the names and values of an OPTIONS file; the workload has db_bench's flags."""
    flags = dict(f[2:].split("=", 1) for f in plan_of(CASE).measured)

    assert {"db.max_background_jobs": "3", "cf.write_buffer_size": str(1 << 20), "cf.compression": "kNoCompression"} == {
        name: value for name, value in flags.items() if name.startswith(("db.", "cf."))
    }
    assert ("fillrandom,stats", "2", "0.5") == (flags["benchmarks"], flags["threads"], flags["compression_ratio"])


ACTIONS = (
    "[{every: 12s, step: 0.1, ingest: {begin: 0, end: 0.1, files: 8}}, "
    "{at: 5s, compact: {bottommost_level_compaction: kSkip}}]"
)
FILTERED = CASE.replace("preset:", "compaction_filter_ttl: 30s, preset:")
BESIDE = FILTERED.replace("seed: 1", f"seed: 1, duration: 20s, actions: {ACTIONS}")
HELD = "conditions: {snapshots: [{at: 0.2s, renew: 0.4s}]}\n"


def test_actions_and_snapshots_become_one_flag() -> None:
    """It has actions and snapshots by name and setting; the files of ingestions are made before, without limits."""
    plan = plan_of(BESIDE + HELD)
    (files, flags) = (dict(f[2:].split("=", 1) for f in invocation) for invocation in (*plan.prefill, plan.measured))

    assert flags["actions"].split(";") == [
        "snapshot at=0.2 every=0.4", "ingest every=12 step=0.1 begin=0 end=0.1 files=8",
        "compact at=5 bottommost_level_compaction=kSkip",
    ]  # fmt: skip
    assert flags["compaction_filter_ttl"] == "30"
    assert ("ingestfiles", "fillrandom,stats") == (files["benchmarks"], flags["benchmarks"])


def test_structs_tables_and_write_options() -> None:
    """Members of structs and of the table are braced; what RocksDB does not read from text is a flag."""
    options = {
        "compaction_options_universal": {"size_ratio": 5}, "bloom_bits": 10, "cache_size": "1MiB", "disable_wal": True,
        "compression": "kZSTD", "rate_limiter_bytes_per_sec": "5MB/s",
    }  # fmt: skip

    assert {
        "cf.compaction_options_universal": "{size_ratio=5;}", "cf.compression": "kZSTD", "compression_ratio": 0.4,
        "cf.block_based_table_factory": "{filter_policy=bloomfilter:10:false;block_cache=1048576;}",
        "disable_wal": True, "rate_limiter_bytes_per_sec": 5_000_000,
    } == option_flags({"options": options, "compression_ratio": 0.4})  # fmt: skip
    assert "{no_block_cache=true;}" == option_flags({"options": {"cache_size": 0}})["cf.block_based_table_factory"]


def test_a_prefill_has_options_of_its_own() -> None:
    """The prefill's options reach RocksDB in the invocation that fills, without the rate limiter; the store's in the other."""
    own = "options: {bloom_bits: 10, write_buffer_size: 2MiB}"
    limited = CASE.replace("max_background_jobs: 3", "max_background_jobs: 3, rate_limiter_bytes_per_sec: 5MB/s")
    plan = plan_of(f"{limited}prefill: {{base: fillseq, num: 10, seed: 2, {own}}}\n")
    (prefill,) = plan.prefill

    assert {
        "--benchmarks=fillseq,flush,waitforcompaction", "--cf.write_buffer_size=2097152", "--db.max_background_jobs=3"
    } <= set(prefill)  # fmt: skip
    assert any("bloomfilter:10" in flag for flag in prefill)
    assert {"--cf.write_buffer_size=1048576", "--rate_limiter_bytes_per_sec=5000000"} <= set(plan.measured)
    assert not any("bloomfilter" in flag for flag in plan.measured)
    assert not any("rate_limiter" in flag for flag in prefill)


def test_the_presets_of_the_drivers_are_checked() -> None:
    """A case with db_bench's defaults is refused, because RocksDB in the jar has the library's."""
    with pytest.raises(InputError, match=r"store\.preset: must be library to record with rocksdbjni"):
        plan_of(CASE.replace("preset: library", "preset: db_bench"))


def test_the_newest_jar_of_the_release_is_found(tmp_path: Path) -> None:
    """Patch numbers are compared as numbers, other releases and classifiers are ignored, and a small jar is preferred."""
    for release, classifier in (("9.8.9", ""), ("9.8.10", ""), ("9.8.11", "-osx"), ("9.9.3", ""), ("10.8.1", "")):
        a_jar(tmp_path, release, classifier)
    (tmp_path / "maven-metadata-local.xml").write_text("")

    assert "rocksdbjni-9.8.10.jar" == find_jar("9.8", tmp_path).name
    a_jar(tmp_path, "9.8.10")
    assert "rocksdbjni-9.8.10-linux64.jar" == find_jar("9.8", tmp_path).name
    assert "9.9.3" == find_jar("9.9", tmp_path).parent.name


@pytest.mark.parametrize(("release", "words"), [("9.8", "rocksdbjni:9.8.4:jar:linux64"), ("8.3", r"8\.3\.PATCH.*last number")])
def test_a_missing_jar_is_refused_with_the_command(tmp_path: Path, release: str, words: str) -> None:
    """Without a jar of the release, the error names the command that gets one."""
    with pytest.raises(InputError, match=f"mvn dependency:get .*{words}.*--jar PATH"):
        find_jar(release, tmp_path)
    assert download_command(Version(8, 11)).endswith("-Dartifact=org.rocksdb:rocksdbjni:8.11.4:jar:linux64 -Dtransitive=false")


def test_without_java_nothing_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a JDK, the error names the package to install."""
    (tmp_path / "case.yaml").write_text(CASE)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="install a JDK, 11 or newer"):
        record([str(tmp_path), "--with", "rocksdbjni", "--jar", "any.jar", "--scratch", str(tmp_path)])


def test_unusable_jars_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a file that is no jar, and a jar without RocksDB or its classes give one error each."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(rocksdbjni.platform, "machine", lambda: "x86_64")
    failed: Any = subprocess.CompletedProcess([], 1, "", "error: package org.rocksdb does not exist\nmore")
    monkeypatch.setattr(rocksdbjni.subprocess, "run", lambda *_, **__: failed)
    text = tmp_path / "text.jar"
    text.write_text("no jar")
    for jar, words in (
        (tmp_path / "absent.jar", "No such file"), (tmp_path, "Is a directory"), (text, "not a jar"),
        (a_jar(tmp_path, "1.0"), "contains no RocksDB for Linux on x86_64"),
        (a_jar(tmp_path, "1.1", members=("librocksdbjni-linux64.so",)), "org.rocksdb does not exist.*release 8 or newer"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            rocksdbjni_tool(jar, "9.8", tmp_path / "java")


def test_a_jar_needs_its_driver(tmp_path: Path) -> None:
    """--jar with another driver is refused."""
    with pytest.raises(InputError, match="--jar: only --with rocksdbjni"):
        record([str(tmp_path), "--jar", "any.jar"])


def test_dry_run_needs_no_java(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """--dry-run prints the driver with its flags, without Java or a jar."""
    (tmp_path / "case.yaml").write_text(CASE)
    monkeypatch.setattr(shutil, "which", lambda name: None)

    assert 0 == record([str(tmp_path), "--with", "rocksdbjni", "--dry-run"])
    assert "  rocksdbjni --batch_size=1" in capsys.readouterr().out


def test_a_run_leaves_the_files_of_a_recording(tool: list[str], tmp_path: Path) -> None:
    """Two threads that write to real RocksDB give db_bench's numbers, the LOG and the OPTIONS file of the case."""
    run_bench(tool, plan_of(CASE, tmp_path / "report.csv"), CgroupCaps(), Budget(60, 10**9), tmp_path / "db", tmp_path)
    measured = read_outcome(tmp_path)

    assert 8000 == measured["operations"]
    assert 0.0 == measured["stall_fraction"]
    assert 0.0 < measured["write_latency_s"]["p50"] <= measured["write_latency_s"]["max"]
    assert recorded_version(tmp_path) in read_text(tmp_path / "LOG")
    options = (tmp_path / "OPTIONS").read_text().splitlines()
    assert {"  write_buffer_size=1048576", "  max_background_jobs=3", "  compression=kNoCompression"} <= set(options)
    assert not (tmp_path / "db").exists()


def test_reads_run_on_the_prefilled_store(tool: list[str], tmp_path: Path) -> None:
    """Readers beside a writer report their own operations; the report file counts those of each second."""
    text = CASE.replace("base: fillrandom", "base: readwhilewriting, duration: 1.2s, benchmark_write_rate_limit: 100kB/s")
    text += "prefill: {base: fillseq, num: 4000, seed: 2}\n"
    run_bench(tool, plan_of(text, tmp_path / "report.csv"), CgroupCaps(), Budget(60, 10**9), tmp_path / "db", tmp_path)
    measured = read_outcome(tmp_path)
    rows = list(csv.DictReader((tmp_path / "report.csv").open()))

    assert measured["read_latency_s"]["p50"] <= measured["read_latency_s"]["p999"]
    assert "write_latency_s" not in measured
    assert ["1"] == [row["secs_elapsed"] for row in rows]
    assert 0 < int(rows[0]["interval_qps"]) < measured["operations"] + 600, "100 kB/s are 463 puts per second"


def test_actions_run_beside_the_clients(tool: list[str], tmp_path: Path) -> None:
    """Each action reaches the store at its times; the files of an ingestion are there before the run."""
    actions = "[{every: 0.4s, step: 0.2, ingest: {begin: 0, end: 0.1, files: 2}}, {at: 0.2s, flush: {}}, {at: 0.5s, compact: {}},"
    actions += " {at: 0.3s, deleterange: {begin: 0.2, end: 0.4}}, {at: 0.3s, deletefilesinrange: {begin: 0.4, end: 0.5}}]"
    text = CASE.replace("seed: 1", f"seed: 1, duration: 1s, benchmark_write_rate_limit: 2MB/s, actions: {actions}") + HELD
    run_bench(tool, plan_of(text, tmp_path / "report.csv"), CgroupCaps(), Budget(60, 10**9), tmp_path / "db", tmp_path)
    log = read_text(tmp_path / "LOG")

    assert 4 == log.count("was ingested in L")
    assert "Manual compaction starting" in log or "ManualCompaction" in log
    assert "Manual Flush" in log


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--benchmarks=fillrandom", "--seek_nexts=3"), "--seek_nexts is not supported"),
        (("--benchmarks=fillrandom", "--batch_size=2"), "--batch_size=2 is not supported"),
        (("--benchmarks=seekrandom",), "--benchmarks=seekrandom is not supported"),
        (("--benchmarks=fillrandom", "--cf.colour=3"), "does not accept the option colour=3"),
        (("--benchmarks=fillrandom", "--num=many"), "--num=many: not a number"),
    ],
)
def test_what_it_cannot_run_is_refused(tool: list[str], tmp_path: Path, flags: tuple[str, ...], words: str) -> None:
    """The program names the first flag or option that it cannot use, in one line."""
    done = subprocess.run([*tool, *flags, f"--db={tmp_path}/db"], capture_output=True, text=True, check=False)

    assert 1 == done.returncode
    assert words in done.stderr
    assert 1 == len(done.stderr.splitlines())
