"""Single constants of the 40-thread machine of the public runs: least squares or medians over its job records."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.models.costs.cost import Cost
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import sleep_penalties, write_cpu
from lsmlab.models.units import build
from lsmlab.sim.configuration.parameters import read_parameters
from lsmlab.validation.calibrate.job_costs import job_cpu
from lsmlab.validation.calibrate.terms import design
from lsmlab.validation.casefiles.public.text import write_buckets
from lsmlab.validation.logs.timings import job_records as records
from lsmlab.validation.logs.timings.job_records import Array, JobLog
from lsmlab.validation.logs.timings.jobs import Job
from scipy.optimize import least_squares

_SYNCS: Final = re.compile(r"rocksdb\.table\.sync\.micros .* COUNT : (\d+) SUM : (\d+)")
_MANY_PARTS: Final = 8
"""Number of subcompactions from which a compaction causes core contention."""
_OTHER_THREADS: Final = 1.4
"""Mean number of other threads that run beside a compaction, a flush or the writer, in a run with two jobs at full
speed."""
_SHORT_US: Final = 580.0
"""Longest write that neither slept (1 ms) nor waited for a stop."""
_SLEEP_US: Final = 1900.0
"""Longest write that slept once."""
Constants = dict[str, float]
"""Values by key of the configuration, such as "host.write_op"."""
SYNCHRONOUS: Final = "pmem"
"""Device whose driver copies data in the thread that makes the request: an fsync counts as CPU time, and threads never
sleep."""


@dataclass(slots=True)
class Source:
    """A calibration run: its LOG, its device and db_bench's output."""

    name: str
    device: str
    session: str
    capped: bool
    statistics: bool
    log: JobLog
    output: str
    """Output of db_bench."""

    def contention_factor(self, core_contention: float) -> float:
        """Return the CPU time of its threads relative to threads that run alone.

        The factor is 1 if the client is rate-limited: its threads rarely run at the same time.
        """
        return 1.0 if self.name.startswith("rate-limited") else 1.0 + core_contention * _OTHER_THREADS


def host_of(name: str) -> Host:
    """Return the host of another parameter set."""
    return build(Host, dict(read_parameters(name).host), name)


def linear(x: Array, y: Array) -> Array:
    """Solve y = x b for positive coefficients b, with multiplicative errors that may have outliers (soft L1 loss)."""
    start = np.maximum(np.linalg.lstsq(x / y[:, None], np.ones_like(y), rcond=None)[0], 1e-15)
    scale = np.maximum(start, 1e-13)

    def misfit(b: Array) -> Array:
        return np.asarray(np.log((x @ (b * scale)) / y), dtype=np.float64)

    found = least_squares(misfit, np.ones_like(scale), bounds=(1e-6, np.inf), loss="soft_l1", f_scale=0.1)
    return np.asarray(found.x * scale, dtype=np.float64)


def solved(measured: Sequence[tuple[Cost, float]], host: Host, keys: Sequence[str] | None = None) -> Constants:
    """Fit the constants of costs to measured seconds (`linear`).

    `keys`: constants to solve for; by default all constants in the costs that fits estimate. The others are taken from
    `host`.
    """
    columns, fixed_s = design([(cost, host) for cost, _ in measured], keys)
    seconds = np.array([seconds for _, seconds in measured], dtype=np.float64) - fixed_s
    return dict(zip(columns, linear(np.column_stack(list(columns.values())), seconds).tolist(), strict=True))


def jackknife(fit: Callable[[Sequence[Source]], Constants], used: Sequence[Source]) -> tuple[Constants, Constants]:
    """Return the fit to all sources, and its standard errors from leaving out one source at a time."""
    values, n = fit(used), len(used)
    if n < 3:
        return values, {}
    left_out = [fit([s for s in used if s is not out]) for out in used]
    table = np.array([[found.get(key, values[key]) for key in values] for found in left_out])
    return values, dict(zip(values, records.left_out_error(table).tolist(), strict=True))


def compaction_fit(
    used: Sequence[Source], host: Host, copy_bytes_per_s: float, read_byte_s: float, core_contention: float
) -> Constants:
    """Fit the constants of a compaction's CPU time. On block devices its thread sleeps during fsyncs of its files."""
    measured = []
    for source in used:
        sleeps = source.device != SYNCHRONOUS
        times = records.compaction_times(source.log, read_byte_s, None if sleeps else copy_bytes_per_s)
        beside = source.contention_factor(core_contention)
        measured += [(job_cpu(job, host, len(job.files) if sleeps else 0.0), s / beside) for job, s in times]
    return solved(measured, host)


def read_fit(used: Sequence[Source], copy_bytes_per_s: float) -> float:
    """Return the seconds per byte of key and value of a compaction's copies out of the page cache: a median."""
    return float(np.median(np.concatenate([records.read_costs(s.log, copy_bytes_per_s) for s in used])))


def stream_fit(used: Sequence[Source]) -> float:
    """Return the bytes per second that one thread copies to persistent memory if no other thread does so: a median."""
    rows = np.concatenate([found for s in used if s.device == SYNCHRONOUS and len(found := records.lone_syncs(s.log))])
    return float(np.median(rows[:, 0] / rows[:, 1]))


def flush_fit(used: Sequence[Source], host: Host, core_contention: float) -> Constants:
    """Fit the constants of a flush's CPU time."""
    times = [(s, records.flush_times(s.log, mean_sync_s(s.output))) for s in used]
    measured = [(job_cpu(job, host), t / s.contention_factor(core_contention)) for s, found in times for job, t in found]
    return solved(measured, host)


def mean_sync_s(output: str) -> float | None:
    """Return the mean seconds of an SST file's fsync, from the statistics in db_bench's output; None without them."""
    found = _SYNCS.search(output)
    return int(found[2]) / int(found[1]) / 1e6 if found and int(found[1]) else None


def deletion_fit(used: Sequence[Source]) -> Constants:
    """Return host.unlink_byte: median seconds per byte of a deleted SST file."""
    rows = np.array([row for s in used for row in s.log.deletions])
    return {"host.unlink_byte": float(np.median(rows[:, 1] / rows[:, 0]))}


def cpu_ratio(costs: Constants, host: Host, jobs: Sequence[Job]) -> float:
    """Return the CPU time of compactions divided by the CPU time that `costs`, and `host` for the rest, predict."""
    expected = sum(job_cpu(job, host).seconds_at(costs, host) for job in jobs)
    return float(sum(job.cpu_s for job in jobs) / expected)


def core_contention_fit(used: Sequence[Source], costs: Constants, host: Host) -> Constants:
    """Fit host.core_contention, the relative slowdown of running threads per additional thread.

    Compares compactions with many subcompactions to those with one. `costs`: constants of a compaction
    (`compaction_fit`), because compactions with many subcompactions are from L0 and merge more sorted runs. The runs
    must be on a device where threads never sleep: only there all subcompactions run at the same time; on a block device
    most wait for the disk.
    """
    found = []
    for source in used:
        merges = [j for j in source.log.jobs if j.kind == "compaction" and j.cpu_s and j.records]
        parallel, single = [j for j in merges if j.parts >= _MANY_PARTS], [j for j in merges if j.parts == 1]
        if parallel and single:
            slower = cpu_ratio(costs, host, parallel) / cpu_ratio(costs, host, single)
            parts = float(np.average([j.parts for j in parallel], weights=[j.records for j in parallel]))
            threads = parts + _OTHER_THREADS
            found.append((slower - 1.0) / (threads - 1.0 - slower * _OTHER_THREADS))
    return {"host.core_contention": float(np.median(found))}


def write_fit(used: Sequence[Source], host: Host) -> Constants:
    """Fit host.write_op, host.sleep_penalty and host.statistics_op to db_bench's histograms of writes.

    host.sleep_penalty is the time by which one sleep of a delayed writer slows later writes. All runs wrote entries of
    the same size to a WAL, so this host.write_op includes the costs per byte, of the WAL and of the memtable's size.
    """
    measured = []
    for source in used:
        buckets = write_buckets(source.output)
        total = sum(n for *_, n in buckets)
        short = sum(n * _mean_us(lo, hi) for lo, hi, n in buckets if hi <= _SHORT_US)
        sleeps = sum(n for _, hi, n in buckets if _SHORT_US < hi <= _SLEEP_US)
        cost = write_cpu(0.0, logged=False, statistics=source.statistics) + sleep_penalties(sleeps / total)
        measured.append((cost, short / total * 1e-6))
    return solved(measured, host, ("host.write_op", "host.sleep_penalty", "host.statistics_op"))


_WRITE: Final = ("write_op", "write_byte", "memtable_depth", "wal_op", "wal_byte")


def write_parts(total_s: float, entry_bytes: float, memtable_bytes: float, like: Host) -> Constants:
    """Split the measured time of a logged write into its constants, in the proportions of another machine.

    `total_s`: time of writes of `entry_bytes` to memtables of `memtable_bytes`. Runs with one size of entry and memtable, all
    with a WAL, show no more than this sum.
    """
    scale = total_s / write_cpu(entry_bytes, logged=True, memtable_bytes=memtable_bytes).seconds(like)
    return {f"host.{name}": scale * getattr(like, name) for name in _WRITE}


def _mean_us(low: float, high: float) -> float:
    """Return the mean latency of a histogram's bucket (low, high]: arithmetic for short latencies, else geometric."""
    return (low + 1.0 + high) / 2.0 if high <= 22.0 else float(np.sqrt(low * high))


def bandwidth(source: Source, host: Host, commit_s: float, read_byte_s: float) -> float:
    """Return the device's bytes per second in a run without a cap, without the time of journal commits.

    It is total bytes divided by total time, not a median over periods: slow periods are part of the sustained rate.
    """
    crowded = source.contention_factor(host.core_contention)
    most = records.most_fsyncs(rotates=source.device == "hdd")
    periods = records.busy_periods(
        source.log, lambda job: job_cpu(job, host).seconds(host) * crowded, read_byte_s, most_fsyncs=most
    )
    return records.bandwidth(periods, commit_s)
