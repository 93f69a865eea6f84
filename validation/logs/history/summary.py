"""Values of summary.json from a LOG: counts, bytes by level and stalls of a real run, with the simulator's names.

Origin of time: the time at which the first open of the store in the LOG was ready for use (its "DB pointer" line; the
version line if that is missing). db_bench begins to write within milliseconds of it. After the interval that db_bench
measures, its run continues (it closes the store, prints statistics, or runs the next benchmark). A comparison with
db_bench's result must therefore end after the measured seconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from lsmlab.validation.logs.history.builder import jobs_of
from lsmlab.validation.logs.history.jobs import LogJob, LogJobs
from lsmlab.validation.logs.history.stalls import LogStalls, stalls_of
from lsmlab.validation.logs.history.tree import levels_at
from lsmlab.validation.logs.records import RocksDbLog
from lsmlab.validation.logs.statistics_tables import operations, summarise_tables
from lsmlab.validation.logs.stats import StatsDump

_COVERED: float = 0.8
"""Least share of the run that a dump must cover for its cumulative stall to give stall_fraction. Otherwise
stall_fraction comes from the stall lines."""


def origin_us(log: RocksDbLog) -> int:
    """Return the origin of time: local time in microseconds from which seconds are counted."""
    if log.openings and log.openings[0].ready_us:
        return log.openings[0].ready_us
    first = next(iter(log.records), None)
    return log.first_us or (first.time_us if first is not None else 0)


def summarise_log(
    log: RocksDbLog, until_s: float | None = None, *, jobs: LogJobs | None = None, stalls: LogStalls | None = None
) -> dict[str, Any]:
    """Return the values of summary.json that a LOG has, for the jobs committed up to `until_s`.

    `until_s` is in seconds after `origin_us`; None means to the end of the LOG. A LOG has no latencies, device bytes or
    reads, so these are absent. Additional names are

    `pairs`               [{start_level, output_level, jobs, read_bytes, write_bytes}]: compactions by levels
    `stall_interval_seconds`  by cause, time from a line that slows or stops writers to the recompute that ends it
    `column_families`     by name, of a LOG with several: jobs, flush reasons, levels and stall lines of the family
    `stall_measured`      {seconds, until_s}: RocksDB's own cumulative stall in the last statistics dump of the interval,
                          and the time that it covers; sums over the opens of the store

    `stall_seconds` are the stall intervals. If a dump has RocksDB's cumulative stall, slowdowns are scaled so that all
    causes add up to it: a slowed writer also works, so an interval is longer than the waits in it. `operations` and
    `write_ops_per_s` come from the last dump of the interval and cover the time up to `operations_until_s`. db_bench's
    output has tables but no events; then all values come from the last table (`tables.summarise_tables`).
    """
    if not log.records and until_s is None and (tables := summarise_tables(log)) is not None:
        return tables
    zero = origin_us(log)
    jobs = jobs_of(log) if jobs is None else jobs
    stalls = stalls_of(log) if stalls is None else stalls
    end_us = max([zero, log.last_us or 0, log.records.last.time_us if log.records.last is not None else 0])
    end = min(end_us, zero + round(until_s * 1e6)) if until_s is not None else end_us
    inside = [j for j in jobs.jobs if j.done and j.end_us is not None and j.end_us <= end]
    duration_s = max(1e-6, (end - zero) / 1e6)
    return {
        "duration_s": duration_s,
        **_work(inside),
        **_levels(jobs, inside, end),
        **_stalls(log, stalls, end, duration_s),
        **_operations(log, end, zero),
        **_families(jobs, inside, stalls, end),
    }


def _families(jobs: LogJobs, inside: Sequence[LogJob], stalls: LogStalls, end: int) -> dict[str, dict[str, Any]]:
    """The entry `column_families`: numbers of each family by name; empty for a LOG of one family."""
    if len(jobs.families) < 2:
        return {}
    found = {}
    for name in sorted(jobs.families, key=lambda name: (name != "default", name)):
        own = [job for job in inside if job.column_family == name]
        trees = LogJobs([job for job in jobs.jobs if job.column_family == name], jobs.files, [name])
        reasons = Counter(job.reason for job in own if job.kind == "flush")
        found[name] = {
            **_work(own),
            "flush_reasons": dict(sorted(reasons.items())),
            **_levels(trees, own, end),
            "stall_count": stalls.counts(end, name),
        }
    return {"column_families": found}


def _work(inside: Sequence[LogJob]) -> dict[str, Any]:
    flushes = [j for j in inside if j.kind == "flush"]
    merges = [j for j in inside if j.kind == "compaction"]
    flushed = sum(j.write_bytes for j in flushes)
    written = sum(j.write_bytes for j in merges)
    return {
        "flush_count": len(flushes),
        "flush_bytes": flushed,
        "compaction_count": len(merges),
        "trivial_move_count": sum(j.kind == "trivial_move" for j in inside),
        "drop_count": sum(j.kind == "drop" for j in inside),
        "recovery_count": sum(j.kind == "recovery" for j in inside),
        "recovery_bytes": sum(j.write_bytes for j in inside if j.kind == "recovery"),
        "compaction_read_bytes": sum(j.read_bytes for j in merges),
        "compaction_write_bytes": written,
        "write_amplification": (flushed + written) / flushed if flushed else None,
        "entries_flushed": sum(j.entries_in for j in flushes),
        "pairs": pair_rows(merges),
    }


def pair_rows(merges: Sequence[LogJob]) -> list[dict[str, Any]]:
    """Return one row per start and output level of compactions: count, bytes read, bytes written."""
    pairs: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for job in merges:
        row = pairs[job.start_level, job.output_level]
        row[0] += 1
        row[1] += job.read_bytes
        row[2] += job.write_bytes
    return [
        {"start_level": a, "output_level": b, "jobs": n, "read_bytes": read, "write_bytes": written}
        for (a, b), (n, read, written) in sorted(pairs.items())
    ]


def _levels(jobs: LogJobs, inside: Sequence[LogJob], end_us: int) -> dict[str, Any]:
    counts, sizes = levels_at(jobs, end_us)
    rows = []
    for level in range(len(counts)):
        row = {"level": level, "files": counts[level], "bytes": sizes[level], **level_work(inside, level)}
        if level == 0 or row["files"] or row["write_bytes"] or row["moved_bytes"]:
            rows.append(row)
    known = [s for s in sizes if s is not None]
    return {
        "files_per_level": list(counts),
        "levels": rows,
        "live_bytes": sum(known) if len(known) == len(sizes) and sizes else None,
    }


def level_work(inside: Sequence[LogJob], level: int) -> dict[str, Any]:
    """Return the work of the jobs with this output level: bytes, times and entries, as in RocksDB's table by level."""
    into = [j for j in inside if j.output_level == level and j.kind in ("compaction", "flush")]
    merges = [j for j in into if j.kind == "compaction"]
    same = [j.input_bytes.get(level) for j in merges]
    read = sum(j.read_bytes for j in merges)
    from_itself = sum(s or 0 for s in same)
    known = all(j.input_bytes or not j.inputs for j in merges)
    flushed = sum(j.write_bytes for j in into if j.kind == "flush")
    written = sum(j.write_bytes for j in into)
    above = read - from_itself
    base = flushed if level == 0 else above
    return {
        "read_bytes": read,
        "read_upper_bytes": above if known else None,
        "read_output_bytes": from_itself if known else None,
        "write_bytes": written,
        "moved_bytes": sum(j.moved_bytes for j in inside if j.kind == "trivial_move" and j.output_level == level),
        "w_amp": written / base if base and known else None,
        "jobs": len(into),
        "busy_s": sum(busy_s(j) for j in into),
        "cpu_s": sum(j.cpu_s or 0.0 for j in into),
        "entries_in": sum(j.entries_in for j in merges),
        "entries_dropped": sum(j.entries_in - j.entries_out for j in merges),
    }


def busy_s(job: LogJob) -> float:
    """Return the seconds that a job worked: a compaction without its commit, any other job from start to commit."""
    if job.kind == "compaction" and job.wall_s is not None:
        return job.wall_s
    return max(0, (job.end_us or job.start_us) - job.start_us) / 1e6


def _stalls(log: RocksDbLog, stalls: LogStalls, end: int, duration_s: float) -> dict[str, Any]:
    intervals = stalls.seconds(end)
    measured = _measured_stalls(log, end)
    covered, total = (sum(one[i] for one in measured) for i in (2, 3))
    seconds = dict(intervals)
    if measured:
        parts = [stalls.seconds(dump_end, opening) for opening, dump_end, _, _ in measured]
        scale = slowed_share({cause: sum(part[cause] for part in parts) for cause in intervals}, total)
        seconds = {cause: s if cause.endswith("stop") else s * scale for cause, s in intervals.items()}
    result: dict[str, Any] = {
        "stall_seconds": seconds,
        "stall_interval_seconds": intervals,
        "stall_count": stalls.counts(end),
        "stall_fraction": min(1.0, sum(seconds.values()) / duration_s),
        "stall_measured": None,
    }
    if measured:
        result["stall_measured"] = {"seconds": total, "until_s": covered}
        if covered >= _COVERED * duration_s:
            result["stall_fraction"] = min(1.0, total / covered)
    inside = [s for s in stalls.intervals if s.start_us < end]
    result["longest_stall_s"] = max(((s.end_us - s.start_us) / 1e6 for s in inside), default=0.0)
    return result


def slowed_share(intervals: Mapping[str, float], waited_s: float) -> float:
    """Return the share of slowdown intervals in which writers waited, if they waited `waited_s` seconds in all intervals.

    `intervals`: seconds by cause. Stopped writers wait all the time, slowed ones only before each write.
    """
    stops = sum(s for cause, s in intervals.items() if cause.endswith("stop"))
    slow = sum(intervals.values()) - stops
    return min(1.0, max(0.0, waited_s - stops) / slow) if slow > 0 else 1.0


def _measured_stalls(log: RocksDbLog, end: int) -> list[tuple[int, int, float, float]]:
    """Return (open, time of its last dump before `end`, seconds from the open to it, seconds of stall in them).

    Only of opens with such a dump; cumulative numbers begin anew with each open.
    """
    found = []
    for opening, opened in enumerate(log.openings):
        dump = last_dump(log, end, opening)
        if dump is not None and dump.time_us is not None and "cumulative_stall_s" in dump.db:
            begin_us = opened.ready_us if opening else origin_us(log)
            found.append((opening, dump.time_us, (dump.time_us - begin_us) / 1e6, dump.db["cumulative_stall_s"]))
    return found


def last_dump(log: RocksDbLog, end_us: int, opening: int | None = None) -> StatsDump | None:
    """Return the last statistics dump before a time, of one open or of all; None if no dump has an uptime above 0.5 s."""
    found = [
        d for d in log.dumps
        if d.time_us is not None and d.time_us <= end_us and (d.uptime_s or 0) > 0.5 and opening in (None, d.opening)
    ]  # fmt: skip
    return found[-1] if found else None


def _operations(log: RocksDbLog, end: int, zero: int) -> dict[str, Any]:
    dump = last_dump(log, end)
    if dump is None or dump.time_us is None or len(log.openings) != 1:
        return {}
    return operations(dump, max(1e-6, (dump.time_us - zero) / 1e6), {})
