"""Stores in time: the only folder that knows SimPy.

From the ground up; nothing imports what stands above it, and each package says in its docstring what is where:

- configuration: from overrides to a configuration; progress: how far a run is; observers: who
  is called when something happens.
- machine: device, cores, page cache, journal, rate limiter.
- store: an LSM-tree with its memtables, jobs and files.
- setup: what a run is made of, from its configuration.
- clients: their demand, what is let through, how long operations take.
- results: numbers, tables and texts of what a run leaves.
- phase: a workload on its stores; what was there before it: preload, prefill, initial_tree.
- simulation: one run.
- runs: many runs: the run store and the executor.
- commands: the verbs; __main__: the command line.

>>> import lsmlab.sim
>>> config = lsmlab.sim.configure(["workload.num=100k", "workload.duration=1s"])
>>> lsmlab.sim.run(config).summary["duration_s"]
1.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsmlab.sim.configuration.compose import compose as configure
    from lsmlab.sim.results.results import Result
    from lsmlab.sim.simulation import run

__all__ = ["Result", "configure", "run"]

_HOMES = {
    "Result": ("results.results", "Result"),
    "configure": ("configuration.compose", "compose"),
    "run": ("simulation", "run"),
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: the command line starts without NumPy and Hydra."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    value = getattr(import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value
