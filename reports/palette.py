"""Colours of all figures and pages: one colour per meaning, suitable for colour-blind readers.

The base is the palette of Okabe and Ito (2008). A stall has the colour of the job that it waits for: memtable stalls
wait for flushes (orange), L0 stalls for L0 compactions (blue), stalls by pending bytes for deeper compactions (pink).
A stop has the darker shade, a slowdown the lighter shade.
"""

from __future__ import annotations

from typing import Final

STALLS: Final = {
    "memtable_stop": "#D55E00",
    "memtable_slowdown": "#E69F00",
    "l0_stop": "#0072B2",
    "l0_slowdown": "#56B4E9",
    "pending_stop": "#B0388C",
    "pending_slowdown": "#CC79A7",
    "background_error": "#6B2D1F",
    "write_buffer_manager_limit": "#7A7A00",
    "ingestion": "#3F7F5F",
}
"""Colour by stall cause, in the order of legends."""

STALL_NAMES: Final = {
    "memtable_stop": "memtables: stop",
    "memtable_slowdown": "memtables: slowdown",
    "l0_stop": "L0 files: stop",
    "l0_slowdown": "L0 files: slowdown",
    "pending_stop": "pending bytes: stop",
    "pending_slowdown": "pending bytes: slowdown",
    "background_error": "background error: stop",
    "write_buffer_manager_limit": "write buffer manager: stop",
    "ingestion": "ingestion: stop",
}

CONSUMERS: Final = {"client": "#009E73", "flush": "#E69F00", "l0": "#3C8DC5", "deeper": "#CC79A7"}
"""Colour by consumer of the device."""

CONSUMER_NAMES: Final = {
    "client": "client (WAL, reads)", "flush": "flush", "l0": "L0→L1 and within L0", "deeper": "deeper compactions",
}  # fmt: skip

LEVELS: Final = ("#3C8DC5", "#E58FB5", "#B55CA5", "#8A6FD1", "#A5704F", "#4FA3A5", "#A0A53C", "#6C7A86")
"""Colour by level, L0 first; levels beyond the last colour start again with the colour of L1."""

BLOBS: Final = "#7A5C2E"
"""Colour of blob files."""
WRITE: Final = "#009E73"
READ: Final = "#8A6FD1"
SCAN: Final = "#D55E00"
TRIGGERS: Final = {"compaction": "#7A8B99", "slowdown": "#E69F00", "stop": "#D55E00"}
MOVE: Final = "#8C959F"
RUNS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8A6FD1", "#8C959F")
"""Colour by run on a comparison page."""
DASHES: Final = ("solid", "dash", "dot", "dashdot")
"""Line style by run, so that colour is not the only mark."""


def level_color(level: int) -> str:
    """Return the colour of a level and of the compactions that start there."""
    return LEVELS[level] if level < len(LEVELS) else LEVELS[1 + (level - 1) % (len(LEVELS) - 1)]


def stall_color(cause: str) -> str:
    """Return the colour of a stall cause; causes that RocksDB does not have are grey."""
    return STALLS.get(cause, MOVE)


def stall_name(cause: str) -> str:
    """Return the name of a stall cause for legends."""
    return STALL_NAMES.get(cause, cause.replace("_", " "))


def translucent(color: str, opacity: float) -> str:
    """Return a "#rrggbb" colour with an opacity (0 to 1) as a CSS colour."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"
