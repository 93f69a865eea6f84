"""Sojourn time of customers at one shared core, for checks against formulas of queueing theory."""

from __future__ import annotations

import numpy as np
import simpy
from lsmlab.sim.machine.core_station import CoreStation


def mean_sojourn_s(service: str, load: float, customers: int, seed: int) -> float:
    """Simulate one core shared by Poisson arrivals at `load` with "exponential" or constant work of 1 s; return the mean time.

    The first tenth of the customers are left out: they find an empty core.
    """
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    core = CoreStation(env, 1.0)
    times: list[float] = []
    gaps = rng.exponential(1.0 / load, customers)
    work = rng.exponential(1.0, customers) if service == "exponential" else np.ones(customers)

    def customer(amount: float) -> simpy.events.ProcessGenerator:
        begun_s = env.now
        yield core.work(amount)
        times.append(env.now - begun_s)

    def source() -> simpy.events.ProcessGenerator:
        for gap, amount in zip(gaps, work, strict=True):
            yield env.timeout(gap)
            env.process(customer(amount))

    env.process(source())
    env.run()
    return float(np.mean(times[customers // 10 :]))
