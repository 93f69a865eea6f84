"""Equations of clients: latency and CPU time of operations, sleeps (sim/clients: op_times, write_waits, reads)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.models.costs.cores import busy_probability, client_wake_up, core_share
from lsmlab.models.costs.operations import coreless_share, group_share, handover
from lsmlab.models.devices.flash import SMALL_REQUEST_BYTES, request_s
from lsmlab.models.devices.sharing import INTERLEAVE_BYTES
from lsmlab.validation.calibrate.recorded import RecordedRun
from lsmlab.validation.calibrate.solve import Array, Equation, Values
from lsmlab.validation.calibrate.terms import DurationRow, keys_of, relative
from lsmlab.validation.logs.history.fills import Fill

_LEAST_FREE: Final = 0.05
"""Least share of the device's time that background requests leave, in an estimate of a read's wait."""
_FEWEST_FILLS: Final = 8
"""Least number of memtables of a run for the time of its writes."""


def fills(runs: Sequence[RecordedRun]) -> Equation | None:
    """Time per write, from the memtables that a run filled without a stall: their median.

    A run is one measurement, because runs differ more from each other than the memtables of one run do.
    """
    used = [run for run in _writers(runs) if len(run.fills) >= _FEWEST_FILLS]
    rows = []
    for run in used:
        per_op_s = float(np.median([f.entry_s for f in run.fills]))
        beside = [_runnable_jobs(run, fill) for fill in run.fills]
        rows.append((per_op_s, (np.mean([shares for shares, _ in beside], axis=0), beside[0][1])))

    def misses(values: Values) -> Array:
        pairs = zip(used, rows, strict=True)
        return np.array([math.log(_write_s(values, run, found_s, jobs) / found_s) / 0.08 for run, (found_s, jobs) in pairs])

    keys = keys_of([run.write + handover(run.threads) for run in used])
    return Equation("fills of memtables", misses, [run.name for run in used], keys) if used else None


def _writers(runs: Sequence[RecordedRun]) -> list[RecordedRun]:
    """Return the runs whose clients write as fast as they can, each on a core of its own.

    With more writers than cores, the leader of a write group may lose its core while the group waits for it. That wait
    is not a cost of a write.
    """
    return [
        run for run in runs
        if "write" in run.histograms and "read" not in run.histograms and run.threads <= run.cores
        and not run.workload.get("benchmark_write_rate_limit")
    ]  # fmt: skip


def _write_s(values: Values, run: RecordedRun, per_op_s: float, jobs: tuple[Array, Array]) -> float:
    """Return the predicted seconds per write.

    `per_op_s`: measured seconds per write, which give the clients' demand for cores. `jobs`: see `_runnable_jobs`.
    """
    cpu_s = float(run.write.seconds_at(values, run.host))
    clients = min(float(run.threads), cpu_s / per_op_s) if run.threads > 1 else 1.0
    coreless = coreless_share(run.threads, float(jobs[0] @ jobs[1]), run.cores)
    serial_s = cpu_s * group_share(run.threads, coreless) + float(handover(run.threads).seconds_at(values, run.host))
    return serial_s * _slower(run, jobs, clients)


def _slower(run: RecordedRun, jobs: tuple[Array, Array], clients: float) -> float:
    """Return the mean factor by which waits for a core lengthen CPU time if `clients` client threads want one."""
    pairs = zip(*(array.tolist() for array in jobs), strict=True)
    return math.fsum(share / core_share(clients + threads, run.cores, run.host.core_contention) for share, threads in pairs)


def _runnable_jobs(run: RecordedRun, during: Fill | None = None) -> tuple[Array, Array]:
    """Return (share of the time, number of background threads on the CPU), of the run or during one memtable fill."""
    start_s, end_s = (during.start_us / 1e6, during.end_us / 1e6) if during else (-math.inf, math.inf)
    inside = [job for job in run.jobs if job.start_s < end_s and job.work_end_s > start_s]
    marks = np.unique(np.clip([t for job in inside for t in (job.start_s, job.work_end_s)], start_s, end_s))
    if during:
        marks = np.unique(np.concatenate((marks, (start_s, end_s))))
    most = 8
    if len(marks) < 2:  # no job
        return np.eye(1, most + 1)[0], np.arange(most + 1, dtype=np.float64)
    middle, length = 0.5 * (marks[1:] + marks[:-1]), np.diff(marks)
    shares = np.zeros((len(middle), most + 1))
    shares[:, 0] = 1.0
    for job in inside:  # each job uses the CPU for its share of the time, independently of the others
        stretch = slice(*np.searchsorted(middle, (job.start_s, job.work_end_s)).tolist())
        busy = min(1.0, job.cpu_s / job.wall_s)
        part = shares[stretch]
        moved = np.zeros_like(part)
        moved[:, 1:] = part[:, :-1] * busy
        shares[stretch] = part * (1.0 - busy) + moved
    spread = (shares * length[:, None]).sum(axis=0) / length.sum()
    return np.asarray(spread, dtype=np.float64), np.arange(most + 1, dtype=np.float64)


def sleeps(runs: Sequence[RecordedRun]) -> Equation | None:
    """Length of a delayed writer's sleep: stall time without stops, per step of 1 ms in the histogram of writes.

    Only runs under a cap or a rate limiter are used, because their cores were free. On busy cores the histogram cannot
    distinguish a writer that waits for a core from one that sleeps, and RocksDB counts no stall for the former.
    """
    used, measured = [], []
    for run in runs:
        if run.threads > 1 or not (run.capped or run.limited) or "write" not in run.histograms or "read" in run.histograms:
            continue
        steps = {(870.0, 1300.0): 1.0, (1900.0, 2900.0): 2.0, (2900.0, 4400.0): 3.0}
        buckets = run.histograms["write"].buckets
        slept = sum(n * steps.get((low, high), 0.0) for low, high, n in buckets)
        other_s = sum(n * _middle_s(low, high) for low, high, n in buckets if low >= 4400.0 or low == 1300.0)
        if slept > 0 and other_s < 0.4 * run.stall_s:
            used.append(run.name)
            measured.append((run.stall_s - other_s) / slept)
    found = np.array(measured)

    def misses(values: Values) -> Array:
        return np.asarray(np.log(values["host.sleep_step"] / found) / 0.05, dtype=np.float64)

    return Equation("sleeps of delayed writers", misses, used, ("host.sleep_step",)) if used else None


def _middle_s(low_us: float, high_us: float) -> float:
    """Return the mean latency of a bucket in seconds, for latencies that are uniform on a logarithmic scale."""
    return (high_us - low_us) / math.log(high_us / low_us) * 1e-6


def read_cpu(runs: Sequence[RecordedRun]) -> Equation | None:
    """CPU time of the process without its background jobs: the CPU time of its reads and writes."""
    rows = []
    for run in runs:
        if "read" in run.histograms and run.last.get("user_cpu_s"):
            cpu_s = run.last["user_cpu_s"] + run.last["system_cpu_s"] - sum(job.cpu_s for job in run.jobs)
            cost = run.read.times(run.histograms["read"].count)
            if "write" in run.histograms:
                cost += run.write.times(run.histograms["write"].count)
            rows.append(DurationRow(cost, run.host, cpu_s, run.name))
    return relative("CPU of reads", rows, 0.1)


def read_waits(runs: Sequence[RecordedRun]) -> Equation | None:
    """Mean latency of a read: its CPU time, and its requests to the device.

    While compactions use the device, it alternates between their requests and reads (models/devices/sharing.py). After the
    block has arrived, the client waits for a core if none is free.
    """
    rows = []
    for run in runs:
        if "read" in run.histograms and not run.capped:
            rows.append((run.histograms["read"].mean_s, run, _runnable_jobs(run)))

    def misses(values: Values) -> Array:
        found = []
        for mean_s, run, busy in rows:
            cpu_s = float(run.read.seconds_at(values, run.host))
            computing_s = cpu_s * _slower(run, busy, run.threads * min(1.0, cpu_s / mean_s))
            clients = run.threads * min(1.0, computing_s / mean_s)
            read_s = cpu_s * _slower(run, busy, clients)
            pairs = zip(*(array.tolist() for array in busy), strict=True)
            taken = math.fsum(share * busy_probability(jobs + clients, run.cores) for share, jobs in pairs)
            waits_s = _queued_s(values, run, run.requests_per_read / mean_s) + client_wake_up(taken).seconds(run.host)
            read_s += run.requests_per_read * (values["device.read_latency"] + waits_s)
            found.append(math.log(read_s / mean_s) / 0.1)
        return np.array(found)

    keys = (
        *keys_of([run.read for _, run, _ in rows]), "device.read_latency", "device.read_iops",
        "device.read_bandwidth", "device.write_bandwidth",
    )  # fmt: skip
    return Equation("time of reads", misses, [run.name for _, run, _ in rows], keys) if rows else None


def _queued_s(values: Values, run: RecordedRun, reads_per_s: float) -> float:
    """Return the mean wait of a read of one block for other requests, as `sharing.share` computes it.

    `reads_per_s`: reads of one block by each client and second.
    """
    used = ahead_s = 0.0
    for direction in ("read", "write"):
        rate = values[f"device.{direction}_bandwidth"]
        moved = sum(job.read_bytes if direction == "read" else job.write_bytes for job in run.jobs)
        busy = moved / rate / run.duration_s
        used += busy
        ahead_s += busy * INTERLEAVE_BYTES / rate
    one_s = request_s(values["device.read_iops"], values["device.read_bandwidth"])
    one_s += SMALL_REQUEST_BYTES / values["device.read_bandwidth"]
    reading = run.threads * reads_per_s * one_s
    free = max(1.0 - used - reading, _LEAST_FREE)
    return ahead_s / 2.0 / free + min((run.threads - 1) * one_s, reading * one_s / 2.0 / free)
