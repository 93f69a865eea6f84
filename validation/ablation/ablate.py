"""Errors of all calibrated machines with and without each part of the model.

The cases of an own machine are divided into four folds. Each case is simulated with constants that were fitted to the cases of
the other folds ("cases left out"), and with those constants of a part that fits estimate at the geometric mean of the other
machines ("machine left out"). Published calibration runs are simulated with the constants of their machine's set, without a new
fit ("published runs").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

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
from lsmlab.validation.casefiles.real import RealRun, real_run
from lsmlab.validation.checkout import OWN_CASES
from lsmlab.validation.grouped_runs import finished_groups
from lsmlab.validation.scorecard.runs import CaseRun, read_replication
from lsmlab.validation.scorecard.score import rows_of

FOLDERS: Final = tuple(sorted(OWN_CASES.glob("calibration*")))
"""Calibration parts, one folder per machine."""
_FOLDS: Final = 4
WHOLE: Final = Part("", "the whole model", {})
WITH: Final = WHOLE.name
"""Name of the whole model among the parts."""
CASES_OUT, MACHINE_OUT, PUBLISHED = "cases left out", "machine left out", "published runs"
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


Fitted = dict[Fit, dict[str, float]]
"""Constants by fit, without the fixed ones."""


@dataclass
class Ablation:
    """Errors of every case by part, the whole model (`WITH`) included, and by kind."""

    parts: Sequence[Part]
    errors: dict[tuple[str, str], Errors] = field(default_factory=dict)
    """By (name of the part, CASES_OUT, MACHINE_OUT or PUBLISHED)."""
    failed: list[str] = field(default_factory=list)


class _Run(NamedTuple):
    """A run of a case, without a part."""

    kind: str
    machine: str
    case: Case
    config: dict[str, Any]


def ablate(
    parts: Sequence[Part], processes: int, say: Callable[[str], object], published: Sequence[Case] = (),
    folders: Sequence[Path] = FOLDERS,
) -> Iterator[Ablation]:  # fmt: skip
    """Fit and simulate all cases of the calibration parts in `folders`, and the `published` ones, without each part.

    Yields the results so far after the whole model and after each part.
    """
    done, executor = Ablation([]), LocalProcesses(default_store(), processes)
    fitted: Fitted = {}
    real: dict[str, RealRun] = {}
    _add_fits(fitted, [Fit(folder, None) for folder in folders], executor, done)
    for number, part in enumerate((WHOLE, *parts)):
        say(f"part {number} of {len(parts)}: {part.name or part.what}")
        runs = [*_own_runs(part, folders, fitted, executor, done), *_published_runs(part, published)]
        _simulate(part, runs, real, executor, done)
        done.parts = [*done.parts, part] if part.name else []
        yield done


def _own_runs(part: Part, folders: Sequence[Path], fitted: Fitted, executor: LocalProcesses, done: Ablation) -> Iterator[_Run]:
    """Yield the runs of the own machines with constants that are fitted without their fold."""
    wanted: list[tuple[str, Fit]] = []
    for folder in folders:
        simplest = _changes(part, calibration_of(folder))
        wanted += [(CASES_OUT, Fit(folder, fold, simplest)) for fold in range(_FOLDS)]
        if elsewhere := _elsewhere(part, folder, fitted):
            wanted += [(MACHINE_OUT, Fit(folder, fold, elsewhere)) for fold in range(_FOLDS)]
    _add_fits(fitted, [fit for _, fit in wanted], executor, done)
    for kind, fit in wanted:
        for case in _fold(fit.folder, fit.fold) if fit in fitted else ():
            machine = calibration_of(fit.folder)
            try:
                yield _Run(kind, machine.machine, case, case.config(_overrides(machine, fitted[fit], fit.fixed)))
            except InputError as error:
                done.failed.append(f"{part.name}: {case.name}: {error}")


def _published_runs(part: Part, published: Sequence[Case]) -> Iterator[_Run]:
    """Yield the published runs whose configuration has the keys of the part; a part changes nothing in the others."""
    for case in published:
        config = case.config()
        if all(name in config[group] for group, _, name in (key.partition(".") for key in part.simplest)):
            machine = f"{config['host']['parameters']} {config['device']['name']}"
            yield _Run(PUBLISHED, machine, case, case.config(_texts(tuple(part.simplest.items()))))


def _simulate(
    part: Part, runs: Sequence[_Run], real: dict[str, RealRun], executor: LocalProcesses, done: Ablation
) -> None:
    """Simulate the runs and add their errors. `real`: recorded runs by case, which are read once."""
    jobs = {number: [RunJob(f"{part.name or 'whole'} {run.case.name}", run.config)] for number, run in enumerate(runs)}
    for number, ended, _left in finished_groups(jobs, Settings(default_store(), executor, quiet=True)):
        kind, machine, case, _ = runs[number]
        if ended[0].folder is None:
            done.failed.append(f"{part.name}: {case.name}: {ended[0].error}")
            continue
        if case.name not in real:
            real[case.name] = real_run(case, case.config())
        run = CaseRun(case, "calibration", real[case.name], [read_replication(ended[0].folder)])
        done.errors.setdefault((part.name, kind), {})[machine, case.name] = {row.metric: row.error for row in rows_of(run)}


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


def _changes(part: Part, machine: Calibration) -> Fixed:
    """Return the values of a part's simplest form that the runs of a machine do not have anyway."""
    found = []
    for key, value in part.simplest.items():
        group, _, name = key.partition(".")
        if any(run.config[group].get(name) != value for run in machine.runs):
            found.append((key, value))
    return tuple(found)


def _add_fits(fitted: Fitted, fits: Sequence[Fit], executor: LocalProcesses, done: Ablation) -> None:
    """Add the constants of each fit that `fitted` lacks, without the fixed ones; failures are noted."""
    lacking = [fit for fit in dict.fromkeys(fits) if fit not in fitted]
    for ended in executor.run_tasks(_fit, lacking, lambda _index, _share: None):
        if isinstance(ended.result, Exception):
            done.failed.append(f"fit {ended.task}: {ended.result}")
        else:
            fitted[ended.task] = ended.result


def _fit(fit: Fit, _progress: Progress) -> dict[str, float]:
    """Fit a machine in a process of the executor."""
    machine, fixed = calibration_of(fit.folder), dict(fit.fixed)
    left_out = {case.name for case in _fold(fit.folder, fit.fold)}
    runs = [replace(run, config=_changed(run.config, fixed)) for run in machine.runs if run.case not in left_out]
    values = fit_runs(machine.device, runs, fixed=fixed)[1].values
    return {key: value for key, value in values.items() if key not in fixed}


def _elsewhere(part: Part, folder: Path, fitted: Fitted) -> Fixed:
    """Return the geometric means of a part's constants over the other machines; empty if no other machine has one of them."""
    keys = [key for key in part.simplest if key in fitted[Fit(folder, None)]]
    others = [values for fit, values in fitted.items() if fit.folder != folder and fit.fold is None]
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
    return [f"host.assertions={int(machine.assertions)}", *texts, *_texts(fixed)]


def _texts(fixed: Fixed) -> list[str]:
    """Return the overrides of fixed constants."""
    return [f"{key}={'null' if value is None else value}" for key, value in fixed]
