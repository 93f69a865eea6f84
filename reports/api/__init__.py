"""LSMLab in Python programs and notebooks.

- Simulate: `configure` composes a configuration, `run` simulates it, `compare` simulates several with the same seeds.
  Both begin with `simulate`, the simulation of one typed `Setting`.
- Explore: `sweep`, `results`. Decide: `whatif`, `advise`, `tune`, `plan`, `grow`. Real stores: `import_log`. Earlier
  results: `load`.
- Objects: `Result`, `Comparison`, `Answer`. Errors in the input: `InputError`.

Nothing is written to disk unless a function gets a folder (`out`) or `save` is called: runs of several configurations
stay in a temporary folder until the interpreter ends, or in $LSMLAB_RUNS. Modules of this package: simulating,
deciding, result, comparison, answer, plots, session, course for lessons, and `__main__` for `python -m lsmlab`. Their names
are imported at their first use.

Examples:
    >>> import lsmlab
    >>> result = lsmlab.run(["device=sata", "workload.num=100k", "workload.duration=1s"])
    >>> result.summary["duration_s"]
    1.0

"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsmlab.answer import Answer
    from lsmlab.comparison import Comparison
    from lsmlab.deciding import advise, grow, import_log, plan, sweep, tune, whatif
    from lsmlab.models.errors import InputError
    from lsmlab.plots import ComparisonPlots, RunPlots
    from lsmlab.result import Result
    from lsmlab.sim.setting import Setting
    from lsmlab.sim.simulation import simulate
    from lsmlab.sim.studies.sweep.query import results
    from lsmlab.simulating import compare, configure, load, run

__all__ = [  # noqa: RUF022 (in the order of the reference)
    "configure", "run", "load", "compare", "sweep", "results", "whatif", "advise", "tune", "plan", "grow", "import_log",
    "simulate", "Setting", "Result", "RunPlots", "Comparison", "ComparisonPlots", "Answer", "InputError",
]  # fmt: skip

_HOMES = {
    "Answer": "lsmlab.answer",
    "Comparison": "lsmlab.comparison",
    "InputError": "lsmlab.models.errors",
    **dict.fromkeys(("RunPlots", "ComparisonPlots"), "lsmlab.plots"),
    "Result": "lsmlab.result",
    **dict.fromkeys(("advise", "grow", "import_log", "plan", "sweep", "tune", "whatif"), "lsmlab.deciding"),
    **dict.fromkeys(("compare", "configure", "load", "run"), "lsmlab.simulating"),
    "results": "lsmlab.sim.studies.sweep.query",
    "Setting": "lsmlab.sim.setting",
    "simulate": "lsmlab.sim.simulation",
}


def __getattr__(name: str) -> Any:
    """Import a name of `__all__` at its first use, so that the command line starts fast."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, which completion in a notebook shows."""
    return __all__
