"""What one write costs a client: the entries of memtables that were filled while nothing held writers back."""

from __future__ import annotations

from typing import Final

import numpy as np
from lsmlab.models.costs.host import Host
from lsmlab.validation.importer.estimates import MEDIAN_BY_MEAN, Estimate, InferredRates
from lsmlab.validation.importer.reading import Reading
from lsmlab.validation.logs.history.fills import unstalled

_FEWEST: Final = 8
"""Memtables from which the cost is taken."""
_IDLE: Final = 8.0
"""Clients that take so many times as long for a write as usual wait for something else than the store."""
_WANTED_MORE: Final = 0.05
"""Share of time in stalls from which clients write as fast as they can when nothing holds them back."""
_FEWEST_SLEEPS: Final = 0.002
"""Sleeps per write from which their cost can be told."""


def write_cost(found: InferredRates, reading: Reading, threads: int, stalled: float) -> None:
    """Add host.write_op from the memtables. `stalled`: share of the time in write stalls.

    Clients that never wait for the store may be idle: then a write costs at most what they take for it, which says
    something only if it is less than usual.
    """
    fills = unstalled(reading.fills, reading.stalls.intervals)
    free = np.array([(f.end_us - f.start_us) / 1e6 / f.entries for f in fills])
    if len(free) < _FEWEST:
        return
    host = Host()
    per_entry_s = float(np.median(free))
    found.idle_clients = per_entry_s > _IDLE * host.write_op
    if found.idle_clients:
        return
    cost_s = per_entry_s / max(host.write_serial, 1.0 / threads)
    if stalled < _WANTED_MORE and cost_s >= host.write_op:
        return
    error = float(MEDIAN_BY_MEAN * free.std(ddof=1) / np.sqrt(len(free)))
    basis = f"median time per entry of {len(free):,} memtables that were filled without a stall"
    found.estimates.append(Estimate("host.write_op", cost_s, error, "s", "estimate", basis))
    _sleep_penalty(found, reading, per_entry_s, sum(f.entries for f in reading.fills), threads)


def _sleep_penalty(found: InferredRates, reading: Reading, per_entry_s: float, entries: float, threads: int) -> None:
    """Add host.sleep_penalty: how much longer writes take outside of stalls than unstalled ones, per sleep.

    Sleeps are not counted anywhere: their number is the time in slowdowns over the length of one. Only of a single writer
    is it known that it did nothing else.
    """
    told = reading.summary
    stalled_s, slowed_s = told.get("stall_fraction"), told.get("stall_seconds") or {}
    sleeps = sum(s for cause, s in slowed_s.items() if cause.endswith("slowdown")) / Host().sleep_step
    if threads > 1 or stalled_s is None or sleeps < _FEWEST_SLEEPS * entries:
        return
    writing_s = (1.0 - stalled_s) * told["duration_s"]
    penalty_s = (writing_s - entries * per_entry_s) / sleeps
    if penalty_s > 0:
        basis = "time outside of stalls beyond that of unstalled writes, per sleep of a delayed writer"
        found.estimates.append(Estimate("host.sleep_penalty", penalty_s, None, "s", "estimate", basis))
