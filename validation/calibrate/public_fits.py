"""Single constants of the 40-thread machine of the public runs: least squares or medians over its job records."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
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
_SAME_SIZE: Final = 1.1
"""Ratio of entries' sizes below which they are one size: the runs then show no more than the cost of such an entry."""
Constants = dict[str, float]
"""Values by key of the configuration, such as "host.write_op"."""
_UNTIED: Final[Mapping[str, str]] = MappingProxyType({})
ROTATES: Final = "hdd"
"""Device whose commits and tracks take time to reach."""
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
    run_bytes: float
    """Bytes of the SST files and WALs that the whole run wrote, also after the end of `log` (`written_bytes`)."""

    def contention_factor(self, core_contention: float) -> float:
        """Return the CPU time of its threads relative to threads that run alone.

        The factor is 1 if the client is rate-limited: its threads rarely run at the same time.
        """
        return 1.0 if self.name.startswith("rate-limited") else 1.0 + core_contention * _OTHER_THREADS


def written_bytes(log: JobLog) -> float:
    """Return the bytes of a LOG's SST files, and of keys and values in its flushes, which the WALs had before.

    RocksDB allocates the space of a WAL when it creates the file. Headers of WAL records are not counted.
    """
    return sum(size for job in log.jobs for _, size in job.files) + sum(job.raw_bytes for job in log.jobs if job.kind == "flush")


@dataclass(frozen=True, slots=True)
class Copies:
    """Speed of copies that are part of a compaction's time; None if no run shows it."""

    bytes_per_s: float | None
    """Bytes per second that one thread copies to persistent memory if no other thread does so."""
    read_byte_s: float | None
    """Seconds per byte of key and value of copies out of the page cache."""

    def shows_compactions(self, source: Source) -> bool:
        """Whether a run's LOG gives the CPU time of its compactions: what it lacks or has too much of is known."""
        if source.device == SYNCHRONOUS:
            return self.bytes_per_s is not None
        return self.read_byte_s is not None or not source.log.io_statistics


@dataclass(slots=True)
class Fit:
    """Fitted values by name, and those standard errors that are known."""

    values: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    tied: frozenset[str] = frozenset()
    """Names of values that follow from another one in the proportion of the defaults."""

    def take(self, found: tuple[Constants, Constants]) -> None:
        """Add the (values, errors) of host constants."""
        for mine, theirs in zip((self.values, self.errors), found, strict=True):
            mine.update({key.removeprefix("host."): number for key, number in theirs.items()})


@dataclass(frozen=True, slots=True)
class Machine:
    """Fitted constants of a machine and its drives. What its LOGs do not show is missing, and stays at the defaults."""

    host: Fit
    drives: Mapping[str, Fit]
    """By entry of configs/device."""
    sessions: Mapping[str, Mapping[str, Mapping[str, float]]]
    """Constants of drives by session and entry of configs/device; of runs on known tracks also by ENTRY/LABEL (`Consecutive`)."""
    fixed_host: Mapping[str, float] = field(default_factory=dict)
    fixed_drives: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)
    """Constants that are not fitted."""

    def constants(self, drive: str) -> dict[str, float | str]:
        """Return all constants of the host and of a drive by key of the configuration; none of a drive without a LOG."""
        host = {f"host.{name}": value for name, value in {**self.fixed_host, **self.host.values}.items()}
        return host | {f"device.{name}": value for name, value in self.drive_constants(drive).items()}

    def drive_constants(self, drive: str) -> dict[str, float | str]:
        """Return the constants of a drive by name; none without a LOG."""
        return {**self.fixed_drives.get(drive, {}), **self.drives[drive].values} if drive in self.drives else {}

    def determined(self, drives: Sequence[str]) -> set[str]:
        """Return the keys of the constants of the host and of some drives that the LOGs determine."""
        host = {f"host.{name}" for name in self.host.values.keys() - self.host.tied}
        return host.union(*({f"device.{name}" for name in self.drives[d].values} for d in drives if d in self.drives))


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


def solved(
    measured: Sequence[tuple[Cost, float]], host: Host, keys: Sequence[str] | None = None, tied: Mapping[str, str] = _UNTIED
) -> Constants:
    """Fit the constants of costs to measured seconds (`linear`).

    `keys`: constants to solve for; by default all constants in the costs that fits estimate. The others are taken from
    `host`, and constants that no measurement shows are left out; a measurement shows nothing if the constants from `host` alone
    take longer. `tied`: constants that keep the proportion to another one that they have in `host`.
    """
    columns, fixed_s = design([(cost, host) for cost, _ in measured], keys)
    seconds = np.array([seconds for _, seconds in measured], dtype=np.float64) - fixed_s
    shown = seconds > 0.0
    columns = {key: counts[shown] for key, counts in columns.items() if counts[shown].any()}
    if not columns:
        return {}
    ratios = {key: _value(host, key) / _value(host, other) for key, other in tied.items()}
    for key, other in tied.items():
        columns[other] = columns[other] + ratios[key] * columns.pop(key)
    found = dict(zip(columns, linear(np.column_stack(list(columns.values())), seconds[shown]).tolist(), strict=True))
    return found | {key: ratios[key] * found[other] for key, other in tied.items()}


def _value(host: Host, key: str) -> float:
    return float(getattr(host, key.removeprefix("host.")))


def tied_costs(kind: str, used: Sequence[Source]) -> Mapping[str, str]:
    """Return the cost per byte of a kind of job as tied to that per record if all entries have one size; else nothing."""
    sizes = [job.raw_bytes / job.records for source in used for job in source.log.jobs if job.records]
    one_size = bool(sizes) and max(sizes) < _SAME_SIZE * min(sizes)
    return {f"host.{kind}_byte": f"host.{kind}_record"} if one_size else _UNTIED


def jackknife(fit: Callable[[Sequence[Source]], Constants], used: Sequence[Source]) -> tuple[Constants, Constants]:
    """Return the fit to all sources, and its standard errors from leaving out one source at a time; nothing without any."""
    if not used:
        return {}, {}
    values, n = fit(used), len(used)
    if n < 3:
        return values, {}
    left_out = [fit([s for s in used if s is not out]) for out in used]
    table = np.array([[found.get(key, values[key]) for key in values] for found in left_out])
    return values, dict(zip(values, records.left_out_error(table).tolist(), strict=True))


def compaction_fit(
    used: Sequence[Source], host: Host, copies: Copies, core_contention: float, tied: Mapping[str, str] = _UNTIED
) -> Constants:
    """Fit the constants of a compaction's CPU time to the sources that show it (`Copies.shows_compactions`).

    On block devices its thread sleeps during fsyncs of its files. The cost of such a sleep shows only beside runs on a
    device without sleeps. `tied`: see `solved`.
    """
    measured = []
    compared = any(source.device == SYNCHRONOUS for source in used)
    for source in used:
        sleeps = source.device != SYNCHRONOUS
        times = records.compaction_times(source.log, copies.read_byte_s or 0.0, None if sleeps else copies.bytes_per_s)
        beside = source.contention_factor(core_contention)
        measured += [(job_cpu(job, host, len(job.files) if sleeps and compared else 0.0), s / beside) for job, s in times]
    return solved(measured, host, tied=tied)


def copies_fit(used: Sequence[Source]) -> Copies:
    """Return the speed of copies: medians over runs on persistent memory. That of reads needs LOGs with I/O statistics."""
    here = [source for source in used if source.device == SYNCHRONOUS]
    syncs = [found for source in here if len(found := records.lone_syncs(source.log))]
    if not syncs:
        return Copies(None, None)
    rows = np.concatenate(syncs)
    stream = float(np.median(rows[:, 0] / rows[:, 1]))
    reads = [records.read_costs(source.log, stream) for source in here if source.log.io_statistics]
    known = np.concatenate(reads) if reads else np.array([])
    return Copies(stream, float(np.median(known)) if len(known) else None)


def flush_fit(used: Sequence[Source], host: Host, core_contention: float, tied: Mapping[str, str] = _UNTIED) -> Constants:
    """Fit the constants of a flush's CPU time. `tied`: see `solved`."""
    times = [(s, records.flush_times(s.log, mean_sync_s(s.output))) for s in used]
    measured = [(job_cpu(job, host), t / s.contention_factor(core_contention)) for s, found in times for job, t in found]
    return solved(measured, host, tied=tied)


def mean_sync_s(output: str) -> float | None:
    """Return the mean seconds of an SST file's fsync, from the statistics in db_bench's output; None without them."""
    found = _SYNCS.search(output)
    return int(found[2]) / int(found[1]) / 1e6 if found and int(found[1]) else None


def deletion_fit(used: Sequence[Source]) -> Constants:
    """Return host.unlink_byte: median seconds per byte of a deleted SST file; nothing without a deletion."""
    rates = [seconds / size for s in used for size, seconds in s.log.deletions]
    return {"host.unlink_byte": float(np.median(rates))} if rates else {}


def cpu_ratio(costs: Constants, host: Host, jobs: Sequence[Job]) -> float:
    """Return the CPU time of compactions divided by the CPU time that `costs`, and `host` for the rest, predict."""
    expected = sum(job_cpu(job, host).seconds_at(costs, host) for job in jobs)
    return float(sum(job.cpu_s for job in jobs) / expected)


def core_contention_fit(used: Sequence[Source], costs: Constants, host: Host) -> Constants:
    """Fit host.core_contention, the relative slowdown of running threads per additional thread.

    Compares compactions with many subcompactions to those with one. `costs`: constants of a compaction
    (`compaction_fit`), because compactions with many subcompactions are from L0 and merge more sorted runs. The runs
    must be on a device where threads never sleep: only there all subcompactions run at the same time; on a block device
    most wait for the disk. Without such compactions the result is empty.
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
    return {"host.core_contention": max(0.0, float(np.median(found)))} if found else {}


def write_fit(used: Sequence[Source], host: Host, statistics_op_s: float | None = None) -> Constants:
    """Fit host.write_op, host.sleep_penalty and host.statistics_op to db_bench's histograms of writes.

    host.sleep_penalty is the time by which one sleep of a delayed writer slows later writes. All runs wrote entries of
    the same size to a WAL, so this host.write_op includes the costs per byte, of the WAL and of the memtable's size.
    `statistics_op_s`: a known host.statistics_op (`statistics_fit`), which is then not fitted. If it is unknown and all
    runs kept statistics, they do not tell it from host.write_op, and it stays that of `host`. Runs without a histogram count
    nothing.
    """
    measured = []
    shown = [(source, buckets) for source in used if (buckets := write_buckets(source.output))]
    for source, buckets in shown:
        total = sum(n for *_, n in buckets)
        short = sum(n * _mean_us(lo, hi) for lo, hi, n in buckets if hi <= _SHORT_US)
        sleeps = sum(n for _, hi, n in buckets if _SHORT_US < hi <= _SLEEP_US)
        cost = write_cpu(0.0, logged=False, statistics=source.statistics) + sleep_penalties(sleeps / total)
        measured.append((cost, short / total * 1e-6))
    keys = ["host.write_op", "host.sleep_penalty"]
    if statistics_op_s is not None:
        host = replace(host, statistics_op=statistics_op_s)
    elif not all(source.statistics for source, _ in shown):
        keys.append("host.statistics_op")
    return solved(measured, host, keys)


def statistics_fit(used: Sequence[Source]) -> tuple[Constants, Constants]:
    """Return host.statistics_op and its standard error; nothing without a device that shows it.

    It is how much longer a memtable's fill without a stall takes per put if the store keeps statistics: the median over the
    devices on which some runs kept statistics and others did not. The standard error is that of their mean. Fills leave out
    puts during stalls, which histograms (`write_fit`) include. Assumes that both loads spend the same time between puts.
    """
    longer = []
    for device in sorted({source.device for source in used}):
        without, kept = (
            [fill.entry_s for source in used if source.device == device and source.statistics is on for fill in source.log.fills]
            for on in (False, True)
        )
        if without and kept:
            longer.append(float(np.median(kept) - np.median(without)))
    if not longer:
        return {}, {}
    errors = {"host.statistics_op": float(np.std(longer, ddof=1) / len(longer) ** 0.5)} if len(longer) > 1 else {}
    return {"host.statistics_op": max(0.0, float(np.median(longer)))}, errors


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


def commits_s(used: Sequence[Source]) -> Array:
    """Return the seconds of a small fsync in each run without a cap whose LOG has a flush. Shape (n,)."""
    shown = [s.log for s in used if not s.capped and any(job.kind == "flush" for job in s.log.jobs)]
    return np.array([records.commit_s(log) for log in shown], dtype=np.float64)


def fsync_periods(source: Source, host: Host, read_byte_s: float) -> Array:
    """Return (seconds, bytes, journal commits) of the periods of a run in which an fsync was in progress. Shape (n, 3)."""
    crowded = source.contention_factor(host.core_contention)
    most = records.most_fsyncs(rotates=source.device == ROTATES)
    return records.busy_periods(
        source.log, lambda job: job_cpu(job, host).seconds(host) * crowded, read_byte_s, most_fsyncs=most
    )


def bandwidth(source: Source, host: Host, commit_s: float, read_byte_s: float) -> float | None:
    """Return the device's bytes per second in a run without a cap, without the time of journal commits.

    It is total bytes divided by total time, not a median over periods: slow periods are part of the sustained rate. None if
    no period with fsyncs shows it.
    """
    periods = fsync_periods(source, host, read_byte_s)
    return records.bandwidth(periods, commit_s) if len(periods) else None
