"""Lost operations: operations that clients asked for, or would have done, and could not do during write stalls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from lsmlab.sim.clients.latency import Floats


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

    `groups`: rows of (time in s, operations asked for, operations served) and the writes per operation; all groups have
    the same times.
    """
    tables = list(groups)
    time_s = tables[0][0][:, 0]
    served, written, lost = (np.zeros(len(time_s)) for _ in range(3))
    for rows, writes_per_op in tables:
        served += rows[:, 2]
        written += rows[:, 2] * writes_per_op
        missing = np.diff(rows[:, 1]) - np.diff(rows[:, 2])
        lost[1:] += np.cumsum(np.maximum(missing, 0.0))
    return ClientCurves(time_s, served, written, lost)


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
