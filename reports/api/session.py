"""Temporary files of this interpreter: run store and folders of results that the user did not ask for."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.messages import one_line
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.store import PLACE_ENV, RunStore

Overrides = str | Sequence[str]
"""Overrides as a list, ["device=sata", "seed=3"], or as one text, "device=sata seed=3"."""

_LOCK: Final = threading.Lock()
"""Held while the folder is made, so that threads share one."""


def folder() -> Path:
    """Return the folder of this interpreter, which is removed when the interpreter ends."""
    with _LOCK:
        return _made()


@cache
def _made() -> Path:
    path = Path(tempfile.mkdtemp(prefix="lsmlab-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def results_folder(out: str | Path | None) -> Path:
    """Return `out`, which is created, or a new temporary folder."""
    from lsmlab.sim.results.rundir import make_directory

    return make_directory(Path(out)) if out is not None else Path(tempfile.mkdtemp(prefix="results-", dir=folder()))


def runs(jobs: int | None, *, progress: bool) -> Settings:
    """Return how runs are done: `jobs` processes, in the run store of this interpreter, or in that of $LSMLAB_RUNS."""
    from lsmlab.sim.runs.places import LocalProcesses

    root = os.environ.get(PLACE_ENV)
    store = RunStore(Path(root).absolute() if root else folder() / "runs")
    return Settings(store, LocalProcesses(store, jobs), quiet=not progress)


@contextmanager
def input_errors() -> Iterator[None]:
    """Turn errors of Hydra and OmegaConf about the input into InputErrors of one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        message = one_line(error)
        if message is None:
            raise
        raise InputError(message) from error


def texts(overrides: Overrides) -> list[str]:
    """Return overrides as a list. Raises InputError for values that are no texts.

    >>> texts("device=sata 'workload.mix=[0.5, 0.5]'")
    ['device=sata', 'workload.mix=[0.5, 0.5]']
    """
    if isinstance(overrides, str):
        import shlex

        try:
            return shlex.split(overrides)
        except ValueError as error:
            raise InputError(f"{overrides}: cannot be read ({error})") from None
    found = list(overrides)
    wrong = next((item for item in found if not isinstance(item, str)), None)
    if wrong is not None:
        raise InputError(f"{wrong!r}: an override is a text such as 'device=sata'")
    return found
