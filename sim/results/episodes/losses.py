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


def curves_per_second(t_s: Floats, write_ops: Floats, read_ops: Floats, waited_s: Floats) -> ClientCurves:
    """Return the curves of a run of which only the series per second are known, such as an imported LOG.

    Writers that did not wait would have written at the mean rate of the time without waits. `waited_s`: time per second
    that writers waited.
    """
    ops = write_ops + read_ops
    free_s = float(np.diff(t_s, prepend=0.0).sum() - waited_s.sum())
    rate = float(ops.sum()) / free_s if free_s > 0.0 else 0.0
    time_s = np.concatenate(([0.0], t_s))
    served, written, lost = (
        np.concatenate(([0.0], np.cumsum(per_second))) for per_second in (ops, write_ops, rate * waited_s)
    )
    return ClientCurves(time_s, served, written, lost)


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
