"""Limits of a machine from jobs with direct I/O: the most likely hypothesis and its rivals as estimates.

Errors of log durations follow a Laplace distribution, weighted by the durations: a few jobs take several times as long
as any hypothesis says. The likelihood then depends on the mean absolute error alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.models.devices.capped import IO_BYTES
from lsmlab.sim.results.series import spread
from lsmlab.validation.calibrate.terms import job_cpu
from lsmlab.validation.importer.cores import CLIENT_CORES
from lsmlab.validation.importer.estimates import (
    FEWEST_WINDOWS,
    P5_TO_P95,
    WINDOW_S,
    Earlier,
    Estimate,
    Estimates,
    Observation,
    host_with,
    jackknife_error,
    windows,
)
from lsmlab.validation.importer.hypotheses import (
    BANDWIDTH,
    HYPOTHESES,
    IOPS_CAP,
    LATENCY,
    READ_WRITE_CAP,
    REQUESTS,
    WRITE_CAP,
    Hypothesis,
    RecordedWork,
    work_of,
)
from lsmlab.validation.importer.reading import Floats, grid
from numpy.typing import NDArray

_STEPS: Final = 30
"""Values of the unknown number that are tried first, at equal ratios; the best one is then refined."""
_REFINED: Final = 12
"""Golden-section steps: the error of the value is below 1 %."""
_GOLDEN: Final = 0.381966
_CERTAIN: Final = 2.0
"""Two hypotheses are told apart if their log likelihoods differ by more than this many standard errors."""
_PRECISION: Final = 0.02
"""Smaller errors of a duration do not tell hypotheses apart: the model of a job is not more exact."""
_DECISIVE: Final = 1.5
"""A cap on operations counts before one on bytes only if the error without it is this many times as large. The durations of
recorded jobs are off by 7 to 29 % under the cap that they had, mostly those of flushes shorter than a slice of the cap. Of 54
recordings with caps on bytes one favours operations by 1.37; of six with caps on operations none does by more than 1.21."""
_SMALLEST: Final = 1e-9
"""Least progress: that of a job which a hypothesis does not let start."""
FEWEST_JOBS: Final = 30
"""Least number of jobs from which hypotheses are compared."""
_REACHED: Final = 0.75
"""Quantile of the window means that is taken for a limit: in some windows no job waits."""
_LARGEST_SHARE: Final = 0.5
"""A number above this share of the highest one that was considered is a lower bound: nothing waits for it."""
_BYTES: Final = ("device.write_limit", "device.read_limit")
_BANDWIDTHS: Final = ("device.write_bandwidth", "device.read_bandwidth")
_NAMES: Final = {
    WRITE_CAP.name: (_BYTES[:1], "B/s"), READ_WRITE_CAP.name: (_BYTES, "B/s"), IOPS_CAP.name: (("device.iops_limit",), "1/s"),
    BANDWIDTH.name: (_BANDWIDTHS, "B/s"), REQUESTS.name: (_BANDWIDTHS, "B/s"),
    LATENCY.name: (("device.write_latency", "device.read_latency"), "s"), "cores": (_BANDWIDTHS, "B/s"),
}  # fmt: skip
"""Estimates of each hypothesis, and their unit."""


@dataclass(frozen=True)
class Fit:
    """A hypothesis with its most likely number."""

    hypothesis: Hypothesis
    value: float
    errors: Floats
    """Absolute errors of the logarithm of each job's duration. Shape (n,)."""
    error: float
    """Their mean, weighted by the durations."""


@dataclass(frozen=True)
class HypothesisChoice:
    """A hypothesis, and those that the LOG does not tell apart from it, the more likely first.

    It is the most likely one, or a cap on bytes where one on operations is not decisively more likely.
    """

    best: Fit
    rivals: Sequence[Fit]


def choose(work: RecordedWork, hypotheses: Sequence[Hypothesis] = HYPOTHESES) -> HypothesisChoice:
    """Fit all hypotheses to recorded jobs; return one and its rivals."""
    fits = sorted((fit(work, hypothesis) for hypothesis in hypotheses), key=lambda found: found.error)
    best = _simplest(fits)
    return HypothesisChoice(best, [other for other in fits if other is not best and not _apart(work, best, other)])


def _simplest(fits: Sequence[Fit]) -> Fit:
    """Return the most likely of the fits, or the more likely cap on bytes if that is a cap on operations, but not decisively."""
    best = fits[0]
    of_bytes = next((found for found in fits if found.hypothesis in (WRITE_CAP, READ_WRITE_CAP)), best)
    return of_bytes if best.hypothesis is IOPS_CAP and of_bytes.error < _DECISIVE * best.error else best


def fit(work: RecordedWork, hypothesis: Hypothesis) -> Fit:
    """Return the number of a hypothesis that makes the recorded durations most likely."""
    lowest, highest = hypothesis.bounds(work)
    grid = np.linspace(np.log(lowest), np.log(highest), _STEPS)
    tried = [_error(work, hypothesis, float(value)) for value in grid]
    place = int(np.argmin(tried))
    low, high = float(grid[max(0, place - 1)]), float(grid[min(_STEPS - 1, place + 1)])
    for _ in range(_REFINED):
        left, right = low + _GOLDEN * (high - low), high - _GOLDEN * (high - low)
        if _error(work, hypothesis, left) < _error(work, hypothesis, right):
            high = right
        else:
            low = left
    middle = (low + high) / 2.0
    errors = _errors(work, hypothesis, middle)
    return Fit(hypothesis, float(np.exp(middle)), errors, float(np.average(errors, weights=work.seconds)))


def _apart(work: RecordedWork, best: Fit, other: Fit) -> bool:
    """Whether the likelihoods differ by more than their difference varies between parts of the LOG."""
    errors = [np.maximum(found.errors, _PRECISION) for found in (best, other)]

    def difference(kept: NDArray[np.int64]) -> float:
        first, second = (np.average(values[kept], weights=work.seconds[kept]) for values in errors)
        return float(np.log(second / first))

    count = len(work.seconds)
    return difference(np.arange(count)) > _CERTAIN * jackknife_error(difference, count)


def _error(work: RecordedWork, hypothesis: Hypothesis, log_value: float) -> float:
    return float(np.average(_errors(work, hypothesis, log_value), weights=work.seconds))


def _errors(work: RecordedWork, hypothesis: Hypothesis, log_value: float) -> Floats:
    progress = work.progress(hypothesis.speeds(work, float(np.exp(log_value))))
    errors: Floats = np.abs(np.log(np.maximum(progress, _SMALLEST)))
    return errors


def direct_limits(observation: Observation, earlier: Earlier) -> Estimates:
    """Estimate what held jobs with direct I/O back, and the most likely alternative that the LOG does not exclude."""
    jobs = observation.jobs.jobs
    host = host_with(earlier)
    cpu_s = [job.cpu_s or job_cpu(job, host, readahead_bytes=observation.readahead_bytes).seconds(host) for job in jobs]
    work = work_of(jobs, cpu_s, reads=not observation.buffered_reads)
    possible = [h for h in HYPOTHESES if h is not READ_WRITE_CAP or _reads_count(observation, work)]
    choice = choose(work, possible)
    found = _unknown(_estimates(observation, work, choice.best), earlier)
    if not choice.rivals:
        return Estimates(found)
    told = ", ".join(f"{fit.hypothesis.words} ({_text(_estimates(observation, work, fit)[0])})" for fit in choice.rivals)
    note = f"device: jobs waited for {choice.best.hypothesis.words} ({_text(found[0])}); the LOG does not exclude {told}"
    other = next((fit for fit in choice.rivals if _quantity(fit) != _quantity(choice.best)), choice.rivals[0])
    return Estimates(found, (note,), _unknown(_estimates(observation, work, other), earlier))


def _unknown(found: tuple[Estimate, ...], earlier: Earlier) -> tuple[Estimate, ...]:
    """Return the estimates of what is not known from elsewhere."""
    return tuple(one for one in found if earlier.get(one.name) is None)


def _reads_count(observation: Observation, work: RecordedWork) -> bool:
    """Whether a cap may hold reads back: jobs read from the device, and no rate limiter (of writes) explains the cap."""
    return bool(work.read_bytes.any()) and not observation.reading.rate_limiter_unknown


def _quantity(fit: Fit) -> str:
    """Return the name of the first estimate: hypotheses with the same one give nearly the same predictions."""
    return _NAMES[fit.hypothesis.name][0][0] if fit.hypothesis.cores is None else "host.cores"


def _estimates(observation: Observation, work: RecordedWork, fit: Fit) -> tuple[Estimate, ...]:
    names, unit = _NAMES[fit.hypothesis.name]
    error = f"durations of {len(work.seconds):,} jobs within {fit.error:.0%}"
    basis = f"most likely if jobs wait for {fit.hypothesis.words}: {error}"
    value, standard_error = fit.value, None
    if fit.hypothesis.demands is not None:
        wal = float(observation.wal_bytes_per_s.mean()) if len(observation.wal_bytes_per_s) else 0.0
        wal /= IO_BYTES if fit.hypothesis is IOPS_CAP else 1.0
        reached, deviation = max(_reached(work, demand) for demand in fit.hypothesis.demands(work))
        value, standard_error = max(value, reached) + wal, max(deviation, abs(reached - value) / 2.0)
        basis += f"; jobs together reached {reached:,.3g} {unit} over {WINDOW_S} s (upper quartile)"
    kind = "estimate" if value < _LARGEST_SHARE * fit.hypothesis.highest else "lower_bound"
    found = tuple(Estimate(name, value, standard_error, unit, kind, basis) for name in names)
    if fit.hypothesis.cores is None:
        return found
    total = float(fit.hypothesis.cores + CLIENT_CORES)
    return (Estimate("host.cores", total, None, "cores", "estimate", f"{basis}; one more for clients"), *found)


def _reached(work: RecordedWork, demand: Floats) -> tuple[float, float]:
    """Return the rate that all jobs together reach in windows with running jobs, and its standard deviation.

    In a LOG with few such windows it is the mean rate over the time with running jobs, and the deviation is 0.
    """
    end_s = work.start_s + work.seconds
    edges = grid(float(end_s.max()))
    busy = spread(work.start_s, end_s, work.seconds, edges) / edges[1]
    rate = spread(work.start_s, end_s, demand, edges) / edges[1]
    means, _ = windows(rate, busy, max(1, round(WINDOW_S / float(edges[1]))))
    if len(means) < FEWEST_WINDOWS:
        return float(demand.sum() / work.length_s.sum()), 0.0
    low, reached, high = (float(np.quantile(means, q)) for q in (0.05, _REACHED, 0.95))
    return reached, (high - low) / P5_TO_P95


def _text(estimate: Estimate) -> str:
    if estimate.unit == "B/s":
        return f"{estimate.value / 1e6:,.1f} MB/s"
    if estimate.unit == "cores":
        return f"{estimate.value:g} with those of clients"
    return f"{estimate.value:,.0f} operations/s" if estimate.unit == "1/s" else f"{estimate.value * 1e3:,.2f} ms"
