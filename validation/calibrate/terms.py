"""Equations from costs: constants to solve for, and seconds that the other constants add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from lsmlab.models.costs.cost import DEVICE, HOST, Cost, contribution
from lsmlab.models.costs.host import Host, priors_of
from lsmlab.models.costs.jobs import compaction_cpu, flush_cpu
from lsmlab.validation.calibrate.solve import Array, Equation, Values
from lsmlab.validation.logs.timings.timed_jobs import TimedJob

_FEWEST: Final = 3
_ESTIMATED: Final = frozenset(f"{HOST}.{name}" for name in priors_of(Host))


class DurationRow(NamedTuple):
    """One measurement of a duration."""

    cost: Cost
    host: Host
    """Host with the values of the constants that no fit estimates."""
    seconds: float
    """Measured seconds."""
    run: str
    """Name of the run."""


class Design(NamedTuple):
    """Linear system of costs."""

    columns: dict[str, Array]
    """Counts of each constant to solve for, by key. Shape (n,) each."""
    fixed_s: Array
    """Seconds that the other constants add. Shape (n,)."""


def is_estimated(key: str) -> bool:
    """Whether fits estimate a constant: host constants that `Host` declares with a prior, and all device constants."""
    return key in _ESTIMATED or key.startswith(f"{DEVICE}.")


def design(costs: Sequence[tuple[Cost, Host]], keys: Sequence[str] | None = None) -> Design:
    """Build the linear system of some costs.

    `keys`: constants to solve for; by default all constants with a count in the costs that fits estimate.
    """
    rows = [cost.counts() for cost, _ in costs]
    counted = list(dict.fromkeys(key for row in rows for key, count in row.items() if count != 0.0))
    if keys is None:
        keys = [key for key in counted if is_estimated(key)]
    fixed = [
        sum(
            contribution(key, count, getattr(host, key.removeprefix(f"{HOST}."))) for key, count in row.items() if key not in keys
        )
        for row, (_, host) in zip(rows, costs, strict=True)
    ]
    columns = {key: np.array([row.get(key, 0.0) for row in rows], dtype=np.float64) for key in keys}
    return Design(columns, np.array(fixed, dtype=np.float64))


def keys_of(costs: Sequence[Cost]) -> list[str]:
    """Return the keys of the constants in some costs that fits estimate, including those with a count of 0."""
    return list(dict.fromkeys(key for cost in costs for key in cost.counts() if is_estimated(key)))


def linear(name: str, rows: Sequence[DurationRow], spread: float) -> Equation | None:
    """Return the equation cost = measured seconds, with a scatter that grows with the square root of the seconds.

    `spread`: relative scatter of a measurement of mean length. Totals over many jobs are right this way, and large jobs
    have more weight than small ones. None if there are fewer than `_FEWEST` measurements.
    """
    if len(rows) < _FEWEST:
        return None
    seconds = np.array([row.seconds for row in rows])
    scatter = spread * np.sqrt(seconds * seconds.mean())
    columns, fixed_s = design([(row.cost, row.host) for row in rows])

    def misses(values: Values) -> Array:
        expected: Any = fixed_s
        for key, counts in columns.items():
            expected = expected + contribution(key, counts, values[key])
        return np.asarray((expected - seconds) / scatter, dtype=np.float64)

    return Equation(name, misses, [row.run for row in rows], list(columns))


def relative(name: str, rows: Sequence[DurationRow], spread: float) -> Equation | None:
    """Return the equation cost = measured seconds, with the relative scatter `spread`; None without rows."""
    if not rows:
        return None
    seconds = np.array([row.seconds for row in rows])

    def misses(values: Values) -> Array:
        expected = np.array([row.cost.seconds_at(values, row.host) for row in rows])
        return np.asarray(np.log(expected / seconds) / spread, dtype=np.float64)

    return Equation(name, misses, [row.run for row in rows], keys_of([row.cost for row in rows]))


def job_cpu(job: TimedJob, host: Host, slept_files: float = 0.0, readahead_bytes: int = 0) -> Cost:
    """Return the CPU cost of a job.

    `host`: host of its machine; the cost of dropped entries is not linear in the host's constants. `slept_files`:
    number of output files during whose fsync the job sleeps. `readahead_bytes`: 0 with buffered reads. A LOG shows neither
    the entries that a flush drops nor which jobs compare each key with the files below, so both are left out.
    """
    if job.kind == "flush":
        return flush_cpu(
            host, entries_in=job.records, entries_out=job.records, raw_bytes=job.raw_bytes, file_bytes=job.write_bytes
        )
    return compaction_cpu(
        host, entries_in=job.records, entries_out=job.records - job.dropped, raw_bytes=job.raw_bytes, runs=job.runs,
        file_bytes=job.read_bytes + job.output_bytes, slept_files=slept_files, input_files=job.input_files,
        buffer_bytes=job.runs * job.parts * readahead_bytes,
    )  # fmt: skip
