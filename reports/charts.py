"""Charts of runs: each is declared once, with its name in programs and its places on the pages.

The page of a run, the page of a comparison, `result.plot` and `comparison.plot` take their charts from here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from lsmlab.reports.figures.amplification import amplification
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.comparison import amplification_bars, overlaid_latency, stall_bars
from lsmlab.reports.figures.curves import (
    Curve,
    CurveKind,
    drawn,
    operations,
    operations_ahead,
    overlaid,
    throughput_differences,
)
from lsmlab.reports.figures.gantt import jobs_gantt
from lsmlab.reports.figures.latency import latency_distribution
from lsmlab.reports.figures.levels import l0_and_memtables, level_sizes
from lsmlab.reports.figures.over_time import (
    blocked_writes,
    device_bandwidth,
    stalled_share,
    tail_over_time,
    throughput,
    tuned_options,
)
from lsmlab.reports.run_data import Floats, RunData
from lsmlab.reports.timeline import Timeline


@dataclass(frozen=True)
class Chart:
    """A chart of a run, of several runs, or of both."""

    name: str
    """Method of `result.plot` and `comparison.plot`; empty: none."""
    about: str
    """Docstring of these methods."""
    of_run: Callable[[RunData, Timeline], Figure | None] | None = None
    """Draws one run; None for a run that has nothing of it."""
    of_runs: Callable[[Sequence[RunData], Sequence[str]], Figure | None] | None = None
    """Draws several runs with their names; None for runs that have nothing of it."""


def of_curve(name: str, curve: Curve) -> Chart:
    """Return the chart of a number over time."""
    return Chart(name, f"Draw over time: {curve.caption}", partial(drawn, curve), partial(overlaid, curve))


def _p99(run: RunData) -> Floats:
    return run.column("write_p99_s" if run.column("write_p99_s").any() else "read_p99_s")


def _device_mb_per_s(run: RunData) -> Floats:
    columns = [run.rate(name) for name in run.series if name.startswith(("read_bytes_", "write_bytes_"))]
    total: Floats = np.sum(columns, axis=0) / 1e6 if columns else np.zeros(len(run.times_s))
    return total


OPERATIONS: Final = Curve(
    "throughput", "Throughput", "Operations per second, reads and writes together.", operations, CurveKind.RATE, "/s",
    "operations / s",
)  # fmt: skip
_LATENCY: Final = Curve(
    "latency-over-time", "P99 latency per second", "P99 of the writes in each second (of the reads in a run without writes).",
    _p99, CurveKind.WORST, "s",
)  # fmt: skip
_STALLED: Final = Curve(
    "stalled", "Time in write stalls", "Share of each second in which writers were slowed or stopped.", stalled_share,
    CurveKind.RATE, "share", "stalled share",
)  # fmt: skip
_L0_FILES: Final = Curve(
    "l0-files", "Files in L0", "L0 files at the end of each second.", "l0_files", CurveKind.STATE, "files", "L0 files"
)
_DEVICE: Final = Curve(
    "device", "Device bandwidth", "Bytes per second that clients, flushes and compactions read and write.", _device_mb_per_s,
    CurveKind.RATE, "MB/s", "MB/s", steps=True,
)  # fmt: skip
_PENDING: Final = Curve(
    "pending", "Pending compaction bytes", "RocksDB's estimate of the bytes that compactions must rewrite.", "pending_bytes",
    CurveKind.STATE, "bytes",
)  # fmt: skip

THROUGHPUT: Final = Chart(
    "throughput", "Draw operations per second over time; those of one run with a band for each write stall.", throughput,
    partial(overlaid, OPERATIONS),
)  # fmt: skip
DIFFERENCE: Final = Chart(
    "throughput_difference", "Draw how many operations per second each run does more or less than the first one.",
    of_runs=throughput_differences,
)  # fmt: skip
AHEAD: Final = Chart(
    "operations_ahead", "Draw how many operations each run is ahead of the first one.", of_runs=operations_ahead
)
QUEUE: Final = Chart(
    "queue", "Draw the queue of blocked operations over time: that of an open loop, or of one with a closed loop's rate.",
    blocked_writes,
)  # fmt: skip
DEVICE: Final = Chart(
    "device", "Draw device bandwidth over time; that of one run by consumer.", device_bandwidth, partial(overlaid, _DEVICE)
)
L0: Final = Chart(
    "l0", "Draw L0 files over time; those of one run with immutable memtables and triggers.", l0_and_memtables,
    partial(overlaid, _L0_FILES),
)  # fmt: skip
LEVELS: Final = Chart("levels", "Draw the size of each level over time, and pending compaction bytes.", level_sizes)
PENDING: Final = of_curve("pending", _PENDING)
LATENCY_OVER_TIME: Final = Chart(
    "latency_over_time", "Draw the P99 latency of each second; that of one run with median and maximum.", tail_over_time,
    partial(overlaid, _LATENCY),
)  # fmt: skip
STALLED: Final = of_curve("stalls_over_time", _STALLED)
OPTIONS: Final = Chart("", "Draw the options that a tuner changed.", tuned_options)
LATENCY: Final = Chart(
    "latency", "Draw the latency distribution of the whole run up to P99.99.", lambda run, _: latency_distribution(run),
    overlaid_latency,
)  # fmt: skip
STALLS: Final = Chart("stalls", "Draw the seconds in write stalls by cause, one bar per run.", of_runs=stall_bars)
AMPLIFICATION: Final = Chart(
    "amplification", "Draw bytes written per user byte, by level.", lambda run, _: amplification(run), amplification_bars
)
JOBS: Final = Chart("jobs", "Draw flushes and compactions as bars over time.", lambda run, _: jobs_gantt(run))

RUN_OVER_TIME: Final = (THROUGHPUT, QUEUE, DEVICE, L0, LEVELS, LATENCY_OVER_TIME, OPTIONS)
"""Charts of the explorer on a run's page, in their order; the throughput stays first."""
RUN_WHOLE: Final = (LATENCY, AMPLIFICATION)
"""Charts below the explorer."""
COMPARED_OVER_TIME: Final = (THROUGHPUT, DIFFERENCE, AHEAD, LATENCY_OVER_TIME, STALLED, L0, DEVICE, PENDING)
"""Charts of a comparison on the time axis."""
COMPARED_WHOLE: Final = (LATENCY, STALLS, AMPLIFICATION)
"""Charts of a comparison over the whole runs."""
CHARTS: Final = tuple(dict.fromkeys((*RUN_OVER_TIME, *RUN_WHOLE, JOBS, *COMPARED_OVER_TIME, *COMPARED_WHOLE)))


def of_run(charts: Sequence[Chart], run: RunData, timeline: Timeline) -> list[Figure]:
    """Return the figures of one run that it has."""
    found = [chart.of_run(run, timeline) for chart in charts if chart.of_run is not None]
    return [figure for figure in found if figure is not None]


def of_runs(charts: Sequence[Chart], runs: Sequence[RunData], names: Sequence[str]) -> list[Figure]:
    """Return the figures of several runs that they have."""
    found = [chart.of_runs(runs, names) for chart in charts if chart.of_runs is not None]
    return [figure for figure in found if figure is not None]
