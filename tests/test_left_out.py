"""lsmlab calibrate --leave-one-out: each case is predicted from constants that were fitted to the others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.calibrate import CASES, calibrate
from lsmlab.validation.calibrate.left_out import LeftOut, table


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
    assert ["host.compaction_record", "host.write_byte"] == found["leave_one_out"]["bw80_v200"]["at_prior"]
    assert ["host.flush_byte", "host.write_byte"] == found["leave_one_out"]["iops500_v400"]["at_prior"]


def test_one_case_cannot_be_left_out(tmp_path: Path) -> None:
    """The error names the folder."""
    shutil.copytree(CASES / "rl60_v200", tmp_path / "rl60_v200")

    with pytest.raises(InputError, match=r"contains one recorded case"):
        calibrate([str(tmp_path), "--leave-one-out"])


def test_the_table_ends_with_the_median_and_the_worst_error() -> None:
    """Errors have a sign, their summary has none; a number that was not recorded leaves a cell empty."""
    rows = [LeftOut("a", {"ops_per_s": -0.1, "stall_fraction": 0.02}, ("host.wal_op",)), LeftOut("b", {"ops_per_s": 0.3}, ())]

    assert table(rows).splitlines()[2:] == [
        "| a | -10.0 % |  | +2.0 points | host.wal_op |",
        "| b | +30.0 % |  |  |  |",
        "| **median** | 20.0 % |  | 2.0 points | |",
        "| **worst** | 30.0 % |  | 2.0 points | |",
    ]
