"""Latency that an open loop of the same mean rate would see, from the operations that a closed loop did over time."""

from __future__ import annotations

from typing import Final

import numpy as np
from lsmlab.sim.clients.latency import Floats

_ARRIVALS: Final = 20_000
"""Arrivals at which the wait is computed, evenly spread over the run: P99.9 rests on 20 of them."""
_QUANTILES: Final = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "max": 1.0}


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
