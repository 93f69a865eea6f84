"""Subcommand `run`, and steps that it shares with `compare`."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.commands import finishers
from lsmlab.sim.commands.arguments import FOREIGN_FLAGS, Arguments, parse
from lsmlab.sim.commands.single import simulate
from lsmlab.sim.configuration.compose import Composition, composer
from lsmlab.sim.configuration.overrides import literal, override_key, prepare, with_search_path
from lsmlab.sim.configuration.trust import REMEDY, allow_packages, trusting
from lsmlab.sim.progress import progress_bar
from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.rundir import display_path, make_directory, named_directory, unused_directory
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.sim.runs.choice import cluster


def run(argv: list[str]) -> int:
    """Simulate one configuration, several seeds of it (--replications), or a sweep (--multirun)."""
    arguments = parse(argv)
    if arguments.variants is not None:
        raise InputError("--variants belongs to 'lsmlab compare'")
    with trusting(arguments.trust), cluster(arguments.on, arguments.jobs):
        return _run(arguments)


def _run(arguments: Arguments) -> int:
    allow_packages(arguments.allow_packages)
    overrides = with_options_file(arguments)
    if arguments.hydra_flags:
        return _through_hydra(arguments, overrides)
    with composer(arguments.config_dirs) as compose:
        composition = compose(overrides)
    config = composition.config
    config["json"] = arguments.json or bool(config.get("json"))
    count = arguments.replications or _whole(config.get("replications", 1), "replications")
    if count > 1:
        return _replicate(arguments, composition, count)
    return _single(arguments, composition)


def _single(arguments: Arguments, composition: Composition) -> int:
    from lsmlab.sim.explain.summary_text import summary_text

    config = composition.config
    if arguments.on is not None:
        raise InputError(f"--on {arguments.on}: one run needs no cluster; add --replications N or -m, or see 'lsmlab sweep'")
    if arguments.budget is not None:
        from lsmlab.sim.commands.budget import keep_budget_of

        keep_budget_of([config], arguments, "a shorter run")
    directory, created = results_directory(arguments, composition)
    try:
        with progress_bar(quiet=config["json"]) as progress:
            summary = simulate(config, directory, progress)
    except BaseException as error:
        _remove_if_empty(directory, created)
        if isinstance(error, KeyboardInterrupt):
            sys.stderr.write("\nInterrupted before the end; this run left no files. Earlier results are untouched.\n")
            return INTERRUPTED
        raise
    if config["json"]:
        sys.stdout.write(to_json(summary))
    else:
        sys.stdout.write(summary_text(summary))
        sys.stdout.write(f"\nSaved in {display_path(directory)}\n")
    sys.stdout.flush()
    return finish(arguments, config, finishers.RUN, directory)


def _replicate(arguments: Arguments, composition: Composition, count: int) -> int:
    from lsmlab.sim.commands.many import report_failures, run_jobs
    from lsmlab.sim.commands.replications import combine, seeded
    from lsmlab.sim.explain.summary_text import summary_text

    config = composition.config
    directory, _ = results_directory(arguments, composition)
    outcomes = run_jobs(seeded(config, count, directory), arguments, directory, quiet=config["json"])
    if outcomes is None:
        return INTERRUPTED
    summaries = [o.summary for o in outcomes if o.summary is not None]
    failed = report_failures(outcomes)
    if failed:
        return failed
    combined = combine(summaries[:count], summaries[count:])
    write_json(directory / "summary.json", combined)
    if config["json"]:
        sys.stdout.write(to_json(combined))
    else:
        sys.stdout.write(summary_text(combined))
        sys.stdout.write(f"\nSaved in {display_path(directory)}, one folder per seed\n")
    sys.stdout.flush()
    return finish(arguments, config, finishers.RUN, directory / outcomes[0].job.name)


def _through_hydra(arguments: Arguments, overrides: list[str]) -> int:
    from lsmlab.sim.commands.multirun import is_plain_grid, run_grid
    from lsmlab.sim.commands.sweep import OBJECTIVES, sweep_overrides, through_hydra

    if arguments.replications is not None and arguments.multirun:
        raise InputError("--replications does not go with --multirun; write seed=1,2,3 instead")
    root = _sweep_directory(arguments, overrides) if arguments.multirun else None
    if root is not None and is_plain_grid(overrides, arguments.hydra_flags):
        return run_grid(arguments, overrides, root)
    if arguments.on is not None:
        raise InputError(f"--on {arguments.on}: does not go with Hydra's launchers, sweepers and flags; leave one of them out")
    own_overrides = sweep_overrides(
        {"json": arguments.json or None, "report": arguments.report},
        arguments.out,
        quiet=arguments.json or not sys.stderr.isatty(),
    )
    if root is not None:
        own_overrides.append(f"hydra.sweep.dir={literal(str(root.absolute()))}")  # workers of Ray run in another folder
    _check_flags(arguments)
    with composer(arguments.config_dirs) as compose:
        compose.check_hydra(overrides)
    prepared = with_search_path(prepare([*overrides, *own_overrides]), arguments.config_dirs)
    try:
        return through_hydra(
            prepared, arguments.hydra_flags, fresh=arguments.fresh, objectives=arguments.objectives or OBJECTIVES
        )
    except KeyboardInterrupt:
        finished = sum(1 for _ in root.glob("*/summary.json")) if root is not None else 0
        location = f"{finished} runs are finished in {display_path(root)}; " if root is not None else ""
        sys.stderr.write(f"\nInterrupted. {location}the same command computes only the rest.\n")
        return INTERRUPTED
    except Exception as error:
        with composer(arguments.config_dirs) as compose:
            raise compose.translated(error, overrides) from error


def _check_flags(arguments: Arguments) -> None:
    """Raise InputError for flags of Hydra that load a whole configuration, which could run code, without --trust."""
    for flag in arguments.hydra_flags:
        if flag.partition("=")[0] in FOREIGN_FLAGS and not arguments.trust:
            raise InputError(f"{flag}: loads Hydra's own settings too, which can run code; {REMEDY}")


def _sweep_directory(arguments: Arguments, overrides: list[str]) -> Path | None:
    """Return the folder for a sweep's runs, or None if only Hydra can resolve it.

    The folder is fixed before the sweep starts, so that the message after an interruption can name it.
    """
    named = [o.partition("=")[2].strip("'\"") for o in overrides if override_key(o) == "hydra.sweep.dir"]
    if arguments.out is not None:
        return arguments.out
    if named:
        return Path(named[-1]) if "$" not in named[-1] else None
    with composer() as compose:
        return compose([]).sweep_directory


def finish(arguments: Arguments, config: dict[str, Any], group: str, *where: Path | Sequence[Path]) -> int:
    """Draw the pages of results if the configuration wants them; return the exit code."""
    if not finishers.pages_wanted(config, json=config["json"], report=arguments.report):
        return 0
    pages, succeeded = finishers.finish(group, *where)
    if not config["json"]:
        for page in pages:
            sys.stdout.write(f"Report: {display_path(page)}\n")
    return 0 if succeeded else 1


def with_options_file(arguments: Arguments) -> list[str]:
    """Return the overrides of the options file (--options), followed by those of the command line."""
    if arguments.options_file is None:
        return arguments.overrides
    from lsmlab.sim.configuration.options_input import options_overrides

    from_file, notes = options_overrides(arguments.options_file, arguments.overrides)
    for note in notes:
        sys.stderr.write(textwrap.fill(f"lsmlab: {note}", 120, subsequent_indent="  ", break_on_hyphens=False) + "\n")
    return [*from_file, *arguments.overrides]


def results_directory(arguments: Arguments, composition: Composition) -> tuple[Path, bool]:
    """Return the folder for the results, and whether this command created it."""
    if arguments.out is not None:
        existed = named_directory(arguments.out).is_dir()
        return make_directory(arguments.out), not existed
    return unused_directory(composition.directory), True


def _remove_if_empty(directory: Path, created: bool) -> None:
    if created and directory.is_dir() and not any(directory.iterdir()):
        directory.rmdir()


def _whole(value: object, key: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise InputError(f"{key}: {value!r} must be a whole number of at least 1")
