"""What the simulator's constants predict for job records, histograms and counters: the equations of the fit.

Each equation states a measurement as sim/ computes it (sim/work.py, sim/machine.py, sim/clients.py), and how far single
measurements scatter around it. Rates of the device come from jobs that had it to themselves in runs without a cap: then
neither a queue nor a wait for a core is in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.validation.calibrate.recorded import Histogram, Job, RecordedRun
from lsmlab.validation.calibrate.solve import Array, Equation, Values

WRITE_REQUEST_BYTES: Final = 2.0**20
"""writable_file_max_buffer_size, options.h."""
READ_REQUEST_BYTES: Final = 2.0**21
"""What a merge reads ahead with direct I/O."""
_ALONE: Final = 0.05
"""A job is alone if others run for less than this share of its time."""
_SOON_S: Final = 0.05
"""A compaction that starts later than this after another job's end was not waiting for a thread."""
_SHORT_US: Final = 580.0
"""Writes up to here neither slept (1 ms) nor waited for a stop."""
_FEWEST: Final = 3

Term = tuple[str, Array]
"""A constant and what it is multiplied with."""


def equations_of(runs: Sequence[RecordedRun]) -> list[Equation]:
    """All equations that these runs support."""
    found = [
        _merge_cpu(runs), _flush_cpu(runs), _device_writes(runs), _device_reads(runs), _finishing(runs), _starts(runs),
        _deletions(runs), _crowding(runs), _writes(runs), _spread(runs), _sleeps(runs), _read_cpu(runs), _read_waits(runs),
        _requests(runs),
    ]  # fmt: skip
    return [equation for equation in found if equation is not None]


# --- background jobs ----------------------------------------------------------------------------------------------------


def _merge_cpu(runs: Sequence[RecordedRun]) -> Equation | None:
    jobs = [(run, job) for run in runs for job in run.of("compaction") if job.cpu_s > 0 and job.records > 0]
    return _job_cpu("CPU of merges", "compaction", jobs)


def _flush_cpu(runs: Sequence[RecordedRun]) -> Equation | None:
    jobs = [(run, job) for run in runs for job in run.of("flush") if job.cpu_s > 0 and job.records > 0]
    return _job_cpu("CPU of flushes", "flush", jobs)


def _job_cpu(name: str, kind: str, jobs: Sequence[tuple[RecordedRun, Job]]) -> Equation | None:
    records = np.array([job.records for _, job in jobs])
    raw = records * np.array([run.entry_bytes for run, _ in jobs])
    terms = [(f"host.{kind}_record", records), (f"host.{kind}_byte", raw)]
    return _linear(name, terms, [job.cpu_s for _, job in jobs], [run.name for run, _ in jobs], 0.15)


def _device_writes(runs: Sequence[RecordedRun]) -> Equation | None:
    jobs = [(run, job) for run, job in _alone(runs) if job.write_s > 0 and job.write_bytes >= WRITE_REQUEST_BYTES]
    size = np.array([job.write_bytes for _, job in jobs])
    terms = [("device.write_bandwidth", size), ("device.write_latency", np.ceil(size / WRITE_REQUEST_BYTES))]
    return _linear("device writes", terms, [job.write_s for _, job in jobs], [run.name for run, _ in jobs], 0.5)


def _device_reads(runs: Sequence[RecordedRun]) -> Equation | None:
    jobs = [
        (run, job) for run, job in _alone(runs)
        if job.kind == "compaction" and job.parts == 1 and not run.limited and job.wall_s > job.cpu_s + job.write_s
    ]  # fmt: skip
    size = np.array([job.read_bytes for _, job in jobs])
    rest = [job.wall_s - job.cpu_s - job.write_s for _, job in jobs]
    terms = [("device.read_bandwidth", size), ("device.read_latency", np.ceil(size / READ_REQUEST_BYTES))]
    return _linear("device reads", terms, rest, [run.name for run, _ in jobs], 0.5)


def _alone(runs: Sequence[RecordedRun]) -> list[tuple[RecordedRun, Job]]:
    """Jobs that met no other job and had a core to themselves, of runs without a cap."""
    found = []
    for run in runs:
        if not run.capped and run.threads < run.config["host"]["cores"]:
            others = np.array([(j.start_s, j.work_end_s) for j in run.jobs])
            for job in run.jobs:
                both = np.minimum(others[:, 1], job.work_end_s) - np.maximum(others[:, 0], job.start_s)
                if np.clip(both, 0.0, None).sum() - job.wall_s < _ALONE * job.wall_s:
                    found.append((run, job))
    return found


def _finishing(runs: Sequence[RecordedRun]) -> Equation | None:
    """From the last byte to the commit: reopening of the files, fsync of directory and manifest."""
    jobs = [(run, job) for run in runs if not run.capped for job in run.jobs if job.end_s > job.work_end_s]
    waits = [job.end_s - job.work_end_s + (job.sync_s if job.kind == "flush" else 0.0) for _, job in jobs]
    files = np.array([float(job.outputs) if job.kind == "compaction" else 1.0 for _, job in jobs])
    terms = [("host.file_overhead", files), ("device.fsync_latency", np.ones(len(jobs)))]
    return _linear("ends of jobs", terms, waits, [run.name for run, _ in jobs], 1.0)


def _starts(runs: Sequence[RecordedRun]) -> Equation | None:
    """From the end of the job that gives a compaction its inputs or its thread to its start."""
    waits: list[float] = []
    names: list[str] = []
    for run in runs:
        ends = np.sort([job.end_s for job in run.jobs])
        for job in run.of("compaction"):
            before = int(np.searchsorted(ends, job.start_s)) - 1
            if before >= 0 and 0.0 < job.start_s - ends[before] < _SOON_S:
                waits.append(job.start_s - float(ends[before]))
                names.append(run.name)
    return _linear("starts of compactions", [("host.job_start", np.ones(len(waits)))], waits, names, 2.0)


def _deletions(runs: Sequence[RecordedRun]) -> Equation | None:
    """Between two deletions of the same job, with direct I/O: then no pages have to be freed."""
    waits: list[float] = []
    names: list[str] = []
    for run in runs:
        for job in run.jobs:
            gaps = np.diff(np.sort(job.deleted_s)).tolist()
            waits += gaps
            names += [run.name] * len(gaps)
    positive = [(w, n) for w, n in zip(waits, names, strict=True) if 0.0 < w < _SOON_S]
    ones = np.ones(len(positive))
    return _linear("deletions", [("host.unlink", ones)], [w for w, _ in positive], [n for _, n in positive], 1.0)


def _crowding(runs: Sequence[RecordedRun]) -> Equation | None:
    """How much longer jobs take than their computing, by the threads beside them (`CoreStation`).

    With n threads that want a core, computing takes max(1, n / cores) as long, and 1 + crowding (min(n, cores) - 1)
    times that. Clients of a run want one core each while no stall holds them.
    """
    extra, crowded, written, read, requests, read_requests, names = [], [], [], [], [], [], []
    for run in runs:
        if run.capped or run.limited or "read" in run.histograms:
            continue
        cores, clients = float(run.config["host"]["cores"]), 1.0 - run.stall_s / run.duration_s
        for job, others in zip(run.jobs, _company(run), strict=True):
            if job.parts > 1:
                continue
            threads = 1.0 + np.arange(len(others) + 1.0)
            share = np.convolve(others, (1.0 - clients, clients))
            slower = np.maximum(1.0, threads / cores)
            extra.append(max(1e-4, job.wall_s - job.sync_s - job.cpu_s * float(share @ slower)))
            crowded.append(job.cpu_s * float(share @ (slower * (np.minimum(threads, cores) - 1.0))))
            written.append(job.write_bytes)
            read.append(job.read_bytes)
            requests.append(math.ceil(job.write_bytes / WRITE_REQUEST_BYTES))
            read_requests.append(math.ceil(job.read_bytes / READ_REQUEST_BYTES))
            names.append(run.name)
    terms = [
        ("host.crowding", np.array(crowded)), ("device.write_bandwidth", np.array(written)),
        ("device.read_bandwidth", np.array(read)), ("device.write_latency", np.array(requests)),
        ("device.read_latency", np.array(read_requests)),
    ]  # fmt: skip
    return _linear("waits of jobs for cores", terms, extra, names, 0.5)


def _company(run: RecordedRun) -> list[Array]:
    """For each job, how likely it is that 0, 1, 2 … other jobs compute while it does."""
    table = np.array([(job.start_s, job.work_end_s, min(1.0, job.cpu_s / job.wall_s)) for job in run.jobs])
    found = []
    for i, job in enumerate(run.jobs):
        both = np.minimum(table[:, 1], job.work_end_s) - np.maximum(table[:, 0], job.start_s)
        busy = np.clip(both, 0.0, None) / job.wall_s * table[:, 2]
        busy[i] = 0.0
        shares = np.ones(1)
        for part in busy[busy > 0.0]:
            shares = np.convolve(shares, (1.0 - part, part))
        found.append(np.asarray(shares, dtype=np.float64))
    return found


# --- clients ------------------------------------------------------------------------------------------------------------


def _writes(runs: Sequence[RecordedRun]) -> Equation | None:
    """Time per write outside stalls.

    A write waits for a core as long as more threads can run than there are cores, and loses something with every sleep.
    Writes through the log cost more, for which the simulator has no constant: `log_op` keeps that out of the others.
    """
    used = [run for run in runs if "write" in run.histograms and "read" not in run.histograms]
    rows = []
    for run in used:
        histogram = run.histograms["write"]
        sleeps = sum(n for low, high, n in histogram.buckets if low >= 870.0) / histogram.count / run.threads
        per_op_s = (run.duration_s - run.stall_s) / run.operations
        rows.append((run.entry_bytes, float(run.logged), sleeps, per_op_s, run.threads > 1))
    busy = [_runnable_jobs(run) for run in used]

    def misses(values: Values) -> Array:
        found = []
        for run, (size, logged, sleeps, per_op_s, several), jobs in zip(used, rows, busy, strict=True):
            cpu_s = values["host.write_op"] + values["host.write_byte"] * size + values["log_op"] * logged
            clients = min(float(run.threads), cpu_s / per_op_s) if several else 1.0
            wait = _slower(values, run, jobs, clients)
            serial = values["host.write_serial"] if several else 1.0
            expected = cpu_s * wait * serial + values["host.sleep_penalty"] * sleeps
            found.append(math.log(expected / per_op_s) / 0.08)
        return np.array(found)

    keys = ("host.write_op", "host.write_byte", "host.write_serial", "host.sleep_penalty", "host.crowding", "log_op")
    return Equation("writes outside stalls", misses, [run.name for run in used], keys) if len(used) > 1 else None


def _slower(values: Values, run: RecordedRun, jobs: tuple[Array, Array], clients: float) -> float:
    """How much longer computing takes a client, on average, where `clients` of them want a core (`CoreStation`)."""
    shares, threads = jobs
    wanted, cores = clients + threads, float(run.config["host"]["cores"])
    crowd = 1.0 + values["host.crowding"] * np.clip(np.minimum(wanted, cores) - 1.0, 0.0, None)
    return float((shares * np.maximum(1.0, wanted / cores) * crowd).sum())


def _runnable_jobs(run: RecordedRun) -> tuple[Array, Array]:
    """How many background threads can run: (share of the time, number of threads)."""
    marks = np.unique([t for job in run.jobs for t in (job.start_s, job.work_end_s)])
    middle, length = 0.5 * (marks[1:] + marks[:-1]), np.diff(marks)
    most = 8
    shares = np.zeros((len(middle), most + 1))
    shares[:, 0] = 1.0
    for job in run.jobs:  # a job computes for its share of the time, independently of the others
        inside = slice(*np.searchsorted(middle, (job.start_s, job.work_end_s)).tolist())
        busy = min(1.0, job.cpu_s / job.wall_s)
        part = shares[inside]
        moved = np.zeros_like(part)
        moved[:, 1:] = part[:, :-1] * busy
        shares[inside] = part * (1.0 - busy) + moved
    spread = (shares * length[:, None]).sum(axis=0) / length.sum()
    return np.asarray(spread, dtype=np.float64), np.arange(most + 1, dtype=np.float64)


def _spread(runs: Sequence[RecordedRun]) -> Equation | None:
    """Standard deviation of the logarithm of a single thread's short writes."""
    used = [run for run in runs if run.threads == 1 and "write" in run.histograms and "read" not in run.histograms]
    measured = np.array([spread_of(run.histograms["write"]) for run in used])

    def misses(values: Values) -> Array:
        return np.asarray(np.log(values["host.write_spread"] / measured) / 0.15, dtype=np.float64)

    names = [run.name for run in used]
    return Equation("spread of short writes", misses, names, ("host.write_spread",)) if used else None


def spread_of(histogram: Histogram) -> float:
    """Standard deviation of the logarithm of the times below `_SHORT_US`.

    The clock counts whole microseconds: a write of 1.3 us is seen as 1 or 2, on average as 1.3. So moments are right
    once the variance of that rounding, f (1 - f) for a fraction f, on average 1/6, is taken away.
    """
    rows = np.array([(mean_us(low, high), n) for low, high, n in histogram.buckets if high <= _SHORT_US / 10.0])
    mean = float(np.average(rows[:, 0], weights=rows[:, 1]))
    variance = float(np.average((rows[:, 0] - mean) ** 2, weights=rows[:, 1])) - 1.0 / 6.0
    return math.sqrt(math.log1p(max(variance, 0.01 * mean**2) / mean**2))


def mean_us(low: float, high: float) -> float:
    """Mean of a histogram's bucket (low, high]: times are whole microseconds, and short ones are common."""
    return (low + 1.0 + high) / 2.0 if 0.0 < high <= 22.0 and low > 0.0 else (0.9 if low == 0.0 else math.sqrt(low * high))


def _sleeps(runs: Sequence[RecordedRun]) -> Equation | None:
    """Length of a sleep: RocksDB's stall time over the steps of 1 ms that the histogram shows."""
    used, measured = [], []
    for run in runs:
        if run.threads > 1 or "write" not in run.histograms or "read" in run.histograms:
            continue
        steps = {(870.0, 1300.0): 1.0, (1900.0, 2900.0): 2.0, (2900.0, 4400.0): 3.0}
        buckets = run.histograms["write"].buckets
        slept = sum(n * steps.get((low, high), 0.0) for low, high, n in buckets)
        other = sum(n * math.sqrt(low * high) * 1e-6 for low, high, n in buckets if low >= 4400.0 or low == 1300.0)
        if slept > 0 and other < 0.1 * run.stall_s:
            used.append(run.name)
            measured.append((run.stall_s - other) / slept)
    found = np.array(measured)

    def misses(values: Values) -> Array:
        return np.asarray(np.log(values["host.sleep_step"] / found) / 0.05, dtype=np.float64)

    return Equation("sleeps of delayed writers", misses, used, ("host.sleep_step",)) if used else None


def _read_cpu(runs: Sequence[RecordedRun]) -> Equation | None:
    """CPU time of the process that jobs and writes do not explain, per read."""
    rows = []
    for run in runs:
        if "read" in run.histograms and run.last.get("user_cpu_s"):
            cpu_s = run.last["user_cpu_s"] + run.last["system_cpu_s"] - sum(job.cpu_s for job in run.jobs)
            writes = run.histograms["write"].count if "write" in run.histograms else 0
            reads = run.histograms["read"].count
            rows.append((cpu_s, writes, run.entry_bytes, reads, _runs_per_read(run), run.found_share, run.name))

    def misses(values: Values) -> Array:
        found = []
        for cpu_s, writes, size, reads, probed, blocks, _ in rows:
            read_s = values["host.read_op"] + probed * values["host.read_run"] + blocks * values["host.read_block"]
            expected = reads * read_s + writes * (values["host.write_op"] + values["host.write_byte"] * size)
            found.append(math.log(expected / cpu_s) / 0.1)
        return np.array(found)

    keys = ("host.read_op", "host.read_run", "host.read_block", "host.write_op", "host.write_byte")
    return Equation("CPU of reads", misses, [row[-1] for row in rows], keys) if rows else None


def _runs_per_read(run: RecordedRun) -> float:
    """Sorted runs that a read of a present key probes: all of L0 and of the levels, since most keys lie in the last."""
    files = run.files_per_level or ((1,),)
    return float(np.mean([state[0] + sum(n > 0 for n in state[1:]) for state in files]))


def _read_waits(runs: Sequence[RecordedRun]) -> Equation | None:
    """Mean time of a read: its CPU, and one block from the device if its key is found."""
    rows = []
    for run in runs:
        if "read" in run.histograms and not run.capped:
            rows.append((run.histograms["read"].mean_s, run, _runnable_jobs(run)))

    def misses(values: Values) -> Array:
        found = []
        for mean_s, run, busy in rows:
            cpu_s = values["host.read_op"] + _runs_per_read(run) * values["host.read_run"]
            cpu_s += run.found_share * values["host.read_block"]
            read_s = cpu_s * _slower(values, run, busy, run.threads * min(1.0, cpu_s / mean_s))
            read_s += run.found_share * values["device.read_latency"]
            found.append(math.log(read_s / mean_s) / 0.1)
        return np.array(found)

    keys = ("host.read_op", "host.read_run", "host.read_block", "device.read_latency", "host.crowding")
    return Equation("time of reads", misses, [run.name for _, run, _ in rows], keys) if rows else None


def _requests(runs: Sequence[RecordedRun]) -> Equation | None:
    """Bytes per write operation that the block layer counts, of runs whose reads are merges' alone."""
    used = [run for run in runs if "read" not in run.histograms and run.last.get("writes")]
    sizes = np.array([run.last["write_bytes"] / run.last["writes"] for run in used])

    def misses(values: Values) -> Array:
        return np.asarray(np.log(values["device.throttle_io"] / sizes) / 0.2, dtype=np.float64)

    names = [run.name for run in used]
    return Equation("bytes per operation", misses, names, ("device.throttle_io",)) if used else None


# --- common -------------------------------------------------------------------------------------------------------------


def _linear(
    name: str, terms: Sequence[Term], measured: Sequence[float], clusters: Sequence[str], spread: float
) -> Equation | None:
    """Sum of terms = seconds measured, with a scatter of `spread` for an average one that grows with its square root.

    A constant called bandwidth divides. So totals over many jobs are right, and large jobs count for more than small ones.
    """
    if len(measured) < _FEWEST:
        return None
    seconds = np.array(measured)
    scatter = spread * np.sqrt(seconds * seconds.mean())

    def misses(values: Values) -> Array:
        expected = sum(x / values[key] if key.endswith("bandwidth") else x * values[key] for key, x in terms)
        return np.asarray((expected - seconds) / scatter, dtype=np.float64)

    return Equation(name, misses, list(clusters), [key for key, _ in terms])


