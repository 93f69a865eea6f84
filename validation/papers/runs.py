"""Simulates the settings of the papers: each distinct one once per seed, in parallel processes, results on disk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.runs.batch import RunJob, Settings
from lsmlab.sim.runs.places import LocalProcesses
from lsmlab.sim.runs.store import StoredTable, default_store
from lsmlab.sim.runs.task import reason_of
from lsmlab.validation.grouped_runs import finished_groups
from lsmlab.validation.papers.claim import PaperMeasure, PaperRun, PaperSetting
from lsmlab.validation.papers.expression import Expression, filled

DEFAULT_SEEDS: Final = 2
DEFAULT_PROCESSES: Final = 2


@dataclass(slots=True)
class SettingRun:
    """Result folders of one setting, or its error."""

    paper: str
    setting: PaperSetting
    directories: list[Path]
    """Result folders, one per seed."""
    wall_s: float = 0.0
    error: str | None = None


SettingRuns = Mapping[tuple[str, ...], SettingRun]
"""Runs by the overrides of their setting."""


def run_settings(
    settings: Sequence[tuple[str, PaperSetting]], seeds: int, processes: int, directory: Path,
    extra: Sequence[str] = (), report: Callable[[str], None] = lambda _line: None, *, fresh: bool = False, quiet: bool = True,
) -> SettingRuns:  # fmt: skip
    """Simulate each (paper, setting) with the seeds seed, seed + 1, …; write to DIRECTORY/<paper>/<setting>/seed_<n>.

    Settings that state numbers of others are simulated after them.
    `extra` are overrides for all settings. `fresh` simulates also the runs that the run store contains; `quiet` hides
    the progress of runs. A failed setting gets an `error`; all others continue. `report` is called with a line for each
    finished setting.
    """
    done: dict[tuple[str, ...], SettingRun] = {}
    for now in ([one for one in settings if not one[1].profiles], [one for one in settings if one[1].profiles]):
        done |= _run_at_once(now, seeds, processes, directory, extra, report, done, fresh=fresh, quiet=quiet)
    return {setting.overrides: done[setting.overrides] for _, setting in settings}


def _run_at_once(
    settings: Sequence[tuple[str, PaperSetting]], seeds: int, processes: int, directory: Path, extra: Sequence[str],
    report: Callable[[str], None], profiles: SettingRuns, *, fresh: bool, quiet: bool,
) -> SettingRuns:  # fmt: skip
    """Simulate settings that only state numbers of `profiles`."""
    runs: list[SettingRun] = []
    jobs: dict[int, list[RunJob]] = {}
    for paper, setting in settings:
        run = SettingRun(paper, setting, [])
        runs.append(run)
        try:
            config = compose([*_stated(setting, profiles), *extra])
            first = int(config.get("seed", 1))
        except Exception as error:
            run.error = reason_of(error)
            report(f"{paper} {setting.name}: {run.error}")
            continue
        place = directory / paper / setting.name
        numbers = range(first, first + min(seeds, setting.seeds or seeds))
        run.directories += [place / f"seed_{seed}" for seed in numbers]
        jobs[len(runs) - 1] = [
            RunJob(f"{paper}/{place.name}/seed_{seed}", {**config, "seed": seed}, place / f"seed_{seed}",
                {"paper": paper, "setting": setting.name, "seed": str(seed)},
                {"paper": paper, "setting": setting.name, "seed": seed})
            for seed in numbers
        ]  # fmt: skip
    store = default_store()
    for number, ended, left in finished_groups(jobs, Settings(store, LocalProcesses(store, processes), fresh, quiet)):
        run = runs[number]
        run.error = next((one.error for one in ended if one.error), None)
        run.wall_s = sum(one.wall_s for one in ended)
        report(f"{len(runs) - left}/{len(runs)} {run.paper} {run.setting.name}: {run.error or f'{run.wall_s:.1f} s'}")
    return {run.setting.overrides: run for run in runs}


def _stated(setting: PaperSetting, profiles: SettingRuns) -> list[str]:
    """Return the overrides with their numbers of the profiles. Raises InputError if a profile failed."""
    mine = {one.name: profiles[one.overrides] for one in setting.profiles}
    if failed := next((run for run in mine.values() if run.error is not None), None):
        raise InputError(f"its profile {failed.setting.name} failed: {failed.error}")

    def number(expression: Expression) -> float:
        return math.fsum(values := measured(expression, mine)) / len(values)

    return [filled(text, number) for text in setting.overrides]


def measured(measure: PaperMeasure, runs: Mapping[str, SettingRun]) -> list[float]:
    """Return the value of a measure for each of the seeds that all runs, by the names of their settings, have."""
    seeds = zip(*(run.directories for run in runs.values()), strict=False)
    return [float(measure({name: read_outcome(place) for name, place in zip(runs, places, strict=True)})) for places in seeds]


def read_outcome(directory: Path) -> PaperRun:
    """Open the results of a run in a directory; table columns are read at first use."""
    tables = (StoredTable(directory / f"{name}.parquet") for name in ("series", "jobs", "stalls", "latency"))
    return PaperRun(read_summary(directory), *tables)
