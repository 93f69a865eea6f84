"""Single constants of the public machine, each from the job records of its runs: a fit by least squares, or a median."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.validation.casefiles.public.text import write_buckets
from lsmlab.validation.logs.timings import job_records as records
from lsmlab.validation.logs.timings.job_records import Array, JobLog
from scipy.optimize import least_squares

_SYNCS: Final = re.compile(r"rocksdb\.table\.sync\.micros .* COUNT : (\d+) SUM : (\d+)")
_CROWD: Final = 8
"""Parts from which on a merge crowds the machine."""
_BESIDE: Final = 1.4
"""Threads that run beside a merge, a flush or the writer in a run with two jobs at full speed: the others of these."""
_SHORT_US: Final = 580.0
"""Writes up to here neither slept (1 ms) nor waited for a stop."""
_SLEEP_US: Final = 1900.0
SYNCHRONOUS: Final = "pmem"
"""Its driver copies in the thread that asks, so fsyncs count as CPU there, and threads never sleep."""


@dataclass(slots=True)
class Source:
    """A calibration run: its LOG, and what it ran on."""

    name: str
    device: str
    session: str
    capped: bool
    statistics: bool
    log: JobLog
    output: str
    """What db_bench printed."""

    def crowded(self, core_contention: float) -> float:
        """How much longer than alone its threads compute; hardly any two of them meet where the client is limited."""
        return 1.0 if self.name.startswith("rate-limited") else 1.0 + core_contention * _BESIDE


def linear(x: Array, y: Array) -> Array:
    """Positive coefficients of y = x b with errors that are factors, of a heavy-tailed kind (SciPy, soft L1)."""
    start = np.maximum(np.linalg.lstsq(x / y[:, None], np.ones_like(y), rcond=None)[0], 1e-15)
    scale = np.maximum(start, 1e-13)

    def misfit(b: Array) -> Array:
        return np.asarray(np.log((x @ (b * scale)) / y), dtype=np.float64)

    found = least_squares(misfit, np.ones_like(scale), bounds=(1e-6, np.inf), loss="soft_l1", f_scale=0.1)
    return np.asarray(found.x * scale, dtype=np.float64)


def jackknife(fit: Callable[[Sequence[Source]], Array], used: Sequence[Source]) -> tuple[Array, Array]:
    """The fit on all sources, and its standard error from leaving one source out at a time."""
    value, n = fit(used), len(used)
    if n < 3:
        return value, np.full_like(value, np.nan)
    left_out = np.array([fit([s for s in used if s is not out]) for out in used])
    return value, records.left_out_error(left_out)


def _stack(parts: Sequence[tuple[Array, Array]]) -> Array:
    return linear(np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]))


def compaction_fit(used: Sequence[Source], copy_bytes_per_s: float, read_byte_s: float, core_contention: float) -> Array:
    """CPU of a merge per record, byte of key and value, record and doubling of its runs beyond two, and file slept for."""
    copies = {True: copy_bytes_per_s, False: None}
    found = [(s, records.compaction_costs(s.log, read_byte_s, copies[s.device == SYNCHRONOUS])) for s in used]
    return _stack([(x, y / s.crowded(core_contention)) for s, (x, y) in found])


def read_fit(used: Sequence[Source], copy_bytes_per_s: float) -> float:
    """Seconds per byte of key and value in which a merge copies its input out of the page cache."""
    return float(np.median(np.concatenate([records.read_costs(s.log, copy_bytes_per_s) for s in used])))


def stream_fit(used: Sequence[Source]) -> float:
    """Bytes per second that one thread copies to persistent memory when it is alone there."""
    rows = np.concatenate([found for s in used if s.device == SYNCHRONOUS and len(found := records.lone_syncs(s.log))])
    return float(np.median(rows[:, 0] / rows[:, 1]))


def flush_fit(used: Sequence[Source], core_contention: float) -> Array:
    """CPU of a flush per record and per byte of key and value."""
    found = [(s, records.flush_costs(s.log, mean_sync_s(s.output))) for s in used]
    return _stack([(x, y / s.crowded(core_contention)) for s, (x, y) in found])


def mean_sync_s(output: str) -> float | None:
    """Mean time of a table file's fsync, from RocksDB's statistics; None if they are not there."""
    found = _SYNCS.search(output)
    return int(found[2]) / int(found[1]) / 1e6 if found and int(found[1]) else None


def deletion_fit(used: Sequence[Source]) -> Array:
    """Time per byte of a deleted table file."""
    rows = np.array([row for s in used for row in s.log.deletions])
    return np.array([np.median(rows[:, 1] / rows[:, 0])])


def core_contention_fit(used: Sequence[Source], costs: Array) -> Array:
    """By how much a further running thread slows the others: merges in many parts against merges in one.

    `costs`: of a merge (`compaction_fit`); merges in many parts are those of L0, which have more runs. Only where threads never
    sleep do so many of them run as there are parts: on a block device most wait for the disk.
    """
    found = []
    for source in used:
        merges = [j for j in source.log.jobs if j.kind == "compaction" and j.cpu_s and j.records]
        crowd, alone = [j for j in merges if j.parts >= _CROWD], [j for j in merges if j.parts == 1]
        if crowd and alone:
            slower = records.slower_than(costs, crowd) / records.slower_than(costs, alone)
            threads = float(np.average([j.parts for j in crowd], weights=[j.records for j in crowd])) + _BESIDE
            found.append((slower - 1.0) / (threads - 1.0 - slower * _BESIDE))
    return np.array([np.median(found)])


def write_fit(used: Sequence[Source]) -> Array:
    """Time of an unstalled write, what each sleep of a delayed writer costs in slower writes afterwards, statistics."""
    rows = []
    for source in used:
        buckets = write_buckets(source.output)
        total = sum(n for *_, n in buckets)
        short = sum(n * _mean_us(lo, hi) for lo, hi, n in buckets if hi <= _SHORT_US)
        sleeps = sum(n for _, hi, n in buckets if _SHORT_US < hi <= _SLEEP_US)
        rows.append((1.0, sleeps / total, float(source.statistics), short / total))
    table = np.array(rows) * np.array([1.0, 1.0, 1.0, 1e-6])
    return linear(table[:, :3], table[:, 3])


def _mean_us(low: float, high: float) -> float:
    """Mean of a histogram's bucket (low, high]: times are whole microseconds, and short ones are common."""
    return (low + 1.0 + high) / 2.0 if high <= 22.0 else float(np.sqrt(low * high))


def bandwidth(source: Source, host: dict[str, float], commit_s: float, read_byte_s: float) -> float:
    """Bytes per second of the device in a run without a cap, apart from one commit per journal transaction.

    Totals, not the typical period: a device's slow moments are part of what it can sustain.
    """
    crowded = source.crowded(host["core_contention"])
    flush = [host["flush_record"] * crowded, host["flush_byte"] * crowded]
    periods = records.busy_periods(source.log, flush, read_byte_s)
    return records.bandwidth(periods, commit_s)
