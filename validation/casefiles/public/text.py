"""Reads db_bench's output of published runs: the write latency histogram and the total of the compaction table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from lsmlab.validation.logs.text import read_text

_GIB: Final = re.compile(r"([0-9.]+) GB write")
_PERCENTILES: Final = re.compile(r"Percentiles: P50: (\S+) P75: \S+ (?:P90: \S+ )?P99: (\S+) P99\.9: (\S+) P99\.99: (\S+)")
_LONGEST: Final = re.compile(r"Max: ([0-9.]+)")
_BUCKET: Final = re.compile(r"[\[(] *(\d+), +(\d+) \] +(\d+)")
_LOG_SUFFIX: Final = re.compile(r"_LOG_\d+\.gz$")
_WRITERS: Final = re.compile(r"\n(?:fillrandom|ycsb_load) ")


def compaction_gib(text: str) -> float:
    """Return the GiB written by flushes and compactions, from a "Cumulative compaction" line; 0 without that number."""
    found = _GIB.search(text)
    return float(found[1]) if found else 0.0


def stdout_of(data: Path, log: str) -> Path | None:
    """Return the path of the db_bench output stored with a LOG, plain or compressed; None if there is no such file."""
    stem = _LOG_SUFFIX.sub("_stdout.txt", log)
    return next((p for p in (data / stem, data / f"{stem}.gz") if p.is_file()), None)


def write_histogram(data: Path, log: str | None) -> dict[str, float]:
    """Return write latency percentiles and maximum in seconds, from the output stored with a LOG; empty without it."""
    path = stdout_of(data, log) if log else None
    if path is None:
        return {}
    found = percentiles(_of_writes(read_text(path)))
    return {f"write_latency_s.{key}": value for key, value in found.items()}


def percentiles(text: str) -> dict[str, float]:
    """Return P50, P99, P99.9, P99.99 and maximum in seconds of the first histogram in a text; empty without one."""
    found, longest = _PERCENTILES.search(text), _LONGEST.search(text)
    if found is None or longest is None:
        return {}
    keys = ("p50", "p99", "p999", "p9999", "max")
    return {key: float(value) / 1e6 for key, value in zip(keys, (*found.groups(), longest[1]), strict=True)}


def write_buckets(output: str) -> list[tuple[float, float, int]]:
    """Return the write histogram as rows (lower bound, upper bound, count); bounds in microseconds."""
    return [(float(lo), float(hi), int(n)) for lo, hi, n in _BUCKET.findall(_of_writes(output))]


def _of_writes(output: str) -> str:
    found = _WRITERS.search(output)
    return output[found.end() :].partition("\nDB path:")[0] if found else ""
