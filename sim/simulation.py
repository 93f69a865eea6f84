"""Simulation of one run: a pure function of its setting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from lsmlab.sim.explain.of_run import explain_run
from lsmlab.sim.many_databases import ManyDatabases
from lsmlab.sim.phase import SEEDS, Phase
from lsmlab.sim.process_memory import LARGE_RUN_JOBS, return_freed_memory
from lsmlab.sim.progress import Progress
from lsmlab.sim.results.results import Result, collect
from lsmlab.sim.results.stores import Store
from lsmlab.sim.setting import Setting
from lsmlab.sim.setup import Setup
from lsmlab.sim.start_trees import start_trees

__all__ = ["Result", "Setting", "simulate"]


def simulate(setting: Setting, progress: Progress | None = None) -> Result:
    """Simulate one run.

    It reads and writes no file, prints nothing and starts no process; the result depends on the setting alone.

    Args:
        setting: what to simulate (`Setting.of`).
        progress: callback with the simulated time and the end of the run, in seconds; it may raise an exception to cancel
            the run.

    Returns:
        Tables and summary of the run.

    Raises:
        InputError: the keys do not fit in memory, or do not fit those of the prefill or of the initial tree; the message
            names the key.

    """
    result = _simulate(setting, progress)
    _free_memory(result)  # that of the simulation, before the files are written
    return result


def _free_memory(result: Result) -> None:
    if len(result.jobs["job"]) >= LARGE_RUN_JOBS:
        return_freed_memory()


def _simulate(setting: Setting, progress: Progress | None) -> Result:
    root = np.random.SeedSequence(setting.seed)
    if setting.databases:
        return _simulate_many(ManyDatabases(setting, root), progress)
    phase = Phase(setting, root.spawn(SEEDS))
    logs = phase.log_events() if setting.save.events else None
    (before,) = root.spawn(1)
    facts = start_trees([phase], setting, before, progress)
    phase.run(progress)
    phase.settle()
    stores = [_store(phase, "", "", phase.setup)]
    result = collect(setting, phase.machine, stores, phase.env.now, logs)
    _free_memory(result)  # that of the tables' making, before the stalls of a long run are divided among their jobs
    explain_run(result, phase.machine, stores, phase.usage)
    if facts is not None:
        result.summary["prefill"] = facts
    return result


def _store(phase: Phase, name: str, group: str, setup: Setup) -> Store:
    """Return the databases of a phase that has ended, for its results."""
    steps = () if phase.steps is None else phase.steps.ended
    return Store(name, group, setup, phase.databases, phase.clients, phase.reads, steps, phase.actions.ended)


def _simulate_many(run: ManyDatabases, progress: Progress | None) -> Result:
    number = len(run.members)
    whole = replace(run.setting.workload, shards=number, population=max(number, run.setting.workload.population))
    setting = replace(run.setting, workload=whole)
    logs = [log for phase in run.phases for log in phase.log_events()] if run.setting.save.events else None
    run.run(progress)
    stores = [
        _store(member.phase, member.name, member.alike.name, replace(member.phase.setup, setting=setting))
        for member in run.members
    ]
    result = collect(setting, run.machine, stores, run.env.now, logs)
    _free_memory(result)
    explain_run(result, run.machine, stores, run.usage)
    for name, facts in run.prefills.items():
        of = result.summary["databases"][name] if "databases" in result.summary else result.summary
        of["prefill"] = facts
    return result
