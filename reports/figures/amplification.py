"""Figure of write amplification by level, with a table on amplification and device endurance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lsmlab.reports import numbers
from lsmlab.reports.figures.base import Figure, Trace
from lsmlab.reports.palette import BLOBS, CONSUMERS, level_color
from lsmlab.reports.parts import Table
from lsmlab.reports.run_data import RunData, number

WAL: Final = "WAL"
"""Label of the bytes written to the write-ahead log."""
_FACTS: Final[tuple[tuple[str, str, Callable[[float], str]], ...]] = (
    ("Write amplification (flushes and compactions)", "write_amplification", numbers.ratio),
    ("Read amplification (blocks read per lookup)", "read_amplification", numbers.ratio),
    ("Space amplification (bytes of all files per byte of newest versions)", "space_amplification", numbers.ratio),
    ("Blob files at the end", "blobs.bytes", numbers.size),
    ("Garbage in them", "blobs.garbage_bytes", numbers.size),
    ("Space amplification of blob files, as RocksDB prints it", "blobs.space_amplification", numbers.ratio),
    ("WAL files together, at most", "wal.peak_bytes", numbers.size),
    ("Amplification inside the device", "device.flash_write_amplification", numbers.ratio),
    ("Written to the device", "device_bytes_written", numbers.size),
    ("Read from the device", "device_bytes_read", numbers.size),
    ("Rated writes of the device", "device.endurance_bytes", numbers.size),
    ("Share of the rated writes used by this run", "device.endurance_used", numbers.percent),
    ("Endurance at this write rate", "device.years_left", numbers.years),
)
"""Label, path in summary.json and form of the numbers below the figure."""


def amplification(run: RunData) -> Figure:
    """Draw the bytes written into each level per user byte as one stacked bar, above a table on device endurance."""
    traces: list[Trace] = []
    parts = written_per_user_byte(run)
    total = sum(value for _, value, _ in parts)
    for name, value, color in parts:
        room = value >= 0.04 * total  # a narrower bar has no space for its label
        traces.append({
            "type": "bar", "orientation": "h", "x": [value], "y": ["W-Amp"], "name": name,
            "marker": {"color": color},
            "text": [f"{name}<br>{numbers.ratio(value)}" if room else ""], "textposition": "inside",
            "insidetextanchor": "middle", "textangle": 0, "constraintext": "inside",
            "hovertemplate": f"{name}: %{{x:.2f}} bytes per user byte<extra></extra>",
        })  # fmt: skip
    caption = (
        "Bytes written per byte of user data, by output level. The WAL and the flush write each byte once; each "
        "compaction into a deeper level writes it at least once more."
    )
    return Figure(
        "amplification", "Amplification and endurance", caption, traces,
        {"barmode": "stack", "xaxis": {"title": {"text": "bytes written per user byte"}}, "hovermode": "closest",
         "legend": {"traceorder": "normal"}, "yaxis": {"visible": False}},
        height_px=210, empty="Background jobs wrote nothing.", after=_table(run), short="W-Amp",
    )  # fmt: skip


def written_per_user_byte(run: RunData) -> list[tuple[str, float, str]]:
    """Return (name, bytes written per user byte, colour) of the WAL, of each level, L0 first, and of blob files."""
    user = run.number("user_bytes_written") or float(run.column("user_bytes").sum())
    if not user:
        return []
    parts = []
    wal_bytes = float(run.column("write_bytes_client_per_s").sum())
    if wal_bytes:
        parts.append((WAL, wal_bytes / user, CONSUMERS["client"]))
    for row in run.summary.get("levels") or []:
        written = number(row, "write_bytes")
        if written:
            level = int(row["level"])
            parts.append((f"L{level}", written / user, CONSUMERS["flush"] if level == 0 else level_color(level)))
    blobs = sum(number(row, "blob_write_bytes") or 0.0 for row in run.summary.get("levels") or [])
    return [*parts, ("blob files", blobs / user, BLOBS)] if blobs else parts


def _table(run: RunData) -> str:
    rows = [(label, form(value)) for label, path, form in _FACTS if (value := run.number(path)) is not None]
    return Table([], rows, style="facts").html() if rows else ""
