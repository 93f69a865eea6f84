"""Errors of all calibrated machines with and without each part of the model.

The cases of a machine are divided into four folds. Each case is simulated with constants that were fitted to the cases of the
other folds ("cases left out"), and with those constants of a part that fits estimate at the geometric mean of the other
machines ("machine left out").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.sim.progress import Progress
from lsmlab.sim.runs.batch import RunJob, Settings
from lsmlab.sim.runs.places import LocalProcesses
from lsmlab.sim.runs.store import default_store
from lsmlab.validation.ablation.parts import Part
from lsmlab.validation.calibrate.fit import Calibration, calibrate_cases, fit_runs
from lsmlab.validation.calibrate.parameter_file import quantity_text
from lsmlab.validation.casefiles.case import Case, find_cases, read_case
from lsmlab.validation.casefiles.real import real_run
from lsmlab.validation.checkout import OWN_CASES
from lsmlab.validation.grouped_runs import finished_groups
from lsmlab.validation.scorecard.runs import CaseRun, read_replication
from lsmlab.validation.scorecard.score import rows_of

_FOLDERS: Final = ("calibration", "calibration_epyc", "calibration_zen5", "calibration_emerald")
FOLDERS: Final = tuple(OWN_CASES / name for name in _FOLDERS)
"""Calibration parts, one folder per machine."""
_FOLDS: Final = 4
WITH: Final = ""
"""Name of the whole model among the parts."""
CASES_OUT, MACHINE_OUT = "cases left out", "machine left out"
Errors = dict[tuple[str, str], dict[str, float]]
"""Signed error by metric, by (machine, case)."""
Fixed = tuple[tuple[str, Any], ...]
"""Values of constants that a fit does not change, by configuration key."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A fit of one machine: its folder, the fold that is left out (None: no fold), and the constants that are fixed."""

    folder: Path
    fold: int | None
    fixed: Fixed = ()


@dataclass
class Ablation:
    """Errors of every case by part, the whole model (`WITH`) included, and by what was left out of the fit."""

    parts: Sequence[Part]
    errors: dict[tuple[str, str], Errors] = field(default_factory=dict)
    """By (name of the part, CASES_OUT or MACHINE_OUT)."""
    failed: list[str] = field(default_factory=list)


def ablate(parts: Sequence[Part], processes: int, say: Callable[[str], object], folders: Sequence[Path] = FOLDERS) -> Ablation:
    """Fit and simulate all cases of the calibration parts in `folders` with the whole model and without each part."""
    done, executor = Ablation(parts), LocalProcesses(default_store(), processes)
    every = _fitted([Fit(folder, None) for folder in folders], executor, done)
    wanted: list[tuple[str, str, Fit]] = []
    for part in (Part(WITH, "the whole model", {}), *parts):
        fixed = tuple(part.simplest.items())
        for folder in folders:
            wanted += [(part.name, CASES_OUT, Fit(folder, fold, fixed)) for fold in range(_FOLDS)]
            if elsewhere := _elsewhere(part, folder, every):
                wanted += [(part.name, MACHINE_OUT, Fit(folder, fold, elsewhere)) for fold in range(_FOLDS)]
    say(f"{len(wanted)} fits")
    found = _fitted([fit for _, _, fit in wanted], executor, done)
    jobs: dict[int, list[RunJob]] = {}
    about: list[tuple[str, str, Calibration, Case]] = []
    for name, kind, fit in wanted:
        for case in _fold(fit.folder, fit.fold) if fit in found else ():
            overrides = _overrides(calibration_of(fit.folder), found[fit], fit.fixed)
            try:
                jobs[len(about)] = [RunJob(f"{name or 'whole'} {case.name}", case.config(overrides))]
            except InputError as error:
                done.failed.append(f"{name}: {case.name}: {error}")
            about.append((name, kind, calibration_of(fit.folder), case))
    settings = Settings(default_store(), executor, quiet=True)
    for number, ended, left in finished_groups(jobs, settings):
        name, kind, machine, case = about[number]
        if ended[0].folder is None:
            done.failed.append(f"{name}: {case.name}: {ended[0].error}")
            continue
        run = CaseRun(case, "calibration", real_run(case, case.config()), [read_replication(ended[0].folder)])
        done.errors.setdefault((name, kind), {})[machine.machine, case.name] = {row.metric: row.error for row in rows_of(run)}
        if left % 100 == 0:
            say(f"{left} runs left")
    return done


@lru_cache(maxsize=len(FOLDERS))
def calibration_of(folder: Path) -> Calibration:
    """Return the calibration part of a machine, read once per process. Raises InputError as `calibrate_cases`."""
    return calibrate_cases(folder)


@lru_cache(maxsize=len(FOLDERS))
def _cases(folder: Path) -> tuple[Case, ...]:
    return tuple(case for case in map(read_case, find_cases(folder)) if case.logs)


def _fold(folder: Path, fold: int | None) -> tuple[Case, ...]:
    """Return the cases of a fold: every fourth one, by name."""
    return () if fold is None else tuple(sorted(_cases(folder), key=lambda case: case.name))[fold::_FOLDS]


def _fitted(fits: Sequence[Fit], executor: LocalProcesses, done: Ablation) -> dict[Fit, dict[str, float]]:
    """Return the constants of each fit without the fixed ones; failures are noted."""
    found = {}
    for ended in executor.run_tasks(_fit, list(dict.fromkeys(fits)), lambda _index, _share: None):
        if isinstance(ended.result, Exception):
            done.failed.append(f"fit {ended.task}: {ended.result}")
        else:
            found[ended.task] = ended.result
    return found


def _fit(fit: Fit, _progress: Progress) -> dict[str, float]:
    """Fit a machine in a process of the executor."""
    machine, fixed = calibration_of(fit.folder), dict(fit.fixed)
    left_out = {case.name for case in _fold(fit.folder, fit.fold)}
    runs = [replace(run, config=_changed(run.config, fixed)) for run in machine.runs if run.case not in left_out]
    values = fit_runs(machine.device, runs, fixed=fixed)[1].values
    return {key: value for key, value in values.items() if key not in fixed}


def _elsewhere(part: Part, folder: Path, every: Mapping[Fit, Mapping[str, float]]) -> Fixed:
    """Return the geometric means of a part's constants over the other machines; empty if no other machine has one of them."""
    fitted = every[Fit(folder, None)]
    keys = [key for key in part.simplest if key in fitted]
    others = [values for fit, values in every.items() if fit.folder != folder]
    values = {key: [fit[key] for fit in others if key in fit] for key in keys}
    return tuple((key, _mean(found)) for key, found in values.items()) if all(values.values()) else ()


def _mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def _changed(config: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a run with these values."""
    changed = {name: dict(group) if isinstance(group, Mapping) else group for name, group in config.items()}
    for key, value in fixed.items():
        group, _, name = key.partition(".")
        changed[group][name] = value
    return changed


def _overrides(machine: Calibration, constants: Mapping[str, float], fixed: Fixed) -> list[str]:
    """Return the overrides of a run with fitted constants and fixed ones."""
    texts = [f"{key}={quantity_text(key.partition('.')[2], value)}" for key, value in constants.items()]
    held = [f"{key}={'null' if value is None else value}" for key, value in fixed]
    return [f"host.assertions={int(machine.assertions)}", *texts, *held]
