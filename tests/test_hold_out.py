"""lsmlab calibrate --leave-one-out and --leave-group-out: cases and kinds of run are predicted from the others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.calibrate import calibrate
from lsmlab.validation.calibrate.fit import calibrate_cases
from lsmlab.validation.calibrate.hold_out import (
    CASES,
    KINDS,
    HeldOut,
    case_table,
    group_table,
    leave_group_out,
)
from lsmlab.validation.casefiles.case import read_case


@pytest.mark.slow
def test_each_case_is_predicted_from_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two capped runs predict each other's throughput, and the constants that only one of them shows are named."""
    for name in ("bw80_v200", "iops500_v400"):
        shutil.copytree(CASES / name, tmp_path / name)

    assert calibrate([str(tmp_path), "--leave-one-out", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert list(found["leave_one_out"]) == ["bw80_v200", "iops500_v400"]
    for row in found["leave_one_out"].values():
        assert abs(row["errors"]["ops_per_s"]) < 0.15
    assert ["host.compaction_record"] == found["leave_one_out"]["bw80_v200"]["at_prior"]
    assert ["host.flush_byte"] == found["leave_one_out"]["iops500_v400"]["at_prior"]


def test_one_case_cannot_be_left_out(tmp_path: Path) -> None:
    """The error names the folder."""
    shutil.copytree(CASES / "rl60_v200", tmp_path / "rl60_v200")

    with pytest.raises(InputError, match=r"contains one recorded case"):
        calibrate([str(tmp_path), "--leave-one-out"])


def test_the_table_ends_with_the_median_and_the_worst_error() -> None:
    """Errors have a sign, their summary has none; a number that was not recorded leaves a cell empty."""
    errors: dict[str, dict[str, float]] = {"a": {"ops_per_s": -0.1, "stall_fraction": 0.02}, "b": {"ops_per_s": 0.3}}
    rows = [HeldOut(name, (name,), {name: errors[name]}, ("host.wal_op",) if name == "a" else ()) for name in errors]

    assert case_table(rows).splitlines()[2:] == [
        "| a | -10.0 % |  | +2.0 points | host.wal_op |",
        "| b | +30.0 % |  |  |  |",
        "| **median** | 20.0 % |  | 2.0 points | |",
        "| **worst** | 30.0 % |  | 2.0 points | |",
    ]


def test_a_kind_is_predicted_from_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two capped runs, one has a cap on operations: the fit to the other one predicts it."""
    for name in ("bw80_v200", "iops500_v400"):
        shutil.copytree(CASES / name, tmp_path / name)

    assert calibrate([str(tmp_path), "--leave-group-out", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["leave_group_out"]

    assert list(found) == ["a cap on operations"], "all other kinds have no run or contain both"
    assert found["a cap on operations"]["left_out"] == ["iops500_v400"]
    assert abs(found["a cap on operations"]["errors"]["iops500_v400"]["ops_per_s"]) < 0.15


@pytest.mark.parametrize(
    ("case", "kinds"),
    [
        ("cpu_v1000_wal", ["a WAL", "no cap and no rate limiter", "values of 1000 bytes and more"]),
        ("rl60_v200", ["a rate limiter"]),
        ("rww_cpu_v200", ["several client threads", "clients that read", "no cap and no rate limiter"]),
        ("bw40_dyn_v400", ["dynamic level sizes"]),
    ],
)
def test_kinds_of_a_run(case: str, kinds: list[str]) -> None:
    """A run belongs to each kind whose condition its configuration meets."""
    config = read_case(CASES / case / "case.yaml").config([])

    assert kinds == [kind for kind, of_kind in KINDS.items() if of_kind(config)]


def test_cases_of_another_machine_are_refused(tmp_path: Path) -> None:
    """The error names the folder and the machine."""
    shutil.copytree(CASES / "rl60_v200", tmp_path / "rl60_v200")
    found = calibrate_cases(tmp_path)

    with pytest.raises(InputError, match=r"no recorded case with host\.parameters=recording_vm"):
        list(leave_group_out([CASES.parent / "calibration_epyc"], found))


def test_further_cases_need_the_groups(tmp_path: Path) -> None:
    """--also without --leave-group-out would simulate nothing."""
    with pytest.raises(InputError, match="only --leave-group-out"):
        calibrate([str(tmp_path), "--also", str(tmp_path)])


def test_the_table_has_median_p90_and_worst() -> None:
    """A kind that the calibration part does not contain says so."""
    errors = {"a": {"ops_per_s": -0.1, "stall_fraction": 0.02}, "b": {"ops_per_s": 0.3}}

    assert group_table([HeldOut("a WAL", (), errors, ("host.wal_op",))]).splitlines()[2:] == [
        "| a WAL | 2 | none in it | 20.0 / 30.0 / 30.0 % |  | 2.0 / 2.0 / 2.0 points | host.wal_op |"
    ]
