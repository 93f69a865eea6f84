"""Consistency checks on a parsed LOG, which detect missing lines.

A commit gives the files per level, a statistics table gives the jobs and bytes since the open, and stall counters give
the number of stall lines. Each of these numbers must follow from the records before it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from lsmlab.validation.logs.history.jobs import LogJob, LogJobs
from lsmlab.validation.logs.history.stalls import LogStalls
from lsmlab.validation.logs.history.tree import commits
from lsmlab.validation.logs.records import Event, RocksDbLog, whole_number
from lsmlab.validation.logs.stats import FamilyStats, StatsDump, total_stalls

_GIB: Final = 2.0**30
_ROUNDING_BYTES: Final = 0.0501 * _GIB
"""Rounding error of the tables, which print GB with one decimal."""
_TOGETHER: Final = 24
"""Largest number of commits during which files per level may include jobs whose own commit is still to come. It exceeds
the number of background threads of all recorded stores."""
_RACE_US: Final = 2000
"""A line may be before or after a dump in the file if it is this close to the dump in time."""


def check_log(log: RocksDbLog, jobs: LogJobs, stalls: LogStalls) -> Counter[str]:
    """Count gaps and contradictions by kind (`jobs.PROBLEMS`)."""
    found = Counter(jobs.problems)
    found["lsm_jumps"] += _jumps(log, jobs)
    for dump in log.dumps:
        if dump.time_us is not None and log.openings[dump.opening].version:
            found["table_mismatches"] += sum(_mismatch(family, name, dump, jobs) for name, family in dump.families.items())
            found["stall_mismatches"] += _stall_mismatches(dump, stalls)
    found["missing_stall_lines"] += _silent_stalls(log, stalls)
    found["no_events"] += next(log.records.of(Event), None) is None
    if log.records:
        found["no_beginning"] += not log.openings[0].version
        found["no_end"] += max(0, len(log.openings) - log.shutdowns)
    return Counter({kind: n for kind, n in found.items() if n})


def _jumps(log: RocksDbLog, jobs: LogJobs) -> int:
    """Count the commits whose files per level do not follow from the commit before."""
    jumps = 0
    by_store: dict[tuple[int, str], list[LogJob]] = defaultdict(list)
    for job in commits(jobs):
        if job.kind != "recovery":
            by_store[job.opening, job.column_family].append(job)
    recovered = Counter(job.opening for job in jobs.jobs if job.kind == "recovery")
    families = Counter(opening for opening, _ in by_store)
    for (opening, _), done in by_store.items():
        known = log.openings[opening].sst_files if families[opening] == 1 else None
        jumps += _jumps_of(done, None if known is None else known + recovered[opening])
    return jumps


def _jumps_of(done: Sequence[LogJob], files_before: int | None) -> int:
    """Count the jumps in files per level among the commits of one column family.

    The first commit is checked against `files_before`, the number of files that the open found. If RocksDB commits
    several jobs together, the files per level of each include the files of all, so they may be ahead of the jobs for a
    few commits. A missing commit shifts all later ones permanently.
    """
    offsets: list[tuple[int, ...]] = []
    sums: list[int] = []
    for job in done:
        width = max(len(sums), len(job.lsm_state or ()), job.output_level + 1)
        sums += [0] * (width - len(sums))
        for level, n in enumerate(_change(job, width)):
            sums[level] += n
        if job.lsm_state is not None:
            stated = [*job.lsm_state, *[0] * (width - len(job.lsm_state))]
            offset = [a - b for a, b in zip(stated, sums, strict=True)]
            while offset and offset[-1] == 0:
                offset.pop()
            offsets.append(tuple(offset))
    if not offsets:
        return 0
    baseline = min(offsets[:_TOGETHER], key=lambda o: (-offsets[:_TOGETHER].count(o), offsets.index(o)))
    jumps = int(files_before is not None and sum(baseline) != files_before)
    at = 0
    while at < len(offsets):
        if offsets[at] != baseline:
            window = offsets[at : at + _TOGETHER]
            if baseline in window:
                at += window.index(baseline)
            else:
                jumps += 1
                baseline = max(window, key=window.count)
        at += 1
    return jumps


def _change(job: LogJob, levels: int) -> list[int]:
    change = [0] * levels
    if job.kind == "trivial_move":
        if 0 <= job.start_level < levels and job.output_level >= 0:  # a cut line may lack either
            change[job.output_level] += job.output_files
            change[job.start_level] -= job.output_files
        return change
    if job.output_level >= 0:
        change[job.output_level] += job.output_files
    for level, files in job.inputs.items():
        if level < levels:
            change[level] -= len(files)
    return change


def _mismatch(family: FamilyStats, name: str, dump: StatsDump, jobs: LogJobs) -> int:
    total = family.row("Sum")
    if total is None or "Comp(cnt)" not in total or "Write(GB)" not in total:
        return 0
    end = dump.time_us or 0
    mine = [
        j
        for j in jobs.jobs
        if j.opening == dump.opening
        and j.column_family == name
        and j.kind not in ("trivial_move", "drop", "ingestion")
        and j.start_us <= end
    ]
    sure = [j for j in mine if j.done and (j.end_us or 0) <= end - _RACE_US]
    perhaps = len(mine) - len(sure)  # RocksDB's table counts a job before its commit, and aborted jobs too
    count, written = total["Comp(cnt)"], total["Write(GB)"] * _GIB
    slack = _ROUNDING_BYTES * max(1, len(family.levels))
    low, high = sum(j.write_bytes for j in sure), sum(j.write_bytes for j in mine)
    recovered = sum(j.kind == "recovery" for j in sure)
    fits = len(sure) - recovered <= count <= len(sure) + perhaps
    fits &= low - slack - sum(j.write_bytes for j in sure if j.kind == "recovery") <= written <= high + slack
    return not fits


def _stall_mismatches(dump: StatsDump, stalls: LogStalls) -> int:
    end = dump.time_us or 0
    early: Counter[str] = Counter()
    late: Counter[str] = Counter()
    for time_us, opening, cause, _ in stalls.lines:
        if opening == dump.opening:
            early[cause.value] += time_us <= end - _RACE_US
            late[cause.value] += time_us <= end + _RACE_US
    return any(not early[cause] <= n <= late[cause] for cause, n in total_stalls(dump).items())


def _silent_stalls(log: RocksDbLog, stalls: LogStalls) -> int:
    """Count the recomputes without a stall line although L0 files or immutable memtables are at their limit."""
    if log.options.get("disable_auto_compactions", "0").strip() not in ("0", "false"):
        return 0
    slowdown, stop = (_option(log, f"level0_{kind}_writes_trigger") for kind in ("slowdown", "stop"))
    memtables = _option(log, "max_write_buffer_number")
    trigger = min((n for n in (slowdown, stop) if n is not None), default=None)
    missing = 0
    previous = None
    for state in stalls.states:
        recent, previous = previous, state
        if recent is not None and recent.cause is not None and state.time_us - recent.time_us < _RACE_US:
            continue  # between this commit and its event another thread recomputed, and printed its line
        closing = log.openings[state.opening].closing_us
        if closing is not None and state.time_us >= closing:
            continue
        if state.cause is None and state.column_family == "default" and state.opening == 0:
            full = state.l0_files is not None and trigger is not None and state.l0_files >= trigger
            waiting = state.immutables is not None and memtables is not None and state.immutables >= memtables
            missing += full or waiting
    return missing


def _option(log: RocksDbLog, name: str) -> int | None:
    return whole_number(log.options.get(name, "").strip()) or None
