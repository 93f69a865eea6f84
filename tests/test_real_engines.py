"""Recorded runs of other stores as cases, and LevelDB's LOG."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from lsmlab.reports.cli.validate import validate
from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.casefiles.real import real_run
from lsmlab.validation.logs.leveldb import is_leveldb_log, leveldb_values
from lsmlab.validation.scorecard.real_engines import DATA, real_engine_cases

FOLDER = Path(__file__).parents[1] / DATA
HERE = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the recorded engines are not at {FOLDER}")
LOG = """\
2026/11/20-19:45:06.000000 7 Creating DB x since it was missing.
2026/11/20-19:45:06.400000 8 Level-0 table #5: started
2026/11/20-19:45:06.500000 8 Level-0 table #5: 4000000 bytes OK
2026/11/20-19:45:07.000000 8 Compacting 4@0 + 1@1 files
2026/11/20-19:45:07.300000 8 Level-0 table #9: 4000000 bytes OK
2026/11/20-19:45:07.900000 8 Compacted 4@0 + 1@1 files => 20000000 bytes
2026/11/20-19:45:07.900000 8 compacted to: files[ 1 10 0 0 0 0 0 ]
2026/11/20-19:45:08.000000 8 Moved #10 to level-2 2000000 bytes OK: files[ 1 9 1 0 0 0 0 ]
2026/11/20-19:45:09.500000 8 Compacted 1@1 + 9@2 files => 2000000 bytes
"""


def test_leveldb_log_is_counted_up_to_a_moment() -> None:
    """Only flushes, compactions and moves that ended within the measured seconds count."""
    values = leveldb_values(LOG, 3.0)

    assert is_leveldb_log(LOG)
    assert (2.0, 1.0, 1.0) == tuple(values[k] for k in ("flush_count", "compaction_count", "trivial_move_count"))
    assert 3.5 == values["write_amplification"]
    assert {"pairs.0-1.write_bytes": 2e7} == {k: v for k, v in values.items() if k.startswith("pairs.")}
    assert 10.0 == values["levels.1.files"]
    assert 3.75 == leveldb_values(LOG)["write_amplification"]


def test_a_rocksdb_log_is_no_leveldb_log() -> None:
    """RocksDB's LOG has similar lines, but also event lines."""
    text = "2026/11/20-19:45:06.4 7f EVENT_LOG_v1 {}\n2026/11/20-19:45:06.4 7f Level-0 table #5: 4106325 bytes OK\n"

    assert not is_leveldb_log(text)


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    """Return the recorded runs of engines that this version has, by name."""
    return {case.name: case for case in real_engine_cases(FOLDER) if isinstance(case, Case)}


@HERE
def test_every_run_is_a_case_or_names_its_missing_engine() -> None:
    """Each recorded configuration is a case or names the missing engine."""
    found = list(real_engine_cases(FOLDER))
    names = {case.name if isinstance(case, Case) else case[0] for case in found}

    assert {
        "adoc/bw60_wb8_base", "adoc/bw60_wb8_T", "adoc/bw60_wb8_B", "adoc/bw60_wb8_ADOC", "silk/lp_T40_p40_off",
        "silk/lp_T40_p40_prio2", "silk/lp_T40_p40_silk2", "leveldb/fr_T40_wb4",
    } <= names  # fmt: skip
    assert all("no entry" in case[1] for case in found if not isinstance(case, Case))


@HERE
def test_a_bad_folder_is_reported_and_the_others_are_cases(tmp_path: Path) -> None:
    """A folder without meta.json, with a command that lacks a setting or with a damaged file gives its reason.

    A run of ADOC without ADOC_MIN_MEMTABLE has the minimum of the released code.
    """
    for name in ("whole", "headless", "plain", "unset", "quoted", "cut"):
        shutil.copytree(FOLDER / "adoc" / "bw60_wb8_ADOC", tmp_path / "adoc" / name)
    folders = {name: tmp_path / "adoc" / name for name in ("headless", "plain", "unset")}
    folders["headless"].joinpath("meta.json").unlink()
    for name, word in (("plain", "ADOC_MIN_MEMTABLE="), ("unset", "--DOTA_tuning_gap=")):
        command = folders[name] / "command.txt"
        command.chmod(0o644)
        command.write_text(" ".join(w for w in command.read_text().split() if not w.startswith(word)))
    for name, damaged in (("quoted", "command.txt"), ("cut", "LOG.gz")):
        path = tmp_path / "adoc" / name / damaged
        path.chmod(0o644)
        path.write_bytes(b'--a="b\n' if name == "quoted" else path.read_bytes()[:5000])
    found = list(real_engine_cases(tmp_path))
    cases = {case.name: case.config() for case in found if isinstance(case, Case)}
    reasons = {case[0]: case[1] for case in found if not isinstance(case, Case)}

    assert {"adoc/whole": "8388608", "adoc/plain": "64MiB"} == {
        name: str(config["engine"]["tuner"]["least_batch"]) for name, config in cases.items()
    }
    assert {"adoc/headless", "adoc/unset", "adoc/quoted", "adoc/cut"} == set(reasons)
    assert "No closing quotation" in reasons["adoc/quoted"]
    assert "meta.json" in reasons["adoc/headless"]
    assert "the command sets no DOTA_tuning_gap" in reasons["adoc/unset"]


@HERE
def test_runs_of_other_kinds_are_refused(tmp_path: Path) -> None:
    """A flag, a benchmark or a mode that is not modelled is named; a fixed rate limit is an option of the store.

    Without this check such a run was simulated as the peaks and valleys of a filled store, and its rate limit was left out.
    """
    changes = {
        "silk/fill_T40_off": ("SILK_OFF=1 ", "LP_FILL=2000000 SILK_OFF=1 "),
        "silk/lp_T40_p40_rate_hi": ("--use_existing_db=1", "--use_existing_db=1 --rate_limiter_bytes_per_sec=30000000"),
        "silk/mixed": ("TRIAD_OFF=1 ", ""),
        "adoc/seq": ("--benchmarks=fillrandom", "--benchmarks=fillseq"),
        "adoc/snappy": ("--compression_type=none", "--compression_type=snappy"),
        "adoc/four": ("--seed=1234", "--threads=4"),
    }
    for name, (old, new) in changes.items():
        source = {"silk": "lp_T40_p40_off", "adoc": "bw60_wb8_base"}[name.partition("/")[0]]
        shutil.copytree(FOLDER / name.partition("/")[0] / source, tmp_path / name)
        command = tmp_path / name / "command.txt"
        command.chmod(0o644)
        first, _, rest = command.read_text().partition("\n")
        assert old in first
        command.write_text(f"{first.replace(old, new)}\n{rest}")
    found = list(real_engine_cases(tmp_path))
    reasons = {case[0]: case[1] for case in found if not isinstance(case, Case)}
    limited = next(case for case in found if isinstance(case, Case))

    assert changes.keys() - {"silk/lp_T40_p40_rate_hi"} == reasons.keys()
    assert "LP_FILL=2000000" in reasons["silk/fill_T40_off"]
    assert "SILK_OFF and TRIAD_OFF" in reasons["silk/mixed"]
    assert "--benchmarks=fillseq" in reasons["adoc/seq"]
    assert "--compression_type=snappy is not modelled" in reasons["adoc/snappy"]
    assert "--threads=4 is not modelled" in reasons["adoc/four"]
    assert 30_000_000 == limited.config()["engine"]["options"]["rate_limiter_bytes_per_sec"]


@HERE
def test_a_folder_of_that_form_is_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--engines DIR` scores the runs of DIR, and nothing else with `--only real_engines`."""
    shutil.copytree(FOLDER / "leveldb" / "fr_T40_wb4", tmp_path / "leveldb" / "mine")

    assert validate(["--only", "real_engines", "--engines", str(tmp_path), "--seeds", "1", "--no-report", "--json"]) == 0
    assert {"leveldb/mine"} == {row["name"] for row in json.loads(capsys.readouterr().out)["cases"]}


@HERE
def test_the_run_without_tuner_agrees_with_its_readme(cases: dict[str, Case]) -> None:
    """Throughput, stall share and W-Amp are those of the README's first row; the flags are the store's options."""
    case = cases["adoc/bw60_wb8_base"]
    real = real_run(case, case.config())

    assert 10953 == pytest.approx(real.values["ops_per_s"], rel=0.001)
    assert 0.973 == pytest.approx(real.values["stall_fraction"])
    assert 5.28 == pytest.approx(real.values["write_amplification"], abs=0.01)
    config = case.config()
    assert 8 * 2**20 == config["engine"]["options"]["write_buffer_size"]
    assert "rocksdb" == config["engine"]["name"]
    assert "0.7ns" == config["host"]["checksum_byte"]  # "Fast CRC32 supported: Not supported on x86"


@HERE
def test_the_silk_run_without_scheduler_has_its_initial_tree(cases: dict[str, Case]) -> None:
    """The case has 5, 46 and 305 files in L1 to L3, the measured arrival rate, and no stall."""
    case = cases["silk/lp_T40_p40_off"]
    config = case.config()

    levels = [row["level"] for row in config["initial_tree"]]
    assert [5, 46, 305] == [levels.count(level) for level in (1, 2, 3)]
    assert 9137 == pytest.approx(config["workload"]["peak_rate"], abs=1)
    assert "0s" == config["host"]["checksum_byte"]
    assert 0.0 == case.measured["stall_fraction"]
    assert 0.0127 == pytest.approx(case.measured["write_latency_s.p99"], rel=0.01)


@HERE
def test_repeats_of_leveldb_are_one_case(cases: dict[str, Case]) -> None:
    """Two runs of one command form one case with their mean."""
    if "leveldb/fr_T40_wb4" not in cases:
        pytest.skip("this version has no leveldb")
    case = cases["leveldb/fr_T40_wb4"]
    real = real_run(case, case.config())

    assert 2 == real.repeats
    assert 7110 == pytest.approx(real.values["ops_per_s"], rel=0.002)
    assert 0.66 == pytest.approx(real.values["slow_seconds"], abs=0.01)
    assert 5.6 == pytest.approx(real.values["write_amplification"], abs=0.02)
