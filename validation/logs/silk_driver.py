"""Offered load of the driver in SILK's released code, from the driver's own output (its LATSEC lines).

Five generators each put one operation into the queues of eight workers, sleep, and repeat. The queues have no limit,
and no generator checks their length (LongPeakTest in tools/db_bench_tool.cc of SILK-USENIXATC2019), so the load does
not depend on the store. The time that a generator needs besides its sleep depends on the machine: its timers, and other
programs on its cores. In a run with LATSEC lines the offered operations are the operations done plus the growth of the
queues.

The load begins with quiet seconds, in which workers wait for operations. Reads and writes wait equally long in the
queues then, so the difference between the mean latencies of reads and writes is the time that the device takes for a
read. Where writers stall in these seconds, or another experiment uses the disk, the difference says nothing; the busiest
second then bounds the time: eight workers read at most eight blocks at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

import numpy as np

GENERATORS: Final = 5
WORKERS: Final = 8
LEAST_LATENCY_S: Final = 10e-3
"""Shorter latencies are an artefact of the driver: an operation gets a time stamp in whole milliseconds when it is put
into a queue, and a worker sleeps for 0.2 ms if its queue is empty (median latency 0.7 ms without a load)."""
_LINE: Final = re.compile(r"^LATSEC,(\d+\.?\d*),([01]),(\d+),(\d+)(?:,\d+){3},(\d+)(?:,\d+){3}\s*$", re.MULTILINE)
"""Fields of a LATSEC line: seconds; 1 in a valley of the load, 0 in a peak; length of all queues; reads and their P50,
P99 and maximum in us; the same for writes."""
_OVERHEAD_US: Final = {"LP_SLOW_US": 130.0, "LP_FAST_US": 112.4}
"""Time that a generator needs besides its sleep, for runs without LATSEC lines. Measured in lp_T40_p40_off, which had
no stall: 1949 operations per second in valleys and 9134 in peaks."""
_FEWEST: Final = 3
"""Least number of valley or peak seconds for a mean."""
_HISTOGRAM: Final = re.compile(r"^Microseconds per (read|write) (\d+) :\nCount: (\d+) Average: (\d+\.?\d*)", re.MULTILINE)
"""Fields of a histogram's head: kind of operation, worker, operations since the start, their mean latency in us."""
_FEWEST_READS: Final = 1000
"""Least number of reads for a mean: single reads take up to a hundred times as long."""


def offered_rates(text: str, environment: Mapping[str, str]) -> tuple[float, float]:
    """Return the operations per second that the generators offered in valleys and in peaks.

    `text` is the run's output. If it has no LATSEC lines, the rates follow from the sleep times in `environment`.
    """
    rates: dict[str, list[float]] = {"LP_SLOW_US": [], "LP_FAST_US": []}
    for slow, rate in _seconds(text):
        rates["LP_SLOW_US" if slow else "LP_FAST_US"].append(rate)
    valley, peak = (
        float(np.mean(seen)) if len(seen) >= _FEWEST else GENERATORS * 1e6 / (float(environment[name]) + _OVERHEAD_US[name])
        for name, seen in rates.items()
    )
    return valley, peak


def _seconds(text: str) -> Iterator[tuple[bool, float]]:
    """Yield (whether in a valley, offered operations per second) of each second that lies in one valley or one peak."""
    before_s, before_slow, before_queued = 0.0, True, 0
    for row in _LINE.findall(text):
        at_s, slow, queued, done = float(row[0]), row[1] == "1", int(row[2]), int(row[3]) + int(row[4])
        if slow is before_slow and at_s > before_s > 0.0:
            yield slow, (done + queued - before_queued) / (at_s - before_s)
        before_s, before_slow, before_queued = at_s, slow, queued


def block_read_s(text: str, counters: str) -> float | None:
    """Return the seconds for one block read, the smaller of two estimates; None if the output has too few reads.

    The first is the difference between read and write latency in the quiet seconds; a difference below 0 means a stall.
    The second is the time at which eight workers serve the reads of the busiest second. `counters` is io_cpu.csv: its
    first column has the seconds, its fourth the reads that the device had served by then.
    """
    peak = next((row for row in _LINE.finditer(text) if row[2] == "0"), None)
    before = text if peak is None else text[: peak.start()]
    reads = [(float(row[1]), int(row[4])) for row in _LINE.finditer(before)]
    beyond_s = _read_beyond_write_s(before)
    if beyond_s is None or len(reads) <= _FEWEST:
        return None
    at_s, served = np.loadtxt(counters.splitlines(), delimiter=",", skiprows=1, usecols=(0, 3), unpack=True)
    first, last = reads[0][0], reads[-1][0]  # the first second opens the store
    blocks_per_read = float(np.diff(np.interp((first, last), at_s, served))[0]) / sum(count for _, count in reads[1:])
    bound_s = WORKERS / (_most_reads(text) * blocks_per_read)
    quiet_s = beyond_s / blocks_per_read
    return min(quiet_s, bound_s) if quiet_s > 0.0 else bound_s


def _most_reads(text: str) -> float:
    """Return the reads per second of the busiest second."""
    lines = [(float(row[0]), int(row[3])) for row in _LINE.findall(text)]
    return max(count / (at_s - before_s) for (before_s, _), (at_s, count) in pairwise(lines))


def _read_beyond_write_s(text: str) -> float | None:
    """Return mean read latency minus mean write latency in seconds, from each worker's last histograms in the text."""
    last = {(row[1], row[2]): (int(row[3]), float(row[4])) for row in _HISTOGRAM.finditer(text)}
    means = {}
    for kind in ("read", "write"):
        workers = [found for (of, _), found in last.items() if of == kind]
        counts = [count for count, _ in workers]
        if sum(counts) < _FEWEST_READS:
            return None
        means[kind] = float(np.average([mean for _, mean in workers], weights=counts))
    return (means["read"] - means["write"]) / 1e6
