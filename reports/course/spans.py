"""Figures of spans: what memtables do over time, and which bytes compactions rewrite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.course.pictures import ShownFigure
from lsmlab.reports.figures.base import Figure, Trace
from lsmlab.reports.palette import CONSUMERS, MOVE, STALLS, WRITE

if TYPE_CHECKING:
    import pandas as pd

_LOOKS: Final = {
    "takes writes": (WRITE, ""), "waits for its flush": (MOVE, "/"), "is flushed": (CONSUMERS["flush"], "x"),
    "writers are stopped": (STALLS["memtable_stop"], "-"), "compaction": (CONSUMERS["l0"], "\\"),
    "moves down": (WRITE, ""), "rewritten with it": (CONSUMERS["flush"], "/"),
}  # fmt: skip
"""Colour and pattern by state; these are also the states in the order of the legend."""
_MIB: Final = 2**20


@dataclass(frozen=True)
class Span:
    """Part of a row: its state (a key of the looks), and where it starts and ends."""

    state: str
    start: float
    end: float


def spans(rows: Mapping[str, Sequence[Span]], *, title: str, caption: str, x: str) -> ShownFigure:
    """Draw a row of spans for each name; `x` is the title of the axis, with its unit."""
    traces: list[Trace] = []
    for state, (color, pattern) in _LOOKS.items():
        found = [(name, span) for name, row in rows.items() for span in row if span.state == state]
        if found:
            traces.append(
                {"type": "bar", "orientation": "h", "name": state, "y": [name for name, _ in found],
                 "x": [span.end - span.start for _, span in found], "base": [span.start for _, span in found],
                 "marker": {"color": color, "pattern": {"shape": pattern}, "line": {"width": 1, "color": MOVE}},
                 "width": 0.6, "hovertemplate": "%{base:.4~g} to %{x:.4~g}"}
            )  # fmt: skip
    layout = {
        "barmode": "overlay", "xaxis": {"title": {"text": x}, "rangemode": "tozero"}, "hovermode": "closest",
        "yaxis": {"categoryorder": "array", "categoryarray": list(rows)[::-1]}, "legend": {"traceorder": "normal"},
    }  # fmt: skip
    return ShownFigure(Figure("", title, caption, traces, layout, height_px=150 + 44 * len(rows)))


def memtables(result: Any, caption: str) -> ShownFigure:
    """Draw which memtable takes writes, waits and is flushed over the time of a run, beside compactions and stops.

    Of a run with two memtables that starts with an empty store. Raises InputError if the run recorded no events.
    """
    switches = result.events.loc[result.events["kind"] == "switch", "time_s"].tolist()
    if not switches:
        raise InputError("memtables: this run recorded no memtable switches; run it longer, without save.events=false")
    jobs, stalls = result.jobs, result.stalls
    flushes = jobs[jobs["kind"] == "flush"].sort_values("start_s")
    stops = stalls[stalls["cause"] == "memtable_stop"]
    rows: dict[str, list[Span]] = {"memtable A": [], "memtable B": []}
    end_s = result.summary["duration_s"]
    for number, full_s in enumerate([*switches, end_s]):
        row = rows["memtable A" if number % 2 == 0 else "memtable B"]
        before_s = switches[number - 1] if number else 0.0
        open_s = max([before_s, *stops.loc[stops["start_s"] == before_s, "end_s"]])
        row.append(Span("takes writes", open_s, full_s))
        if number < len(switches):
            start_s, done_s = (flushes[name].iloc[number] if number < len(flushes) else end_s for name in ("start_s", "end_s"))
            row += [Span("waits for its flush", full_s, start_s), Span("is flushed", start_s, done_s)]
    rows["writers"] = _between(stops, "writers are stopped")
    rows["compactions"] = _between(jobs[jobs["kind"] == "compaction"], "compaction")
    rows = {name: [span for span in row if span.end > span.start] for name, row in rows.items()}
    return spans(rows, title="Two memtables", caption=caption, x="time (s)")


def _between(table: pd.DataFrame, state: str) -> list[Span]:
    return [Span(state, start, end) for start, end in zip(table["start_s"], table["end_s"], strict=True)]


def rewrites(results: Mapping[str, Any], caption: str) -> ShownFigure:
    """Draw one compaction below L1 of each run: bytes that move down, and bytes that are rewritten with them.

    The compaction with the median ratio of both. Raises InputError for a run without such compactions.
    """
    rows = {name: _in_a_row(*_typical(name, result)) for name, result in results.items()}
    return spans(rows, title="Bytes of one compaction", caption=caption, x="size of the files and slices (MiB)")


def _in_a_row(above: Sequence[int], below: Sequence[int]) -> list[Span]:
    """Return the files above and below, one after the other."""
    row, at = [], 0.0
    for state, sizes in (("moves down", above), ("rewritten with it", below)):
        for size in sizes:
            row.append(Span(state, at, at + size / _MIB))
            at += size / _MIB
    return row


def _typical(name: str, result: Any) -> tuple[list[int], list[int]]:
    """Return the sizes of the upper and lower files, or slices and lower file, of the median compaction."""
    events, jobs = result.events, result.jobs
    size = events[events["kind"] == "create"].set_index("file")["bytes"].to_dict()
    slices = {int(file): group["bytes"].tolist() for file, group in events[events["kind"] == "link"].groupby("linked_to")}
    removed = {int(job): group for job, group in events[events["kind"] == "delete"].groupby("job")}
    found = []
    for job, level in jobs.loc[(jobs["kind"] == "compaction") & (jobs["output_level"] > 1), ["job", "output_level"]].values:
        inputs = removed.get(int(job))
        if inputs is None:
            continue
        upper = [size[f] for f in inputs.loc[inputs["from_level"].between(0, level - 1), "file"]]
        lower = inputs.loc[inputs["from_level"] == level, "file"]
        upper += [part for file in lower for part in slices.get(int(file), ())]
        if upper:
            found.append((upper, [size[f] for f in lower]))
    if not found:
        raise InputError(f"rewrites: {name}: no compaction below L1; run it longer")
    return sorted(found, key=lambda both: sum(both[1]) / sum(both[0]))[len(found) // 2]
