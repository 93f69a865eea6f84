"""LSMLab from Python: the names that programs use, imported at their first use.

>>> import lsmlab
>>> lsmlab.run(lsmlab.configure(["workload.num=100k", "workload.duration=1s"])).summary["duration_s"]
1.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsmlab.sim.configuration.compose import compose as configure
    from lsmlab.sim.exploration.query import results
    from lsmlab.sim.results.results import Result
    from lsmlab.sim.simulation import run

__all__ = ["Result", "configure", "results", "run"]

_HOMES = {
    "Result": "lsmlab.sim:Result",
    "configure": "lsmlab.sim:configure",
    "results": "lsmlab.sim.exploration.query:results",
    "run": "lsmlab.sim:run",
}


def __getattr__(name: str) -> Any:
    """Import a name of `__all__` at its first use, so that the command line starts fast."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _HOMES[name].partition(":")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value
