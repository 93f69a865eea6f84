"""JSON document of a trace."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.reports.run_data import RunData
from lsmlab.reports.trace.counters import counters
from lsmlab.reports.trace.events import Event
from lsmlab.reports.trace.flows import flows
from lsmlab.reports.trace.tracks import job_slices, memtable_slices, stall_slices, switches_of
from lsmlab.sim.results.leftovers import replacing


def trace_events(run: RunData) -> list[Event]:
    """Return the trace of a run as events of Chrome's JSON format."""
    job_events, _ = job_slices(run)
    stall_events, _ = stall_slices(run)
    jobs, stalls = ([e for e in events if e["ph"] == "X"] for events in (job_events, stall_events))
    switches = switches_of(run)
    curves = counters(run, switches)
    events = [*stall_events, *job_events, *memtable_slices(switches), *curves, *flows(jobs, stalls, run)]
    return sorted(events, key=lambda event: (event.get("ts", -1.0), -event.get("dur", 0.0)))  # outer slices before inner ones


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
