"""Public runs of real RocksDB as cases, if their data are present; `lsmlab validate` scores all of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.casefiles.public.cases import (
    CALIBRATION,
    DRIVES,
    is_calibration,
    merged,
    public_cases,
)
from lsmlab.validation.casefiles.public.table import DATA, SECOND, rows, runs_of, spread
from lsmlab.validation.casefiles.public.template import NOTHING, filled, value_of
from running import run

FOLDER = Path(__file__).parents[1] / DATA
HERE = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the public runs are not at {FOLDER}")


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    """Return all public cases by name."""
    return {case.name: case for case in public_cases(FOLDER)}


@HERE
def test_every_kind_of_row_is_a_case(cases: dict[str, Case]) -> None:
    """No row is lost: repeats of one configuration are one case, every other row is its own case."""
    kinds = Counter(name.partition("/")[0] for name in cases)

    assert {
        "throttled": 36, "ycsb": 8, "rate-limited": 25, "ablations": 36, "tree-shape": 12, "overwrite": 18,
    } == kinds  # fmt: skip


@pytest.fixture(scope="module")
def second() -> dict[str, Case]:
    """Return the cases of public_runs_2 by name."""
    return {case.name: case for case in public_cases(FOLDER, folder=SECOND)}


@pytest.mark.skipif(not FOLDER.with_name("public_runs_2").is_dir(), reason="public_runs_2 is not beside public_runs")
def test_the_second_half_is_a_test_set_of_its_own(second: dict[str, Case]) -> None:
    """All finished rows are cases, and calibration runs tell a drive's speed only; repeats of the defaults give the noise.

    A case names the option that the simulator does not have, and rows without a benchmark name are left out.
    """
    kinds = Counter(name.partition("/")[0] for name in second)
    defaults = second["ablations-2/io_option_advance-defaults-nvme-6.10"]

    assert {
        "throttled-2": 58, "readwhilewriting-2": 7, "ycsb-2": 61, "rate-limited-2": 12, "ablations-2": 143,
    } == kinds  # fmt: skip
    assert DRIVES == {case.name for case in second.values() if case.part == "calibration"}
    assert not any(second[name].logs for name in DRIVES if name.startswith("ycsb"))  # their LOGs begin after the load
    assert all(case.config()["engine"] for case in list(second.values())[::40])
    assert 0.025 == pytest.approx(defaults.noise["ops_per_s"], abs=0.005)  # 1.128 times the 2 % of the repeats
    assert defaults.noise["write_amplification"] == second[
        "ablations-2/io_option_advance-compaction_pri-1-nvme-6.10"
    ].noise["write_amplification"]
    assert "use_cuckoo_table" == second["ablations-2/io_option_advance-use_cuckoo_table-True-nvme-6.10"].not_expressed
    assert not any("hotspot" in case.source for case in second.values())
    assert "ops_per_s" not in second["ablations-2/io_option_advance-defaults-sata-6.10"].measured


def test_a_description_may_be_like_another(tmp_path: Path) -> None:
    """It takes entries of that description, replaces some at any depth, and removes those that are null."""
    data = tmp_path / "public_runs"
    (tmp_path / "public_runs_2").mkdir()
    data.mkdir()
    head = "path,bench,bw_limit_MiBps,device,jobs,version,key,value,entries_option,ops_sec,cum_stall_pct,opt_max_background_jobs"
    (tmp_path / "public_runs_2" / "throttled_fillrandom.csv").write_text(
        f"{head}\na/LOG,readwhilewriting,400,PM,4,6.4.0,16,1000,120000000,1000,50,4\nb/LOG,,400,PM,4,6.4.0,16,1000,,,,4\n"
    )
    (tmp_path / "public_runs_2" / "logs_index.csv").write_text("log,run_path\n")
    (found,) = runs_of("readwhilewriting-2", data)

    assert "readwhilewriting-2/400-4-pmem" == found["name"]
    assert "xeon_6230" == found["host"]["parameters"]
    assert ("readwhilewriting", 1000) == (found["workload"]["base"], found["workload"]["value_size"])
    assert {"ops_per_s": 1000, "duration_s": 120_000.0, "stall_fraction": 0.5} == found["measured"]


def test_the_noise_of_many_repeats_does_not_grow_with_their_number() -> None:
    """The noise of a few repeats is their range, of many the mean range of two, relative to the mean."""
    assert 0.2 == pytest.approx(spread([9.0, 10.0, 11.0]))
    assert spread([9.0, 11.0] * 5) == pytest.approx(spread([9.0, 11.0] * 50), rel=0.06)


@HERE
def test_every_case_has_a_configuration_and_a_measurement(cases: dict[str, Case]) -> None:
    """One case of each kind composes, and every case has measurements."""
    first = {name.partition("/")[0]: case for name, case in reversed(cases.items())}

    assert all(case.config()["engine"] for case in first.values())
    assert all(case.measured for case in cases.values())


@HERE
def test_calibration_runs_are_marked(cases: dict[str, Case]) -> None:
    """Runs to which the constants were fitted are in the calibration part, all others in the test part.

    A name that only begins as that of a calibration run is a test run.
    """
    assert 26 == sum(case.part == "calibration" for case in cases.values())
    assert all(name in cases for name in CALIBRATION)
    assert not is_calibration("throttled/none-20M-2-nvme-6.11")
    assert {name for name in cases if is_calibration(name)} == {n for n, c in cases.items() if c.part == "calibration"}
    assert all("/400-" not in name for name in cases if is_calibration(name))  # no run under a binding cap


@HERE
def test_w_amp_of_overwrite_runs_excludes_the_wal() -> None:
    """benchmark.sh counts the WAL in W-Amp; a case leaves out the WAL and the waiting time.

    The printed W-Amp is 1 + written / ingested, within 0.07 in all 25 rows.
    """
    table = list(rows(FOLDER / "overwrite_one_machine.csv"))
    printed = {(r["file"], r["version"]): float(r["w_amp"]) for r in table}
    ingested = {(r["file"], r["version"]): float(r["ops_sec"]) * 1800 * (12 + 1 + 1 + 20 + 2 + 400) for r in table}
    counted = {(r["file"], r["version"]): 1 + float(r["c_wgb"]) * 2**30 / ingested[r["file"], r["version"]] for r in table}

    assert len(table) == 25
    assert printed == {key: pytest.approx(value, abs=0.07) for key, value in counted.items()}
    for mapping in runs_of("overwrite", FOLDER):
        row = next(r for r in table if r["version"] in mapping["source"] and r["file"] in mapping["source"])
        without_wal = (float(row["w_amp"]) - 1) * 1800 / float(row["uptime"])
        assert 0.98 * without_wal < mapping["measured"]["write_amplification"] < 1.03 * without_wal


def test_repeats_become_means_and_ranges() -> None:
    """Measurements of repeats become their mean and the range relative to the mean; all LOGs are kept."""
    one: dict[str, Any] = {"name": "a", "measured": {"ops_per_s": 90.0}, "log": "x"}
    two: dict[str, Any] = {"name": "a", "measured": {"ops_per_s": 110.0}, "log": "y"}
    (found,) = merged(iter([one, two]))

    assert {"ops_per_s": 100.0} == found["measured"]
    assert {"ops_per_s": 0.2} == pytest.approx(found["noise"])
    assert ["x", "y"] == found["log"]




def test_missing_data_and_unknown_sets_end_in_one_line(tmp_path: Path) -> None:
    """A folder without the data and an unknown set raise errors with the remedy."""
    with pytest.raises(InputError, match="no such file"):
        next(public_cases(tmp_path, ("throttled",)))
    with pytest.raises(InputError, match="choose from throttled"):
        next(public_cases(tmp_path, ("throtled",)))


ROW = {"path": "2022/nvme/LOG", "device": "NVMeSSD", "num": "20000000", "rate": "2.5", "empty": ""}


@pytest.mark.parametrize(
    ("description", "value"),
    [
        ("{device} at {rate:.0f} MB/s", "NVMeSSD at 2 MB/s"),
        ("= num / 1e6 * 2**3 - -rate", 162.5),
        ("= round(num + 4, -1)", 20_000_000),
        ("{empty}", NOTHING),
        ("= rate * missing", NOTHING),
        (["{empty}", "= num", 3], 20_000_000),
        ({"column": "path", "pattern": "^([0-9]+)/"}, "2022"),
        ({"column": "path", "pattern": "^([A-Z]+)/"}, NOTHING),
        ({"column": "device", "map": {"NVMeSSD": "nvme"}}, "nvme"),
        ({"text": "{device}-x", "replace": {"NVMeSSD-y": "z"}}, "NVMeSSD-x"),
        ({"text": "{device}-x", "lookup": {"NVMeSSD-y": "z"}}, NOTHING),
        ({"column": "path", "beginnings": {"2021/": "old", "2022/": "new"}}, "new"),
        (None, None),
    ],
)
def test_descriptions_of_values(description: Any, value: Any) -> None:
    """Texts, arithmetic, alternatives and maps give the value that docs/how-to/add-public-runs.md defines, or none."""
    assert value_of(description, ROW) == value


def test_keys_without_a_value_are_left_out() -> None:
    """A filled mapping keeps its order, fills column names in keys, and leaves out keys with an empty column."""
    template = {"a.{device}.b": "= num", "cap": "{empty}MiB/s", "store": {"base": "{device}", "none": None}}

    assert {"a.NVMeSSD.b": 20_000_000, "store": {"base": "NVMeSSD", "none": None}} == filled(template, ROW)


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({"column": "device", "map": {"PM": "pmem"}}, "'NVMeSSD' is not one of PM"),
        ("= device + 1", "'NVMeSSD' is not a number"),
        ("= num +", "not arithmetic"),
        ("= open(num)", "not arithmetic"),
        ("= num if num else 1", "not arithmetic"),
    ],
)
def test_wrong_descriptions_are_refused(description: Any, words: str) -> None:
    """A cell that no map contains, text in arithmetic, and anything but arithmetic raise an error."""
    with pytest.raises(InputError, match=words):
        value_of(description, ROW)


def test_a_described_set_gives_runs(tmp_path: Path) -> None:
    """Rows of one run form one case, in all tables of the set; a bad cell raises an error with the table's path."""
    data, more = tmp_path / "public_runs", tmp_path / "public_runs_2" / "tree_shape.csv"
    for folder in (data, more.parent):
        folder.mkdir()
    head = "variant,num_keys,phase_file,level,size"
    (data / "tree_shape.csv").write_text(
        f"{head}\nfanout10,1000000,range1,L0,1.00KB\nfanout10,1000000,range1,L1,2.00MB\nfanout10,1000000,nobloom,L2,3GB\n"
    )
    more.write_text(f"{head}\nfanout8.v2,1000000,range1,L1,4.00MB\n")
    plain, without, narrow = runs_of("tree-shape", data)

    names = ["tree-shape/fanout10-1M", "tree-shape/fanout10-1M-nobloom", "tree-shape/fanout8.v2-1M"]
    assert names == [run["name"] for run in (plain, without, narrow)]
    assert [{"levels.1.bytes": 2.0 * 2**20}, {"levels.2.bytes": 3 * 2**30}] == [plain["measured"], without["measured"]]
    assert [10, 0, 10] == [run["store"]["options"]["bloom_bits"] for run in (plain, without, narrow)]
    assert [10, 8] == [run["store"]["options"]["max_bytes_for_level_multiplier"] for run in (plain, narrow)]
    more.write_text(f"{head}\nfanout8,many,range1,L0,1.00KB\n")
    with pytest.raises(InputError, match=r"tree_shape\.csv, by tables/tree-shape\.yaml: 'many' is not a number"):
        list(runs_of("tree-shape", data))


@HERE
def test_exact_keys_reproduce_every_job_count(cases: dict[str, Case]) -> None:
    """With db_bench's own key sequence, 10 minutes at 5 MB/s have the measured flushes, compactions and moves."""
    case = cases["rate-limited/600s-1000B-5MBps-nvme"]
    summary = run(case.config(["keys=exact"])).summary
    names = ("flush_count", "compaction_count", "trivial_move_count")

    assert [case.measured[n] for n in names] == [summary[n] for n in names]
    assert summary["write_amplification"] == pytest.approx(case.measured["write_amplification"], rel=1e-3)
