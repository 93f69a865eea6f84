"""Results, latency histograms and stalls in the whole output of db_bench, and the files of a recorded run.

`bench` reads the lines of results; a LOG may contain them too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.validation.logs.bench import Benchmark, BenchReader, percentiles

_HISTOGRAM: Final = re.compile(r"^Microseconds per (\w+)(?: \d+ )?:\n(.*?)(?=\n\n|\nMicroseconds|\Z)", re.M | re.S)
_AVERAGE: Final = re.compile(r"Count: (\d+) Average: (\d+\.?\d*)")
_BUCKET: Final = re.compile(r"[\[(] *(\d+), +(\d+) \] +(\d+)")
_STALL: Final = re.compile(r"Cumulative stall: (\d+):(\d+):(\d+\.?\d*) H:M:S, (\d+\.?\d*) percent")
_FOUND: Final = re.compile(r"\((\d+) of (\d+) found\)")


@dataclass(frozen=True, slots=True)
class Histogram:
    """Latency histogram of db_bench."""

    count: int
    mean_s: float
    buckets: tuple[tuple[float, float, int], ...]
    """(lower bound exclusive, upper bound inclusive, count); bounds in microseconds."""
    percentiles: Mapping[str, float] = field(default_factory=dict)
    """P50 to P99.99 and maximum in seconds, as `bench.percentiles` returns them."""


@dataclass(frozen=True, slots=True)
class BenchOutput:
    """What db_bench printed."""

    version: str
    """Release of RocksDB; empty if unknown."""
    results: tuple[Benchmark, ...]
    histograms: Mapping[str, Histogram]
    """Last histogram of each kind of operation: "write", "read", "seek"."""
    stall_s: float
    stall_fraction: float | None
    """Share of the time for which writers were stalled; None without statistics."""
    found_share: float
    """Share of the reads whose key existed; 1 if unknown."""

    def first_result(self, path: Path) -> tuple[float, int]:
        """Return duration in seconds and operations of the first benchmark. Raises InputError that names `path` for none."""
        for result in self.results:
            if result.seconds is not None and result.operations is not None:
                return result.seconds, result.operations
        raise InputError(f"{path}: db_bench printed no result; record the case again")


def bench_output(text: str) -> BenchOutput:
    """Read the whole output of db_bench, or of a program that prints the same lines."""
    reader = BenchReader()
    for line in text.splitlines():  # also at the carriage returns behind counts of finished operations
        if "micros/op" in line or line.startswith("RocksDB:"):
            reader.take(line)
    histograms = {}
    for kind, body in _HISTOGRAM.findall(text):
        if head := _AVERAGE.search(body):
            buckets = tuple((float(low), float(high), int(count)) for low, high, count in _BUCKET.findall(body))
            histograms[kind] = Histogram(int(head[1]), float(head[2]) * 1e-6, buckets, percentiles(body))
    hours, minutes, seconds, percent = (_STALL.findall(text) or [(0, 0, 0, None)])[-1]
    reads = _FOUND.search(text)
    return BenchOutput(
        version=reader.setup.get("RocksDB", ""), results=tuple(reader.benchmarks), histograms=histograms,
        stall_s=3600.0 * float(hours) + 60.0 * float(minutes) + float(seconds),
        stall_fraction=None if percent is None else float(percent) / 100.0,
        found_share=int(reads[1]) / max(1, int(reads[2])) if reads else 1.0,
    )  # fmt: skip


def find_file(folder: Path, name: str) -> Path | None:
    """Return the path of a file of a recorded run, plain or compressed; None if there is none."""
    return next((path for end in ("", ".xz", ".gz") if (path := folder / f"{name}{end}").is_file()), None)


def recorded_file(folder: Path, name: str) -> Path:
    """Return the path of a file of a recorded run, plain or compressed. Raises InputError if there is none."""
    path = find_file(folder, name)
    if path is None:
        raise InputError(f"{folder}: {name} is missing; record the case again with 'lsmlab record --again'")
    return path
