"""Figures of runs for notebooks: the charts of the pages (`lsmlab.reports.charts`), as Plotly figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lsmlab.reports.charts import CHARTS, Chart
from lsmlab.reports.figures.base import Figure, graph
from lsmlab.reports.run_data import RunData
from lsmlab.reports.timeline import Timeline

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Graph


class RunPlots:
    """Figures of one run. Each method returns a Plotly figure, which a notebook shows as the last value of a cell."""

    def __init__(self, run: RunData) -> None:
        self._run = run
        self._timeline = Timeline.of(run.times_s)

    def _draw(self, chart: Chart) -> Figure | None:
        return chart.of_run(self._run, self._timeline) if chart.of_run is not None else None

    if TYPE_CHECKING:

        def __getattr__(self, chart: str) -> Callable[[], Graph]: ...


class ComparisonPlots:
    """Figures of several runs in common axes. Each method returns a Plotly figure."""

    def __init__(self, runs: Sequence[RunData], names: Sequence[str]) -> None:
        self._runs, self._names = runs, names

    def _draw(self, chart: Chart) -> Figure | None:
        return chart.of_runs(self._runs, self._names) if chart.of_runs is not None else None

    if TYPE_CHECKING:

        def __getattr__(self, chart: str) -> Callable[[], Graph]: ...


def _method(chart: Chart) -> Callable[[RunPlots | ComparisonPlots], Graph]:
    def draw(self: RunPlots | ComparisonPlots) -> Graph:
        return graph(self._draw(chart) or Figure(chart.name, chart.about, "", []))

    draw.__name__, draw.__doc__ = chart.name, chart.about
    return draw


for _chart in CHARTS:
    if _chart.name and _chart.of_run is not None:
        setattr(RunPlots, _chart.name, _method(_chart))
    if _chart.name and _chart.of_runs is not None:
        setattr(ComparisonPlots, _chart.name, _method(_chart))
