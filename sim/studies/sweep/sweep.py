"""Sweep: run the points of a design with several seeds, and write one row per run to runs.parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.combinations import without_quotes
from lsmlab.sim.configuration.names import configuration_name, folder_names
from lsmlab.sim.configuration.options_input import with_options_file
from lsmlab.sim.configuration.trust import trusted_packages
from lsmlab.sim.results.jsontext import write_json
from lsmlab.sim.runs.batch import Settings, write_failure
from lsmlab.sim.runs.estimate import CostEstimate, estimate
from lsmlab.sim.runs.index import INDEX, RowCollector, numbers
from lsmlab.sim.runs.key import run_key
from lsmlab.sim.studies.baseline import Baseline, read_baseline
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.lengths import settled_baseline
from lsmlab.sim.studies.request import SettledRequest, argument, command_of, option
from lsmlab.sim.studies.study import RunsInterruptedError, Study, Variant
from lsmlab.sim.studies.sweep.analysis import Analysis, analyse
from lsmlab.sim.studies.sweep.designs import GRID, NAMES, Point, points
from lsmlab.sim.studies.sweep.measured import CONFIGURATION, SWEEP, objectives
from lsmlab.sim.studies.sweep.space import SweepSpace, parse_space

_MOST_FAILURES: Final = 10
"""Largest number of failed runs that are reported by name."""


@dataclass(frozen=True, kw_only=True)
class SweepRequest(SettledRequest):
    """Simulate many configurations: the points of a design over a space of settings."""

    arguments: tuple[str, ...] = argument(
        "RUN, KEY=VALUES",
        "RUN: folder of 'lsmlab import' or of a run, to vary its store; KEY=VALUES: a list 2,4,8 or a range "
        "16MiB..256MiB; KEY=VALUE: a setting of all runs",
        several=True,
    )
    design: str = option(
        GRID,
        "grid: all combinations (default); random; lhs: Latin hypercube; sobol: Sobol sequence; saltelli: for Sobol indices",
        choices=NAMES,
    )
    points: int | None = option(None, "number of points; in a grid, values of each range (default 5)", metavar="N", low=1)
    replications: int = option(1, "seeds of each configuration (default 1)", metavar="N", low=1)
    objective: tuple[str, ...] = option(
        (), "number of summary.json for the analysis; max:KEY or min:KEY (default: throughput, P99 or, where clients wait for "
        "a store that stalls, that of an open loop of the same rate, write amplification)",
        metavar="KEY",
    )  # fmt: skip
    options: Path | None = option(None, "RocksDB's options from an OPTIONS file or a LOG", metavar="FILE")


@dataclass(frozen=True)
class Sweep:
    """Runs to do: the points of a design, each with the same seeds."""

    store: Baseline
    """Store that the sweep varies."""
    space: SweepSpace
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

    def check(self) -> None:
        """Compose every value of each key once.

        Raises InputError for a key or a value that does not compose, before any run starts.
        """
        first = self.points[0]
        self.compose(first)
        for column, dimension in enumerate(self.space.dimensions):
            for value in dimension.choices:
                self.compose((*first[:column], value, *first[column + 1 :]))

    def compose(self, point: Point) -> dict[str, Any]:
        """Return the configuration of a point. Raises InputError if it does not compose."""
        return self.store.compose([f"{key}={value}" for key, value in self.choices(point).items()])

    def as_json(self) -> dict[str, Any]:
        """Return the content of sweep.json."""
        return {
            "design": self.design, "points": self.count, "configurations": len(self.points), "seeds": list(self.seeds),
            "store": self.store.name or None, "overrides": list(self.store.overrides),
            "space": {d.key: d.range.text if d.range is not None else list(d.choices) for d in self.space.dimensions},
        }  # fmt: skip


class SweepVariants(Mapping[str, Variant]):
    """Runs of a sweep by the names of their folders in `folder`, all seeds of a point, then the next point.

    A configuration is composed when it is asked for.
    """

    def __init__(self, asked: Sweep, folder: Path) -> None:
        self._asked, self._folder = asked, folder
        self._runs: dict[str, tuple[Point, int]] = {}
        self.configurations: list[str] = []
        """Name of the configuration of each run."""
        self._compose = lru_cache(maxsize=1)(asked.compose)  # for the seeds of one point
        names = asked.names()
        for point, name, place in zip(asked.points, names, folder_names(names), strict=True):
            for seed in asked.seeds:
                self._runs[place if len(asked.seeds) == 1 else f"{place}, seed {seed}"] = point, seed
                self.configurations.append(name)

    def __getitem__(self, name: str) -> Variant:
        point, seed = self._runs[name]
        own = {} if len(self._asked.seeds) == 1 else {"seed": str(seed)}
        choices = without_quotes({**self._asked.choices(point), **own})
        return Variant({**self._compose(point), "seed": seed}, choices, self._folder / name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)


@dataclass(frozen=True)
class FailedRun:
    """Failed run."""

    name: str
    reason: str


@dataclass(frozen=True)
class SweepAnswer(Document):
    """Sweep whose runs have ended."""

    design: str
    points: int | None
    """Number of points that the user asked for; None: all of a grid."""
    configurations: int
    seeds: list[int]
    store: str | None
    overrides: list[str]
    space: dict[str, str | list[str]]
    """Range as text, or list of values, by key."""
    finished: int
    """Number of finished runs."""
    kept: int
    """Finished runs that the run store had."""
    failed: int
    bad_input: int
    """Failed runs whose configuration is wrong."""
    failures: list[FailedRun]
    """First failed runs."""
    analysis: Analysis | None
    """None if no run finished."""
    command: str
    """Command that repeats the answer."""


def planned(request: SweepRequest) -> tuple[Sweep, list[str]]:
    """Return the runs to do, and notes on the file of options. Raises InputError for a key or value that does not compose."""
    run, given = None, list(request.arguments)
    if given and "=" not in given[0] and not given[0].startswith("~"):
        run = given.pop(0)
    bad = next((text for text in given if "=" not in text and not text.startswith("~")), None)
    if bad is not None:
        raise InputError(f"{bad}: not an override; write KEY=VALUE, or KEY=VALUES such as device=nvme,sata")
    overrides, notes = with_options_file(request.options, given)
    space = parse_space(overrides)
    if run is not None:
        store = replace(read_baseline(run, space.fixed, request.config_dirs), recorded=None)
    else:
        store = Baseline("", space.fixed, tuple(request.config_dirs))
    found = Sweep(store, space, request.design, request.points, seeds_of(store.compose(), request.replications))
    found.check()
    return found, notes


def answered(request: SweepRequest, runs: Settings, folder: Path) -> SweepAnswer:
    """Do the runs of a sweep (`sweep`); all are as long as the store of the first point needs to settle, if nothing sets it."""
    asked, _ = planned(request)
    if asked.store.lengthens(request.settled, [d.key for d in asked.space.dimensions]):
        first = [f"{key}={value}" for key, value in asked.choices(asked.points[0]).items()]
        asked = replace(asked, store=settled_baseline(asked.store, runs, first))
    return sweep(asked, request.objective, runs, folder, command_of("sweep", request))


def sweep(asked: Sweep, objectives_: Sequence[str], runs: Settings, folder: Path, command: str = "") -> SweepAnswer:
    """Do the runs of a sweep; `folder` gets sweep.json, runs.parquet, analysis.json and a folder for each run.

    `objectives_`: numbers of summary.json for the analysis (`measured.objectives`). Finished runs stay in the run store
    when the sweep is interrupted. Raises RunsInterruptedError after Ctrl-C, OSError if the disk is full.
    """
    write_json(folder / SWEEP, asked.as_json())
    (folder / INDEX).unlink(missing_ok=True)  # of an earlier sweep in this folder
    variants = SweepVariants(asked, folder)
    rows, failures = RowCollector(), list[FailedRun]()
    kept = failed = bad_input = 0
    try:
        for row in Study(variants, perturbed=False).rows(runs, [folder]):
            kept += row.kept
            if row.summary is not None:
                names = {"run": row.name, CONFIGURATION: variants.configurations[row.number]}
                rows.add(row.number, {**names, **row.job.parameters, **dict(numbers(row.summary))})
                continue
            failed += 1
            bad_input += row.bad_input
            if row.job.directory is None:  # not composed
                write_failure(folder / row.name, str(row.error))
            if len(failures) < _MOST_FAILURES:
                failures.append(FailedRun(row.name, str(row.error)))
        if rows.count:
            rows.write(folder / INDEX, ["run", CONFIGURATION, "seed", *(d.key for d in asked.space.dimensions)])
    except KeyboardInterrupt:
        raise RunsInterruptedError(rows.count, asked.runs) from None
    analysis = analyse(folder, objectives(objectives_, folder)) if rows.count else None
    return SweepAnswer(
        **asked.as_json(), finished=rows.count, kept=kept, failed=failed, bad_input=bad_input, failures=failures,
        analysis=analysis, command=command,
    )  # fmt: skip


def seeds_of(config: Mapping[str, Any], replications: int) -> tuple[int, ...]:
    """Return the seeds of all configurations: that of the base and the following ones."""
    first = config.get("seed", 1)
    if isinstance(first, bool) or not isinstance(first, int):
        raise InputError(f"seed: {first!r} must be a whole number")
    return tuple(range(first, first + replications))


_SAMPLE: Final = 20
"""Number of configurations from which the time of a sweep is estimated."""


def cost(request: SweepRequest, runs: Settings) -> CostEstimate:
    """Return the estimated cost of the runs that the store lacks."""
    asked, _ = planned(request)
    sample = asked.points[:: max(1, len(asked.points) // _SAMPLE)]
    work, memory_bytes = 0.0, 0.0
    for point in sample:
        config = asked.compose(point)
        one = estimate(config, tuple(trusted_packages()))
        for seed in asked.seeds:
            if runs.fresh or runs.store.find(run_key({**config, "seed": seed})) is None:
                work, memory_bytes = work + one.work, max(memory_bytes, one.memory_bytes)
    return CostEstimate(work * len(asked.points) / len(sample), memory_bytes)
