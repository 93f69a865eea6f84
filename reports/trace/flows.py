"""Arrows of a trace: from job to job along the blame chain of a stall, and from the last job to the stall."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from lsmlab.reports.run_data import RunData
from lsmlab.reports.trace.events import TICK_US, Event, flow

MOST_STALLS: Final = 20_000
"""Largest number of stalls with arrows, the costliest: a viewer draws more of them too slowly."""


def flows(jobs: Sequence[Event], stalls: Sequence[Event], run: RunData) -> list[Event]:
    """Return the arrows of the costliest stalls; `jobs` and `stalls` are slices in the order of their rows.

    An arrow between two jobs that several chains have in common is drawn once.
    """
    arrows: list[Event] = []
    drawn: set[tuple[int, int]] = set()
    for row in run.ranked_stalls()[:MOST_STALLS].tolist():
        chain = [run.job_rows[key] for key in run.chain(row) if key in run.job_rows]
        for before, after in pairwise(chain):
            if (before, after) not in drawn:
                drawn.add((before, after))
                arrows += _arrow(len(drawn), jobs[before], jobs[after])
        if chain:
            drawn.add((chain[-1], -1 - row))
            arrows += _arrow(len(drawn), jobs[chain[-1]], stalls[row])
    return arrows


def _arrow(number: int, before: dict[str, Any], after: dict[str, Any]) -> list[Event]:
    """Return an arrow from the end of one slice, or earlier if the other begins before, into the other slice.

    It takes at least one tick, so that its ends stay in order; there is none between slices that leave no time for it.
    Perfetto points an arrow at the slice that begins later.
    """
    enters = max(after["ts"], min(_last(before) + TICK_US, _last(after)))
    leaves = max(before["ts"], min(_last(before), enters - TICK_US))
    enters = max(enters, leaves + TICK_US)
    if enters > _last(after):
        return []
    ends = ((before["pid"], before["tid"], round(leaves, 3)), (after["pid"], after["tid"], round(enters, 3)))
    return flow(number, "blame chain", *ends)


def _last(piece: dict[str, Any]) -> float:
    """Return the last moment within a slice, in microseconds."""
    return float(max(piece["ts"], piece["ts"] + piece["dur"] - TICK_US))
