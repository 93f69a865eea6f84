"""Simulating the papers' settings: each distinct one once per seed, in parallel processes, results on the disk."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.commands.batch import simulate
from lsmlab.sim.configuration.compose import composer
from lsmlab.sim.results.reading import read_summary
from lsmlab.validation.papers.claim import Outcome, Setting
from lsmlab.validation.parallel import each, reason_of

DEFAULT_SEEDS: Final = 2
DEFAULT_PROCESSES: Final = 2


@dataclass(slots=True)
class SettingRun:
    """What became of one setting."""

    paper: str
    setting: Setting
    directories: list[Path]
    """One per seed."""
    wall_s: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    run: int
    config: dict[str, Any]
    directory: Path
    resume: bool


Runs = Mapping[tuple[str, ...], SettingRun]
"""By the setting's overrides."""


def run_settings(
    settings: Sequence[tuple[str, Setting]], seeds: int, processes: int, directory: Path,
    extra: Sequence[str] = (), report: Callable[[str], None] = lambda _line: None, *, resume: bool = False,
) -> Runs:  # fmt: skip
    """Simulate each (paper, setting) with the seeds seed, seed + 1, …; each into DIRECTORY/<paper>/<setting>/seed_<n>.

    `extra`: overrides for all of them; `resume`: do not repeat runs of the same configuration that lie there. A setting
    that fails carries its error; the others go on. `report` hears of each that ends.
    """
    runs: list[SettingRun] = []
    tasks: list[_Task] = []
    with composer() as compose:
        for paper, setting in settings:
            run = SettingRun(paper, setting, [])
            runs.append(run)
            try:
                config = compose([*setting.overrides, *extra]).config
            except Exception as error:
                run.error = reason_of(error)
                report(f"{paper} {setting.name}: {run.error}")
                continue
            first = int(config.get("seed", 1))
            for seed in range(first, first + min(seeds, setting.seeds or seeds)):
                place = directory / paper / _folder(setting.name) / f"seed_{seed}"
                run.directories.append(place)
                tasks.append(_Task(len(runs) - 1, {**config, "seed": seed, "json": True}, place, resume))
    _carry_out(runs, tasks, processes, report)
    return {run.setting.overrides: run for run in runs}


def _folder(name: str) -> str:
    """A setting's name as a folder's name, on any file system."""
    return re.sub(r"[^\w.=+-]+", "-", name)


def _carry_out(runs: list[SettingRun], tasks: list[_Task], processes: int, report: Callable[[str], None]) -> None:
    left = Counter(task.run for task in tasks)
    ended = len(runs) - len(left)
    for task, found in each(_simulate, tasks, processes):
        run = runs[task.run]
        if isinstance(found, Exception):
            run.error = run.error or reason_of(found)
        else:
            run.wall_s += found
        left[task.run] -= 1
        if left[task.run] == 0:
            ended += 1
            report(f"{ended}/{len(runs)} {run.paper} {run.setting.name}: {run.error or f'{run.wall_s:.1f} s'}")


def _simulate(task: _Task) -> float:
    """Seconds that it took; 0 if it was there already."""
    if task.resume and _is_there(task):
        return 0.0
    began = time.perf_counter()
    simulate(task.config, task.directory)
    return time.perf_counter() - began


def _is_there(task: _Task) -> bool:
    """Whether the directory holds a finished run of this configuration."""
    import yaml

    path = task.directory / "config.yaml"
    if not (path.is_file() and (task.directory / "summary.json").is_file()):
        return False
    before = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return bool(before == yaml.safe_load(yaml.safe_dump(task.config)))


def read_outcome(directory: Path) -> Outcome:
    """A run that was saved in a directory; the columns of its tables are read when they are asked for."""
    tables = (_Table(directory / f"{name}.parquet") for name in ("series", "jobs", "stalls", "latency"))
    return Outcome(read_summary(directory), *tables)


class _Table(Mapping[str, Any]):
    """Columns of a Parquet file, each read at its first use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: dict[str, Any] = {}
        self._names: list[str] | None = None

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            import pyarrow.parquet as pq

            if name not in list(self):
                raise KeyError(f"{self._path.name} has no column {name!r}; it has {', '.join(self)}")
            column = pq.read_table(self._path, columns=[name], use_threads=False)[name]
            self._read[name] = column.combine_chunks().to_numpy(zero_copy_only=False)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        if self._names is None:
            import pyarrow.parquet as pq

            self._names = list(pq.read_schema(self._path).names)
        return iter(self._names)

    def __len__(self) -> int:
        return len(list(iter(self)))
