"""Rows of the job chart: a job takes the lowest free slot of its kind, as background threads do."""

from __future__ import annotations

import heapq
from typing import Final

import numpy as np
from lsmlab.reports.run_data import RunData
from numpy.typing import NDArray

_LANES: Final = {"flush": "flush", "trivial_move": "moves", "drop": "moves", "link": "moves"}
"""Row by kind of job; all others are compactions. Jobs that rewrite nothing take no time and share a row."""


def lanes_of(
    run: RunData, rows: NDArray[np.int64], *, moves_share: bool = True
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of the chart's row for each of these jobs (ascending by start time), and the names of the rows.

    `moves_share`: whether jobs that rewrite nothing share a row although they may overlap.
    """
    shared = "moves" if moves_share else ""
    free: dict[str, list[int]] = {}
    busy: dict[str, list[tuple[float, int]]] = {}
    slots: dict[str, int] = {}
    taken: list[tuple[str, int]] = []
    if not len(rows):
        return np.empty(0, dtype=np.int64), []
    columns = (run.jobs[name][rows].tolist() for name in ("kind", "start_s", "end_s"))
    for kind, start_s, end_s in zip(*columns, strict=True):
        family = _LANES.get(str(kind), "compaction")
        running, idle = busy.setdefault(family, []), free.setdefault(family, [])
        while running and running[0][0] <= start_s:
            heapq.heappush(idle, heapq.heappop(running)[1])
        if family == shared:
            slot, slots[family] = 0, 1
        elif idle:
            slot = heapq.heappop(idle)
        else:
            slot, slots[family] = slots.get(family, 0), slots.get(family, 0) + 1
        if family != shared:
            heapq.heappush(running, (end_s, slot))
        taken.append((family, slot))
    first: dict[str, int] = {}
    names: list[str] = []
    for family in ("flush", "compaction", "moves"):
        first[family] = len(names)
        several = slots.get(family, 0) > 1
        names += [f"{family} {slot + 1}" if several else family for slot in range(slots.get(family, 0))]
    return np.array([first[family] + slot for family, slot in taken], dtype=np.int64), names
