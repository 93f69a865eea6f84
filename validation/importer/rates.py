"""What the machine did in a log: CPU per entry and byte, and how fast the device took bytes, with how well each is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.jobs import entry_share
from lsmlab.validation.importer.estimates import MEDIAN_BY_MEAN, Estimate, InferredRates
from lsmlab.validation.importer.fixed_costs import fixed_costs
from lsmlab.validation.importer.fsyncs import buffered_writes, fsync_rates, read_copy_s
from lsmlab.validation.importer.reading import Floats, Reading
from lsmlab.validation.importer.throughput import throughput
from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.history.summary import busy_s

_FEWEST_JOBS: Final = 8
"""Jobs from which a cost is fitted."""
_APART: Final = 0.10
"""Relative spread of bytes per entry from which costs per entry and per byte can be told apart."""


def infer_rates(
    reading: Reading, key_bytes: float | None, value_bytes: float | None, wal_bytes_per_s: Floats
) -> InferredRates:
    """Fit what the job records tell. `wal_bytes_per_s`: what the log brings to the device, by second from the origin on."""
    found = InferredRates()
    entry = (key_bytes or 0.0) + (value_bytes or 0.0)
    merges = [j for j in reading.jobs.done("compaction") if j.cpu_s and j.entries_in]
    in_one = [j for j in merges if j.subcompactions == 1]  # parts of one merge crowd each other
    merges = in_one if len(in_one) >= _FEWEST_JOBS else merges
    copies = (read_copy_s(reading), 1.0 if buffered_writes(reading) else 0.0)
    _cpu(found, "compaction", [_merge_cpu(j, *copies) for j in merges], "compactions")
    known = found.get("host.compaction_record") is not None
    _cpu(found, "flush", _flush_cpu(reading, entry), "flushes", ", times the factor of compactions" if known else "")
    _flush_like_compaction(found)
    fixed_costs(found, reading)
    _streams(found, reading)
    fsync_rates(found, reading, entry)
    throughput(found, reading, wal_bytes_per_s)
    return found


def _merge_cpu(job: LogJob, read_byte_s: float, write_share: float) -> tuple[float, float, float]:
    """(entries, bytes, CPU s) of a merge with its copies from and to the page cache; what it dropped counts for less.

    `read_byte_s`: of copies that the CPU time leaves out; `write_share`: 1 if the time of its writes is that of copies, else 0.
    """
    share = entry_share(job.entries_in, job.entries_out, Host().compaction_dropped)
    copying_s = job.read_bytes * read_byte_s + write_share * (job.writing_s or 0.0)
    return job.entries_in * share, job.read_bytes * share, (job.cpu_s or 0.0) + copying_s


def _flush_like_compaction(found: InferredRates) -> None:
    """Where no line tells the CPU of flushes (before 7.8), they differ from the usual as much as compactions do."""
    host, merge = Host(), found.get("host.compaction_record")
    if merge is None or found.get("host.flush_record") is not None:
        return
    scale = merge.value / host.compaction_record
    basis = "assumed: the usual cost times the factor of compactions, as the log does not time the CPU of flushes"
    for name in ("flush_record", "flush_byte"):
        found.estimates.append(Estimate(f"host.{name}", getattr(host, name) * scale, None, "s", "assumed", basis))


def _flush_cpu(reading: Reading, entry_bytes: float) -> list[tuple[float, float, float]]:
    """(entries, bytes, CPU s) of flushes.

    From "Flush lasted … and … cpu microseconds" (7.8 on), or else from the time of the file less its fsync, which
    report_bg_io_stats tells.
    """
    flushes = reading.jobs.done("flush")
    cpu = {(job.opening, job.job): job.cpu_s for job in flushes if job.cpu_s is not None}
    if not cpu and buffered_writes(reading):
        for job in flushes:
            made_us = job.outputs[0].created_us if len(job.outputs) == 1 else None
            if job.sync_s is not None and made_us is not None and (made_us - job.start_us) / 1e6 > job.sync_s:
                cpu[job.opening, job.job] = (made_us - job.start_us) / 1e6 - job.sync_s
    return [
        (float(j.entries_in), j.entries_in * entry_bytes, cpu[j.opening, j.job])
        for j in flushes
        if (j.opening, j.job) in cpu and j.entries_in
    ]


def _cpu(
    found: InferredRates, kind: str, jobs: Sequence[tuple[float, float, float]], words: str, instead: str = ""
) -> None:
    """CPU per entry and per byte of these (entries, bytes, CPU s), by least squares on relative errors.

    `instead`: what becomes of the usual cost where there are too few of them, for the note that says so.
    """
    default = Host()
    record, byte = getattr(default, f"{kind}_record"), getattr(default, f"{kind}_byte")
    if len(jobs) < _FEWEST_JOBS:
        number = len(jobs) or "none"
        found.notes.append(f"CPU of {words}: the log tells it for {number} of them; that of host=default is taken{instead}")
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
            error = float(MEDIAN_BY_MEAN * values.std() / math.sqrt(len(values)))
            basis = f"median over {len(rates):,} {kind}s of bytes written / time; P90 {np.quantile(values, 0.9) / 1e6:,.0f} MB/s"
            found.estimates.append(Estimate(name, float(np.median(values)), error, "B/s", "lower_bound", basis))
