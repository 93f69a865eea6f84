"""Comparisons: names, differences, settings and curves of several runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lsmlab.reports.charts import COMPARED_OVER_TIME, Chart
from lsmlab.reports.cli.main import main
from lsmlab.reports.comparison.members import members
from lsmlab.reports.comparison.settings import differing
from lsmlab.reports.differences import sum_up
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.curves import operations, operations_ahead, throughput_differences
from lsmlab.reports.parts import escaped
from lsmlab.reports.run_data import RunData, load_run
from lsmlab.sim.studies.compare import Comparison
from lsmlab.sim.studies.differences import Difference
from report_fixture import write_run

QUICK = ["workload.num=20k", "workload.duration=1s", "engine.options.write_buffer_size=256KiB"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[RunData]:
    """Return a run of 60 s and one of 40 s at half the speed."""
    folder = tmp_path_factory.mktemp("pair")
    fast = write_run(folder / "fast", seconds=60, stalls=5, jobs=30)
    return [load_run(fast), load_run(write_run(folder / "slow", seconds=40, stalls=5, jobs=30, speed=0.5))]


def values(figure: Figure, trace: int) -> np.ndarray[Any, Any]:
    """Return the y values of a trace."""
    import base64

    packed = figure.traces[trace]["y"]
    return np.frombuffer(base64.b64decode(packed["bdata"]), dtype=f"<{packed['dtype']}")


def difference(**changes: Any) -> Difference:
    """Return a difference of throughput by a tenth, beyond the error."""
    return replace(Difference("ops_per_s", 1.0, 1.1, 0.1, 0.05, 0.15, relative=True, tie=False, certain=True), **changes)


def test_a_comparison_with_seeds_sums_up_its_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints a sentence per run, and writes the same differences to comparison.json and the page."""
    line = ["compare", "device=nvme,sata", *QUICK, "-j", "1", "--replications", "2", "--out", str(tmp_path)]
    assert 0 == main(line)
    out = capsys.readouterr().out
    first, second = Comparison.read(tmp_path / "comparison.json").runs

    assert ([], ["nvme", "sata"], [1, 2]) == (first.differences, [first.name, second.name], second.seeds)
    assert sum_up("sata", "nvme", second.differences) in " ".join(out.split())
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert escaped(sum_up("sata", "nvme", second.differences)) in page
    assert "sata against nvme</h3>" in page
    assert {"nvme", "sata"} == {p.name for p in tmp_path.iterdir() if p.is_dir()}  # further seeds stay in the run store


def test_sentences_claim_no_more_than_the_intervals() -> None:
    """A change within its interval is no difference, a tie is exactly the same, and a tie of all numbers says so."""
    unclear = difference(metric="write_amplification", certain=False, low=-0.1)
    tie = difference(metric="stall_fraction", tie=True, certain=False, change=0.0, low=0.0, high=0.0)

    assert (
        "b against a: throughput +10.0% (+5.0 to +15.0); no difference beyond the error in write amp; "
        "stalled time exactly the same."
    ) == sum_up("b", "a", [difference(), unclear, tie])
    unknown = difference(low=None, high=None, certain=False)
    assert "b against a: throughput +10.0% (the model's error is not known)." == sum_up("b", "a", [unknown])
    assert "exactly the same results as a" in sum_up("b", "a", [tie])
    assert "no number in common" in sum_up("b", "a", [])


def test_choices_of_the_user_come_first() -> None:
    """The values that the user varied form the table; all other differing values follow from them."""
    configs = [{"device.name": n, "device.speed": s, "seed": "1"} for n, s in (("nvme", "2"), ("sata", "1"))]

    changed, following = differing(configs, [{"device": "nvme"}, {"device": "sata"}])

    assert [("device", ["nvme", "sata"])] == changed
    assert ["device.name", "device.speed"] == [key for key, _ in following]


def test_runs_have_short_names(tmp_path: Path, pair: list[RunData]) -> None:
    """Runs of a command are named by the choices in which they differ, others by folder; without comparison.json, seeds are 1."""
    assert ["fast", "slow"] == [one.name for one in members(pair, tmp_path)]
    assert [1, 1] == [one.seeds for one in members(pair, tmp_path)]
    for run, jobs in zip(pair, "48", strict=True):
        choices = {"device": "sata", "engine.options.max_background_jobs": jobs}
        (run.directory / "run.json").write_text(json.dumps({"choices": choices}), encoding="utf-8")

    assert ["4 jobs", "8 jobs"] == [one.name for one in members(pair, tmp_path)]


def test_difference_curves_cover_the_common_time(pair: list[RunData]) -> None:
    """The difference is that of the operations of each common second, and the operations ahead are its sum."""
    names = ["fast", "slow"]
    expected = operations(pair[1]) - operations(pair[0])[:40]

    np.testing.assert_allclose(expected, values(throughput_differences(pair, names), 0), rtol=1e-5)
    np.testing.assert_allclose(np.cumsum(expected), values(operations_ahead(pair, names), 0), rtol=1e-5)


@pytest.mark.parametrize("chart", COMPARED_OVER_TIME, ids=lambda chart: chart.name)
def test_curves_share_the_time_axis(pair: list[RunData], chart: Chart) -> None:
    """Each curve has a line per run in a style of its own, and the time axis of the longest run."""
    assert chart.of_runs is not None
    figure = chart.of_runs(pair, ["fast", "slow"])

    assert figure is not None
    assert figure.timeline
    assert 60.0 == figure.layout["xaxis"]["autorangeoptions"]["maxallowed"]
    assert len(figure.traces) == len({trace["line"].get("dash") for trace in figure.traces})
    assert figure.caption
