"""What was measured in a case: from the case itself first, then from its logs and its series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.validation.case import Case
from lsmlab.validation.log_records import RocksDbLog
from lsmlab.validation.log_summary import summarise_log
from lsmlab.validation.rocksdb_log import read_log
from lsmlab.validation.scorecard.curves import Floats, area_distance, cumulative_distance, ks_distance, read_series
from lsmlab.validation.scorecard.values import flat, level_values, pair_values, stall_shares

_STALLED: Final = 0.01
"""A run that was held back for less than this share of its time has no dominant cause."""


@dataclass(slots=True)
class RealRun:
    """The measured side of a case."""

    values: dict[str, float]
    noise: dict[str, float]
    """Relative range over repeats, by name."""
    repeats: int
    """Runs that the values are means of; 1 if the case does not say."""
    series: list[Floats] = field(default_factory=list)
    dominant_cause: str | None = None
    notes: list[str] = field(default_factory=list)


def real_run(case: Case, config: Mapping[str, Any]) -> RealRun:
    """Gather what is known. Raises InputError that names the file for series and logs that cannot be read."""
    series = [read_series(path) for path in case.series]
    duration_s = _duration(case, config, series)
    runs = [_from_log(read_log(path), duration_s) for path in case.logs]
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
    found.dominant_cause = dominant_cause(values)
    found.noise |= _curve_noise(series)
    if case.logs and duration_s is None:
        found.notes.append(
            "the log was read to its end: the case gives no measured.duration_s, series or workload.duration"
        )
    return found


def _duration(case: Case, config: Mapping[str, Any], series: Sequence[Floats]) -> float | None:
    """Seconds of the measured interval."""
    if "duration_s" in case.measured:
        return case.measured["duration_s"]
    if series:
        return float(np.mean([len(s) for s in series]))
    told = config["workload"].get("duration")
    return parse_quantity(told, "seconds") or None if told is not None else None


def _from_log(log: RocksDbLog, until_s: float | None) -> dict[str, float]:
    summary = summarise_log(log, until_s)
    left_out = ("levels", "pairs", "operations", "write_ops_per_s", "user_bytes_written")
    values = flat({k: v for k, v in summary.items() if k not in left_out})
    return values | level_values(summary["levels"]) | pair_values(summary["pairs"])


def _tables(case: Case) -> dict[str, float]:
    """Tables under `measured`: levels, level_pairs, files_per_level."""
    tables = case.tables or {}
    try:
        found = level_values(tables.get("levels", ())) | pair_values(tables.get("level_pairs", ()))
        found |= {f"levels.{i}.files": float(n) for i, n in enumerate(tables.get("files_per_level", ()))}
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InputError(f"{case.directory}: measured: a table of levels cannot be read ({error})") from None
    return found


def means_and_ranges(runs: Sequence[Mapping[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Mean of each number over the repeats that have it, and the range over that mean where there are several.

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
    """The cause with most stalled time, or most counts where times are not known; None for a run that hardly stalled."""
    seconds = {k.removeprefix("stall_share."): v for k, v in values.items() if k.startswith("stall_share.")}
    counts = {k.removeprefix("stall_count."): v for k, v in values.items() if k.startswith("stall_count.")}
    fraction = values.get("stall_fraction", sum(seconds.values()))
    known = seconds or counts
    if fraction < _STALLED or not known or max(known.values()) <= 0:
        return None
    return max(known, key=lambda cause: known[cause])


def _curve_noise(series: Sequence[Floats]) -> dict[str, float]:
    """Distances between repeats: mean over their pairs."""
    pairs = [(a, b) for i, a in enumerate(series) for b in series[i + 1 :]]
    if not pairs:
        return {}
    return {
        "throughput.ks": float(np.mean([ks_distance(a, b) for a, b in pairs])),
        "throughput.area": float(np.mean([area_distance(a, b) for a, b in pairs])),
        "throughput.cumulative": float(np.mean([cumulative_distance(a, b) for a, b in pairs])),
    }
