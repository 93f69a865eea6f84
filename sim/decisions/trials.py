"""Runs of the present state and of its alternatives, with common seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.commands.replications import seeded
from lsmlab.sim.configuration.names import folder_names
from lsmlab.sim.decisions.differences import Trial
from lsmlab.sim.runs.batch import Job, Outcome


def trial_jobs(
    names: Sequence[str], configs: Sequence[Mapping[str, Any]], count: int, directory: Path | None = None,
    *, displaced: bool = True,
) -> list[Job]:  # fmt: skip
    """Return the jobs of all configurations, `count` seeds each and, if `displaced`, those with displaced constants.

    With `directory`, the run of the first seed gets a folder there, called after its configuration; all others stay in the
    run store only.
    """
    jobs: list[Job] = []
    for name, folder, config in zip(names, folder_names(names), configs, strict=True):
        own = seeded(config, count, directory or Path())
        for number, job in enumerate(own if displaced else own[:count]):
            place = directory / folder if number == 0 and directory is not None else None
            jobs.append(Job(f"{name}, {job.name}", job.config, place, {"configuration": name}, {"configuration": name}))
    return jobs


def trials(outcomes: Sequence[Outcome], names: Sequence[str], count: int) -> dict[str, Trial]:
    """Return the results of all configurations by name. Raises InputError that names a configuration that cannot run."""
    return {name: trial_of(outcomes, name, count) for name in names}


def trial_of(outcomes: Sequence[Outcome], name: str, count: int) -> Trial:
    """Return the results of one configuration with `count` seeds. Raises InputError if it cannot run."""
    own = [o for o in outcomes if o.job.choices["configuration"] == name]
    failed = next((o for o in own if o.error is not None), None)
    if failed is not None:
        raise InputError(f"{name}: {failed.error}")
    summaries = [o.summary or {} for o in own]
    return Trial(summaries[:count], summaries[count:])
