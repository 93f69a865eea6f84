"""Runs of the present state and of its alternatives, with common seeds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.commands.replications import seeded
from lsmlab.sim.decisions.differences import Trial
from lsmlab.sim.runs.batch import Job, Outcome


def trial_jobs(names: Sequence[str], configs: Sequence[Mapping[str, Any]], count: int, directory: Path) -> list[Job]:
    """Return the jobs of all configurations, `count` seeds each and then those with displaced constants.

    Only the run of the first seed gets a folder of its own, called after its configuration; the others stay in the run
    store.
    """
    jobs: list[Job] = []
    for name, folder, config in zip(names, trial_folders(names), configs, strict=True):
        for number, job in enumerate(seeded(config, count, directory)):
            place = directory / folder if number == 0 else None
            jobs.append(Job(f"{name}, {job.name}", job.config, place, {"configuration": name}, {"configuration": name}))
    return jobs


def trial_folders(names: Sequence[str]) -> list[str]:
    """Return a readable and unique folder name for each configuration.

    >>> trial_folders(["present", "device=sata", "engine.options.max_background_jobs=8 host.cores=4"])
    ['present', 'device=sata', 'max_background_jobs=8_cores=4']
    """
    folders: list[str] = []
    for number, name in enumerate(names):
        short = "_".join(re.sub(r"^[\w.]*\.(?=\w+=)", "", text) for text in name.split())
        folder = re.sub(r"[^\w.=+-]+", "-", short).strip("-.")[:80] or f"alternative_{number}"
        folders.append(folder if folder not in folders else f"{folder}_{number}")
    return folders


def trials(outcomes: Sequence[Outcome], names: Sequence[str], count: int) -> dict[str, Trial]:
    """Return the results by name. Raises InputError that names a configuration that cannot run."""
    found: dict[str, Trial] = {}
    for name in names:
        own = [o for o in outcomes if o.job.choices["configuration"] == name]
        failed = next((o for o in own if o.error is not None), None)
        if failed is not None:
            raise InputError(f"{name}: {failed.error}")
        summaries = [o.summary or {} for o in own]
        found[name] = Trial(summaries[:count], summaries[count:])
    return found
