"""What one write costs a client: the entries of memtables that were filled while nothing held writers back."""

from __future__ import annotations

from typing import Final

import numpy as np
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import throughput_share
from lsmlab.validation.importer.estimates import MEDIAN_BY_MEAN, Earlier, Estimate, Estimates
from lsmlab.validation.importer.observation import Observation
from lsmlab.validation.importer.reading import Floats
from lsmlab.validation.logs.history.fills import unstalled

_FEWEST: Final = 8
"""Memtables from which the cost is taken."""
_IDLE: Final = 8.0
"""Clients that take so many times as long for a write as usual wait for something else than the store."""
_WANTED_MORE: Final = 0.05
"""Share of time in stalls from which clients write as fast as they can when nothing holds them back."""
_FEWEST_SLEEPS: Final = 0.002
"""Sleeps per write from which their cost can be told."""


def _free_writes_s(observation: Observation) -> Floats:
    """Seconds per entry of memtables that were filled without a stall; empty if they are too few."""
    reading = observation.reading
    fills = unstalled(reading.fills, reading.stalls.intervals)
    free = np.array([(f.end_us - f.start_us) / 1e6 / f.entries for f in fills])
    return free if len(free) >= _FEWEST else np.empty(0)


def idle_clients(observation: Observation) -> bool:
    """Whether clients that nothing held back took their time: then they did not write as fast as the store let them."""
    free = _free_writes_s(observation)
    return bool(len(free)) and float(np.median(free)) > _IDLE * Host().write_op


def write_op(observation: Observation, _: Earlier) -> Estimates:
    """Estimate host.write_op.

    Clients that never wait for the store may be idle: then a write costs at most what they take for it, which is of use only
    if it is less than usual.
    """
    free = _free_writes_s(observation)
    if not len(free) or idle_clients(observation):
        return Estimates()
    host = Host()
    cost_s = float(np.median(free)) / throughput_share(host.write_serial, observation.threads)
    if observation.stalled_share < _WANTED_MORE and cost_s >= host.write_op:
        return Estimates()
    error = float(MEDIAN_BY_MEAN * free.std(ddof=1) / np.sqrt(len(free)))
    basis = f"median time per entry of {len(free):,} memtables that were filled without a stall"
    return Estimates((Estimate("host.write_op", cost_s, error, "s", "estimate", basis),))


def sleep_penalty(observation: Observation, earlier: Earlier) -> Estimates:
    """Estimate host.sleep_penalty: how much longer writes take outside of stalls than unstalled ones, per sleep.

    Sleeps are not counted anywhere: their number is the time in slowdowns over the length of one. Only of a single writer
    is it known that it did nothing else.
    """
    summary = observation.reading.summary
    stalled_s, slowed_s = summary.get("stall_fraction"), summary.get("stall_seconds") or {}
    sleeps = sum(s for cause, s in slowed_s.items() if cause.endswith("slowdown")) / Host().sleep_step
    entries = sum(f.entries for f in observation.reading.fills)
    if earlier["host.write_op"] is None or observation.threads > 1 or stalled_s is None or sleeps < _FEWEST_SLEEPS * entries:
        return Estimates()
    writing_s = (1.0 - stalled_s) * summary["duration_s"]
    penalty_s = (writing_s - entries * float(np.median(_free_writes_s(observation)))) / sleeps
    if penalty_s <= 0:
        return Estimates()
    basis = "time outside of stalls beyond that of unstalled writes, per sleep of a delayed writer"
    return Estimates((Estimate("host.sleep_penalty", penalty_s, None, "s", "estimate", basis),))
