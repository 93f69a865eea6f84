"""Chart of background jobs over time, for notebooks; on the page of a run, the explorer draws them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.explorer.jobs import job_data
from lsmlab.reports.figures.base import Figure, Trace, packed, time_axis
from lsmlab.reports.run_data import RunData
from numpy.typing import NDArray

_MOST_JOBS: Final = 3000
"""Largest number of bars, so that a browser draws them without delay: the longest jobs."""


def jobs_gantt(run: RunData) -> Figure:
    """Draw one bar per job in rows by job slot; the colour gives the kind of job and its levels."""
    total = len(run.jobs.get("job", ()))
    lengths = run.jobs["end_s"] - run.jobs["start_s"] if total else np.empty(0)
    rows = np.sort(np.argsort(-lengths, kind="stable")[:_MOST_JOBS])
    data = job_data(run, rows)
    columns, lanes = data["columns"], data["lanes"]
    traces = [
        _bars(run, rows[mine], columns["lane"][mine], group)
        for number, group in enumerate(data["groups"])
        if (mine := columns["group"] == number).any()
    ]
    caption = "Each bar is a job, each row a job slot; the colour gives the kind of job and its levels."
    if total > len(rows):
        caption += f" The {len(rows):,} longest of {total:,} jobs."
    layout = {
        "barmode": "overlay", "hovermode": "closest", "xaxis": time_axis(),
        "yaxis": {"tickvals": list(range(len(lanes))), "ticktext": lanes, "autorange": "reversed", "fixedrange": True},
    }  # fmt: skip
    height = min(900, 170 + 34 * len(lanes))
    return Figure("jobs", "Background jobs", caption, traces, layout, height, timeline=True, empty="No background job ran.")


def _bars(run: RunData, rows: NDArray[np.int64], lanes: NDArray[Any], group: dict[str, Any]) -> Trace:
    starts, ends = run.jobs["start_s"][rows], run.jobs["end_s"][rows]
    columns = (run.jobs[name][rows].tolist() for name in ("job", "reason", "read_bytes", "write_bytes"))
    details = [
        [job, str(reason), numbers.size(read), numbers.size(wrote), numbers.seconds(s)]
        for job, reason, read, wrote, s in zip(*columns, (ends - starts).tolist(), strict=True)
    ]
    return {
        "type": "bar", "orientation": "h", "name": group["name"], "base": packed(starts, exact=True),
        "x": packed(ends - starts, exact=True), "y": lanes.tolist(), "width": 0.78, "marker": {"color": group["color"]},
        "customdata": details,
        "hovertemplate": "job %{customdata[0]}: %{customdata[1]}<br>%{customdata[4]} from %{base:.2f} s<br>"
        "read %{customdata[2]}, wrote %{customdata[3]}<extra>%{fullData.name}</extra>",
    }  # fmt: skip
