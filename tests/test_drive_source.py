"""Every result says first whether the speed of its drive is a data sheet's."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsmlab.reports.cli.main import main
from lsmlab.reports.drive_source import DATA_SHEET, drive_sentence, drive_sentence_of_request
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.studies.whatif import WhatIfRequest

MACHINE = (
    "version: 1\ndevices: {nvme: {write_bandwidth: 900MB/s}}\nstandard_errors: {devices: {nvme: {write_bandwidth: 9MB/s}}}\n"
)
SHORT = ("workload.duration=1s", "workload.num=50k")


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ([], True), (["device=sata"], True), (["host.parameters=recording_vm"], False),
        (["host.parameters=recording_vm", "device=sata"], True), (["limits.write_cap=60MB/s"], False),
    ],
)  # fmt: skip
def test_a_drive_without_a_measurement_is_a_data_sheet(overrides: list[str], said: bool) -> None:
    """A set with the error of the drive's bandwidth has measured it; a set of another drive has not; a cap decides alone."""
    assert (DATA_SHEET if said else "") == drive_sentence(compose(overrides))


def test_runs_say_it_below_their_title(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Terminal, page and conclusion have the sentence, unless the machine was measured."""
    assert main(["run", *SHORT, "--out", str(tmp_path / "sheet")]) == 0
    assert DATA_SHEET == capsys.readouterr().out.splitlines()[1]
    assert "a data sheet" in (tmp_path / "sheet" / "report.html").read_text()
    file = tmp_path / "machine.yaml"
    file.write_text(MACHINE)
    assert main(["run", f"machine={file}", *SHORT, "--no-report", "--out", str(tmp_path / "own")]) == 0
    assert DATA_SHEET not in capsys.readouterr().out


def test_questions_say_it_of_their_present_state() -> None:
    """A what-if on an override has the drive of the override."""
    assert DATA_SHEET == drive_sentence_of_request(WhatIfRequest(store="device=sata"))
    assert drive_sentence_of_request(WhatIfRequest(store="device=nvme", set=("host.parameters=recording_vm",))) == ""
