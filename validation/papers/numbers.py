"""Numbers of simulated runs for the texts of claims: `{run.number:.1f}` in claims/<paper>.yaml.

Each place is filled with the mean over the seeds of that run. If the run was not simulated (with `--only`, or after a
failure), the text is "(not simulated)", so that a page never shows a number that was not computed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from lsmlab.sim.results.finished import finished
from lsmlab.validation.papers.claim import Outcome
from lsmlab.validation.papers.silk_measures import spike_share
from lsmlab.validation.papers.vlsm_measures import io_amplification, longest_s, stall_share, stalled_s

PLACE: Final = re.compile(r"\{([^{}]+)\.(\w+):([^{}:]*)\}")
"""Place of a number in a text: name of the run, name of the number, format."""
NOT_SIMULATED: Final = "(not simulated)"


def _level_writes(level: int) -> Callable[[Outcome], float]:
    """Return a measure: bytes that compactions wrote into a level, per byte written by clients."""

    def written(run: Outcome) -> float:
        rows = [row for row in run.summary["levels"] if row["level"] == level]
        return float(sum(row["write_bytes"] for row in rows) / run.summary["user_bytes_written"])

    return written


def _per_second(*keys: str) -> Callable[[Outcome], float]:
    return lambda run: float(sum(run.summary[key] for key in keys) / run.summary["duration_s"] / 1e6)


def _pending_stall_s(run: Outcome) -> float:
    stalls = run.summary["stall_seconds"]
    return float(stalls.get("pending_slowdown", 0.0) + stalls.get("pending_stop", 0.0))


def _percentile(operation: str, name: str, scale: float) -> Callable[[Outcome], float]:
    return lambda run: float(run.summary[f"{operation}_latency_s"][name] * scale)


def _flush_s(run: Outcome) -> float:
    """Return the longest time from a full memtable to the end of its flush, in seconds."""
    jobs = finished(run.jobs, "kind", "queued_s", "end_s")
    flushes = jobs["kind"] == "flush"
    return float((jobs["end_s"] - jobs["queued_s"])[flushes].max()) if flushes.any() else math.nan


NUMBERS: Final[Mapping[str, Callable[[Outcome], float]]] = {
    "k_ops": lambda run: float(run.summary["ops_per_s"] / 1e3),
    "stall_percent": lambda run: 100.0 * stall_share(run),
    "stalled_s": stalled_s,
    "longest_stall_s": longest_s,
    "pending_stall_s": _pending_stall_s,
    "io_amplification": io_amplification,
    "flushed_share": lambda run: float(run.summary["flush_bytes"] / run.summary["user_bytes_written"]),
    "l1_writes": _level_writes(1),
    "l2_writes": _level_writes(2),
    "l3_writes": _level_writes(3),
    "chain_mb": lambda run: float(run.summary["chain_bytes"]["max"] / 1e6),
    "flush_s": _flush_s,
    "written_mb_s": _per_second("flush_bytes", "compaction_write_bytes"),
    "discarded_gb": lambda run: float(run.summary["discarded_bytes"] / 1e9),
    "compaction_read_gb": lambda run: float(run.summary["compaction_read_bytes"] / 1e9),
    "compaction_write_gb": lambda run: float(run.summary["compaction_write_bytes"] / 1e9),
    "halted_s": lambda run: float(run.summary["halted_s"]),
    "flushes": lambda run: float(run.summary["flush_count"]),
    "spike_percent": lambda run: 100.0 * spike_share(run),
    "write_p90_ms": _percentile("write", "p90", 1e3),
    "write_p99_ms": _percentile("write", "p99", 1e3),
    "write_p99_us": _percentile("write", "p99", 1e6),
    "read_mean_us": _percentile("read", "mean", 1e6),
}
"""Measures by name. k_ops: thousands of operations per second; MB and GB are decimal."""


def filled(text: str, number_of: Callable[[str, str], float | None]) -> str:
    """Fill the places of a text; `number_of` returns the number for a run and a name, or None."""

    def number(found: re.Match[str]) -> str:
        value = number_of(found[1], found[2])
        return NOT_SIMULATED if value is None else format(value, found[3])

    return PLACE.sub(number, text)
