"""Values that no store can have: refused in one line that names the key, or simulated differently with a note."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.options.options import resolve_options
from lsmlab.models.version import Version
from lsmlab.models.workloads.make import make_workload
from lsmlab.models.workloads.trace import TraceColumn, read_trace
from lsmlab.sim import process_memory
from lsmlab.sim.setting import Setting
from lsmlab.sim.setup import set_up
from lsmlab.validation.casefiles.curves import read_series
from running import configuration

GENERIC = {"_target_": "lsmlab.models.workloads.generic.Constant", "rate": 100}
YCSB = {"_target_": "lsmlab.models.workloads.ycsb.Ycsb"}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("workload.num", 10**18, r"workload\.num: .* sampled keys need .* GB of memory; this machine has 16: choose fewer keys"),
        ("workload.duration", 10**15, r"workload\.duration: a row for each of 1e\+15 seconds need .*: choose a shorter"),
        ("workload.value_size", "400GB", r"workload: value_size: 4e\+11 bytes are out of range; a store refuses .* 4 GiB"),
        ("workload.key_size", "5GiB", r"workload: key_size: .* bytes are out of range"),
        ("workload.value_k", 10**400, r"workload\.value_k: 10+… is not a finite number"),
        ("workload.value_k", float("nan"), r"workload\.value_k: nan is not a finite number"),
    ],
)
def test_absurd_values_are_refused(key: str, value: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal comes before NumPy allocates anything, and names the key."""
    monkeypatch.setattr(process_memory, "memory_bytes", lambda: 16e9)
    config = configuration("workload=constant")
    group, name = key.split(".")
    config[group][name] = value

    with pytest.raises(InputError, match=message):
        set_up(Setting.of(config))


def test_large_stores_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten billion keys, and a run of a year, fit in a machine of 16 GB."""
    monkeypatch.setattr(process_memory, "memory_bytes", lambda: 16e9)
    config = configuration("workload=constant", "workload.num=10G", "workload.duration=365d")

    assert set_up(Setting.of(config)).families


@pytest.mark.parametrize(
    ("values", "simulated"),
    [
        ({**GENERIC, "read": 0.7, "update": 0.7}, "read 0.5, update 0.5"),
        ({**GENERIC, "read": 0.3, "update": 0.1}, "read 0.75, update 0.25"),
        ({**YCSB, "readproportion": 1, "insertproportion": 0.95}, "read 0.5, update 0.025, insert 0.475"),
    ],
)
def test_proportions_that_do_not_add_up_are_noted(values: dict[str, Any], simulated: str) -> None:
    """The note has the sum and the shares that are simulated."""
    (note,) = make_workload(values).notes

    assert note.endswith(f"not 1; simulated as {simulated}")


@pytest.mark.parametrize("values", [GENERIC, YCSB, {**YCSB, "load": True}, {**GENERIC, "read": 0.7, "update": 0.3}])
def test_proportions_that_add_up_need_no_note(values: dict[str, Any]) -> None:
    """Nothing is said about proportions that add up to 1, or have no effect."""
    assert make_workload(values).notes == ()


def test_a_release_after_the_newest_known_is_noted() -> None:
    """Its rules are those of the newest known release, which the note names; that release has no note."""
    assert any("12.0 is newer than 11.8" in note for note in resolve_options(Version(12, 0), "library", {}).notes)
    assert not any("newer" in note for note in resolve_options(Version(11, 8), "library", {}).notes)


@pytest.mark.parametrize(("text", "limit"), [("1048576\n", 2.0**20), ("max\n", math.inf), (None, math.inf)])
def test_a_container_has_less_memory_than_its_machine(
    text: str | None, limit: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its limit counts; a word in its place, or no file, is no limit."""
    monkeypatch.setattr(process_memory, "CGROUP", tmp_path / "memory.max")
    machine_bytes = process_memory.memory_bytes.__wrapped__()
    if text is not None:
        (tmp_path / "memory.max").write_text(text)

    assert min(machine_bytes, limit) == process_memory.memory_bytes.__wrapped__()


def test_times_of_a_trace_that_numbers_cannot_tell_apart(tmp_path: Path) -> None:
    """A time beyond all others leaves no length between them; the message names the file."""
    path = tmp_path / "trace.csv"
    path.write_text("-1e308,100\n1,300\n2,40\n")

    with pytest.raises(InputError, match=r"trace\.csv: its times differ by more than numbers can tell apart"):
        read_trace(path, TraceColumn.OPERATIONS)


def test_a_cell_that_is_too_long(tmp_path: Path) -> None:
    """A cell above the limit of CSV files is an error that names the file."""
    path = tmp_path / "report.csv"
    path.write_text("0,1\n1," + "9" * 200_000 + "\n")

    with pytest.raises(InputError, match=r"report\.csv cannot be read"):
        read_series(path)
