"""Sweep: run the points of a design with several seeds, and write one row per run to runs.parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.combinations import without_quotes
from lsmlab.sim.configuration.names import configuration_name, folder_names
from lsmlab.sim.decisions.subject import Subject
from lsmlab.sim.exploration.designs import Point, points
from lsmlab.sim.exploration.simulate import CONFIGURATION, RunResult, SweepRun, changes, simulate
from lsmlab.sim.exploration.space import Space
from lsmlab.sim.results.jsontext import write_json
from lsmlab.sim.results.leftovers import remove_leftovers
from lsmlab.sim.results.rundir import is_disk_full
from lsmlab.sim.runs.batch import write_failure
from lsmlab.sim.runs.executor import Executor
from lsmlab.sim.runs.index import INDEX
from lsmlab.sim.runs.progress import RunProgress
from lsmlab.sim.runs.rows import RowCollector
from lsmlab.sim.runs.store import RunStore
from lsmlab.sim.runs.task import reason_of

SWEEP: Final = "sweep.json"
"""File that describes a sweep: its space, design and seeds."""
_MOST_FAILURES: Final = 10
"""Largest number of failed runs that are reported by name."""


@dataclass(frozen=True)
class Sweep:
    """Runs to do: the points of a design, each with the same seeds."""

    store: Subject
    """Store that the sweep varies."""
    space: Space
    design: str
    count: int | None
    """Number of points that the user asked for; None: all of a grid."""
    seeds: tuple[int, ...]

    @cached_property
    def points(self) -> list[Point]:
        """Different points of the design. The first seed also selects the points of a random design."""
        return list(dict.fromkeys(points(self.space, self.design, self.count, self.seeds[0])))

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.points) * len(self.seeds)

    def choices(self, point: Point) -> dict[str, str]:
        """Return the values of a point by key, as in overrides."""
        return dict(zip((d.key for d in self.space.dimensions), point, strict=True))

    def names(self) -> list[str]:
        """Return the name of each point's configuration."""
        return [configuration_name(without_quotes(self.choices(point))) for point in self.points]

    def check(self) -> dict[str, Any]:
        """Compose every value of each key once and return the first configuration.

        Raises InputError for a key or a value that does not compose, before any run starts.
        """
        first = self.points[0]
        config = self.store.compose(changes(self.choices(first)))
        for column, dimension in enumerate(self.space.dimensions):
            for value in dimension.choices:
                self.store.compose(changes(self.choices((*first[:column], value, *first[column + 1 :]))))
        return config

    def tasks(self, directory: Path, store: RunStore, *, fresh: bool) -> Iterator[SweepRun]:
        """Yield the runs: all seeds of a point, then the next point."""
        names, number = self.names(), 0
        for point, name, folder in zip(self.points, names, folder_names(names), strict=True):
            for seed in self.seeds:
                choices, place = self.choices(point), folder
                if len(self.seeds) > 1:
                    choices, place = {**choices, "seed": str(seed)}, f"{folder}, seed {seed}"
                yield SweepRun(number, self.store, name, choices, seed, directory / place, store, fresh)
                number += 1

    def as_json(self) -> dict[str, Any]:
        """Return the content of sweep.json."""
        return {
            "design": self.design, "points": self.count, "configurations": len(self.points), "seeds": list(self.seeds),
            "store": self.store.name or None, "overrides": list(self.store.overrides),
            "space": {d.key: d.range.text if d.range is not None else list(d.choices) for d in self.space.dimensions},
        }  # fmt: skip


@dataclass(slots=True)
class SweepResult:
    """Numbers of runs that ended, and the first failures."""

    finished: int = 0
    kept: int = 0
    """Finished runs that the store had."""
    failed: int = 0
    bad_input: int = 0
    """Failed runs whose configuration is wrong."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """(name, reason) of the first failed runs."""

    def add(self, run: SweepRun, result: RunResult) -> None:
        """Count a run that ended."""
        if result.error is None:
            self.finished += 1
            self.kept += result.kept
            return
        self.failed += 1
        self.bad_input += result.bad_input
        if len(self.failures) < _MOST_FAILURES:
            self.failures.append((run.directory.name, result.error))


def run_sweep(
    sweep: Sweep, directory: Path, store: RunStore, executor: Executor, result: SweepResult, *, fresh: bool = False,
    quiet: bool = False,
) -> None:  # fmt: skip
    """Run a sweep, count its runs in `result`, and write sweep.json, runs.parquet and a folder for each run.

    Finished runs stay in the run store when the sweep is interrupted. Raises OSError if the disk is full.
    """
    write_json(directory / SWEEP, sweep.as_json())
    (directory / INDEX).unlink(missing_ok=True)  # of an earlier sweep in this folder
    store.clean()
    remove_leftovers(directory)
    rows = RowCollector()
    progress = RunProgress(sweep.runs, quiet=quiet)
    try:
        tasks = sweep.tasks(directory, store, fresh=fresh)
        with closing(executor.run_tasks(simulate, tasks, progress.share)) as ends:
            for ended in ends:
                one = _result(ended.task, ended.result)
                progress.kept() if one.kept else progress.ended(ended.task.number)
                result.add(ended.task, one)
                if one.row is not None:
                    rows.add(ended.task.number, one.row)
        if rows.count:
            first = ["run", CONFIGURATION, "seed", *(d.key for d in sweep.space.dimensions)]
            rows.write(directory / INDEX, first)
    finally:
        progress.close()
        store.clean()
        remove_leftovers(directory)  # of workers that were killed


def _result(run: SweepRun, result: RunResult | Exception) -> RunResult:
    if isinstance(result, RunResult):
        return result
    if is_disk_full(result):
        raise result
    reason = reason_of(result)
    write_failure(run.directory, reason)
    return RunResult(None, error=reason)


def seeds_of(config: Mapping[str, Any], replications: int) -> tuple[int, ...]:
    """Return the seeds of all configurations: that of the base and the following ones."""
    first = config.get("seed", 1)
    if isinstance(first, bool) or not isinstance(first, int):
        raise InputError(f"seed: {first!r} must be a whole number")
    return tuple(range(first, first + replications))
