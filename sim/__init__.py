"""Stores in time: the only folder that knows SimPy.

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
