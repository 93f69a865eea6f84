"""Cost of write stalls: operations that clients could not do, and the latency that an open loop would see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.sim.clients.latency import Floats

_ARRIVALS: Final = 20_000
"""Arrivals at which the wait is computed, evenly spread over the run: P99.9 rests on 20 of them."""
_QUANTILES: Final = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "max": 1.0}


@dataclass(frozen=True, slots=True)
class ClientCurves:
    """Operations of all clients since the start, at ascending times; linear between two times. Shape (n,) each."""

    time_s: Floats
    served: Floats
    """Operations done."""
    written: Floats
    """Writes done."""
    lost: Floats
    """Operations that clients asked for and did not get at that time. An open loop asks for all operations that arrive, a
    closed loop for those that its threads would do without stalls. Operations that wait and are served later count."""

    def between(self, curve: Floats, starts: Floats, ends: Floats) -> Floats:
        """Return the increase of a curve of this object in each interval. Shape of `starts`."""
        result: Floats = np.interp(ends, self.time_s, curve) - np.interp(starts, self.time_s, curve)
        return result


def client_curves(groups: Iterable[tuple[Floats, float]]) -> ClientCurves:
    """Return the curves of all client groups together.

    `groups`: rows of (time in s, operations asked for, operations served) and the writes per operation; groups of one phase of
    a database have the same times.
    """
    tables = list(groups)
    time_s = tables[0][0][:, 0]
    if any(not np.array_equal(rows[:, 0], time_s) for rows, _ in tables):
        time_s = np.unique(np.concatenate([rows[:, 0] for rows, _ in tables]))
        tables = [(_at(time_s, rows), writes_per_op) for rows, writes_per_op in tables]
    served, written, lost = (np.zeros(len(time_s)) for _ in range(3))
    for rows, writes_per_op in tables:
        served += rows[:, 2]
        written += rows[:, 2] * writes_per_op
        missing = np.diff(rows[:, 1]) - np.diff(rows[:, 2])
        lost[1:] += np.cumsum(np.maximum(missing, 0.0))
    return ClientCurves(time_s, served, written, lost)


def _at(time_s: Floats, rows: Floats) -> Floats:
    """Return rows of curves at other times; a curve is constant before its first and after its last row."""
    return np.column_stack([time_s, *(np.interp(time_s, rows[:, 0], rows[:, i]) for i in (1, 2))])


def curves_of_series(t_s: Floats, write_ops: Floats, read_ops: Floats, stalled_s: Floats) -> ClientCurves:
    """Return the curves of a run of which only a series is known, such as an imported LOG.

    Clients are assumed to ask at all times for the mean rate of the time without stalls. A row loses the operations that
    it lacks at this rate, at most those of its stalled time. All arguments are amounts per row of the series, which ends
    at `t_s`; `stalled_s`: time with a stall.
    """
    length_s = np.diff(t_s, prepend=0.0)
    free = np.clip(1.0 - stalled_s / np.maximum(length_s, 1e-9), 0.0, 1.0)
    ops, free_s = write_ops + read_ops, float((free * length_s).sum())
    per_second = ops / np.maximum(length_s, 1e-9)
    rate = float((ops * free).sum()) / free_s if free_s > 0.0 else float(per_second.max(initial=0.0))
    lost = np.clip(rate * length_s - ops, 0.0, rate * np.minimum(stalled_s, length_s))
    time_s = np.concatenate(([0.0], t_s))
    served, written, missing = (np.concatenate(([0.0], np.cumsum(amount))) for amount in (ops, write_ops, lost))
    return ClientCurves(time_s, served, written, missing)


def lost_per_stall(starts: Floats, ends: Floats, curves: ClientCurves) -> Floats:
    """Return the lost operations of each stall interval; stalls at the same time share them equally. Shape of `starts`."""
    if not len(starts):
        return np.zeros(0)
    edges = np.unique(np.concatenate((starts, ends)))
    first, last = np.searchsorted(edges, starts), np.searchsorted(edges, ends)
    change = np.bincount(first, minlength=len(edges)) - np.bincount(last, minlength=len(edges))
    active = np.cumsum(change)[:-1]
    lost = np.diff(np.interp(edges, curves.time_s, curves.lost))
    shared = np.divide(lost, active, out=np.zeros_like(lost), where=active > 0)
    cumulative = np.concatenate(([0.0], np.cumsum(shared)))
    result: Floats = cumulative[last] - cumulative[first]
    return result


def open_loop_latency(time_s: Floats, served: Floats) -> dict[str, float]:
    """Return quantiles of the wait of arrivals at the mean rate of a run, in s, and this rate.

    A closed loop does as many operations as the store can at each time (`served`, cumulative at `time_s`), because each
    thread sends its next operation at once. Operations that arrive at a constant rate are served at most that fast: a
    fluid queue. Operations in the queue at the end count as served at the end, so long waits are lower bounds.
    """
    length_s, total = float(time_s[-1] - time_s[0]), float(served[-1])
    rate = total / length_s
    arrived = rate * (time_s - time_s[0])
    ahead = arrived - served  # without idle capacity, this is the queue
    queue_s = np.linspace(0.0, length_s, _ARRIVALS, endpoint=False)
    queue = np.interp(queue_s, time_s - time_s[0], ahead - np.minimum.accumulate(ahead))
    done = np.interp(queue_s, time_s - time_s[0], served) + np.maximum(queue, 0.0)
    place = np.minimum(np.searchsorted(served, done, side="left"), len(served) - 1)
    before = np.maximum(place - 1, 0)
    step = served[place] - served[before]
    part = np.divide(done - served[before], step, out=np.ones_like(done), where=step > 0.0)
    ends_s = time_s[before] + np.clip(part, 0.0, 1.0) * (time_s[place] - time_s[before]) - time_s[0]
    wait_s = np.maximum(ends_s - queue_s, 0.0)
    wait_s[queue <= 1e-6 * total / _ARRIVALS] = 0.0
    return {"ops_per_s": rate, **{name: float(np.quantile(wait_s, q)) for name, q in _QUANTILES.items()}}
