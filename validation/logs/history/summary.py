"""Values of summary.json from a LOG: counts, bytes by level and stalls of a real run, with the simulator's names.

Origin of time: the time at which the first open of the store in the LOG was ready for use (its "DB pointer" line; the
version line if that is missing). db_bench begins to write within milliseconds of it. After the interval that db_bench
measures, its run continues (it closes the store, prints statistics, or runs the next benchmark). A comparison with
db_bench's result must therefore end after the measured seconds.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from lsmlab.models.policies.decisions import StallCause
from lsmlab.sim.results.job_sums import write_amplification
from lsmlab.validation.logs.history.builder import jobs_of
from lsmlab.validation.logs.history.jobs import LogJob, LogJobs
from lsmlab.validation.logs.history.stalls import LogStalls, stalls_of
from lsmlab.validation.logs.history.tree import levels_at
from lsmlab.validation.logs.records import RocksDbLog
from lsmlab.validation.logs.statistics_tables import operations, summarise_tables
from lsmlab.validation.logs.stats import StatsDump, blob_space_amplification, blob_state, total_stalls

_COVERED: Final = 0.8
"""Least share of the run that a dump must cover for its cumulative stall to give stall_fraction. Otherwise
stall_fraction comes from the stall lines."""
_LEAST_UPTIME_S: Final = 0.5
"""Uptime from which a dump counts: RocksDB prints it in tenths of a second."""
_UPTIME_ERROR_S: Final = 2.0
_UPTIME_ERROR: Final = 0.02
"""Largest difference between a dump's uptime and the time since the LOG's version line, absolute or relative, for which the
store was opened then."""
_LONGER: Final = 5.0
_MOMENT_S: Final = 60.0
_FEW_JOBS: Final = 10
"""A dump's uptime as a multiple of the time between a LOG's lines, and the length of that time, for which the statistics tell
more than the lines; and the jobs of a table as a multiple of those in the lines, and the number of these."""


def origin_us(log: RocksDbLog) -> int:
    """Return the origin of time: local time in microseconds from which seconds are counted."""
    if log.openings and log.openings[0].ready_us:
        return log.openings[0].ready_us
    first = next(iter(log.records), None)
    return log.first_us or (first.time_us if first is not None else 0)


def summarise_log(
    log: RocksDbLog, until_s: float | None = None, *, jobs: LogJobs | None = None, stalls: LogStalls | None = None,
    writes_until_s: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the values of summary.json that a LOG has, for the jobs committed up to `until_s`.

    `until_s` is in seconds after `origin_us`; None means to the end of the LOG. `writes_until_s`: end of the writes, after which
    stalls delay nobody. A LOG has no latencies, device bytes or
    reads, so these are absent. Additional names are

    `pairs`               [{start_level, output_level, jobs, read_bytes, write_bytes}]: compactions by levels
    `stall_interval_seconds`  by cause, time from a line that slows or stops writers to the recompute that ends it
    `column_families`     by name, of a LOG with several: jobs, flush reasons, levels and stall lines of the family
    `stall_measured`      {seconds, until_s}: RocksDB's own cumulative stall in the last statistics dump of the interval,
                          and the time that it covers; sums over the opens of the store

    `stall_unattributed_s`  time that writers waited for no cause that the LOG shows

    `stall_fraction` of the duration is the time that writers waited, which the causes in `stall_seconds` and
    `stall_unattributed_s` add up to: RocksDB's cumulative stall if a dump covers the time, otherwise the stall intervals. A
    slowed writer also works, so an interval is longer than the waits in it. Numbers that the LOG does not show are None.
    `operations` and `write_ops_per_s` come from the last dump of the interval and cover `operations_until_s` seconds up to it.
    db_bench's output has tables but no events, and pasted statistics hardly any; then all values come from the last table
    (`statistics_tables.summarise_tables`).
    """
    jobs = jobs_of(log) if jobs is None else jobs
    stalls = stalls_of(log) if stalls is None else stalls
    if until_s is None and _tells_less(log, jobs) and (tables := summarise_tables(log, stalls.counts(sys.maxsize))) is not None:
        return tables
    zero = origin_us(log)
    end_us = max([zero, log.last_us or 0, log.records.last.time_us if log.records.last is not None else 0])
    end = min(end_us, zero + round(until_s * 1e6)) if until_s is not None else end_us
    inside = [j for j in jobs.jobs if j.done and j.end_us is not None and j.end_us <= end]
    duration_s = max(1e-6, (end - zero) / 1e6)
    levels, blobs = _levels(jobs, inside, end), _blobs(log, jobs, inside, end)
    if blobs:  # the files of all levels are not all files
        of_blobs = blobs["blobs"]["bytes"]
        levels["live_bytes"] = None if None in (levels["live_bytes"], of_blobs) else levels["live_bytes"] + of_blobs
    return {
        "duration_s": duration_s if end > zero else None,
        **_work(inside, _ingested_bytes(log, inside, end)),
        **levels,
        **blobs,
        **_stalls(log, stalls, end, duration_s if writes_until_s is None else max(1e-6, min(duration_s, writes_until_s))),
        **_operations(log, end),
        **_families(log, jobs, inside, stalls, end),
    }


def _tells_less(log: RocksDbLog, jobs: LogJobs) -> bool:
    """Whether the statistics tell more than the records.

    There are none, or of a store opened before only those of a moment, or only a few of the jobs that its tables count: a
    fragment, such as what grep left.
    """
    if not log.records:
        return True
    if not log.dumps or len(log.openings) != 1 or log.openings[0].version:
        return False
    span_s, uptime_s = ((log.last_us or 0) - (log.first_us or 0)) / 1e6, log.dumps[-1].uptime_s
    if uptime_s is not None and span_s < _MOMENT_S and uptime_s >= _LONGER * span_s:
        return True
    finished = len(jobs.done("flush", "compaction"))
    first, last = _jobs_told(log.dumps[0]), max(map(_jobs_told, log.dumps))
    told = last - first if len(log.dumps) > 1 else last * min(1.0, span_s / uptime_s) if uptime_s else last
    return finished < _FEW_JOBS and told >= max(1.0, _LONGER * finished)


def _jobs_told(dump: StatsDump) -> float:
    """Return the flushes and compactions that the tables of a dump count."""
    rows = (family.row("Sum") or {} for family in dump.families.values())
    return sum(row.get("Comp(cnt)") or 0.0 for row in rows)


def _families(
    log: RocksDbLog, jobs: LogJobs, inside: Sequence[LogJob], stalls: LogStalls, end: int
) -> dict[str, dict[str, Any]]:
    """The entry `column_families`: numbers of each family by name, of jobs and stalls; empty for a LOG of one family."""
    names = dict.fromkeys([*(jobs.families if jobs.jobs else ()), *(name for _, _, _, name in stalls.lines)])
    if len(names) < 2:
        return {}
    found = {}
    for name in sorted(names, key=lambda name: (name != "default", name)):
        own = [job for job in inside if job.column_family == name]
        trees = LogJobs([job for job in jobs.jobs if job.column_family == name], jobs.files, [name])
        reasons = Counter(job.reason for job in own if job.kind == "flush")
        found[name] = {
            **_work(own, _ingested_bytes(log, inside, end, name)),
            "flush_reasons": dict(sorted(reasons.items())),
            **_levels(trees, own, end),
            "stall_count": stalls.counts(end, name),
        }
    return {"column_families": found}


def _ingested_bytes(log: RocksDbLog, inside: Sequence[LogJob], end_us: int, family: str | None = None) -> float | None:
    """Return the bytes of the files that the application ingested, which only statistics have; None if they are unknown.

    The statistics must count as many files as the events. `family`: name of one column family; None: all.
    """
    files = sum(job.output_files for job in inside if job.kind == "ingestion")
    if not files:
        return 0.0
    dumps = [last_dump(log, end_us, opening) for opening in range(max(1, len(log.openings)))]
    told = [(name, stats.ingested) for dump in dumps if dump is not None for name, stats in dump.families.items()]
    if sum(numbers.get("files", 0.0) for _, numbers in told) != files:
        return None
    return sum(numbers.get("bytes", 0.0) for name, numbers in told if family in (None, name))


def _work(inside: Sequence[LogJob], ingested_bytes: float | None) -> dict[str, Any]:
    flushes = [j for j in inside if j.kind == "flush"]
    merges = [j for j in inside if j.kind == "compaction"]
    flushed = sum(j.write_bytes + j.blob_write_bytes for j in flushes)
    written = sum(j.write_bytes + j.blob_write_bytes for j in merges)
    return {
        "flush_count": len(flushes),
        "flush_bytes": flushed,
        "compaction_count": len(merges),
        "trivial_move_count": sum(j.kind == "trivial_move" for j in inside),
        "drop_count": sum(j.kind == "drop" for j in inside),
        "ingested_files": sum(j.output_files for j in inside if j.kind == "ingestion"),
        "recovery_count": sum(j.kind == "recovery" for j in inside),
        "recovery_bytes": sum(j.write_bytes for j in inside if j.kind == "recovery"),
        "compaction_read_bytes": sum(j.read_bytes + j.blob_read_bytes for j in merges),
        "compaction_write_bytes": written,
        "write_amplification": write_amplification(flushed, written, ingested_bytes),
        "entries_flushed": sum(j.entries_in for j in flushes),
        "pairs": pair_rows(merges),
    }


def _blobs(log: RocksDbLog, jobs: LogJobs, inside: Sequence[LogJob], end_us: int) -> dict[str, Any]:
    """Return the key `blobs`, as a simulated run has it; nothing for a LOG without blob files.

    Files, bytes and garbage are those of the last statistics dump; None without one. RocksDB rounds to 0.1 GB there; the bytes
    are exact if the LOG has the events of as many blob files. If it has those of all files at the end, because older ones are
    deleted, files and bytes are those of the end, and garbage is unknown. Bytes that compactions read are None if a line
    lacks them.
    """
    dumps = [dump for dump in log.dumps if dump.time_us is None or dump.time_us <= end_us]
    state = blob_state(dumps[-1] if dumps else StatsDump(None))
    if not any(job.blob_files for job in inside) and not state["files"]:
        return {}
    at_us = dumps[-1].time_us if dumps else None
    if at_us is not None and state["files"] is not None:
        known, live = ([one for one in jobs.blob_files.values() if one.exists(time_us)] for time_us in (at_us, end_us))
        if len(known) == state["files"]:
            state["bytes"] = float(sum(one.size_bytes for one in known))
        deleted = sum(at_us < time_us <= end_us for time_us in jobs.old_blob_files_deleted_us)
        if live != known and len(known) + deleted == state["files"]:
            state = {"files": len(live), "bytes": float(sum(one.size_bytes for one in live)), "garbage_bytes": None}
    flushes, merges = ([j for j in inside if j.kind == kind] for kind in ("flush", "compaction"))
    return {
        "blobs": {
            **state,
            "space_amplification": blob_space_amplification(state),
            "flush_write_bytes": sum(j.blob_write_bytes for j in flushes),
            "compaction_read_bytes": sum(j.blob_read_bytes for j in merges) if all(j.blob_read_known for j in merges) else None,
            "compaction_write_bytes": sum(j.blob_write_bytes for j in merges),
        }
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
    flushed = sum(j.write_bytes + j.blob_write_bytes for j in into if j.kind == "flush")
    written, blobs = sum(j.write_bytes for j in into), sum(j.blob_write_bytes for j in into)
    above = read - from_itself
    base = flushed if level == 0 else above + sum(j.blob_read_bytes for j in merges)
    return {
        "read_bytes": read,
        "read_upper_bytes": above if known else None,
        "read_output_bytes": from_itself if known else None,
        "write_bytes": written,
        "moved_bytes": sum(j.moved_bytes for j in inside if j.kind == "trivial_move" and j.output_level == level),
        "w_amp": (written + blobs) / base if base and known else None,
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


def _stalls(log: RocksDbLog, stalls: LogStalls, end: int, length_s: float) -> dict[str, Any]:
    """Return the stalls of the first `length_s` seconds; dumps up to `end` count, because later stalls delay nobody."""
    until = min(end, origin_us(log) + round(length_s * 1e6))
    intervals = stalls.seconds(until)
    measured = _measured_stalls(log, end)
    covered, total = sum(one.covered_s for one in measured), sum(one.stalled_s for one in measured)
    since_open = all(one.since_open for one in measured)
    inside = [(min(s.end_us, until) - s.start_us) / 1e6 for s in stalls.intervals if s.start_us < until]
    waited_s: float | None
    if measured and covered >= _COVERED * length_s:
        waited_s = min(1.0, total / min(covered, length_s)) * length_s if since_open else min(1.0, total / covered) * length_s
    elif not stalls.timed:
        waited_s = None
    elif measured:
        parts = [stalls.seconds(min(until, one.until_us), one.opening) for one in measured]
        scale = slowed_share({cause: sum(part[cause] for part in parts) for cause in intervals}, total)
        waited_s = min(length_s, sum(s if cause.endswith("stop") else s * scale for cause, s in intervals.items()))
    else:
        waited_s = min(length_s, sum(intervals.values()))
    counts = stalls.counts(end)
    if not stalls.timed and not waited_s and any(number for cause, number in counts.items() if StallCause(cause).stops):
        waited_s = None  # RocksDB adds a wait to its sum when it ends
    dump = last_dump(log, end)
    if not any(counts.values()) and dump is not None:  # the lines were left out, such as by grep
        counts |= total_stalls(dump)
    seconds = _shares_of(intervals, waited_s) if stalls.timed else {cause: None if n else 0.0 for cause, n in counts.items()}
    return {
        "stall_seconds": seconds,
        "stall_interval_seconds": intervals,
        "stall_unattributed_s": None if waited_s is None else max(0.0, waited_s - sum(s or 0.0 for s in seconds.values())),
        "stall_count": counts,
        "stall_fraction": None if waited_s is None else waited_s / length_s,
        "stall_until_s": length_s,
        "stall_measured": {"seconds": total, "until_s": covered} if measured else None,
        "longest_stall_s": max(inside, default=0.0) if stalls.timed else None,
    }


def _shares_of(intervals: Mapping[str, float], waited_s: float | None) -> dict[str, float | None]:
    """Divide the time that writers waited, in seconds, among the causes, of which `intervals` has the seconds.

    Stopped writers wait all the time, so stops come first; what they leave is the slowdowns'. No cause has more than its
    intervals: the rest of the wait has no cause in the LOG.
    """
    if waited_s is None:
        return dict.fromkeys(intervals)
    stops = sum(s for cause, s in intervals.items() if cause.endswith("stop"))
    slow, stopped_s = sum(intervals.values()) - stops, min(stops, waited_s)
    scales = (stopped_s / stops if stops else 0.0, min(1.0, (waited_s - stopped_s) / slow) if slow > 0.0 else 0.0)
    return {cause: s * scales[not cause.endswith("stop")] for cause, s in intervals.items()}


def slowed_share(intervals: Mapping[str, float], waited_s: float) -> float:
    """Return the share of slowdown intervals in which writers waited, if they waited `waited_s` seconds in all intervals.

    `intervals`: seconds by cause. Stopped writers wait all the time, slowed ones only before each write.
    """
    stops = sum(s for cause, s in intervals.items() if cause.endswith("stop"))
    slow = sum(intervals.values()) - stops
    return min(1.0, max(0.0, waited_s - stops) / slow) if slow > 0 else 1.0


class _Measured(NamedTuple):
    """RocksDB's own total of stalls in one open of the store, from its last dump."""

    opening: int
    until_us: int
    """Time of the dump."""
    covered_s: float
    stalled_s: float
    since_open: bool
    """Whether that is from the open on, which the LOG shows."""


def _measured_stalls(log: RocksDbLog, end: int) -> list[_Measured]:
    """Return the totals of the opens with a dump before `end`; cumulative numbers begin anew with each open."""
    found = []
    for opening in range(len(log.openings)):
        counted = counted_until(log, end, opening)
        if counted is not None and "cumulative_stall_s" in counted.dump.db:
            stalled_s = counted.amount("cumulative_stall_s")
            until_us, shown = counted.dump.time_us or 0, counted.shown
            found.append(_Measured(opening, until_us, counted.seconds, stalled_s or 0.0, shown))
    return found


class Counted(NamedTuple):
    """What the cumulative counters of a dump cover."""

    dump: StatsDump
    """The last dump."""
    before: StatsDump | None
    """Dump from which on they are counted; None: from the open on."""
    seconds: float
    shown: bool = False
    """Whether they are counted from an open that the LOG shows."""

    def amount(self, name: str) -> float | None:
        """Return the increase of a counter in this time; None without it."""
        end, begin = self.dump.db.get(name), self.before.db.get(name) if self.before is not None else 0.0
        return None if end is None or begin is None else max(0.0, end - begin)


def counted_until(log: RocksDbLog, end_us: int, opening: int = 0) -> Counted | None:
    """Return what the counters of an open's last dump before a time cover; None without such a dump or its uptime.

    Counters are those since the open. Where the LOG begins later, they belong to the dump's uptime, not to the time since the
    LOG's first line; of two such dumps, the second has what happened between them.
    """
    last = last_dump(log, end_us, opening)
    if last is None or last.time_us is None or last.uptime_s is None:
        return None
    opened = log.openings[opening]
    since_open_s = (last.time_us - opened.opened_us) / 1e6
    if opened.version and abs(since_open_s - last.uptime_s) <= max(_UPTIME_ERROR_S, _UPTIME_ERROR * last.uptime_s):
        begin_us = opened.ready_us if opening else origin_us(log)
        return Counted(last, None, max(1e-6, (last.time_us - begin_us) / 1e6), shown=True)
    first = next(d for d in log.dumps if d.opening == opening and d.time_us is not None and (d.uptime_s or 0) > _LEAST_UPTIME_S)
    between_s = last.uptime_s - (first.uptime_s or 0.0)
    if first is not last and between_s >= _LEAST_UPTIME_S and first.db.keys() >= last.db.keys():
        return Counted(last, first, between_s)
    return Counted(last, None, last.uptime_s)


def last_dump(log: RocksDbLog, end_us: int, opening: int | None = None) -> StatsDump | None:
    """Return the last statistics dump before a time, of one open or of all; None if no dump has an uptime above 0.5 s."""
    found = [
        d for d in log.dumps
        if d.time_us is not None and d.time_us <= end_us and (d.uptime_s or 0) > _LEAST_UPTIME_S and opening in (None, d.opening)
    ]  # fmt: skip
    return found[-1] if found else None


def _operations(log: RocksDbLog, end: int) -> dict[str, Any]:
    counted = counted_until(log, end) if len(log.openings) == 1 else None
    if counted is None:
        return {}
    amounts = {name: amount for name in counted.dump.db if (amount := counted.amount(name)) is not None}
    return operations(amounts, counted.seconds, {})
