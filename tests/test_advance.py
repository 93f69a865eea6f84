"""Simulation until an event, with a progress bar."""

from __future__ import annotations

import random

import simpy
from lsmlab.sim.phase import advance


def test_a_bar_passes_times_that_rounding_misses() -> None:
    """Now + (next - now) may be just below the next event: the simulation still reaches it, and the bar never passes the end."""
    rng = random.Random(1)
    times = ((rng.random(), 1.0 + rng.random()) for _ in range(10_000))
    first, second = next((a, b) for a, b in times if a + (b - a) < b)
    env = simpy.Environment()
    shown: list[float] = []
    for at_s in (first, second):
        env.timeout(at_s)

    advance(env, 3.0, env.event(), lambda done_s, _: shown.append(done_s))

    assert 3.0 == env.now
    assert shown == sorted(shown)
    assert 3.0 == shown[-1]
