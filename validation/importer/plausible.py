"""Refusal of LOGs that say what no machine can do: their text is damaged, or joins what does not belong together."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import format_bytes, format_seconds
from lsmlab.validation.logs.history.jobs import LogJob, LogJobs
from lsmlab.validation.logs.history.stalls import LogStalls
from lsmlab.validation.logs.history.summary import origin_us
from lsmlab.validation.logs.records import RocksDbLog

_MOST_BYTES_PER_S: Final = 2e11
"""Above what the memory of a machine takes, and every drive."""
_MOST_OPS_PER_S: Final = 1e8
"""Above what the cores of a machine do: an operation takes a core about a microsecond."""
_LEAST_S: Final = 0.01
"""Shortest time of a rate that is judged: stamps may have whole milliseconds, and the lines of a job are written late."""
_EARLIEST_S: Final = -3600.0
"""Earliest time of a job before the first open: recovery takes minutes."""
_MIXED, _ALTERNATING = 5, 0.15
"""Lines of several stores are mixed: least number of jobs whose number is not above that of the job before, and least share of
all jobs. Threads begin up to 6 % of the jobs of a store in another order."""
_CLOCK_S: Final = 60.0
"""Most by which an uptime may exceed the time since the statistics before: clocks are set."""
_DAMAGED: Final = "the line is damaged, or the file joins parts of several LOGs; give one LOG, or a part without this line"


def refuse_impossible(log: RocksDbLog, jobs: LogJobs, stalls: LogStalls) -> None:
    """Raise InputError with the line for rates beyond the physics of drives and cores, negative times, and stops of days."""
    _events(log)
    _one_store(log, jobs)
    _one_uptime(log)
    _silences(log, stalls)
    _jobs(log, jobs)
    _counters(log)


def _events(log: RocksDbLog) -> None:
    all_cut = log.troubles["cut_events"] >= log.events_seen > 1
    if log.events_seen and (all_cut or log.troubles["unreadable_events"] >= log.events_seen):
        raise InputError(
            f"{log.place(log.first_event)}: all {log.events_seen} events are damaged: their JSON is cut off, wrapped into "
            "several lines or quoted in an unknown way; give the file LOG in the database's folder"
        )


def _one_store(log: RocksDbLog, jobs: LogJobs) -> None:
    """Refuse lines of several stores that alternate: an open numbers its jobs, so those of a family rise in the order of time."""
    last: dict[tuple[int, str], LogJob] = {}
    falls: list[tuple[LogJob, LogJob]] = []
    begun = [job for job in jobs.jobs if job.kind in ("flush", "compaction") and job.job >= 0]
    for job in begun:
        before = last.get((job.opening, job.column_family))
        if before is not None and job.job <= before.job:
            falls.append((before, job))
        last[job.opening, job.column_family] = job
    if len(falls) >= max(_MIXED, _ALTERNATING * len(begun)) and len({job.job for job in begun}) > _MIXED:
        before, job = falls[0]
        raise InputError(
            f"{log.place(job.line)}: job {job.job} begins after job {before.job}, and {len(falls) - 1} others after such with "
            "larger numbers: lines of several stores are mixed; give those of each store as a file of its own, such as with "
            "grep and the name of its host or pod"
        )


def _one_uptime(log: RocksDbLog) -> None:
    """Refuse statistics of several stores: without an open, the uptime rises; after one, it is shorter than the time since."""
    for before, dump in pairwise(log.dumps):
        old_s, uptime_s = before.uptime_s, dump.uptime_s
        if old_s is None or uptime_s is None or before.time_us is None or dump.time_us is None:
            continue
        since_s = (dump.time_us - before.time_us) / 1e6
        if dump.opening == before.opening and since_s + _CLOCK_S < uptime_s < old_s:
            raise InputError(
                f"{log.place(dump.line)}: the uptime is {uptime_s:,.1f} s, after {old_s:,.1f} s in the "
                f"statistics {since_s:,.0f} s before: those of several stores are mixed; give those of each as a file of its own"
            )


def _silences(log: RocksDbLog, stalls: LogStalls) -> None:
    """Refuse a stop that lasts over a day without any line: a running store prints its statistics every ten minutes."""
    for before_us, after_us, line in log.silences:
        for stall in stalls.intervals:
            if stall.cause.stops and stall.start_us <= before_us and stall.end_us >= after_us:
                days = (after_us - before_us) / 86_400e6
                raise InputError(
                    f"{log.place(line)}: writers would have been stopped for {days:,.1f} days, in which the file has no "
                    "line: parts of a LOG are left out here; give the whole LOG, or one of the parts"
                )


def _jobs(log: RocksDbLog, jobs: LogJobs) -> None:
    zero_us = origin_us(log)
    for job in jobs.jobs:
        start_s = (job.start_us - zero_us) / 1e6
        end_s = ((job.end_us if job.end_us is not None else job.start_us) - zero_us) / 1e6
        if start_s < _EARLIEST_S and job.kind != "recovery":
            raise InputError(
                f"{log.place(job.line)}: job {job.job} began {format_seconds(-start_s)} before the store was opened; "
                f"{_DAMAGED}"
            )
        moved, entries = float(max(job.all_read_bytes, job.all_write_bytes)), float(job.entries_in)
        length_s = max(end_s - start_s, _LEAST_S)
        if job.kind in ("flush", "compaction") and job.done:
            _refuse_rate(f"{log.place(job.line)}: job {job.job}", moved, entries, length_s)


def _counters(log: RocksDbLog) -> None:
    for dump in log.dumps:
        if dump.impossible is not None:
            line, number = dump.impossible
            raise InputError(f"{log.place(line)}: {number[:40]} is no number of a store; {_DAMAGED}")
        if dump.uptime_s:
            keys, ingested = dump.db.get("cumulative_keys", 0.0), dump.db.get("cumulative_ingest_bytes", 0.0)
            _refuse_rate(f"{log.place(dump.line)}: the statistics", ingested, keys, max(dump.uptime_s, 0.1))


def _refuse_rate(place: str, moved_bytes: float, entries: float, length_s: float) -> None:
    """Raise InputError if bytes or entries in a time are more than a machine can do."""
    if moved_bytes > _MOST_BYTES_PER_S * length_s:
        raise InputError(f"{place} would have moved {format_bytes(moved_bytes)} in {format_seconds(length_s)}; {_DAMAGED}")
    if entries > _MOST_OPS_PER_S * length_s:
        raise InputError(f"{place} would have written {entries:,.0f} entries in {format_seconds(length_s)}; {_DAMAGED}")
