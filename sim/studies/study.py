"""Study: configurations by name, each with the same seeds. Its outcome has one row per run.

What-if, comparison, advice, search and growth differ only in the configurations that they choose and in what they read from
the outcome. A sweep composes in its workers, and a plan searches a rate per candidate there; both use the same run store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
    seed: int
    perturbed: int
    """0; or 1 and 2 for the runs whose constants differ by one standard error."""
    job: RunJob
    summary: Mapping[str, Any] | None
    """Content of summary.json; None if the run failed."""
    folder: Path | None
    """Folder with the files of the run; None if it failed."""
    error: str | None
    bad_input: bool
    """Whether the configuration caused the error."""


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
            [row.summary or {} for row in own if not row.perturbed], [row.summary or {} for row in own if row.perturbed]
        )


@dataclass(frozen=True)
class Study:
    """Configurations by name, each with the same number of seeds: seed, seed + 1, and so on."""

    variants: Mapping[str, Variant]
    seeds: int = 1
    perturbed: bool = True
    """Whether each configuration also runs twice, with the first seed, with constants that differ by one standard error."""

    def jobs(self, all_into: Path | None = None) -> list[tuple[str, int, int, RunJob]]:
        """Return name, seed, number of the perturbation, and job of each run. `all_into`: see `run`."""
        found: list[tuple[str, int, int, RunJob]] = []
        for name, variant in self.variants.items():
            first = int(variant.config.get("seed", 1))
            typed = parameters(variant.config, variant.choices)
            configs = [(first + i, 0, {**variant.config, "seed": first + i}) for i in range(self.seeds)]
            if self.perturbed:
                configs += [(first, i, changed) for i, changed in enumerate(perturbed(variant.config), 1)]
            for number, (seed, moved, config) in enumerate(configs):
                label = f"constants_{moved}" if moved else f"seed_{seed}"
                place = all_into / label if all_into is not None else variant.folder if number == 0 else None
                title = place.name if place is not None else f"{name}, {label}"
                job = RunJob(title, {**config, "replications": 1}, place, variant.choices, typed)
                found.append((name, seed, moved, job))
        return found

    def cost(self, runs: Settings) -> CostEstimate:
        """Return the estimated cost of the runs that the run store lacks."""
        missing = [j.config for *_, j in self.jobs() if runs.fresh or runs.store.find(run_key(j.config)) is None]
        return total(estimate(config, tuple(trusted_packages())) for config in missing)

    def run(self, runs: Settings, directories: Iterable[Path] = (), all_into: Path | None = None) -> Outcome:
        """Do the runs that the run store lacks. A failed run does not stop the others.

        `directories`: folders of results, from which leftovers of killed processes are removed. `all_into`: folder that gets
        the files of every run, each in a folder seed_N or constants_N. Raises RunsInterruptedError after Ctrl-C or SIGTERM.
        """
        jobs, rows = self.jobs(all_into), {}
        for directory in directories:
            remove_leftovers(directory)
        by_job = {id(job): (name, seed, moved) for name, seed, moved, job in jobs}
        try:
            for ended in outcomes([job for *_, job in jobs], runs):
                name, seed, moved = by_job[id(ended.job)]
                rows[id(ended.job)] = RunRow(
                    name, seed, moved, ended.job, ended.summary, ended.folder, ended.error, ended.bad_input
                )
        except KeyboardInterrupt:
            raise RunsInterruptedError(sum(row.error is None for row in rows.values()), len(jobs)) from None
        return Outcome(tuple(rows[id(job)] for *_, job in jobs))
