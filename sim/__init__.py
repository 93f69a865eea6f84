"""Stores in time: the only folder that knows SimPy.

A run, file by file: simulation, phase, setup, progress; what was there before it: prefill, preload, initial_tree.
__main__ is the command line. The rest has rooms, from the ground up; each says in its docstring what is where:

- machine: device, cores, page cache, journal, rate limiter.
- store: an LSM-tree with its memtables, jobs and files. Upon both stands setup.
- clients: their demand, what is let through, how long operations take.
- results: numbers, tables and texts of what a run leaves. Upon all of these stand phase and simulation.
- configuration: from overrides to a configuration; it knows none of the others.
- commands: verbs, and many runs.

Nothing imports what stands above it.

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
