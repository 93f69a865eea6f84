"""Numbers by dotted name, taken from a simulated summary or from a LOG, so that both sides can be compared by name."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from lsmlab.models.policies.decisions import StallCause
from lsmlab.sim.clients.latency import QUANTILES
from lsmlab.sim.results.job_sums import finished
from lsmlab.validation.casefiles.curves import Floats
from lsmlab.validation.logs.histogram_clock import printed_percentiles

SLOW_OPS = 1200
"""Writes per second below which LevelDB's writer must have slept 1 ms before each write (L0 slowdown)."""
LEVEL_KEYS = ("files", "bytes", "read_bytes", "write_bytes", "w_amp")


def flat(summary: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return all finite numbers of a nested summary by dotted name, without its tables."""
    found: dict[str, float] = {}
    for key, value in summary.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            found[f"{prefix}{key}"] = float(value)
    return found


def level_values(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the rows of `levels` as numbers named levels.N.key."""
    found = {}
    for row in rows:
        for key in LEVEL_KEYS:
            value = row.get(key)
            if isinstance(value, int | float) and "level" in row:
                found[f"levels.{row['level']}.{key}"] = float(value)
    return found


def pair_values(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return rows of {start_level, output_level, read_bytes, write_bytes} as pairs.A-B.key; `bytes` is their sum."""
    found: dict[str, float] = {}
    for row in rows:
        name = f"pairs.{row['start_level']}-{row['output_level']}"
        read, written = float(row.get("read_bytes") or 0), float(row.get("write_bytes") or 0)
        found |= {f"{name}.read_bytes": read, f"{name}.write_bytes": written, f"{name}.bytes": read + written}
    return found


_SHARES: Final = {"stall_seconds.": "stall_share.", "stall_interval_seconds.": "stall_interval_share."}


def stall_shares(values: Mapping[str, float], duration_s: float | None) -> dict[str, float]:
    """Return the seconds of each stall cause as shares of the run's duration: waits of writers, and intervals of stalls."""
    if not duration_s:
        return {}
    return {
        shares + name.removeprefix(seconds): value / duration_s
        for name, value in values.items()
        for seconds, shares in _SHARES.items()
        if name.startswith(seconds)
    }


def simulated_values(
    summary: Mapping[str, Any], jobs: Mapping[str, Any], series: Mapping[str, Any], latency: Mapping[str, Any],
    stalls: Mapping[str, Any],
) -> dict[str, float]:  # fmt: skip
    """Return all numbers of a simulated run that can be scored; latencies as RocksDB's histograms print them."""
    values = flat({k: v for k, v in summary.items() if k not in ("options", "prefill", "keys")})
    values |= _seen_latencies(latency, values)
    values |= level_values(summary.get("levels", ()))
    values |= pair_values(_pairs(jobs))
    values |= _stall_intervals(stalls)
    values |= stall_shares(values, values.get("duration_s"))
    for name, column in series.items():
        if name.startswith("level_bytes_") and len(column):
            values[f"levels.{name.removeprefix('level_bytes_')}.mean_bytes"] = float(np.mean(column))
    if len(writes := np.asarray(series.get("write_ops", ()))):
        values["slow_seconds"] = float(np.mean(writes < SLOW_OPS))
    return values


def _stall_intervals(stalls: Mapping[str, Any]) -> dict[str, float]:
    """Return the length of the stalls of each cause: a slowed writer waits for a part of it only."""
    seconds = {cause.value: 0.0 for cause in StallCause}
    for cause, start_s, end_s in zip(stalls["cause"], stalls["start_s"], stalls["end_s"], strict=True):
        seconds[str(cause)] += float(end_s) - float(start_s)
    return {f"stall_interval_seconds.{cause}": length_s for cause, length_s in seconds.items()}


def _seen_latencies(latency: Mapping[str, Any], values: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for op in ("write", "read", "scan"):
        mine = np.asarray(latency["op"]) == op
        if mine.any():
            upper_s, count = (np.asarray(latency[key], dtype=np.float64)[mine] for key in ("upper_s", "count"))
            printed = printed_percentiles(upper_s, count, values[f"{op}_latency_s.max"], QUANTILES)
            found |= {f"{op}_latency_s.{name}": value for name, value in printed.items()}
    return found


def _pairs(jobs: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not len(jobs.get("kind", ())):
        return []
    total: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    columns = finished(jobs, "kind", "start_level", "output_level", "read_bytes", "write_bytes").values()
    for kind, start, output, read, written in zip(*columns, strict=True):
        if kind == "compaction":
            row = total[int(start), int(output)]
            row[0] += float(read)
            row[1] += float(written)
    return [
        {"start_level": a, "output_level": b, "read_bytes": read, "write_bytes": written}
        for (a, b), (read, written) in sorted(total.items())
    ]


def reported_series(series: Mapping[str, Any]) -> Floats:
    """Return operations per second as db_bench's report file counts them: completed operations of all threads.

    The report includes background writers; the throughput that db_bench prints at the end does not
    (`ReporterAgent`, `Stats::FinishedOps`; `SetExcludeFromMerge` acts only on the printed throughput).
    """
    done = np.cumsum(np.asarray(series["write_ops"], dtype=np.float64) + np.asarray(series["read_ops"], dtype=np.float64))
    whole: Floats = np.diff(np.floor(done + _ROUNDING), prepend=0.0)
    return whole


_ROUNDING = 1e-6
"""Rounding errors of the summed floats are smaller than this number of operations."""
