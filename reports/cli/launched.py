"""Runs that one of Hydra's launchers starts, on any machine, and the collection of their results."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.combinations import without_quotes
from lsmlab.sim.configuration.compose import complete
from lsmlab.sim.configuration.overrides import override_key
from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.runs.index import IndexedRun, numbers, parameters, read_runs
from lsmlab.sim.runs.key import run_key
from lsmlab.sim.runs.store import ABOUT, ERROR, copy_run, default_store
from lsmlab.sim.runs.task import Task, attempt, reason_of


def run_launched(
    directory: Path, config: dict[str, Any], hydra: Mapping[str, Any], fixed: Collection[str] = (), *, fresh: bool
) -> None:
    """Put the results of a run into its directory; if it fails, write the reason into error.txt there.

    `hydra` are Hydra's settings, `fixed` the keys that have one value in all runs. The results come from the run store if
    it has them and `fresh` is false.
    """
    (directory / ERROR).unlink(missing_ok=True)
    overrides = list(hydra["overrides"]["task"])
    try:
        complete(config, overrides, hydra)
        if config.get("replications", 1) != 1:
            raise InputError("replications: one sweep takes one seed per run; write seed=1,2,3 instead")
    except InputError as error:
        _fail(directory, reason_of(error))
        return
    store, key = default_store(), run_key(config)
    result = attempt(Task(key, config, store.root, fresh))
    if result.error is not None:
        store.fail(key, f"{result.error}\n{result.trace}".rstrip())
        _fail(directory, result.error)
        return
    choices = without_quotes({override_key(o): o.partition("=")[2] for o in overrides if override_key(o) not in fixed})
    about = {"name": directory.name, "choices": choices, "parameters": parameters(config, choices)}
    copy_run(store.root / key, directory, about)


def _fail(directory: Path, reason: str) -> None:
    for name in (ABOUT, "summary.json"):  # results of an earlier sweep in this directory
        (directory / name).unlink(missing_ok=True)
    (directory / ERROR).write_text(f"{reason}\n", encoding="utf-8")


def objective_values(directory: Path, names: Sequence[str]) -> list[float]:
    """Return values of summary.json by their keys, with dots for nested keys.

    Raises InputError for a failed run, and for a key that is no number of the summary.
    """
    if (directory / ERROR).exists():
        raise InputError((directory / ERROR).read_text(encoding="utf-8").strip())
    known = {key: value for key, value in numbers(read_summary(directory)) if isinstance(value, int | float)}
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        near = difflib.get_close_matches(unknown, known, n=3)
        raise InputError(f"--objective {unknown}: no such number in summary.json; near: {', '.join(near) or 'none'}")
    return [float(known[name]) for name in names]


def sweep_results(root: Path) -> tuple[list[IndexedRun], list[tuple[str, str]]]:
    """Return the finished runs of the sweep in `root`, ordered by number, and (name, reason) of the failed runs."""
    runs = {run.name: run for run in read_runs(root)}
    finished, failures = [], []
    for folder in sorted((p.parent.parent for p in root.glob("*/.hydra/overrides.yaml")), key=_order):
        if (folder / ERROR).exists():
            failures.append((folder.name, (folder / ERROR).read_text(encoding="utf-8").strip()))
        elif folder.name in runs:
            finished.append(runs[folder.name])
        else:
            failures.append((folder.name, "the run wrote no results"))
    return finished, failures


def _order(folder: Path) -> tuple[int, str]:
    return len(folder.name), folder.name
