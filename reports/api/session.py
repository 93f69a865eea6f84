"""Temporary files of this interpreter: run store and folders of results that the user did not ask for."""

from __future__ import annotations

import atexit
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
from lsmlab.sim.runs.store import store_in

Overrides = str | Sequence[str]
"""Overrides as a list, ["device=sata", "seed=3"], or as one text, "device=sata seed=3"."""

_ALONE: Final = threading.RLock()
"""Held while Hydra composes configurations: its state belongs to the process, so threads take turns."""


def folder() -> Path:
    """Return the folder of this interpreter, which is removed when the interpreter ends."""
    with _ALONE:
        return _made()


@cache
def _made() -> Path:
    path = Path(tempfile.mkdtemp(prefix="lsmlab-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def results_folder(out: str | Path | None) -> Path:
    """Return `out`, or a new temporary folder."""
    return Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="results-", dir=folder()))


@contextmanager
def session() -> Iterator[None]:
    """Keep runs in the store of this interpreter ($LSMLAB_RUNS names another one); raise bad input as InputError.

    Threads take turns: one command at a time.
    """
    with _ALONE, store_in(folder() / "runs"), input_errors():
        yield


@contextmanager
def composing() -> Iterator[None]:
    """Compose while no other thread does; raise bad input as InputError."""
    with _ALONE, input_errors():
        yield


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
