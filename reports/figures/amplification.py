"""Where the written bytes came from: write amplification by level."""

from __future__ import annotations

import html
from typing import Any

from lsmlab.reports import numbers
from lsmlab.reports.figures.base import Figure, Trace
from lsmlab.reports.headline import endurance_years, number
from lsmlab.reports.palette import CONSUMERS, level_color
from lsmlab.reports.run_data import RunData


def amplification(run: RunData) -> Figure:
    """Bytes written into each level per user byte as one stacked bar, and a table on amplification and endurance."""
    traces: list[Trace] = []
    parts = written_per_user_byte(run)
    total = sum(value for _, value, _ in parts)
    for name, value, color in parts:
        room = value >= 0.04 * total  # narrower bars cannot hold their label
        traces.append({
            "type": "bar", "orientation": "h", "x": [value], "y": ["W-Amp"], "name": name,
            "marker": {"color": color},
            "text": [f"{name}<br>{numbers.ratio(value)}" if room else ""], "textposition": "inside",
            "insidetextanchor": "middle", "textangle": 0, "constraintext": "inside",
            "hovertemplate": f"{name}: %{{x:.2f}} bytes per user byte<extra></extra>",
        })  # fmt: skip
    caption = (
        "How often a byte of user data was written, by the level that it was written into: the log and the flush write "
        "it once each, every compaction into a deeper level once or more again."
    )
    return Figure(
        "amplification", "Amplification and endurance", caption, traces,
        {"barmode": "stack", "xaxis": {"title": {"text": "bytes written per user byte"}}, "hovermode": "closest",
         "legend": {"traceorder": "normal"}, "yaxis": {"visible": False}},
        height_px=210, empty="Nothing was written by background jobs.", after=_table(run),
    )  # fmt: skip


def written_per_user_byte(run: RunData) -> list[tuple[str, float, str]]:
    """(name, bytes per user byte, colour) of the log and of each level that was written, in the order of the path."""
    user = number(run.summary, "user_bytes_written") or float(run.column("user_bytes").sum())
    if not user:
        return []
    parts = []
    log = float(run.column("write_bytes_client_per_s").sum())
    if log:
        parts.append(("log", log / user, CONSUMERS["client"]))
    for row in run.summary.get("levels") or []:
        written = number(row, "write_bytes")
        if written:
            level = int(row["level"])
            parts.append((f"L{level}", written / user, CONSUMERS["flush"] if level == 0 else level_color(level)))
    return parts


def _table(run: RunData) -> str:
    device: Any = run.summary.get("device") or {}
    years = endurance_years(run)
    rows = [
        (
            "Write amplification (flushes and compactions)",
            _maybe(number(run.summary, "write_amplification"), numbers.ratio),
        ),
        (
            "Read amplification (blocks read per lookup)",
            _maybe(number(run.summary, "read_amplification"), numbers.ratio),
        ),
        ("Space amplification", _maybe(number(run.summary, "space_amplification"), numbers.ratio)),
        ("Amplification inside the device", _maybe(number(device, "flash_write_amplification"), numbers.ratio)),
        ("Written to the device", _maybe(number(run.summary, "device_bytes_written"), numbers.size)),
        ("Read from the device", _maybe(number(run.summary, "device_bytes_read"), numbers.size)),
        ("Rated writes of the device", _maybe(number(device, "endurance_bytes"), numbers.size)),
        ("Share of them used by this run", _maybe(number(device, "endurance_used"), numbers.percent)),
        ("Endurance at this rate", _maybe(years, numbers.years)),
    ]
    cells = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in rows if v)
    return f'<table class="facts">{cells}</table>' if cells else ""


def _maybe(value: float | None, form: Any) -> str:
    return "" if value is None else str(form(value))
