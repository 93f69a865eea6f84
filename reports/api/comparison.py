"""Comparison of several runs in a program or notebook."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsmlab.models.errors import InputError
from lsmlab.plots import ComparisonPlots
from lsmlab.reports.comparison.conclusion import conclude
from lsmlab.reports.comparison.members import members
from lsmlab.reports.comparison.page import draw_comparison, write_comparison
from lsmlab.reports.conclusion import Conclusion
from lsmlab.reports.differences import sum_up
from lsmlab.reports.parts import Table, joined, paragraph
from lsmlab.result import Result, stored_result
from lsmlab.session import input_errors
from lsmlab.sim.results.comparison_text import comparison_text
from lsmlab.sim.results.frames import frame_of
from lsmlab.sim.results.rundir import make_directory
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.studies.compare import CompareRequest, compare_all, planned
from lsmlab.sim.studies.compare import Comparison as Compared
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.metrics import BY_NAME, METRICS

if TYPE_CHECKING:
    import pandas as pd

DIFFERENCES: Final = {
    "run": "str", "metric": "str", "label": "str", "first": "float64", "value": "float64", "change": "float64",
    "low": "float64", "high": "float64", "relative": "bool", "certain": "bool", "tie": "bool",
}  # fmt: skip
"""Columns of `Comparison.differences` and `Answer.differences` with their types."""


class Comparison:
    """Runs with the same seeds side by side (`lsmlab.compare`)."""

    def __init__(self, folder: Path, value: Compared) -> None:
        self.folder = folder
        """Folder with the files of all runs."""
        self.value = value
        """The comparison with its types: for each run its name, choices, seeds, mean values, and differences from the first."""
        self.runs: dict[str, Result] = {
            run.name: stored_result(folder / run.folder, run.name) for run in value.runs
        }
        """Result of each run (its first seed) by its short name."""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The comparison as a plain dictionary: the content of comparison.json."""
        return self.value.as_dict()

    @property
    def differences(self) -> pd.DataFrame:
        """One row per run and metric: difference from the first run, with its 90 % interval.

        Columns: run; metric (its path in summary.json) and label; first and value, means over the seeds; change, low and
        high, as a fraction of `first` if `relative`, else in the unit of the metric (NaN: unknown); certain: the interval
        excludes 0; tie: the same value with every seed.
        """
        return differences_frame((run.name, run.differences) for run in self.value.runs)

    @cached_property
    def conclusion(self) -> Conclusion:
        """What differs from the first run, why, what would help, how sure that is, and the command that repeats it."""
        return conclude(members([run.data for run in self.runs.values()], self.folder), self.value.command)

    @property
    def sentences(self) -> list[str]:
        """One sentence for each run after the first: what differs, by how much, and what does not."""
        first, *others = self.value.runs
        return [sum_up(run.name, first.name, run.differences) for run in others]

    @property
    def table(self) -> pd.DataFrame:
        """One row per run: its name (`run`) and the mean of each metric over the seeds (paths of summary.json)."""
        columns = {"run": "str", **{metric.name: "float64" for metric in METRICS}}
        rows = [{**dict.fromkeys(columns), **run.values, "run": run.name} for run in self.value.runs]
        return frame_of(rows, columns)

    @cached_property
    def plot(self) -> ComparisonPlots:
        """Figures of all runs in common axes; each method returns a Plotly figure."""
        return ComparisonPlots([run.data for run in self.runs.values()], list(self.runs))

    def save(self, folder: str | Path) -> Path:
        """Copy the files of all runs, comparison.json and runs.parquet to a folder; return the folder."""
        target = make_directory(Path(folder))
        if target.resolve() != self.folder.resolve():
            shutil.copytree(self.folder, target, dirs_exist_ok=True)
        return target

    def report(self, file: str | Path | None = None) -> Path:
        """Write the page of the comparison and return its path.

        Without `file`: report.html in the folder of the comparison, with a page for each run.
        """
        folders = [run.folder for run in self.runs.values() if run.folder is not None]
        if file is None:
            return draw_comparison(self.folder, folders)
        make_directory(Path(file).parent)
        return write_comparison(Path(file), self.folder, folders)

    def __getitem__(self, name: str) -> Result:
        """Return the result of a run by its short name."""
        if name not in self.runs:
            raise InputError(f"{name}: no such run; this comparison has {'; '.join(self.runs)}")
        return self.runs[name]

    def __str__(self) -> str:
        """Return the runs side by side as the command line prints them."""
        return comparison_text([(name, run.summary) for name, run in self.runs.items()])

    def __repr__(self) -> str:
        return f"<lsmlab.Comparison of {len(self.runs)} runs: {'; '.join(self.runs)}>"

    def _repr_html_(self) -> str:
        """Return the metrics of all runs as an HTML table, and the sentences, which notebooks show."""
        shown = [m for m in METRICS if all(m.name in run.values for run in self.value.runs)]
        rows = [[metric.label, *(metric.form(run.values[metric.name]) for run in self.value.runs)] for metric in shown]
        return joined([Table(["", *self.runs], rows), *map(paragraph, self.sentences)])


def differences_frame(found: Iterable[tuple[str, Sequence[Difference]]]) -> pd.DataFrame:
    """Return differences, pairs of a name and the differences of that configuration, as a DataFrame."""
    rows = [
        {
            "run": name, "metric": d.metric, "label": BY_NAME[d.metric].label, "first": d.present, "value": d.alternative,
            "change": d.change, "low": d.low, "high": d.high, "relative": d.relative, "certain": d.certain, "tie": d.tie,
        }
        for name, several in found
        for d in several
    ]  # fmt: skip
    return frame_of(rows, DIFFERENCES)


def compared(request: CompareRequest, how: Settings, folder: Path) -> Comparison:
    """Simulate the configurations of a request into a folder. Raises InputError if one of them fails."""
    with input_errors():
        found = compare_all(planned(request), how, folder)
    if found.failures:
        raise InputError(f"{found.failures[0].job.name}: {found.failures[0].error}")
    assert found.comparison is not None
    return Comparison(folder, found.comparison)
