"""Months of growth in simulated windows (`lsmlab grow`)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.reports.decisions.growth import conclude
from lsmlab.sim.studies.growth.grow import difference, growth, measured
from lsmlab.sim.studies.growth.windows import (
    GrowthLoad,
    Horizon,
    check_comparable,
    full_config,
    load_of,
    usual_warm_s,
    window_configs,
)
from lsmlab.sim.studies.lengths import StoreState
from running import SMALL, configuration

GROWING = (
    *SMALL, "workload=constant", "workload.read=0", "workload.update=0", "workload.insert=1", "workload.rate=10k",
    "workload.num=100k", "workload.value_size=100",
)  # fmt: skip
HORIZON = Horizon(600.0, 3, 20.0, 20.0)


def test_windows_begin_with_the_keys_inserted_so_far() -> None:
    """The first window starts at the begin of the horizon, the last one ends with it; keys follow the inserts."""
    config = configuration(*GROWING)
    workloads = [one["workload"] for one in window_configs(config, HORIZON)]

    assert [0.0, 280.0, 560.0] == HORIZON.begins_s
    assert [500_000, 3_300_000, 6_100_000] == [w["num"] for w in workloads]
    assert [100_000, 2_900_000, 5_700_000] == [round(w["num"] * w["preload"]) for w in workloads]
    assert {40.0} == {w["duration"] for w in workloads}
    assert (6_100_000, 600.0) == tuple(full_config(config, HORIZON)["workload"][k] for k in ("num", "duration"))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["workload=fillrandom"], "needs a generic workload"),
        (["workload=full_speed", "workload.insert=1"], "a closed loop has no rate"),
        (["workload=constant"], "workload.insert: must be above 0"),
    ],
)
def test_a_load_without_known_growth_is_refused(overrides: list[str], message: str) -> None:
    """Each load that cannot be followed over months gives one error with its key."""
    with pytest.raises(InputError, match=message):
        load_of(configuration(*overrides))


@pytest.mark.parametrize(("length_s", "count", "message"), [(600.0, 1, "at least 2"), (100.0, 3, "shorter than its windows")])
def test_bad_horizons_are_refused(length_s: float, count: int, message: str) -> None:
    """A horizon has at least two windows and is longer than they are."""
    with pytest.raises(InputError, match=message):
        Horizon(length_s, count, 20.0, 20.0)


def test_the_usual_warm_up_writes_a_share_of_the_keys_and_fits() -> None:
    """Clients write 30 % of the keys at the end, unless the windows then were longer than the horizon."""
    load = GrowthLoad(keys=1e6, inserts_per_s=100.0, writes_per_s=1000.0)

    assert 600.0 == usual_warm_s(load, 10_000.0, 2, 60.0)
    assert 190.0 == usual_warm_s(load, 1000.0, 4, 60.0)


def test_a_check_needs_the_same_load_in_windows_and_full_run() -> None:
    """Updates of the keys at the start are another load in a full run; inserts and recent keys are the same in both."""
    check_comparable(configuration(*GROWING))
    check_comparable(configuration(*GROWING, "workload.update=1", "workload.distribution=latest"))
    with pytest.raises(InputError, match="--check"):
        check_comparable(configuration(*GROWING, "workload.update=1"))


def test_numbers_of_a_part_of_a_run() -> None:
    """Rates and shares count the seconds inside, jobs the time of their end, space the last second."""
    second = np.arange(1.0, 5.0)
    series: dict[str, Any] = {
        "t_s": second, "write_ops": second, "read_ops": 0 * second, "write_p99_s": second / 10, "stall_l0_stop_s": [0, 0, 0.5, 0],
        "write_bytes_flush_per_s": 10 * second, "level_bytes_0": 100 * second, "level_bytes_1": second,
    }  # fmt: skip
    jobs = {"end_s": [1.0, 3.0, 3.5], "write_bytes": [7, 10, 30], "kind": ["flush", "flush", "compaction"]}
    found = measured({k: np.asarray(v) for k, v in series.items()}, jobs, 2.0, 4.0, 35.0 * 365.25 * 86400.0)

    assert {
        "ops_per_s": 3.5, "write_p99_s": 0.35, "write_amplification": 4.0, "stalled": 0.25, "space_bytes": 404.0,
        "written_per_s": 35.0, "life_years": 1.0,
    } == pytest.approx(found)  # fmt: skip


def test_errors_are_relative_or_in_points_and_wear_adds_up() -> None:
    """Shares differ in points, other numbers relatively; the wear at an age is the integral of the rate up to it."""
    numbers = {"ops_per_s": 11.0, "stalled": 0.3, "life_years": None, "write_p99_s": 1.0, "write_amplification": 5.0,
               "space_bytes": 1.0, "written_per_s": 2.0}  # fmt: skip
    answer = growth("store", HORIZON, GrowthLoad(1.0, 0.0, 1.0), [numbers] * 3, [{**numbers, "ops_per_s": 10.0}] * 3, 1200.0)

    assert (pytest.approx(0.1), pytest.approx(0.1)) == (difference("ops_per_s", 11.0, 10.0), difference("stalled", 0.3, 0.2))
    assert [60.0, 620.0, 1180.0] == [row.written_bytes for row in answer.windows]
    assert answer.errors is not None
    assert ([None] * 3, [0.0] * 3) == (answer.errors["life_years"], answer.errors["stalled"])
    assert [0.05, 0.51667, 0.98333] == pytest.approx([row.endurance_used for row in answer.windows], rel=1e-3)


def test_the_conclusion_says_what_changes_and_which_window_had_not_settled() -> None:
    """The answer gives the change of each number, the wear, the bottleneck, and each window whose numbers are doubtful."""
    numbers = {"ops_per_s": 11.0, "stalled": 0.3, "life_years": 2.5, "write_p99_s": 1.0, "write_amplification": 5.0,
               "space_bytes": 1.0, "written_per_s": 2.0}  # fmt: skip
    later = {**numbers, "write_amplification": 7.0}
    answer = growth("store", HORIZON, GrowthLoad(1e6, 1e4, 1.0), [numbers, numbers, later], None, 1200.0)
    steady, doubtful = StoreState(40.0, None, "the drive is busy", ""), StoreState(40.0, "L0 grows", "the drive is busy", "")
    found = conclude(replace(answer, states=[steady, doubtful, steady], command="lsmlab grow store --horizon 600s"))

    assert found.answer.startswith("With 1 of 3 windows not settled: within ")
    assert "W-Amp from 5.00 to 7.00" in found.answer
    assert "ops/s stays 11" in found.answer
    assert "98 % of the rated writes" in " ".join(found.more)
    assert "the drive is busy" in " ".join(found.why)
    assert "5.17 min (L0 grows)" in " ".join(found.how_sure)
    assert "lsmlab grow store --horizon 600s" == found.command


def test_windows_of_a_growing_store_agree_with_a_full_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Windows from prepared trees give the write amplification and space of one run over the whole horizon."""
    overrides = [text for one in GROWING for text in ("--set", one)]
    command = ["grow", "seed=1", *overrides, "--horizon", "10min", "--windows", "3", "--window", "40s", "--check", "-j", "1"]

    assert 0 == main([*command, "--out", str(tmp_path / "g")])
    answer = json.loads((tmp_path / "g" / "growth.json").read_text())
    assert max(map(abs, answer["errors"]["ops_per_s"])) < 0.01
    assert max(map(abs, answer["errors"]["space_bytes"])) < 0.03
    assert max(map(abs, answer["errors"]["write_amplification"])) < 0.12
    assert "Errors against one run" in capsys.readouterr().out
    page = (tmp_path / "g" / "report.html").read_text()
    assert all(text in page for text in ("Write amplification", "full run", "window_3/report.html"))
