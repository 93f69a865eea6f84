"""Budget of a sweep: its estimated time before its first run starts."""

from __future__ import annotations

from typing import Final

from lsmlab.sim.commands.budget import keep_budget, read_budget
from lsmlab.sim.configuration.trust import trusted_packages
from lsmlab.sim.exploration.simulate import changes
from lsmlab.sim.exploration.sweep import Sweep
from lsmlab.sim.runs.estimate import Estimate, estimate
from lsmlab.sim.runs.key import run_key
from lsmlab.sim.runs.store import RunStore

_SAMPLE: Final = 20
"""Number of configurations from which the time of a sweep is estimated."""


def keep_budget_of_sweep(sweep: Sweep, budget: str, store: RunStore | None, processes: int) -> None:
    """Return if the runs that the store lacks are within `budget`, such as 10min, or if the user agrees on a terminal.

    `store`: None if all runs are simulated. `processes`: number of runs at the same time. Raises InputError otherwise.
    """
    budget_s = read_budget(budget)
    sample = sweep.points[:: max(1, len(sweep.points) // _SAMPLE)]
    work, memory_bytes = 0.0, 0.0
    for point in sample:
        config = sweep.store.compose(changes(sweep.choices(point)))
        cost = estimate(config, tuple(trusted_packages()))
        for seed in sweep.seeds:
            if store is None or store.find(run_key({**config, "seed": seed})) is None:
                work, memory_bytes = work + cost.work, max(memory_bytes, cost.memory_bytes)
    if work:
        whole = Estimate(work * len(sweep.points) / len(sample), memory_bytes)
        remedy = "fewer points or replications, or shorter runs"
        keep_budget(whole, budget_s, remedy, processes=min(processes, sweep.runs))
