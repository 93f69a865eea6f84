"""Constants of flushes and compactions: CPU time, and the times that depend on neither bytes nor entries."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.costs import jobs as job_costs
from lsmlab.models.costs.cost import Cost, fsyncs
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.jobs import deletions, file_ends
from lsmlab.models.policies.rocksdb.compression import CODECS
from lsmlab.validation.calibrate.terms import design, is_estimated
from lsmlab.validation.importer.estimates import Earlier, Estimate, Estimates, Observation, host_with, jackknife_error
from lsmlab.validation.importer.reading import Floats, Reading
from lsmlab.validation.logs.history.jobs import LogJob
from scipy.optimize import least_squares, linprog

_FEWEST_JOBS: Final = 8
"""Least number of jobs for an estimate."""
_LEAST_SPREAD: Final = 0.10
"""Least relative spread of a count per entry (such as bytes per entry) over the jobs. With less spread its constant and
the cost per entry cannot be separated."""
_DEFAULT_HOST: Final = Host()
_CODEC_CONSTANTS: Final = ("host.compress_byte", "host.decompress_byte")
"""Constants that the compactions of a store with compression give. The calibrator's runs have no compression."""
_LONGEST_GAP_S: Final = 0.2
"""Longest gap to the thread's last compaction; after a longer gap the start did not wait for the end of that
compaction."""
_GAP_QUANTILE: Final = 0.1
"""Quantile of the gaps (deletions subtracted) that gives host.job_start: longer gaps include waits for the file
system's journal."""
_FINISH_QUANTILE: Final = 0.1
"""Quantile of the times from the last file to the commit that gives host.file_overhead, for the same reason."""
_MOST_FINISHES: Final = 600
"""Most compactions of which these times are compared, evenly from the LOG."""
_SHORTEST_S: Final = 5e-5
"""Least estimate of host.job_start: the time to wake up another thread."""
_LEAST_S: Final = 1e-6
"""A smaller fitted cost is set to 0: the fit can only return positive costs."""
_FINISH: Final = ("device.fsync_latency", "host.file_overhead")

TimedCosts = Sequence[tuple[Cost, float]]
"""(cost, CPU seconds) of jobs."""


def compaction_cpu(observation: Observation, _: Earlier) -> Estimates:
    """Estimate the constants of a compaction's CPU time."""
    jobs = [j for j in observation.reading.jobs.done("compaction") if j.cpu_s and j.entries_in]
    in_one = [j for j in jobs if j.subcompactions == 1]  # subcompactions slow each other down
    jobs = in_one if len(in_one) >= _FEWEST_JOBS else jobs
    return _estimates([_compaction(j, observation) for j in jobs], "compactions", scaled=_CODEC_CONSTANTS)


def _compaction(job: LogJob, observation: Observation) -> tuple[Cost, float]:
    """Return cost and CPU seconds of a compaction, including its copies from and to the page cache.

    Bytes of files are used in place of bytes of keys and values, unless files are compressed.
    """
    copying_s = job.read_bytes * observation.read_copy_s
    codecs = _Codecs.of(job, observation)
    entry_bytes = observation.entry_bytes_of(job)
    if observation.buffered_writes:
        copying_s += job.writing_s or 0.0
    moved_bytes = job.all_read_bytes + job.all_write_bytes
    cost = job_costs.compaction_cpu(
        _DEFAULT_HOST, entries_in=job.entries_in, entries_out=job.entries_out,
        raw_bytes=job.entries_in * entry_bytes if codecs else job.all_read_bytes,
        runs=job.runs,
        compress_bytes=job.entries_out * entry_bytes * codecs.compress,
        decompress_bytes=job.entries_in * entry_bytes * codecs.decompress,
        compression_ratio=codecs.ratio(moved_bytes, (job.entries_in + job.entries_out) * entry_bytes),
        file_bytes=moved_bytes,
        slept_files=len(job.outputs) if observation.buffered_writes else 0.0, input_files=sum(map(len, job.inputs.values())),
        buffer_bytes=job.runs * job.subcompactions * observation.readahead_bytes,
    )  # fmt: skip
    return cost, (job.cpu_s or 0.0) + copying_s


class _Codecs(NamedTuple):
    """Mean costs of a job's codecs, relative to LZ4; 0 without compression."""

    compress: float
    decompress: float

    def __bool__(self) -> bool:
        return self.compress > 0.0 or self.decompress > 0.0

    def ratio(self, file_bytes: float, raw_bytes: float) -> float:
        """Return the compression ratio of a job's files; 1 without compression, or if the LOG lacks the raw bytes."""
        return min(1.0, file_bytes / raw_bytes) if self and raw_bytes else 1.0

    @staticmethod
    def of(job: LogJob, observation: Observation) -> _Codecs:
        """Return the costs of a job from the types of its input and output files that the LOG shows."""
        known = observation.reading.jobs.files
        inputs = [known[n].compression for numbers in job.inputs.values() for n in numbers if n in known and known[n].data_bytes]
        outputs = [file.compression for file in job.outputs]
        compress = sum(CODECS[c].compress for c in outputs) / max(1, len(outputs))
        return _Codecs(compress, sum(CODECS[c].decompress for c in inputs) / max(1, len(inputs)))


def flush_cpu(observation: Observation, earlier: Earlier) -> Estimates:
    """Estimate the constants of a flush's CPU time.

    If the LOG has no CPU time of flushes (before 7.8), the default constants are multiplied by the same factor as those
    of compactions.
    """
    compaction = earlier["host.compaction_record"]
    instead = ", times the factor of compactions" if compaction is not None else ""
    found = _estimates(_flushes(observation), "flushes", instead, host=host_with(earlier))
    if compaction is None or found.estimates:
        return found
    scale = compaction.value / _DEFAULT_HOST.compaction_record
    basis = "assumed: the default cost times the factor of compactions, as the LOG does not contain the CPU time of flushes"
    one = job_costs.flush_cpu(_DEFAULT_HOST, entries_in=1.0, entries_out=1.0, raw_bytes=1.0)
    usual = _defaults([one])
    return found + Estimates(tuple(Estimate(key, value * scale, None, "s", "assumed", basis) for key, value in usual.items()))


def codec_cpu(_: Observation, earlier: Earlier) -> Estimates:
    """Estimate the CPU seconds per uncompressed byte of LZ4 that the LOG does not show: the defaults, scaled as compactions."""
    byte = earlier["host.compaction_byte"]
    if byte is None:
        return Estimates()
    basis = "assumed: the default cost, scaled as host.compaction_byte; the LOG does not show this codec's work"
    scale = byte.value / _DEFAULT_HOST.compaction_byte
    not_shown = (key for key in _CODEC_CONSTANTS if earlier[key] is None)
    usual = {key: getattr(_DEFAULT_HOST, key.removeprefix("host.")) for key in not_shown}
    return Estimates(tuple(Estimate(key, scale * value, None, "s", "assumed", basis) for key, value in usual.items()))


def _flushes(observation: Observation) -> TimedCosts:
    """Return costs and CPU seconds of flushes.

    CPU seconds come from "Flush lasted … and … cpu microseconds" (7.8 and later); without that line, from the time
    until the file was finished minus its fsync, which needs report_bg_io_stats.
    """
    flushes = observation.reading.jobs.done("flush")
    cpu_s = {id(job): job.cpu_s for job in flushes if job.cpu_s is not None}
    if not cpu_s and observation.buffered_writes:
        for job in flushes:
            made_us = job.outputs[0].created_us if len(job.outputs) == 1 else None
            if job.sync_s is not None and made_us is not None and (made_us - job.start_us) / 1e6 > job.sync_s:
                cpu_s[id(job)] = (made_us - job.start_us) / 1e6 - job.sync_s
    return [(_flush(job, observation), cpu_s[id(job)]) for job in flushes if id(job) in cpu_s and job.entries_in]


def _flush(job: LogJob, observation: Observation) -> Cost:
    raw_bytes, codecs = job.entries_in * observation.entry_bytes_of(job), _Codecs.of(job, observation)
    return job_costs.flush_cpu(
        _DEFAULT_HOST, entries_in=job.entries_in, entries_out=job.entries_in, raw_bytes=raw_bytes,
        compression_ratio=codecs.ratio(job.all_write_bytes, raw_bytes), compress_bytes=raw_bytes * codecs.compress,
        file_bytes=job.all_write_bytes,
    )  # fmt: skip


def _defaults(costs: Sequence[Cost], scaled: Sequence[str] = ()) -> dict[str, float]:
    """Return the default values, if not 0, of the constants in these costs that fits estimate, and of those in `scaled`."""
    keys = dict.fromkeys(
        key for cost in costs for key, count in cost.counts().items() if count and (is_estimated(key) or key in scaled)
    )
    values = {key: float(getattr(_DEFAULT_HOST, key.removeprefix("host."))) for key in keys}
    return {key: value for key, value in values.items() if value}


def _estimates(
    measured: TimedCosts, words: str, instead: str = "", *, host: Host = _DEFAULT_HOST, scaled: Sequence[str] = ()
) -> Estimates:
    """Estimate the constants of costs by least squares, or as the default constants times one factor.

    `words`: name of the jobs for notes. `instead`: addition to the note about too few jobs. `host`: values of constants
    that the fit does not estimate. `scaled`: such constants to estimate nevertheless.
    """
    if len(measured) < _FEWEST_JOBS:
        number = f"only {len(measured)}" if measured else "none"
        note = f"CPU of {words}: the LOG contains it for {number} of them; that of host=default is used{instead}"
        return Estimates(notes=(note,))
    usual = _defaults([cost for cost, _ in measured], scaled)
    columns, fixed_s = design([(cost, host) for cost, _ in measured], list(usual))
    table, cpu_s = np.column_stack(list(columns.values())), np.array([s for _, s in measured]) - fixed_s
    basis = f"CPU time of {len(measured):,} {words}"
    fitted = _fit_constants(table, cpu_s)
    if fitted is None:
        scale, error = _factor(table @ np.array(list(usual.values())), cpu_s)
        fitted = np.array([value * scale for value in usual.values()]), np.array([value * error for value in usual.values()])
        basis += "; entries of one size do not separate cost per entry and per byte: both are the defaults times one factor"
    rows = zip(usual, *(array.tolist() for array in fitted), strict=True)
    return Estimates(tuple(Estimate(key, value, error, "s", "estimate", basis) for key, value, error in rows))


def _fit_constants(table: Floats, cpu_s: Floats) -> tuple[Floats, Floats] | None:
    """Return the coefficients of a table's columns and their standard errors; None if the jobs cannot separate them."""
    entries = table[:, 0]
    per_entry = table / entries[:, None]
    if (per_entry[:, 1:].std(axis=0) / per_entry[:, 1:].mean(axis=0) < _LEAST_SPREAD).any():
        return None
    weights = np.sqrt(entries)
    fitted = _least_squares(per_entry * weights[:, None], cpu_s / entries * weights)
    return fitted if fitted is not None and (fitted[0] > 0).all() else None


def _factor(usual_s: Floats, cpu_s: Floats) -> tuple[float, float]:
    """Return the ratio of measured CPU time to CPU time with the default constants, and the ratio's standard error."""
    ratios, weights = cpu_s / usual_s, usual_s / usual_s.sum()
    scale = float((ratios * weights).sum())
    freedom = len(ratios) / max(1, len(ratios) - 1)
    return scale, math.sqrt(float((weights**2 * (ratios - scale) ** 2).sum()) * freedom)


def _least_squares(design_matrix: Floats, target: Floats) -> tuple[Floats, Floats] | None:
    """Return coefficients and their standard errors; None if the columns are nearly linearly dependent."""
    gram = design_matrix.T @ design_matrix
    if np.linalg.cond(gram) > 1e12:
        return None
    inverse = np.linalg.inv(gram)
    solution = inverse @ design_matrix.T @ target
    residual = target - design_matrix @ solution
    freedom = max(1, len(target) - design_matrix.shape[1])
    return solution, np.sqrt(np.diag(inverse) * float(residual @ residual) / freedom)


def job_start(observation: Observation, _: Earlier) -> Estimates:
    """Estimate host.job_start.

    Source: gaps from the end of a thread's compaction to the start of its next one, without the time to delete the input files
    of the first.
    """
    rows = _starts(observation.reading)
    if len(rows) < _FEWEST_JOBS:
        return Estimates()
    basis = f"time between consecutive compactions of a thread, {len(rows):,} times, without that of deletions"
    host = Host()
    gaps_s = [seconds - deletions(files, size).seconds(host) for files, size, seconds in rows]
    at_once_s = max(_SHORTEST_S, float(np.quantile(gaps_s, _GAP_QUANTILE)))
    return Estimates((Estimate("host.job_start", at_once_s, None, "s", "estimate", basis),))


def _starts(reading: Reading) -> list[tuple[int, float, float]]:
    """Return (input files, bytes read, seconds to the thread's next compaction) of compactions soon followed by another."""
    threads: dict[tuple[int, str], list[LogJob]] = defaultdict(list)
    for job in (job for job in reading.jobs.done("compaction") if job.thread):
        threads[job.opening, job.thread].append(job)
    return [
        (sum(map(len, before.inputs.values())), before.read_bytes, (after.start_us - before.end_us) / 1e6)
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


def _quantile_fit(x: Floats, y: Floats, share: float) -> Floats:
    """Solve y = x b for positive coefficients b below which a share of the y lies, by relative distance (Koenker and Bassett)."""
    rows, one = x / y[:, None], np.eye(len(y))
    costs = np.concatenate([np.zeros(x.shape[1]), np.full(len(y), share), np.full(len(y), 1.0 - share)])
    found = linprog(costs, A_eq=np.hstack([rows, one, -one]), b_eq=np.ones(len(y))).x
    assert found is not None, "distances above and below make every b possible"
    return np.asarray(found[: x.shape[1]], dtype=np.float64)


def file_overhead(observation: Observation, _: Earlier) -> Estimates:
    """Estimate host.file_overhead.

    Source: time from the last output file of a compaction to its commit. It consists of the fsyncs of directory and
    MANIFEST and a time per output file; under a cap or beside other jobs most of them also wait, so the fastest tenth counts.
    """
    measured = [
        (fsyncs(1.0) + file_ends(len(job.outputs)), wait_s)
        for job in observation.reading.jobs.done("compaction")
        if (wait_s := _finish_s(job)) is not None
    ]
    if len(measured) < _FEWEST_JOBS:
        return Estimates()
    table, seconds = _system(measured[:: -(-len(measured) // _MOST_FINISHES)], _FINISH)
    files = table[:, 1]
    if files.max() < 2 * files.min():
        per_file_s = min(Host().file_overhead, float(np.quantile(seconds / files, _FINISH_QUANTILE)))
        basis = (
            "upper bound: the whole time from a compaction's last file to its commit, as all compactions write the same "
            "number of files"
        )
        return Estimates((Estimate("host.file_overhead", per_file_s, None, "s", "assumed", basis),))
    error = jackknife_error(lambda kept: float(_quantile_fit(table[kept], seconds[kept], _FINISH_QUANTILE)[1]), len(files))
    basis = f"time from the last file of {len(files):,} compactions to their commit, by number of files; fastest tenth"
    per_file_s = float(_quantile_fit(table, seconds, _FINISH_QUANTILE)[1])
    per_file_s = per_file_s if per_file_s > _LEAST_S else 0.0
    return Estimates((Estimate("host.file_overhead", per_file_s, error, "s", "estimate", basis),))


def _finish_s(job: LogJob) -> float | None:
    """Return the seconds from a job's last output file to its commit; None if the LOG does not have both times."""
    if not job.outputs or job.end_us is None or not all(file.created_us for file in job.outputs):
        return None
    seconds = (job.end_us - max(file.created_us or 0 for file in job.outputs)) / 1e6
    return seconds if seconds > 0 else None
