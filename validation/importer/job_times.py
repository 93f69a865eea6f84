"""Times of jobs that depend on neither bytes nor entries: start of a compaction, completion of its output files."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Final

import numpy as np
from lsmlab.models.costs.cost import Cost, fsyncs
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.jobs import deletions, file_ends
from lsmlab.models.costs.jobs import job_start as start_of_job
from lsmlab.validation.calibrate.terms import design
from lsmlab.validation.importer.estimates import Earlier, Estimate, Estimates, jackknife_error
from lsmlab.validation.importer.observation import Observation
from lsmlab.validation.importer.reading import Floats, Reading
from lsmlab.validation.logs.history.jobs import LogJob
from scipy.optimize import least_squares

_FEWEST: Final = 8
"""Least number of compactions for an estimate."""
_LONGEST_GAP_S: Final = 0.2
"""Longest gap to the thread's last compaction; after a longer gap the start did not wait for the end of that
compaction."""
_GAP_QUANTILE: Final = 0.1
"""Quantile of the gaps (deletions subtracted) that gives host.job_start: longer gaps include waits for the file
system's journal."""
_SHORTEST_S: Final = 5e-5
"""Least estimate of host.job_start: the time to wake up another thread."""
_LEAST_S: Final = 1e-6
"""A smaller fitted cost is set to 0: the fit can only return positive costs."""
_BLOCKS: Final = 8
_START: Final = ("host.job_start", "host.unlink_byte")
_FINISH: Final = ("device.fsync_latency", "host.file_overhead")


def job_start(observation: Observation, _: Earlier) -> Estimates:
    """Estimate host.job_start, and host.unlink_byte if deleted files are in the page cache.

    Source: gaps from the end of a thread's compaction to the start of its next one. In between the thread deletes the
    input files of the first.
    """
    rows = _starts(observation.reading)
    if len(rows) < _FEWEST:
        return Estimates()
    table, seconds = _system([(start_of_job() + deletions(0.0, size), s) for size, s in rows], _START)
    basis = f"time between consecutive compactions of a thread, {len(rows):,} times, by the bytes deleted in between"
    per_byte_s = float(_positive_fit(table, seconds)[1])
    at_once_s = max(_SHORTEST_S, float(np.quantile(seconds - per_byte_s * table[:, 1], _GAP_QUANTILE)))
    found = [Estimate("host.job_start", at_once_s, None, "s", "estimate", basis)]
    if observation.buffered_reads:
        found.append(Estimate("host.unlink_byte", per_byte_s, None, "s", "estimate", basis))
    return Estimates(tuple(found))


def _starts(reading: Reading) -> list[tuple[float, float]]:
    """Return (bytes read, seconds to the thread's next compaction) of compactions soon followed by another."""
    threads: dict[tuple[int, str], list[LogJob]] = defaultdict(list)
    for job in reading.jobs.done("compaction"):
        threads[job.opening, job.thread].append(job)
    return [
        (before.read_bytes, (after.start_us - before.end_us) / 1e6)
        for jobs in threads.values()
        for before, after in pairwise(jobs)
        if before.end_us is not None and 0 < after.start_us - before.end_us < _LONGEST_GAP_S * 1e6
    ]


def _system(measured: list[tuple[Cost, float]], keys: tuple[str, ...]) -> tuple[Floats, Floats]:
    columns, _ = design([(cost, Host()) for cost, _ in measured], keys)
    return np.column_stack(list(columns.values())), np.array([seconds for _, seconds in measured])


def _positive_fit(x: Floats, y: Floats) -> Floats:
    """Solve y = x b for positive coefficients b, with multiplicative errors that may have outliers (soft L1 loss)."""
    start = np.maximum(np.linalg.lstsq(x / y[:, None], np.ones_like(y), rcond=None)[0], 1e-15)
    scale = np.maximum(start, 1e-13)

    def misfit(b: Floats) -> Floats:
        return np.asarray(np.log((x @ (b * scale)) / y), dtype=np.float64)

    found = least_squares(misfit, np.ones_like(scale), bounds=(1e-6, np.inf), loss="soft_l1", f_scale=0.1)
    return np.asarray(found.x * scale, dtype=np.float64)


def file_overhead(observation: Observation, _: Earlier) -> Estimates:
    """Estimate host.file_overhead.

    Source: time from the last output file of a compaction to its commit. It consists of the fsyncs of directory and
    MANIFEST and a time per output file.
    """
    measured = [
        (fsyncs(1.0) + file_ends(len(job.outputs)), wait_s)
        for job in observation.reading.jobs.done("compaction")
        if (wait_s := _finish_s(job)) is not None
    ]
    if len(measured) < _FEWEST:
        return Estimates()
    table, seconds = _system(measured, _FINISH)
    files = table[:, 1]
    if files.max() < 2 * files.min():
        per_file_s = min(Host().file_overhead, float(np.median(seconds / files)))
        basis = (
            "upper bound: the whole time from a compaction's last file to its commit, as all compactions write the same "
            "number of files"
        )
        return Estimates((Estimate("host.file_overhead", per_file_s, None, "s", "assumed", basis),))
    parts = np.array_split(np.arange(len(files)), min(_BLOCKS, len(files)))
    left_out = [_positive_fit(np.delete(table, p, axis=0), np.delete(seconds, p))[1] for p in parts]
    error = jackknife_error(np.array(left_out))
    basis = f"time from the last file of {len(files):,} compactions to their commit, by number of files"
    per_file_s = float(_positive_fit(table, seconds)[1])
    per_file_s = per_file_s if per_file_s > _LEAST_S else 0.0
    return Estimates((Estimate("host.file_overhead", per_file_s, error, "s", "estimate", basis),))


def _finish_s(job: LogJob) -> float | None:
    """Return the seconds from a job's last output file to its commit; None if the LOG does not have both times."""
    if not job.outputs or job.end_us is None or not all(file.created_us for file in job.outputs):
        return None
    seconds = (job.end_us - max(file.created_us or 0 for file in job.outputs)) / 1e6
    return seconds if seconds > 0 else None
