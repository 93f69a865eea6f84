"""JSON document of a trace, with arrows along the blame chains of stalls."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.run_data import RunData
from lsmlab.reports.trace.counters import counters
from lsmlab.reports.trace.events import TICK_US, Event, flow
from lsmlab.reports.trace.tracks import job_slices, memtable_slices, stall_slices, switches_of
from lsmlab.sim.results.leftovers import replacing

MOST_STALLS: Final = 20_000
"""Largest number of stalls with arrows, the costliest: a viewer draws more of them too slowly."""


def trace_events(run: RunData) -> list[Event]:
    """Return the trace of a run as events of Chrome's JSON format."""
    job_events, stall_events = job_slices(run), stall_slices(run)
    jobs, stalls = ([e for e in events if e["ph"] == "X"] for events in (job_events, stall_events))
    switches = switches_of(run)
    curves = counters(run, switches)
    events = [*stall_events, *job_events, *memtable_slices(switches), *curves, *flows(jobs, stalls, run)]
    return sorted(events, key=lambda event: (event.get("ts", -1.0), -event.get("dur", 0.0)))  # outer slices before inner ones


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


def _arrow(number: int, before: Event, after: Event) -> list[Event]:
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


def _last(piece: Event) -> float:
    """Return the last moment within a slice, in microseconds."""
    return float(max(piece["ts"], piece["ts"] + piece["dur"] - TICK_US))


def write_trace(path: Path, run: RunData) -> int:
    """Write the trace of a run, compressed if the name ends in .gz; return the number of events.

    Raises InputError if the file cannot be written.
    """
    events = trace_events(run)
    try:
        with replacing(path) as part, (
            gzip.open(part, "wt", encoding="utf-8", compresslevel=6) if path.suffix == ".gz" else part.open("w", encoding="utf-8")
        ) as file:
            file.writelines(_lines(events, {"run": run.name, "version": run.summary.get("version")}))
    except OSError as error:
        raise InputError(f"{path}: cannot write the trace ({error.strerror}); choose another place with --out") from None
    return len(events)


def _lines(events: Iterable[Event], about: dict[str, Any]) -> Iterator[str]:
    yield f'{{"displayTimeUnit":"ms","otherData":{json.dumps(about)},"traceEvents":[\n'
    comma = ""
    for event in events:
        yield f"{comma}{json.dumps(event, separators=(',', ':'), ensure_ascii=False)}"
        comma = ",\n"
    yield "\n]}\n"
