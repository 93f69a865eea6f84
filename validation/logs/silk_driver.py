"""What the driver of SILK's released code asked for, in its own words: generators, queues and its LATSEC lines.

Five generators put an operation each into the queues of eight workers, sleep, and go on; no queue has a limit and nobody
looks at its length (LongPeakTest in tools/db_bench_tool.cc of SILK-USENIXATC2019). So the load does not depend on what
the store does. How long a generator takes beside its sleep is the machine's affair: timers, and other programs on its
cores. A run with LATSEC lines says itself what was asked for: operations that left the queues and growth of the queues.

The load begins with quiet seconds, in which workers wait for operations. Reads and writes wait alike then, so what reads
take longer is what the machine's device takes for them, in that hour and beside whatever else used it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

GENERATORS: Final = 5
WORKERS: Final = 8
LEAST_LATENCY_S: Final = 10e-3
"""Shorter latencies are the driver's, not the store's: an operation is stamped in whole milliseconds when it is put into a
queue, and a worker that finds its queue empty sleeps for a fifth of one (a median of 0.7 ms without a load)."""
_LINE: Final = re.compile(r"^LATSEC,([\d.]+),([01]),(\d+),(\d+)(?:,\d+){3},(\d+)(?:,\d+){3}\s*$", re.MULTILINE)
"""Seconds, slow or fast, length of all queues, reads and their P50, P99 and maximum in us, the same of writes."""
_OVERHEAD_US: Final = {"LP_SLOW_US": 130.0, "LP_FAST_US": 112.4}
"""What a generator takes beside its sleep, if the run does not say: 1949 and 9134 operations per second in seconds of
valleys and of peaks of lp_T40_p40_off, where nothing stalled."""
_FEWEST: Final = 3
"""Seconds of one kind that are enough for a mean."""
_HISTOGRAM: Final = re.compile(r"^Microseconds per (read|write) (\d+) :\nCount: (\d+) Average: ([\d.]+)", re.MULTILINE)
"""Kind, worker, operations since the start and their mean latency in us."""
_FEWEST_READS: Final = 1000
"""Reads that are enough for a mean: single ones take up to a hundred times as long."""


def offered_rates(text: str, environment: Mapping[str, str]) -> tuple[float, float]:
    """Operations per second that the generators asked for in valleys and in peaks.

    `text` is the run's output; from `environment` come the sleeps, if it has no LATSEC lines.
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
    """(valley, operations asked for per second) of each second that began and ended in the same of the two."""
    before_s, before_slow, before_queued = 0.0, True, 0
    for row in _LINE.findall(text):
        at_s, slow, queued, done = float(row[0]), row[1] == "1", int(row[2]), int(row[3]) + int(row[4])
        if slow is before_slow and at_s > before_s > 0.0:
            yield slow, (done + queued - before_queued) / (at_s - before_s)
        before_s, before_slow, before_queued = at_s, slow, queued


def block_read_s(text: str, counters: str) -> float | None:
    """Seconds that reading one block takes in the quiet seconds; None where the run does not say.

    `counters` is io_cpu.csv: seconds, and in its fourth column the reads that the device had served by then.
    """
    peak = next((row for row in _LINE.finditer(text) if row[2] == "0"), None)
    before = text if peak is None else text[: peak.start()]
    reads = [(float(row[1]), int(row[4])) for row in _LINE.finditer(before)]
    beyond_s = _read_beyond_write_s(before)
    if beyond_s is None or len(reads) <= _FEWEST:
        return None
    at_s, served = np.loadtxt(counters.splitlines(), delimiter=",", skiprows=1, usecols=(0, 3), unpack=True)
    first, last = reads[0][0], reads[-1][0]  # the first second opens the store
    served_between = float(np.diff(np.interp((first, last), at_s, served))[0])
    return beyond_s * sum(count for _, count in reads[1:]) / served_between


def _read_beyond_write_s(text: str) -> float | None:
    """How much longer a read takes than a write, mean, by each worker's last histograms in the text."""
    last = {(row[1], row[2]): (int(row[3]), float(row[4])) for row in _HISTOGRAM.finditer(text)}
    means = {}
    for kind in ("read", "write"):
        workers = [found for (of, _), found in last.items() if of == kind]
        counts = [count for count, _ in workers]
        if sum(counts) < _FEWEST_READS:
            return None
        means[kind] = float(np.average([mean for _, mean in workers], weights=counts))
    return (means["read"] - means["write"]) / 1e6
