"""Stores in time: the only folder that knows SimPy.

What is where, each file named after the thing that it describes:

- A run: simulation, phase, setup, machine_setup, parameters; what was there before it: prefill, preload, initial_tree.
- A store: store, memtables, flushing, compacting; its jobs: jobs, work, steps, gate; its files: manifest, options_file, purge.
- The machine: machine, device_station, core_station, queues, limiter, page_cache, journal.
- Clients: clients, client_group, client_demand, admission, filling, sleeps, write_waits; how long operations take:
  op_times, undisturbed, line; reads: reads, lookups, seeks; what schedulers and tuners are told of them: control.
- What a run leaves: recorder, job_records, transfers; then results, summary, level_tables, memory, series, chains, latency.
- Many runs: batch, combinations, sweep, replications, index, rundir, finishers.
- The command line: __main__, verbs, arguments, compose, catalogue, completion, options_input, messages, progress,
  summary_text, comparison_text, jsontext, parquet.
- For checks against queueing theory: sojourn.

>>> import lsmlab.sim
>>> config = lsmlab.sim.configure(["workload.num=100k", "workload.duration=1s"])
>>> lsmlab.sim.run(config).summary["duration_s"]
1.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsmlab.sim.compose import compose as configure
    from lsmlab.sim.results import Result
    from lsmlab.sim.simulation import run

__all__ = ["Result", "configure", "run"]

_HOMES = {"Result": ("results", "Result"), "configure": ("compose", "compose"), "run": ("simulation", "run")}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: the command line starts without NumPy and Hydra."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    value = getattr(import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value
