"""Budget of a sweep: its estimated time before its first run starts."""

from __future__ import annotations

from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.sim.configuration.trust import trusted_packages
from lsmlab.sim.exploration.simulate import changes
from lsmlab.sim.exploration.sweep import Sweep
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.choice import cores
from lsmlab.sim.runs.estimate import Estimate, duration_text, estimate
from lsmlab.sim.runs.key import run_key

_SAMPLE: Final = 20
"""Number of configurations from which the time of a sweep is estimated."""


def keep_budget(sweep: Sweep, budget: str, settings: Settings) -> None:
    """Raise InputError if the runs that the store lacks are estimated to take longer than `budget`, such as 10min."""
    limit_s = parse_quantity(budget, "seconds")
    processes = min(settings.processes or cores(), sweep.runs)
    sample = sweep.points[:: max(1, len(sweep.points) // _SAMPLE)]
    work = 0.0
    for point in sample:
        config = sweep.store.compose(changes(sweep.choices(point)))
        cost = estimate(config, tuple(trusted_packages())).work
        for seed in sweep.seeds:
            stored = settings.store.find(run_key({**config, "seed": seed})) is not None
            work += 0.0 if stored and not settings.fresh else cost
    if work == 0.0:
        return
    needed_s = Estimate(work * len(sweep.points) / len(sample), 0.0).seconds(processes)
    if needed_s > limit_s:
        raise InputError(
            f"--budget {budget}: {sweep.runs} runs take about {duration_text(needed_s)} with -j {processes}; "
            "raise the budget, or shorten the space, --points or --replications"
        )
