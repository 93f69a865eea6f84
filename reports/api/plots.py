"""Figures of runs for notebooks: those of the pages, as Plotly figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lsmlab.reports.figures import comparison
from lsmlab.reports.figures.amplification import amplification
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.device import device_bandwidth
from lsmlab.reports.figures.gantt import jobs_gantt
from lsmlab.reports.figures.graph import graph
from lsmlab.reports.figures.latency import latency_distribution
from lsmlab.reports.figures.levels import l0_and_memtables, level_sizes
from lsmlab.reports.figures.over_time import (
    DEVICE,
    L0_FILES,
    LATENCY,
    STALLED,
    THROUGHPUT,
    overlaid,
    pending_bytes,
    throughput_differences,
)
from lsmlab.reports.figures.queue import blocked_writes
from lsmlab.reports.figures.throughput import tail_over_time, throughput
from lsmlab.reports.run_data import RunData
from lsmlab.reports.timeline import Timeline

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Graph


class RunPlots:
    """Figures of one run. Each method returns a Plotly figure, which a notebook shows as the last value of a cell."""

    def __init__(self, run: RunData) -> None:
        self._run = run
        self._timeline = Timeline.of(run.times_s)

    def throughput(self) -> Graph:
        """Draw writes and reads per second over time, with a band for each write stall."""
        return graph(throughput(self._run, self._timeline))

    def latency(self) -> Graph:
        """Draw the latency distribution of the whole run up to P99.99."""
        return graph(latency_distribution(self._run))

    def latency_over_time(self) -> Graph:
        """Draw median, P99 and maximum of the latency of each second."""
        return graph(tail_over_time(self._run, self._timeline))

    def queue(self) -> Graph:
        """Draw the queue of blocked operations over time: that of an open loop, or of one with a closed loop's rate."""
        return graph(blocked_writes(self._run, self._timeline))

    def levels(self) -> Graph:
        """Draw the size of each level over time."""
        return graph(level_sizes(self._run, self._timeline))

    def l0(self) -> Graph:
        """Draw L0 files, immutable memtables and pending compaction bytes over time, with their triggers."""
        return graph(l0_and_memtables(self._run, self._timeline))

    def jobs(self) -> Graph:
        """Draw flushes and compactions as bars over time."""
        return graph(jobs_gantt(self._run))

    def device(self) -> Graph:
        """Draw device bandwidth over time by consumer."""
        return graph(device_bandwidth(self._run, self._timeline))

    def amplification(self) -> Graph:
        """Draw bytes written per user byte, by level."""
        return graph(amplification(self._run))


class ComparisonPlots:
    """Figures of several runs in common axes. Each method returns a Plotly figure."""

    def __init__(self, runs: Sequence[RunData], names: Sequence[str]) -> None:
        self._runs, self._names = runs, names

    def throughput(self) -> Graph:
        """Draw operations per second of all runs over time."""
        return graph(overlaid(THROUGHPUT, self._runs, self._names))

    def throughput_difference(self) -> Graph:
        """Draw how many operations per second each run does more or less than the first one."""
        return self._graph(throughput_differences)

    def latency(self) -> Graph:
        """Draw the latency distributions of all runs up to P99.99."""
        return self._graph(comparison.overlaid_latency)

    def latency_over_time(self) -> Graph:
        """Draw the write P99 of each second of all runs."""
        return graph(overlaid(LATENCY, self._runs, self._names))

    def stalls(self) -> Graph:
        """Draw the seconds in write stalls by cause, one bar per run."""
        return self._graph(comparison.stall_bars)

    def stalls_over_time(self) -> Graph:
        """Draw the share of each second that writers spent in stalls."""
        return graph(overlaid(STALLED, self._runs, self._names))

    def l0(self) -> Graph:
        """Draw the number of L0 files over time."""
        return graph(overlaid(L0_FILES, self._runs, self._names))

    def pending(self) -> Graph:
        """Draw the pending compaction bytes over time."""
        return self._graph(pending_bytes)

    def device(self) -> Graph:
        """Draw the device bandwidth over time."""
        return graph(overlaid(DEVICE, self._runs, self._names))

    def amplification(self) -> Graph:
        """Draw bytes written per user byte by level, one bar per run."""
        return self._graph(comparison.amplification_bars)

    def _graph(self, draw: Callable[[Sequence[RunData], Sequence[str]], Figure]) -> Graph:
        return graph(draw(self._runs, self._names))
