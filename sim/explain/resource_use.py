"""Use of the resources of a run by time: device, caps, cores, job slots and rate limiter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from lsmlab.sim.clients.latency import Floats, ramps

Curve = tuple[Floats, Floats]
"""(times in s, ascending; busy time of the resource up to then in s: 1 s per second in full use). Linear between times."""


def use(curve: Curve, starts: Floats, ends: Floats) -> Floats:
    """Return the mean use of a resource in each interval, from 0 to 1 (a burst may exceed a cap). Shape of `starts`."""
    busy_s = np.interp(ends, *curve) - np.interp(starts, *curve)
    result: Floats = busy_s / np.maximum(ends - starts, 1e-9)
    return result


def busy_curve(starts: Floats, ends: Floats, amounts: Floats, at_s: Floats, capacity_per_s: float) -> Curve:
    """Return the use of a resource by amounts that flow evenly from `starts` to `ends`, at the times `at_s`."""
    length = np.maximum(ends - starts, 1e-9)
    slope = amounts / length / capacity_per_s
    return at_s, ramps(starts, slope, at_s) - ramps(starts + length, slope, at_s)


def running_curve(times: Floats, changes: Floats, end_s: float, most: float) -> Curve:
    """Return the use of `most` slots, from the times at which the number of running jobs changes."""
    order = np.argsort(times, kind="stable")
    edges = np.concatenate((times[order], [end_s]))
    running = np.cumsum(changes[order])
    busy_s = np.concatenate(([0.0], np.cumsum(running * np.diff(edges))))
    return edges, busy_s / most


def spliced(phases: Sequence[Mapping[str, Curve]], from_s: Sequence[float]) -> dict[str, Curve]:
    """Return curves that follow those of `phases[i]` from `from_s[i]` on; a resource that a phase lacks is unused in it.

    All curves have the same times, which contain `from_s`.
    """
    names = dict.fromkeys(name for phase in phases for name in phase)
    at_s = next(iter(phases[0].values()))[0]
    phase_of = np.searchsorted(from_s, at_s[:-1], side="right") - 1
    unused = at_s, np.zeros(len(at_s))
    found: dict[str, Curve] = {}
    for name in names:
        steps = np.array([np.diff(phase.get(name, unused)[1]) for phase in phases])
        found[name] = at_s, np.concatenate(([0.0], np.cumsum(steps[phase_of, np.arange(len(phase_of))])))
    return found


def mean_uses(curves: Mapping[str, Curve], weighted: Iterable[tuple[float, float, float]]) -> dict[str, float]:
    """Return the mean use of each resource over intervals (start in s, end in s, weight)."""
    table = np.array(list(weighted), dtype=np.float64).reshape(-1, 3)
    total = float(table[:, 2].sum())
    if total <= 0.0:
        return {}
    return {
        name: min(1.0, float((use(curve, table[:, 0], table[:, 1]) * table[:, 2]).sum() / total))
        for name, curve in curves.items()
    }
