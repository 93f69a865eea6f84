"""Estimate of the CPU time and memory of a run before it starts, from counts that its configuration gives.

The CPU time of a run is proportional to the number of its background jobs (docs/background/speed.md). So the unit of the
estimate is one job on a device without a cap that binds; every other cost is a multiple of it. `job_seconds` measures the
unit on this machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.process_memory import KEY_BYTES
from lsmlab.sim.runs.expected import Expected, expected
from lsmlab.sim.setting import Setting

START: Final = 350.0
"""Cost of a run without jobs, in jobs: build its parts, compute and write its tables (measured, 0.15 s)."""
READS: Final = 1.1
"""Further cost of a job in a run with reads: each new version changes the blocks of a read (measured, 0.6 ms)."""
PIECE: Final = 0.16
"""Cost of a step on a device with a cap that binds, in jobs (measured, 65 us)."""
SECOND: Final = 0.02
"""Cost of a simulated second in the tables per second, in jobs (measured, 10 us)."""
KEY: Final = 1.0 / 4000.0
"""Cost of a sampled key that compactions read and write, in jobs (measured, 0.14 us)."""
PROCESS_BYTES: Final = 113e6
"""Memory of a process that simulates a small store (measured)."""
JOB_BYTES: Final = 700.0
"""Memory per job: its rows in the tables of jobs, events and states (measured)."""
_REFERENCE: Final = (
    "engine=rocksdb", "device=nvme", "host=default", "workload=constant", "workload.read=0", "workload.update=1",
    "seed=1",
)  # fmt: skip
"""Run that `job_seconds` times: one job per simulated second."""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Estimated cost of one run or, added up, of many."""

    work: float
    """CPU time, in background jobs."""
    memory_bytes: float
    """Largest memory of a process."""
    runs: int | None = None
    """Number of runs, which limits how many processes help; None: more than there are processes."""

    def seconds(self, processes: int = 1) -> float:
        """Return the wall time in s with this number of processes, each on a core of its own."""
        return self.work * job_seconds() / min(processes, self.runs or processes)

    def text(self, processes: int = 1) -> str:
        """Return the estimate as text, such as "about 40 s and 300 MB"."""
        size = self.memory_bytes
        memory = f"{_rounded(size / 1e6):,.0f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"
        return f"about {duration_text(self.seconds(processes))} and {memory}{' per process' if processes > 1 else ''}"


def estimate(config: Mapping[str, Any], allowed: tuple[str, ...] = ()) -> CostEstimate:
    """Estimate the cost of a configuration; a factor of 2 to 3 is usual. Raises InputError for one that cannot run."""
    setting = Setting.of(config, allowed)
    phases = [expected(one) for one in (setting, setting.prefill.setting if setting.prefill else None) if one is not None]
    return CostEstimate(sum(map(_work, phases)) + START, max(map(_memory_bytes, phases)))


def total(estimates: Iterable[CostEstimate]) -> CostEstimate:
    """Return the cost of several runs: the sum of their work, the largest memory."""
    several = list(estimates)
    memory_bytes = max((e.memory_bytes for e in several), default=0.0)
    return CostEstimate(math.fsum(e.work for e in several), memory_bytes, max(1, len(several)))


@cache
def job_seconds() -> float:
    """Return the CPU seconds of one background job on this machine, from the difference of two short runs (0.5 s)."""
    from lsmlab.sim.configuration.compose import compose

    short, long = (compose([*_REFERENCE, f"workload.duration={seconds}s"]) for seconds in (30, 600))
    _cpu_seconds(short)  # loads modules and fills caches
    return (_cpu_seconds(long) - _cpu_seconds(short)) / (estimate(long).work - estimate(short).work)


def _cpu_seconds(config: Mapping[str, Any]) -> float:
    from lsmlab.sim.simulation import simulate

    began_s = time.process_time()
    simulate(Setting.of(config))
    return time.process_time() - began_s


def duration_text(duration_s: float) -> str:
    """Format an estimated duration: 40 s, 12 min, 3.5 h.

    >>> [duration_text(s) for s in (0.4, 42, 720, 12600)]
    ['1 s', '42 s', '12 min', '3.5 h']
    """
    if duration_s < 100:
        return f"{max(1.0, _rounded(duration_s)):.0f} s"
    return f"{_rounded(duration_s / 60):.0f} min" if duration_s < 6000 else f"{duration_s / 3600:.1f} h"


def _rounded(value: float) -> float:
    """Return the value with two significant digits."""
    return float(f"{value:.2g}") if math.isfinite(value) else value


def _work(run: Expected) -> float:
    jobs = run.jobs * (1.0 + (READS if run.reads else 0.0))
    work = jobs + PIECE * run.pieces + KEY * run.moved_keys + SECOND * run.duration_s
    if not math.isfinite(work):
        raise InputError("the cost of this run has no bound; give it a duration or a number of operations")
    return work


def _memory_bytes(run: Expected) -> float:
    return PROCESS_BYTES + KEY_BYTES * run.live_keys + JOB_BYTES * run.jobs
