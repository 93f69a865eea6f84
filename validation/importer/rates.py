"""What the machine did in a log: CPU per entry and byte, and how fast the device took bytes, with how well each is known."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from lsmlab.models.host import Host, effort
from lsmlab.sim.series import spread
from lsmlab.validation.importer.reading import Floats, Reading, grid
from lsmlab.validation.log_jobs import LogJob
from lsmlab.validation.log_records import JobLine
from lsmlab.validation.log_summary import busy_s

_FEWEST_JOBS: Final = 8
"""Jobs from which a cost is fitted."""
_APART: Final = 0.10
"""Relative spread of bytes per entry from which costs per entry and per byte can be told apart."""
_WINDOW_S: Final = 10
"""Rates are means over so many seconds: a job's bytes are spread over its time evenly, which they are not by the second."""
_PLATEAU: Final = 0.25
"""Writes ran against a limit if the range of 90 % of the means is within this share of their median."""
_SEVERAL: Final = 1.5
"""… and if so many jobs were at work in the median: a single job has limits of its own."""
_FEWEST_WINDOWS: Final = 20
_P5_TO_P95: Final = 3.29
"""Standard deviations between the 5 % and the 95 % quantile of a normal distribution."""
_FLUSH_CPU: Final = re.compile(r"Flush lasted (\d+) microseconds, and (\d+) cpu microseconds")


LABELS: Final = {
    "host.compaction_record": "compaction, CPU per entry",
    "host.compaction_byte": "compaction, CPU per byte",
    "host.flush_record": "flush, CPU per entry",
    "host.flush_byte": "flush, CPU per byte",
    "flush_bytes_per_s": "one flush writes",
    "compaction_write_bytes_per_s": "one compaction writes",
    "device.write_bandwidth": "device, writes",
    "device.read_bandwidth": "device, reads",
}
"""The estimates in words."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One inferred number."""

    name: str
    """Key of the configuration that it stands for, such as host.compaction_record; or a name of its own."""
    value: float
    standard_error: float | None
    unit: str
    kind: str
    """estimate; lower_bound (the machine can do at least this); or assumed (the log cannot tell)."""
    basis: str
    """What it was taken from, in words."""


@dataclass
class InferredRates:
    """Rates of the machine."""

    estimates: list[Estimate] = field(default_factory=list)
    write_limited: bool = False
    """Whether the writes of flushes and compactions ran against a limit."""
    notes: list[str] = field(default_factory=list)

    def get(self, name: str) -> Estimate | None:
        """The estimate of this name."""
        return next((e for e in self.estimates if e.name == name), None)


def infer_rates(
    reading: Reading, key_bytes: float | None, value_bytes: float | None, log_bytes_per_s: Floats
) -> InferredRates:
    """Fit what the job records tell. `log_bytes_per_s`: bytes per second into the write-ahead log, from the origin on."""
    found = InferredRates()
    entry = (key_bytes or 0.0) + (value_bytes or 0.0)
    merges = [j for j in reading.jobs.done("compaction") if j.cpu_s and j.entries_in]
    _cpu(found, "compaction", [_merge_cpu(j) for j in merges], "compactions")
    _cpu(found, "flush", _flush_cpu(reading, entry), "flushes")
    _streams(found, reading)
    _device(found, reading, log_bytes_per_s)
    return found


def _merge_cpu(job: LogJob) -> tuple[float, float, float]:
    """(entries, bytes, CPU s) of a merge; what it dropped counts for less."""
    share = effort(job.entries_in, job.entries_out, Host().compaction_dropped)
    return job.entries_in * share, job.read_bytes * share, job.cpu_s or 0.0


def _flush_cpu(reading: Reading, entry_bytes: float) -> list[tuple[float, float, float]]:
    """(entries, bytes, CPU s) of flushes, from "Flush lasted … and … cpu microseconds" (7.8 on)."""
    cpu: dict[tuple[int, int], float] = {}
    for record in reading.log.records:
        if isinstance(record, JobLine) and (told := _FLUSH_CPU.match(record.text)):
            cpu[record.opening, record.job] = int(told[2]) / 1e6
    return [
        (float(j.entries_in), j.entries_in * entry_bytes, cpu[j.opening, j.job])
        for j in reading.jobs.done("flush")
        if (j.opening, j.job) in cpu and j.entries_in
    ]


def _cpu(found: InferredRates, kind: str, jobs: Sequence[tuple[float, float, float]], words: str) -> None:
    """CPU per entry and per byte of these (entries, bytes, CPU s), by least squares on relative errors."""
    default = Host()
    record, byte = getattr(default, f"{kind}_record"), getattr(default, f"{kind}_byte")
    if len(jobs) < _FEWEST_JOBS:
        number = len(jobs) or "none"
        found.notes.append(f"CPU of {words}: the log tells it for {number} of them; the costs of host=default are kept")
        return
    table = np.array(jobs)
    entries, sizes, cpu = table[:, 0], table[:, 1], table[:, 2]
    per_entry = sizes / entries
    basis = f"CPU time of {len(jobs):,} {words}"
    if per_entry.std() / per_entry.mean() >= _APART:
        design = np.column_stack((np.ones(len(table)), per_entry))
        weights = np.sqrt(entries)
        fitted = _least_squares(design * weights[:, None], cpu / entries * weights)
        if fitted is not None and (fitted[0] > 0).all():
            (a, b), (a_error, b_error) = fitted
            found.estimates.append(Estimate(f"host.{kind}_record", a, a_error, "s", "estimate", basis))
            found.estimates.append(Estimate(f"host.{kind}_byte", b, b_error, "s", "estimate", basis))
            return
    usual = record * entries + byte * sizes
    ratios = cpu / usual
    weights = usual / usual.sum()
    scale = float((ratios * weights).sum())
    error = math.sqrt(float((weights**2 * (ratios - scale) ** 2).sum()) * len(jobs) / max(1, len(jobs) - 1))
    basis += (
        "; entries of one size do not tell cost per entry from cost per byte: both are the usual ones times one factor"
    )
    found.estimates.append(Estimate(f"host.{kind}_record", record * scale, record * error, "s", "estimate", basis))
    found.estimates.append(Estimate(f"host.{kind}_byte", byte * scale, byte * error, "s", "estimate", basis))


def _least_squares(design: Floats, target: Floats) -> tuple[Floats, Floats] | None:
    """Coefficients and their standard errors; None if the columns cannot be told apart."""
    gram = design.T @ design
    if np.linalg.cond(gram) > 1e12:
        return None
    inverse = np.linalg.inv(gram)
    solution = inverse @ design.T @ target
    residual = target - design @ solution
    freedom = max(1, len(target) - design.shape[1])
    return solution, np.sqrt(np.diag(inverse) * float(residual @ residual) / freedom)


def _streams(found: InferredRates, reading: Reading) -> None:
    """Bytes per second of single jobs: what one stream got, so the device can do at least that."""
    for kind, name in (("flush", "flush_bytes_per_s"), ("compaction", "compaction_write_bytes_per_s")):
        rates = [j.write_bytes / busy_s(j) for j in reading.jobs.done(kind) if j.write_bytes and busy_s(j) > 1e-3]
        if len(rates) >= _FEWEST_JOBS:
            values = np.array(rates)
            error = float(1.2533 * values.std() / math.sqrt(len(values)))  # of a median: sqrt(pi/2) times the mean's
            basis = f"median over {len(rates):,} {kind}s of bytes written / time; P90 {np.quantile(values, 0.9) / 1e6:,.0f} MB/s"
            found.estimates.append(Estimate(name, float(np.median(values)), error, "B/s", "lower_bound", basis))


def job_spans(jobs: Sequence[LogJob], reading: Reading) -> tuple[Floats, Floats]:
    """Start and end in s of the time in which jobs moved bytes."""
    start = np.array([reading.seconds(j.start_us) for j in jobs], dtype=np.float64)
    return start, start + np.array([max(busy_s(j), 1e-6) for j in jobs], dtype=np.float64)


def _windows(total: Floats, busy: Floats, length: int) -> tuple[Floats, Floats]:
    """Means over windows in which a job was always at work, of the rate and of the jobs at work."""
    if len(total) < 2 * length:
        return np.empty(0), np.empty(0)
    kernel = np.ones(length) / length
    always = np.convolve(busy >= 0.999, kernel, "valid") >= 0.999
    return np.convolve(total, kernel, "valid")[always], np.convolve(busy, kernel, "valid")[always]


def _device(found: InferredRates, reading: Reading, log_bytes_per_s: Floats) -> None:
    """The highest rate at which flushes, compactions and the log wrote, and whether they ran against a limit."""
    jobs = [j for j in reading.jobs.done("flush", "compaction") if j.write_bytes]
    if not jobs:
        found.notes.append("device: no flush or compaction in the log tells its speed")
        return
    start, end = job_spans(jobs, reading)
    edges = grid(float(end.max()))
    step_s = float(edges[1])
    written = spread(start, end, np.array([float(j.write_bytes) for j in jobs]), edges) / step_s
    read = spread(start, end, np.array([float(j.read_bytes) for j in jobs]), edges) / step_s
    log = np.zeros(len(written))
    log[: len(log_bytes_per_s)] = log_bytes_per_s[: len(log)]
    busy = spread(start, end, end - start, edges) / step_s  # jobs at work at a time
    means, jobs_at_work = _windows(written + log, busy, max(1, round(_WINDOW_S / step_s)))
    if len(means) < _FEWEST_WINDOWS:
        top = float((written + log).max())
        basis = f"fastest second; fewer than {_FEWEST_WINDOWS} stretches of {_WINDOW_S} s always had a job at work"
        found.estimates.append(Estimate("device.write_bandwidth", top, None, "B/s", "lower_bound", basis))
    else:
        low, middle, high = (float(np.quantile(means, q)) for q in (0.05, 0.5, 0.95))
        found.write_limited = high - low <= _PLATEAU * middle and float(np.median(jobs_at_work)) >= _SEVERAL
        if found.write_limited:
            basis = (
                f"median over {_WINDOW_S} s with several jobs at work; 90 % of them lie within {low / 1e6:,.0f} and "
                f"{high / 1e6:,.0f} MB/s: a limit, of the device, a cgroup or a rate limiter"
            )
            error = (high - low) / _P5_TO_P95
            found.estimates.append(Estimate("device.write_bandwidth", middle, error, "B/s", "estimate", basis))
        else:
            basis = f"95 % of the stretches of {_WINDOW_S} s with a job at work are below it; nothing shows a limit"
            found.estimates.append(Estimate("device.write_bandwidth", high, None, "B/s", "lower_bound", basis))
    working = busy >= 0.95
    reads = float(np.quantile(read[working], 0.95)) if working.any() else float(read.max())
    direct = bool(reading.option("use_direct_reads"))
    where = (
        "from the device (direct reads)"
        if direct
        else "from the device or the page cache, which the log cannot tell apart"
    )
    found.estimates.append(
        Estimate(
            "device.read_bandwidth",
            reads,
            None,
            "B/s",
            "lower_bound",
            f"95 % of the seconds: inputs of compactions, {where}",
        )
    )
