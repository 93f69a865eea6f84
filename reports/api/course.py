"""Functions that the lessons of docs/course call in notebooks: `from lsmlab import course`."""

from __future__ import annotations

from lsmlab.reports.course.classroom import ROOM, formula
from lsmlab.reports.course.exercises import exercise
from lsmlab.reports.course.pictures import areas, bars, figure, lines, slider, stacked, tree
from lsmlab.reports.course.real import real
from lsmlab.reports.course.spans import memtables, rewrites

predict = ROOM.predict
reveal = ROOM.reveal
explain = ROOM.explain

__all__ = [
    "areas", "bars", "exercise", "explain", "figure", "formula", "lines", "memtables", "predict", "real", "reveal", "rewrites",
    "slider", "stacked", "tree",
]  # fmt: skip
