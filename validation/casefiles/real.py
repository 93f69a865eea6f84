"""Collects the measured side of a case. Numbers in the case file have priority over those from its LOGs and series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.text.files import read_text_part
from lsmlab.models.units import parse_quantity
from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.casefiles.curves import DISTANCES, Floats, read_series
from lsmlab.validation.casefiles.values import flat, level_values, pair_values, stall_shares
from lsmlab.validation.logs.history.builder import jobs_of
from lsmlab.validation.logs.history.jobs import LogJobs
from lsmlab.validation.logs.history.summary import origin_us, slowed_share, summarise_log
from lsmlab.validation.logs.history.tree import states, total
from lsmlab.validation.logs.leveldb import is_leveldb_log, leveldb_values
from lsmlab.validation.logs.reader import log_of
from lsmlab.validation.logs.records import RocksDbLog

_KNOWN: Final = 0.8
"""Share of the measured time for which a level's size must be known before its mean is taken."""
_INTERVALS: Final = "stall_interval_seconds."
_WAITS: Final = "stall_seconds."
_COUNTED: Final = "stall_measured.seconds"
"""RocksDB's own total of waits, which not every LOG has."""
_STALLED: Final = 0.01
"""Stall fraction below which a run has no dominant cause."""


@dataclass(slots=True)
class RealRun:
    """The measured side of a case."""

    values: dict[str, float]
    noise: dict[str, float]
    """Range over repeats divided by their mean, by name."""
    repeats: int
    """Number of runs over which the values are means; 1 if the case names no files of repeats."""
    series: list[Floats] = field(default_factory=list)
    dominant_cause: str | None = None
    notes: list[str] = field(default_factory=list)


def real_run(case: Case, config: Mapping[str, Any]) -> RealRun:
    """Collect all measured numbers of a case. Raises InputError that names a series or LOG that cannot be read."""
    series = [read_series(path) for path in case.series]
    duration_s = _duration(case, config, series)
    runs = with_waits([_from_file(path, duration_s) for path in case.logs], case.measured.get("stall_fraction"))
    logged, noise = means_and_ranges(runs)
    values = logged | _tables(case) | dict(case.measured)
    if series:
        rates = [float(s.mean()) for s in series]
        values.setdefault("ops_per_s", float(np.mean(rates)))
        if len(rates) > 1:
            noise["ops_per_s"] = _range(rates)
    if "duration_s" not in values and duration_s:
        values["duration_s"] = duration_s
    values |= {k: v for k, v in stall_shares(values, values.get("duration_s")).items() if k not in values}
    noise |= dict(case.noise)
    found = RealRun(values, noise, max(1, len(case.logs), len(series)), series)
    found.dominant_cause = common_dominant_cause(values, runs)
    if found.dominant_cause is None and dominant_cause(values) is not None:
        found.notes.append("its repeats have different dominant stall causes, so no cause is compared")
    found.noise |= _curve_noise(series)
    if case.logs and duration_s is None:
        found.notes.append(
            "the LOG was read to its end: the case gives no measured.duration_s, series or workload.duration"
        )
    return found


def with_waits(runs: Sequence[Mapping[str, float]], waited: float | None) -> list[dict[str, float]]:
    """Return the numbers of a case's LOGs in which `stall_seconds` is the time that writers waited, as in a simulated run.

    A LOG without a statistics table does not tell how long slowed writers waited, only how long they were slowed. If `waited`,
    the measured share of the run in which writers waited, is known, slowdowns are shortened to it. Otherwise `stall_seconds`
    and `stall_fraction` of all LOGs are left out, and `stall_interval_seconds` has the lengths of the stalls.
    """
    if waited is None and any(_slowed(run) and _COUNTED not in run for run in runs):
        return [{k: v for k, v in run.items() if k != "stall_fraction" and not k.startswith(_WAITS)} for run in runs]
    found = []
    for run in runs:
        known = {k: v for k, v in run.items() if not k.startswith(_INTERVALS)}
        if waited is not None and _slowed(run) and _COUNTED not in run:
            intervals = _by_cause(run, _INTERVALS)
            scale = slowed_share(intervals, waited * run["duration_s"])
            known |= {f"{_WAITS}{cause}": intervals[cause] * scale for cause in _slowed(run)}
        found.append(known)
    return found


def _slowed(run: Mapping[str, float]) -> list[str]:
    """Return the causes of slowdowns in a LOG."""
    return [cause for cause, seconds in _by_cause(run, _INTERVALS).items() if seconds > 0.0 and cause.endswith("slowdown")]


def _duration(case: Case, config: Mapping[str, Any], series: Sequence[Floats]) -> float | None:
    """Return the length of the measured interval in seconds; None if the case does not give it."""
    if "duration_s" in case.measured:
        return case.measured["duration_s"]
    if series:
        return float(np.mean([len(s) for s in series]))
    duration = config["workload"].get("duration")
    return parse_quantity(duration, "seconds") or None if duration is not None else None


def _from_file(path: Path, until_s: float | None) -> dict[str, float]:
    text, whole = read_text_part(path)
    if is_leveldb_log(text):
        return leveldb_values(text, until_s)
    return _from_log(log_of(path, text, whole), until_s)


def _from_log(log: RocksDbLog, until_s: float | None) -> dict[str, float]:
    jobs = jobs_of(log)
    summary = summarise_log(log, until_s, jobs=jobs)
    left_out = ("levels", "pairs", "operations", "write_ops_per_s", "user_bytes_written")
    values = flat({k: v for k, v in summary.items() if k not in left_out})
    values |= level_values(summary["levels"]) | pair_values(summary["pairs"])
    zero_us = origin_us(log)
    return values | _mean_levels(jobs, zero_us, zero_us + round(summary["duration_s"] * 1e6))


def _mean_levels(jobs: LogJobs, start_us: int, end_us: int) -> dict[str, float]:
    """Return bytes per level, averaged over time; skip levels whose size is unknown for over 20 % of the time."""
    known: dict[int, int] = {}
    weighted: dict[int, float] = {}
    last_us = start_us
    sizes: Sequence[int | None] = ()

    def pass_by(until_us: int) -> None:
        for level, size in enumerate(sizes):
            if size is not None and until_us > last_us:
                known[level] = known.get(level, 0) + until_us - last_us
                weighted[level] = weighted.get(level, 0.0) + size * (until_us - last_us)

    first_us = None
    for job, trackers in states(jobs):
        now_us = min(max(job.end_us or last_us, last_us), end_us)
        first_us = now_us if first_us is None else first_us
        pass_by(now_us)
        last_us, sizes = now_us, total(trackers)[1]
    pass_by(end_us)
    # every level of a new store is empty before the first commit; sizes are unknown while commits overlap
    length_us = end_us - (first_us or start_us)
    return {
        f"levels.{n}.mean_bytes": weighted[n] / known[n] * length_us / max(1, end_us - start_us)
        for n in weighted
        if known[n] > _KNOWN * length_us
    }


def _tables(case: Case) -> dict[str, float]:
    """Return the numbers of the tables under `measured`: levels, level_pairs, files_per_level."""
    tables = case.tables or {}
    try:
        found = level_values(tables.get("levels", ())) | pair_values(tables.get("level_pairs", ()))
        found |= {f"levels.{i}.files": float(n) for i, n in enumerate(tables.get("files_per_level", ()))}
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        reason = f"a table of levels is invalid ({error}); see docs/reference/cases.md"
        raise InputError(f"{case.directory}: measured: {reason}") from None
    return found


def means_and_ranges(runs: Sequence[Mapping[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the mean of each number over the repeats that have it, and range / mean where several repeats have it.

    >>> means_and_ranges([{"a": 9.0}, {"a": 11.0}])
    ({'a': 10.0}, {'a': 0.2})
    """
    means, ranges = {}, {}
    for name in dict.fromkeys(name for run in runs for name in run):
        found = [run[name] for run in runs if name in run]
        means[name] = float(np.mean(found))
        if len(found) > 1:
            ranges[name] = _range(found)
    return means, ranges


def _range(values: Sequence[float]) -> float:
    mean = float(np.mean(values))
    return (max(values) - min(values)) / abs(mean) if mean else 0.0


def dominant_cause(values: Mapping[str, float]) -> str | None:
    """Return the stall cause with the most time, or the most counts if times are unknown; None below 1 % stalled.

    The time is the length of the stalls if the run has it (`with_waits`), otherwise the time that writers waited.
    """
    seconds = _by_cause(values, "stall_interval_share.") or _by_cause(values, "stall_share.")
    counts = _by_cause(values, "stall_count.")
    fraction = values.get("stall_fraction", sum(seconds.values()))
    known = seconds or counts
    if fraction < _STALLED or not known or max(known.values()) <= 0:
        return None
    return max(known, key=lambda cause: known[cause])


def _by_cause(values: Mapping[str, float], prefix: str) -> dict[str, float]:
    return {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}


def common_dominant_cause(values: Mapping[str, float], repeats: Sequence[Mapping[str, float]]) -> str | None:
    """Return the dominant cause; None if the repeats that stalled have different dominant causes."""
    own = {dominant_cause({**run, **stall_shares(run, run.get("duration_s"))}) for run in repeats}
    cause = dominant_cause(values)
    return cause if len(own - {None}) <= 1 else None


def _curve_noise(series: Sequence[Floats]) -> dict[str, float]:
    """Return the distances between the throughput curves of repeats, averaged over all pairs."""
    pairs = [(a, b) for i, a in enumerate(series) for b in series[i + 1 :]]
    return {name: float(np.mean([distance(a, b) for a, b in pairs])) for name, distance in DISTANCES.items() if pairs}
