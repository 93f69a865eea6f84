"""Discrete-event simulation of databases on a machine; SimPy is used in this folder only.

Packages and modules from the lowest layer to the highest. A layer imports only lower layers; the docstring of each
package lists its modules.

- yaml_text: the reader and writer of YAML. garbage: no garbage collections while modules are loaded.
- progress: progress bar. observers: lists of callbacks.
- machine: device, cores, page cache, journal, rate limiter.
- store: databases with column families, memtables, trees, jobs and files.
- process_memory: whether a run's arrays fit in memory, and return of memory that it needs no longer.
- prefill_options: options of the store during the prefill.
- databases: the databases of a run of several, and what they share.
- setting: what one run simulates, typed. setup: its sampled keys and sizes of entries.
- clients: demand, admission of writes, operation times, latencies.
- results: numbers and tables of a finished run. explain: stall analysis, and the summary as text.
- phase: one workload on its databases; phase_steps: its phases, if it has any; store_actions: actions on its databases.
  Trees at the start of a run: preload, prefill, initial_tree, start_trees.
- many_databases: several databases, each with clients of its own, on one machine. simulation: one run.
- configuration: configuration of a run from overrides.
- runs: many runs: run store and executors. studies: questions about stores, from a typed request to a typed answer.

>>> import lsmlab.sim
>>> config = lsmlab.sim.configure(["workload.num=100k", "workload.duration=1s"])
>>> lsmlab.sim.simulate(lsmlab.sim.Setting.of(config)).summary["duration_s"]
1.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsmlab.sim.configuration.compose import compose as configure
    from lsmlab.sim.results.results import Result
    from lsmlab.sim.setting import Setting
    from lsmlab.sim.simulation import simulate

__all__ = ["Result", "Setting", "configure", "simulate"]

_HOMES = {
    "Result": ("results.results", "Result"),
    "Setting": ("setting", "Setting"),
    "configure": ("configuration.compose", "compose"),
    "simulate": ("simulation", "simulate"),
}


def __getattr__(name: str) -> Any:
    """Import a name of `__all__` at its first use, so that the command line starts without NumPy and Hydra."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    value = getattr(import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value
