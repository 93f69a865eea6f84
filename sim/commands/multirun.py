"""--multirun without Hydra's launchers: run the grid of comma lists, choice() and range() through the run store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.sim.commands.arguments import Arguments
from lsmlab.sim.commands.many import run_jobs
from lsmlab.sim.configuration.combinations import expand, without_quotes
from lsmlab.sim.configuration.compose import composer
from lsmlab.sim.configuration.names import configuration_name, folder_names
from lsmlab.sim.configuration.overrides import override_key
from lsmlab.sim.results.rundir import make_directory
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.sim.runs.batch import Job, Outcome
from lsmlab.sim.runs.index import IndexedRun, publish
from lsmlab.sim.runs.typed import parameters


def is_plain_grid(overrides: Sequence[str], flags: Sequence[str]) -> bool:
    """Return whether LSMLab can run this sweep itself: no launcher, sweeper, glob(), interval() or other Hydra flag."""
    if set(flags) - {"-m", "--multirun"}:
        return False
    hydra = [text for text in overrides if override_key(text).startswith("hydra")]
    return not any("glob(" in text or "interval(" in text for text in overrides) and all(
        override_key(text) == "hydra.sweep.dir" and "$" not in text for text in hydra
    )


def run_grid(arguments: Arguments, overrides: Sequence[str], root: Path) -> int:
    """Simulate all combinations and return the exit code; ROOT/runs.parquet lists them.

    Each run has a folder of ROOT with the name of its values, as in `lsmlab sweep`. With `hydra.sweep.subdir`, Hydra runs the
    sweep and names the folders.
    """
    combinations = expand([text for text in overrides if override_key(text) != "hydra.sweep.dir"])
    with composer(arguments.config_dirs) as compose:
        configs = [compose(texts).config for texts, _ in combinations]
    if any(config.get("replications", 1) != 1 for config in configs):
        raise InputError("replications: one sweep takes one seed per run; write seed=1,2,3 instead")
    as_json = arguments.json or bool(configs[0].get("json"))
    choices = [without_quotes(chosen) for _, chosen in combinations]
    names = folder_names([configuration_name(chosen) for chosen in choices])
    jobs = [
        Job(name, config, root / name, chosen, parameters(config, chosen))
        for name, config, chosen in zip(names, configs, choices, strict=True)
    ]
    make_directory(root)
    results = run_jobs(jobs, arguments, root, quiet=as_json)
    if results is None:
        return INTERRUPTED
    done = [o for o in results if o.error is None]
    runs = [IndexedRun(o.job.name, o.job.choices, o.summary or {}, o.job.parameters) for o in done]
    if runs:
        sys.stdout.write(publish(root, runs, as_json=as_json))
        sys.stdout.flush()
    return _failures(results, sys.stderr.write)


def _failures(results: Sequence[Outcome], write: Callable[[str], object]) -> int:
    failed = [outcome for outcome in results if outcome.error is not None]
    for outcome in failed:
        write(f"lsmlab: run {outcome.job.name} failed: {outcome.error}\n")
    return 1 if failed else 0
