"""What a job costs besides its bytes and entries: getting started, and finishing its files."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Final

import numpy as np
from lsmlab.models.costs.host import Host
from lsmlab.validation.calibrate.public_fits import linear
from lsmlab.validation.importer.estimates import Estimate, InferredRates
from lsmlab.validation.importer.reading import Reading
from lsmlab.validation.logs.history.jobs import LogJob
from lsmlab.validation.logs.timings.job_records import left_out_error

_FEWEST: Final = 8
"""Compactions from which a cost is taken."""
_SOON_S: Final = 0.2
"""A compaction that begins later than this after its thread's last one waited for something else."""
_AT_ONCE: Final = 0.1
"""Quantile of what is left of these waits: longer ones also waited for the file system's journal."""
_SHORTEST_S: Final = 5e-5
"""Waking up another thread."""
_LEAST_S: Final = 1e-6
"""A fitted cost below this stands for none: the fit keeps costs positive."""
_BLOCKS: Final = 8


def fixed_costs(found: InferredRates, reading: Reading) -> None:
    """Add host.job_start and host.file_overhead."""
    _start(found, reading)
    _finish(found, reading)


def _start(found: InferredRates, reading: Reading) -> None:
    """From the end of a thread's compaction to its next one: meanwhile it deletes the files that it merged."""
    threads: dict[tuple[int, str], list[LogJob]] = defaultdict(list)
    for job in reading.jobs.done("compaction"):
        threads[job.opening, job.thread].append(job)
    rows = np.array([
        (1.0, before.read_bytes, (after.start_us - (before.end_us or 0)) / 1e6)
        for jobs in threads.values()
        for before, after in pairwise(jobs)
        if before.end_us is not None and 0 < after.start_us - before.end_us < _SOON_S * 1e6
    ])  # fmt: skip
    if len(rows) < _FEWEST:
        return
    basis = f"from the end of a compaction to the next of its thread, {len(rows):,} times, by what the thread deletes meanwhile"
    per_byte_s = float(linear(rows[:, :2], rows[:, 2])[1])
    at_once_s = max(_SHORTEST_S, float(np.quantile(rows[:, 2] - per_byte_s * rows[:, 1], _AT_ONCE)))
    found.estimates.append(Estimate("host.job_start", at_once_s, None, "s", "estimate", basis))
    if not reading.option("use_direct_reads"):
        found.estimates.append(Estimate("host.unlink_byte", per_byte_s, None, "s", "estimate", basis))


def _finish(found: InferredRates, reading: Reading) -> None:
    """From the last file of a merge to its commit: fsyncs of directory and manifest, and a share per file."""
    rows = np.array([
        (len(job.outputs), (job.end_us - max(file.created_us or 0 for file in job.outputs)) / 1e6)
        for job in reading.jobs.done("compaction")
        if job.outputs and job.end_us is not None and all(file.created_us for file in job.outputs)
    ])  # fmt: skip
    rows = rows[rows[:, 1] > 0] if len(rows) else rows
    if len(rows) < _FEWEST:
        return
    files, seconds = rows[:, 0], rows[:, 1]
    if files.max() < 2 * files.min():
        usual = Host().file_overhead
        per_file_s = min(usual, float(np.median(seconds / files)))
        basis = "at most: all of the time from a merge's last file to its commit, as all merges write as many files"
        found.estimates.append(Estimate("host.file_overhead", per_file_s, None, "s", "assumed", basis))
        return
    design = np.column_stack((np.ones(len(files)), files))
    parts = np.array_split(np.arange(len(files)), min(_BLOCKS, len(files)))
    left_out = [linear(np.delete(design, p, axis=0), np.delete(seconds, p))[1] for p in parts]
    error = float(left_out_error(np.array(left_out)))
    basis = f"from the last file of {len(files):,} merges to their commit, by number of files"
    per_file_s = float(linear(design, seconds)[1])
    per_file_s = per_file_s if per_file_s > _LEAST_S else 0.0
    found.estimates.append(Estimate("host.file_overhead", per_file_s, error, "s", "estimate", basis))
