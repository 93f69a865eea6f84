"""Number of cores of a LOG's machine: what the jobs waited for shows it, or their CPU time gives the least number."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from lsmlab.models.costs.host import Host
from lsmlab.sim.results.series import spread
from lsmlab.validation.importer.estimates import Earlier, Estimate, Estimates, Observation
from lsmlab.validation.importer.reading import grid

_BUSIEST: Final = 0.95
"""Quantile of the seconds: the CPU time of a job is spread evenly over its time, so single seconds are not exact."""
CLIENT_CORES: Final = 1
"""Cores of clients while they write: writes of several threads are mostly serial."""
_ASSUMED_CORES: Final = Host().cores


def fewest_cores(observation: Observation, earlier: Earlier) -> Estimates:
    """Return the fewest cores with which the jobs and clients had their CPU time, as the alternative to host.cores.

    Nothing for a LOG that shows the number, or without CPU times. Cores are then unknown: a configuration has those of
    host=default, and its intervals cover both.
    """
    jobs = [job for job in observation.jobs.jobs if job.cpu_s and job.end_s > job.start_s]
    if earlier["host.cores"] is not None or not jobs:
        return Estimates()
    start, end, cpu_s = (np.array([getattr(job, name) for job in jobs]) for name in ("start_s", "end_s", "cpu_s"))
    edges = grid(float(end.max()))
    at_work = spread(start, end, cpu_s, edges) / edges[1]
    busy = at_work[at_work > 0.0]
    if not len(busy):  # all jobs at times before the LOG, as damaged lines have them
        return Estimates()
    fewest = math.ceil(float(np.quantile(busy, _BUSIEST))) + CLIENT_CORES
    if fewest >= _ASSUMED_CORES:
        return Estimates()
    basis = f"CPU time of {len(jobs):,} jobs in the busiest seconds, and one core for clients"
    cover = f"at most {fewest} were in use, and intervals cover {fewest} to {_ASSUMED_CORES:g}"
    return Estimates(
        notes=(f"host.cores: the LOG does not show it; {cover}",),
        alternative=(Estimate("host.cores", float(fewest), None, "cores", "lower_bound", basis),),
    )
