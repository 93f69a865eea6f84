"""Simulates the settings of the papers: each distinct one once per seed, in parallel processes, results on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.runs.batch import RunJob, Settings
from lsmlab.sim.runs.places import LocalProcesses
from lsmlab.sim.runs.store import StoredTable, default_store
from lsmlab.sim.runs.task import reason_of
from lsmlab.validation.grouped_runs import finished_groups
from lsmlab.validation.papers.claim import PaperRun, PaperSetting

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

    `extra` are overrides for all settings. `fresh` simulates also the runs that the run store contains; `quiet` hides
    the progress of runs. A failed setting gets an `error`; all others continue. `report` is called with a line for each
    finished setting.
    """
    runs: list[SettingRun] = []
    jobs: dict[int, list[RunJob]] = {}
    for paper, setting in settings:
        run = SettingRun(paper, setting, [])
        runs.append(run)
        try:
            config = compose([*setting.overrides, *extra])
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


def read_outcome(directory: Path) -> PaperRun:
    """Open the results of a run in a directory; table columns are read at first use."""
    tables = (StoredTable(directory / f"{name}.parquet") for name in ("series", "jobs", "stalls", "latency"))
    return PaperRun(read_summary(directory), *tables)
