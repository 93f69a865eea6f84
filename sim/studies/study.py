"""Study: configurations by name, each with the same seeds. Its outcome has one row per run.

All questions differ only in the configurations that they choose and in what they read from the rows. A sweep reads them one
by one, as the runs end; a plan asks one study after the other, each with the next rate of every candidate.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.parameters import perturbed
from lsmlab.sim.configuration.trust import trusted_packages
from lsmlab.sim.results.leftovers import remove_leftovers
from lsmlab.sim.runs.batch import RunJob, Settings, outcomes
from lsmlab.sim.runs.estimate import CostEstimate, estimate, total
from lsmlab.sim.runs.index import parameters
from lsmlab.sim.runs.key import run_key
from lsmlab.sim.runs.task import reason_of
from lsmlab.sim.studies.differences import Repeats


class RunsInterruptedError(KeyboardInterrupt):
    """Ctrl-C or SIGTERM during the runs of a study; finished runs are in the run store."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__(f"{done} of {total} runs are finished")
        self.done, self.total = done, total


@dataclass(frozen=True)
class Variant:
    """One configuration of a study."""

    config: Mapping[str, Any]
    choices: Mapping[str, str] = field(default_factory=dict)
    """Values in which it differs from the other configurations, by key, without quotes."""
    folder: Path | None = None
    """Folder that gets the files of its first run; None: they are only in the run store."""


@dataclass(frozen=True)
class RunRow:
    """One run of a study."""

    name: str
    """Name of its configuration."""
    number: int
    """Place among the runs of the study."""
    seed: int
    perturbed: int
    """0; or 1 and 2 for the runs whose constants differ by one standard error."""
    job: RunJob
    summary: Mapping[str, Any] | None = None
    """Content of summary.json; None if the run failed."""
    folder: Path | None = None
    """Folder with the files of the run; None if it failed."""
    error: str | None = None
    bad_input: bool = False
    """Whether the configuration caused the error."""
    kept: bool = False
    """Whether the run store had the run."""


@dataclass(frozen=True)
class Outcome:
    """Runs of a study, in the order of its configurations and seeds."""

    rows: tuple[RunRow, ...]

    @property
    def failures(self) -> list[RunRow]:
        """Runs that failed."""
        return [row for row in self.rows if row.error is not None]

    def of(self, name: str) -> list[RunRow]:
        """Return the runs of a configuration: its seeds, then those with perturbed constants."""
        return [row for row in self.rows if row.name == name]

    def finished(self, name: str) -> bool:
        """Return whether all runs of a configuration have results."""
        return all(row.error is None for row in self.of(name))

    def repeats(self, name: str) -> Repeats:
        """Return the results of a configuration. Raises InputError that names it if one of its runs failed."""
        own = self.of(name)
        failed = next((row for row in own if row.error is not None), None)
        if failed is not None:
            raise InputError(f"{name}: {failed.error}")
        return Repeats(
            [row.summary or {} for row in own if not row.perturbed],
            [row.summary or {} for row in own if row.perturbed],
            own[0].job.config if own else {},
        )


@dataclass(frozen=True)
class Study:
    """Configurations by name, each with the same number of seeds: seed, seed + 1, and so on."""

    variants: Mapping[str, Variant]
    """A mapping may compose a configuration when it is asked for it, so that a study of many needs little memory."""
    seeds: int = 1
    perturbed: bool = True
    """Whether each configuration also runs twice, with the first seed, with constants that differ by one standard error."""

    def planned(self, all_into: Path | None = None) -> Iterator[RunRow]:
        """Yield the row of each run before it runs; one for a configuration that cannot be composed. `all_into`: see `rows`."""
        numbers = itertools.count()
        for name in self.variants:
            try:
                variant = self.variants[name]
            except Exception as error:
                yield RunRow(name, next(numbers), 0, 0, RunJob(name, {}), error=reason_of(error), bad_input=True)
                continue
            first = int(variant.config.get("seed", 1))
            typed = parameters(variant.config, variant.choices)
            configs = [(first + i, 0, {**variant.config, "seed": first + i}) for i in range(self.seeds)]
            if self.perturbed:
                configs += [(first, i, changed) for i, changed in enumerate(perturbed(variant.config), 1)]
            for place, (seed, moved, config) in enumerate(configs):
                label = f"constants_{moved}" if moved else f"seed_{seed}"
                folder = all_into / label if all_into is not None else variant.folder if place == 0 else None
                title = folder.name if folder is not None else f"{name}, {label}"
                job = RunJob(title, {**config, "replications": 1}, folder, variant.choices, typed)
                yield RunRow(name, next(numbers), seed, moved, job)

    def cost(self, runs: Settings) -> CostEstimate:
        """Return the estimated cost of the runs that the run store lacks."""
        configs = (row.job.config for row in self.planned())
        missing = (c for c in configs if runs.fresh or runs.store.find(run_key(c)) is None)
        return total(estimate(config, tuple(trusted_packages())) for config in missing)

    def rows(self, runs: Settings, directories: Iterable[Path] = (), all_into: Path | None = None) -> Iterator[RunRow]:
        """Do the runs that the run store lacks; yield the row of each run as it ends. A failed run does not stop the others.

        `directories`: folders of results, from which leftovers of killed processes are removed. `all_into`: folder that gets
        the files of every run, each in a folder seed_N or constants_N.
        """
        for directory in directories:
            remove_leftovers(directory)
        planned, count = self.planned(all_into), len(self.variants) * self.seeds
        if self.perturbed:  # the configurations give the number of the runs
            several = list(planned)
            planned, count = iter(several), len(several)
        begun: dict[int, RunRow] = {}
        failed: list[RunRow] = []

        def jobs() -> Iterator[RunJob]:
            for row in planned:
                if row.error is not None:
                    failed.append(row)
                else:
                    begun[id(row.job)] = row
                    yield row.job

        for ended in outcomes(jobs(), runs, count):
            yield replace(
                begun.pop(id(ended.job)), summary=ended.summary, folder=ended.folder, error=ended.error,
                bad_input=ended.bad_input, kept=ended.kept,
            )  # fmt: skip
            while failed:
                yield failed.pop()
        yield from failed

    def run(self, runs: Settings, directories: Iterable[Path] = (), all_into: Path | None = None) -> Outcome:
        """Do the runs that the run store lacks (`rows`). Raises RunsInterruptedError after Ctrl-C or SIGTERM."""
        found: list[RunRow] = []
        try:
            found.extend(self.rows(runs, directories, all_into))
        except KeyboardInterrupt:
            done = sum(row.error is None for row in found)
            raise RunsInterruptedError(done, sum(1 for _ in self.planned())) from None
        return Outcome(tuple(sorted(found, key=lambda row: row.number)))
