"""Events of Chrome's JSON trace format, as Perfetto reads it.

Source: "Trace Event Format" (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU). Times are
microseconds with three decimals, because Perfetto counts whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Event = dict[str, Any]
TICK_US: Final = 0.01
"""Shortest duration of a slice and of an arrow: Perfetto's conversion to nanoseconds may lose one."""


_THREADS: Final = 100_000
"""Threads per process: Perfetto needs numbers of threads that differ in the whole trace, and above 0."""

Place = tuple[int, int]
"""Process and thread of a track."""


def place_of(process: int, row: int) -> Place:
    """Return the track in this row, counted from 0, of a process."""
    return process, process * _THREADS + row


def microseconds(time_s: float) -> float:
    """Return a time in s as microseconds."""
    return round(time_s * 1e6, 3)


def track_names(process: int, name: str, rows: Mapping[int, str]) -> list[Event]:
    """Return the events that name a process and its rows, and keep them in the order of their numbers."""
    about: list[Event] = [
        {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}},
        {"ph": "M", "name": "process_sort_index", "pid": process, "args": {"sort_index": process}},
    ]
    for row, label in rows.items():
        _, thread = place_of(process, row)
        about.append({"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": label}})
        order = {"sort_index": row}
        about.append({"ph": "M", "name": "thread_sort_index", "pid": process, "tid": thread, "args": order})
    return about


def complete(name: str, category: str, place: Place, start_s: float, end_s: float, args: Mapping[str, Any]) -> Event:
    """Return a slice on the track `place` (process, thread)."""
    start_us = microseconds(start_s)
    length_us = max(TICK_US, round(microseconds(end_s) - start_us, 3))
    return {
        "ph": "X", "name": name, "cat": category, "pid": place[0], "tid": place[1], "ts": start_us, "dur": length_us,
        "args": dict(args),
    }  # fmt: skip


def instant(name: str, category: str, place: Place, time_s: float, args: Mapping[str, Any]) -> Event:
    """Return a mark on the track `place`."""
    return {
        "ph": "i", "s": "t", "name": name, "cat": category, "pid": place[0], "tid": place[1], "ts": microseconds(time_s),
        "args": dict(args),
    }  # fmt: skip


def counter(name: str, unit: str, process: int, time_s: float, value: float) -> Event:
    """Return the value of a curve from this time on; Perfetto calls the curve by its name and unit."""
    return {"ph": "C", "name": name, "pid": process, "ts": microseconds(time_s), "args": {unit: value}}


def flow(number: int, name: str, start: tuple[int, int, float], end: tuple[int, int, float]) -> list[Event]:
    """Return an arrow between two slices; each end is (process, thread, microseconds within the slice), start not after end."""
    common = {"name": name, "cat": "blame", "id": number}
    return [
        {"ph": "s", **common, "pid": start[0], "tid": start[1], "ts": start[2]},
        {"ph": "f", "bp": "e", **common, "pid": end[0], "tid": end[1], "ts": end[2]},
    ]
