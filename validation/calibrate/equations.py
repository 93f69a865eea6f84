"""All equations of the fit: predictions of job records, histograms and counters from the simulator's constants.

Each equation predicts a measurement as sim/ computes it, and gives the scatter of single measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from lsmlab.validation.calibrate import client_equations as clients
from lsmlab.validation.calibrate import job_equations as jobs
from lsmlab.validation.calibrate import short_writes as short
from lsmlab.validation.calibrate.recorded import RecordedRun
from lsmlab.validation.calibrate.solve import Equation

_ALL: Final[Sequence[Callable[[Sequence[RecordedRun]], Equation | None]]] = (
    jobs.compaction_cpu, jobs.flush_cpu, jobs.device_writes, jobs.device_reads, jobs.finishing, jobs.starts, jobs.deletions,
    jobs.core_contention, clients.fills, clients.writes, short.spread, short.interruptions, clients.sleeps, clients.read_cpu,
    clients.read_waits, short.device_read_spread, clients.requests,
)  # fmt: skip


def equations_of(runs: Sequence[RecordedRun]) -> list[Equation]:
    """Return the equations for which these runs have measurements."""
    return [equation for make in _ALL if (equation := make(runs)) is not None]
