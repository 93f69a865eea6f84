"""Memtable fills in seconds after the origin, and their entries spread over time."""

from __future__ import annotations

import numpy as np
from lsmlab.sim.results.series import spread
from lsmlab.validation.importer.reading import Floats, Reading


def memtable_spans(reading: Reading) -> list[tuple[float, float, float]]:
    """Return (start, end, entries) of each memtable fill; times in seconds after the origin."""
    return [(reading.seconds(f.start_us), reading.seconds(f.end_us), f.entries) for f in reading.fills]


def spread_writable(reading: Reading, start: Floats, end: Floats, amount: Floats, edges: Floats) -> Floats:
    """Spread each amount evenly over its time span outside write stops; return the amount per interval of `edges`."""
    stops = [
        (reading.seconds(s.start_us), reading.seconds(s.end_us)) for s in reading.stalls.intervals if s.cause.stops
    ]
    if not stops:
        return spread(start, end, amount, edges)
    # spread on a clock that is halted while writers are stopped
    borders = np.unique(np.concatenate((edges, start, end, np.array(stops).ravel())))
    halted, resumed = (np.array(column, dtype=np.float64) for column in zip(*stops, strict=True))
    stopped = spread(halted, resumed, resumed - halted, borders)
    open_s = np.concatenate(([0.0], np.cumsum(np.maximum(np.diff(borders) - stopped, 0.0))))
    first, last = np.interp(start, borders, open_s), np.interp(end, borders, open_s)
    whole = np.interp(edges, borders, open_s)
    blocked = last - first <= 1e-6
    result = spread(first[~blocked], last[~blocked], amount[~blocked], _ascending(whole))
    return result + spread(start[blocked], end[blocked], amount[blocked], edges)


def _ascending(values: Floats) -> Floats:
    """Make ascending values strictly ascending, by 1e-9 per index, so that no interval has length 0."""
    return values + np.arange(len(values)) * 1e-9
