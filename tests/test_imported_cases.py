"""Reruns and what-ifs from LOGs: the settings that come from the LOG and those of the run to predict."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsmlab.validation.casefiles.case import Case, read_case
from lsmlab.validation.checkout import OWN_CASES
from lsmlab.validation.scorecard.imported_cases import LogMachine, reruns, what_ifs

ABSENT = Path("no such folder")
CALIBRATION = OWN_CASES / "calibration"


@pytest.fixture(scope="module")
def source() -> LogMachine:
    """Return a recorded case with a cap of 80 MB/s."""
    return LogMachine(read_case(CALIBRATION / "bw80_v200"))


def test_a_rerun_takes_all_but_the_cores_from_the_log(source: LogMachine) -> None:
    """Options, load, device and costs come from the LOG, only the number of cores from the case."""
    again = source.rerun()
    assert again is not None
    config = again.config()

    assert 4 * 2**20 == config["engine"]["options"]["write_buffer_size"]
    assert (16.0, 200.0) == (config["workload"]["key_size"], config["workload"]["value_size"])
    assert 80e6 == pytest.approx(config["device"]["write_cap"], rel=0.1)
    assert 2 == config["host"]["cores"]
    assert config["host"]["parameters"] != source.case.config()["host"]["parameters"]
    assert not again.logs


def test_a_what_if_takes_store_and_load_from_its_target(source: LogMachine) -> None:
    """Host and device come from the LOG, all other settings from the target case."""
    target = read_case(OWN_CASES / "test" / "fan4_bw80")
    asked = source.what_if(target)
    own = {"host", "device"}

    assert {o for o in target.overrides if o.split("=")[0].split(".")[0] not in own} <= set(asked.overrides)
    assert set(source.machine) <= set(asked.overrides)
    assert "fan4_bw80 (bw80_v200)" == asked.name
    assert target.measured["ops_per_s"] == asked.measured["ops_per_s"]


def test_predicted_runs() -> None:
    """Closed-loop writers are rerun, what-ifs stay on one machine, and quarantined cases are left out."""
    again, asked = [*reruns(CALIBRATION, ABSENT)], [*what_ifs(CALIBRATION, ABSENT)]

    assert {"bw80_v200 (rerun)", "cpu_v100 (rerun)", "rl60_v200 (rerun)"} <= _names(again)
    assert not [name for name in _names([*again, *asked]) if name.startswith(("rww", "q_", "rate"))]
    assert "rl60_v200 (cpu_v100)" in _names(asked)
    assert not [*reruns(ABSENT, ABSENT), *what_ifs(ABSENT, ABSENT)]


def _names(cases: list[Case]) -> set[str]:
    return {case.name for case in cases}
