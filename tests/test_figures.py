"""Figures on the data that mislead a reader: gaps in bands, a partial last second, one dot, columns with unknown values."""

from __future__ import annotations

import base64
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lsmlab.reports.charts import DEVICE, STALLED, THROUGHPUT, of_run, of_runs
from lsmlab.reports.explorer.packing import narrowed
from lsmlab.reports.figures.base import envelope, number_range
from lsmlab.reports.figures.changes import SHOWN, change_figure
from lsmlab.reports.figures.latency import latency_distribution
from lsmlab.reports.figures.sweep import number_axis
from lsmlab.reports.run_data import RunData, load_run
from lsmlab.reports.run_page import run_page
from lsmlab.reports.timeline import Timeline
from lsmlab.sim.studies.differences import Difference
from report_fixture import write_run

LONG_S = 3001
"""Seconds of a run whose points stand for several seconds, and the last one for a single one."""


def unpacked(values: dict[str, str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the numbers that a trace contains."""
    return np.frombuffer(base64.b64decode(values["bdata"]), f"<{values['dtype']}").astype(float)


def ended(folder: Path, seconds: int, *, lacking_s: float, **facts: Any) -> RunData:
    """Return a run of steady writes whose last second lacks `lacking_s` seconds, and all its amounts that share."""
    run = load_run(write_run(folder, seconds=seconds, stalls=0, jobs=20, reads=False))
    names = ("write_ops", *(name for name in run.series if name.startswith(("read_bytes_", "write_bytes_"))))
    steady = {**{name: np.full(seconds, 1000.0) for name in names}, "stall_l0_stop_s": np.full(seconds, 0.5)}
    for values in steady.values():
        values[-1] *= 1.0 - lacking_s
    return replace(run, series={**run.series, **steady}, summary={**run.summary, "duration_s": seconds - lacking_s, **facts})


def known(trace: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the values of a trace without gaps."""
    y = unpacked(trace["y"])
    return y[np.isfinite(y)]


def test_gaps_split_a_band() -> None:
    """Each stretch between two gaps is a closed area of its own; no area reaches over a gap."""
    nan = float("nan")
    band = envelope([0, 1, 2, 3, 4], [1, 1, nan, 5, nan], [2, 3, nan, 6, 7], "band", "#0072B2")
    x, y = unpacked(band["x"]), unpacked(band["y"])

    assert np.array_equal([0, 1, 1, 0, nan, 3, 3, nan], x, equal_nan=True)
    assert np.array_equal([1, 1, 3, 2, nan, 5, 6, nan], y, equal_nan=True)
    assert not len(unpacked(envelope([0.0], [nan], [nan], "none", "#0072B2")["x"]))


@pytest.mark.parametrize("seconds", [10, LONG_S])
@pytest.mark.parametrize("lacking_s", [0.6, 0.95])
def test_a_partial_last_second_is_no_drop(tmp_path: Path, seconds: int, lacking_s: float) -> None:
    """Rates of a steady run stay level to the end in every figure of rates, also where the last second is too short to tell."""
    run = ended(tmp_path / "run", seconds, lacking_s=lacking_s)
    figures = of_run((THROUGHPUT, DEVICE), run, Timeline.of(run.times_s))
    figures += of_runs((THROUGHPUT, DEVICE, STALLED), [run, run], ["a", "b"])
    lines = [(figure.id, trace["name"], known(trace)[-4:]) for figure in figures for trace in figure.traces]

    assert {"writes", "a", "b", "flush"} <= {name for _, name, _ in lines}
    for figure, name, last in lines:
        assert last == pytest.approx(last[0], rel=1e-6), (figure, name)


def test_operations_end_where_a_log_tells_no_more(tmp_path: Path) -> None:
    """After the last memtable that a LOG saw flushed, the throughput is unknown, not 0."""
    run = ended(tmp_path / "run", LONG_S, lacking_s=0.0, operations_until_s=LONG_S - 10.5)
    run.series["write_ops"][-10:], run.series["write_ops"][-11] = 0.0, 500.0
    (figure,) = of_run((THROUGHPUT,), run, Timeline.of(run.times_s))

    assert all(known(trace) == pytest.approx(1000.0) for trace in figure.traces)
    assert np.isnan(run.rate("write_ops")[-10:]).all()


def change(low: float, middle: float, high: float) -> Difference:
    """Return a certain change of throughput."""
    return Difference("ops_per_s", 1.0, 1.0 + middle, middle, low, high, relative=True, tie=False, certain=True)


@pytest.mark.parametrize("size", [9.0, 75.0, 0.4, -0.4])
def test_an_axis_of_one_dot_shows_its_distance_from_no_change(size: float) -> None:
    """The axis of changes reaches from no change to the dot, however large, and no dot is moved to fit."""
    figure = change_figure(SHOWN[0], [("sata", change(size, size, size))])
    axis = figure.layout["xaxis"]
    (trace,) = figure.traces
    logarithmic = axis.get("type") == "log"
    place = np.log10(trace["x"][0]) if logarithmic else trace["x"][0]

    assert trace["x"] == pytest.approx([1.0 + size if logarithmic else 100.0 * size])
    assert axis["range"][0] < min(0.0, place) <= max(0.0, place) < axis["range"][1]


def test_a_range_of_equal_values_is_no_sliver() -> None:
    """The axis of equal values spans a share of their size, not one unit."""
    low, high = number_range([355_000.0, 355_000.0])

    assert 0.15 * 355_000.0 < high - low
    assert number_axis("ops_per_s", [900.0, 900.1])["range"] == pytest.approx([803.0, 997.0], rel=0.01)
    assert "range" not in number_axis("ops_per_s", [800.0, 900.0])
    assert number_range([]) == pytest.approx(number_range([0.0]))


def test_rows_lose_what_all_share() -> None:
    """Names of alternatives stand in a figure without the parts that all of them have."""
    names = [f"engine.options.max_background_jobs={jobs} engine.options.write_buffer_size=64MiB" for jobs in (2, 4)]
    figure = change_figure(SHOWN[0], [(name, change(0.1, 0.2, 0.3)) for name in names])

    assert ["max_background_jobs=2", "max_background_jobs=4"] == figure.layout["yaxis"]["categoryarray"]


def test_unknown_numbers_are_packed_without_warnings(tmp_path: Path) -> None:
    """Columns with missing values, and latencies of 0 or infinity, become a page in silence."""
    run = load_run(write_run(tmp_path / "run", seconds=30))
    gaps = np.arange(len(run.jobs["job"])) % 2
    lacking = ("subcompactions", "output_files", "cpu_s")
    jobs = {**run.jobs, **{name: np.where(gaps, np.nan, run.jobs[name].astype(float)) for name in lacking}}
    latency = {"write": (np.array([0.0, 1e-6, np.inf]), np.array([5.0, 5.0, 90.0]))}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert latency_distribution(replace(run, latency=latency)).traces
        assert run_page(replace(run, jobs=jobs)).html()

    assert [0, 255] == narrowed(np.array([np.nan, np.inf]), "u1").tolist()
