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
from lsmlab.sim.configuration.compose import check_hydra, compose, output_directory, translated
from lsmlab.sim.configuration.overrides import prepare, with_search_path
from lsmlab.sim.configuration.trust import REMEDY, allow_packages, names_hydra, trusting
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
    config = compose(overrides, arguments.config_dirs)
    config["json"] = arguments.json or bool(config.get("json"))
    count = arguments.replications or _whole(config.get("replications", 1), "replications")
    if count > 1:
        return _replicate(arguments, overrides, config, count)
    return _single(arguments, overrides, config)


def _single(arguments: Arguments, overrides: Sequence[str], config: dict[str, Any]) -> int:
    from lsmlab.sim.results.summary_text import summary_text

    if arguments.on is not None:
        raise InputError(f"--on {arguments.on}: one run needs no cluster; add --replications N, or see 'lsmlab sweep'")
    if arguments.budget is not None:
        from lsmlab.sim.commands.budget import keep_budget_of

        keep_budget_of([config], arguments, "a shorter run")
    directory, created = results_directory(arguments, overrides)
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


def _replicate(arguments: Arguments, overrides: Sequence[str], config: dict[str, Any], count: int) -> int:
    from lsmlab.sim.commands.many import report_failures, run_jobs
    from lsmlab.sim.commands.replications import combine, seeded
    from lsmlab.sim.results.summary_text import summary_text

    directory, _ = results_directory(arguments, overrides)
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
    from lsmlab.sim.commands.sweep import OBJECTIVES, sweep_overrides, through_hydra

    _check_flags(arguments)
    root = _sweep_directory(arguments, overrides) if arguments.multirun else None
    own_overrides = sweep_overrides(arguments, overrides, root)
    check_hydra(overrides, arguments.config_dirs)
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
        raise translated(error, overrides, arguments.config_dirs) from error


def _check_flags(arguments: Arguments) -> None:
    """Raise InputError for options that Hydra's runs do not take, and for flags of Hydra that need --trust."""
    if arguments.replications is not None and arguments.multirun:
        raise InputError("--replications does not go with --multirun; write seed=1,2,3 instead")
    for option, value in (("--on", arguments.on), ("--budget", arguments.budget)):
        if value is not None:
            raise InputError(f"{option} {value}: does not go with Hydra's launchers, sweepers and flags; use 'lsmlab sweep'")
    for flag in arguments.hydra_flags:
        if flag.partition("=")[0] in FOREIGN_FLAGS and not arguments.trust:
            raise InputError(f"{flag}: loads Hydra's own settings too, which can run code; {REMEDY}")


def _sweep_directory(arguments: Arguments, overrides: list[str]) -> Path:
    """Return the folder for a sweep's runs, fixed before the sweep starts: the message after an interruption names it."""
    if arguments.out is not None:
        return arguments.out
    about_hydra = [text for text in overrides if names_hydra(text.partition("=")[0])]
    return output_directory(about_hydra, arguments.config_dirs, sweep=True)


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


def results_directory(arguments: Arguments, overrides: Sequence[str]) -> tuple[Path, bool]:
    """Return the folder for the results, and whether this command created it."""
    if arguments.out is not None:
        existed = named_directory(arguments.out).is_dir()
        return make_directory(arguments.out), not existed
    return unused_directory(output_directory(overrides, arguments.config_dirs)), True


def _remove_if_empty(directory: Path, created: bool) -> None:
    if created and directory.is_dir() and not any(directory.iterdir()):
        directory.rmdir()


def _whole(value: object, key: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise InputError(f"{key}: {value!r} must be a whole number of at least 1")
