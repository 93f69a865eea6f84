"""Subcommand `run`: one configuration, several seeds of it (--replications), or Hydra's sweeps and flags."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import OutputOptions, RunOptions, TrustOptions, parser_of, read
from lsmlab.reports.cli.running import (
    draw,
    keep_budget,
    pages_wanted,
    print_notes,
    report_failures,
    results_directory,
    running,
)
from lsmlab.reports.drive_source import drive_sentence
from lsmlab.sim.configuration.compose import check_hydra, compose, output_directory, translated
from lsmlab.sim.configuration.options_input import with_options_file
from lsmlab.sim.configuration.overrides import prepare, with_search_path
from lsmlab.sim.configuration.parameters import with_drive
from lsmlab.sim.configuration.trust import REMEDY, allow_packages, names_hydra, trusting
from lsmlab.sim.progress import Progress, progress_bar
from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.rundir import RunDirectory, display_path
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.sim.runs.executor import Executor
from lsmlab.sim.studies.request import Request, option

_HYDRA_FLAGS: Final = {
    "-h": 0, "--help": 0, "--hydra-help": 0, "-c": 1, "--cfg": 1, "--resolve": 0, "-p": 1, "--package": 1,
    "-r": 0, "--run": 0, "-m": 0, "--multirun": 0, "-sc": 0, "--shell-completion": 0, "-cp": 1, "--config-path": 1,
    "-cn": 1, "--config-name": 1, "--experimental-rerun": 1, "-i": 1, "--info": 1,
}  # fmt: skip
"""Number of values that each of Hydra's own flags takes."""
_FOREIGN_FLAGS: Final = ("-cp", "--config-path", "-cn", "--config-name", "--experimental-rerun")
"""Flags of Hydra that load a whole configuration from a file, Hydra's own settings included."""


@dataclass(frozen=True, kw_only=True)
class RunRequest(Request):
    """Simulate one configuration, or many with -m."""

    options: Path | None = option(
        None, "take RocksDB's options from an OPTIONS file or a LOG (plain or .gz); overrides win", metavar="FILE"
    )
    replications: int | None = option(None, "seeds seed … seed+N-1, with the noise between them", metavar="N", low=1)
    objective: tuple[str, ...] = option(
        (), "number of summary.json that hydra/sweeper=... optimizes (default: ops_per_s)", metavar="KEY"
    )


@dataclass(frozen=True)
class _Given:
    """Parsed command line."""

    request: RunRequest
    runs: RunOptions
    output: OutputOptions
    trust: TrustOptions
    overrides: list[str]
    hydra_flags: list[str]
    """Flags that Hydra handles itself (--multirun, --cfg, --help …), with their values."""

    @property
    def multirun(self) -> bool:
        """Whether --multirun is given."""
        return bool({"-m", "--multirun"} & set(self.hydra_flags))


def run(argv: list[str]) -> int:
    """Simulate one configuration, several seeds of it (--replications), or a sweep (--multirun)."""
    given = _parse(argv)
    with trusting(given.trust.trust), running(given.runs, given.output.out) as executor:
        return _run(given, executor)


def _parse(argv: Sequence[str]) -> _Given:
    """Parse a command line. Raises InputError for a bad value or an unknown option, with the nearest known option."""
    parser = parser_of("run", RunRequest, RunOptions, OutputOptions, TrustOptions, add_help=False)
    parsed, rest = parser.parse_known_args(list(argv))
    overrides, flags = _split(rest, [s for a in parser._actions for s in a.option_strings])
    request, runs = read(parsed, RunRequest), read(parsed, RunOptions)
    return _Given(request, runs, read(parsed, OutputOptions), read(parsed, TrustOptions), overrides, flags)


def _split(rest: list[str], own: list[str]) -> tuple[list[str], list[str]]:
    """Split the arguments that argparse did not take into overrides and Hydra's flags; `own` are LSMLab's options."""
    overrides: list[str] = []
    flags: list[str] = []
    pending = iter(rest)
    for text in pending:
        name, equals, _ = text.partition("=")
        if not text.startswith("-"):
            overrides.append(text)
        elif name in _HYDRA_FLAGS:
            flags.append(text)
            if _HYDRA_FLAGS[name] and not equals:
                value = next(pending, None)
                if value is None and name not in ("-i", "--info"):
                    raise InputError(f"{text}: a value is missing; see 'lsmlab run --help'")
                flags += [value] if value is not None else []
                if name in ("-c", "--cfg") and value not in ("job", "hydra", "all"):
                    raise InputError(f"{text} {value}: choose job, hydra or all")
        else:
            near = difflib.get_close_matches(name, [*own, *_HYDRA_FLAGS], n=1)
            remedy = f"did you mean {near[0]}?" if near else "see 'lsmlab run --help'"
            raise InputError(f"{text}: no such option; {remedy}")
    return overrides, flags


def _run(given: _Given, executor: Executor) -> int:
    allow_packages(given.trust.allow_package)
    overrides, notes = with_options_file(given.request.options, given.overrides)
    print_notes(notes)
    if given.hydra_flags:
        return _through_hydra(given, overrides)
    config = compose(overrides, given.request.config_dirs)
    config["json"] = given.output.json or bool(config.get("json"))
    count = given.request.replications or _whole(config.get("replications", 1), "replications")
    usual = output_directory(overrides, given.request.config_dirs)
    return _replicate(given, executor, config, count, usual) if count > 1 else _single(given, executor, config, usual)


def _single(given: _Given, executor: Executor, config: dict[str, Any], usual: Path) -> int:
    if given.runs.on is not None:
        raise InputError(f"--on {given.runs.on}: one run needs no cluster; add --replications N, or see 'lsmlab sweep'")
    if given.runs.budget is not None:
        from lsmlab.sim.studies.study import Study, Variant

        study = Study({"run": Variant(config)}, perturbed=False)
        runs = given.runs.settings(executor, quiet=True)
        keep_budget(lambda: study.cost(runs), given.runs, 1, "a shorter run")
    directory, created = results_directory(given.output.out, usual)
    try:
        with progress_bar(quiet=config["json"]) as progress:
            summary = simulate_into(config, directory, progress)
    except BaseException as error:
        if created and directory.is_dir() and not any(directory.iterdir()):
            directory.rmdir()
        if isinstance(error, KeyboardInterrupt):
            sys.stderr.write("\nInterrupted before the end; this run left no files. Earlier results are untouched.\n")
            return INTERRUPTED
        raise
    from lsmlab.sim.studies.summary_intervals import intervals

    return _show(given, config, {**summary, "interval": intervals(config, [summary])}, directory, directory, "")


def simulate_into(config: Mapping[str, Any], directory: Path, progress: Progress | None = None) -> dict[str, Any]:
    """Simulate one configuration, publish its files in `directory`, and return its summary."""
    from lsmlab.sim.configuration.trust import trusted_packages
    from lsmlab.sim.runs.loading import load_simulation

    load_simulation()
    from lsmlab.sim.simulation import Setting, simulate

    with RunDirectory(directory) as place:
        result = simulate(Setting.of(config, trusted_packages()), progress)
        result.save(place.staging)
        place.publish()
    return dict(result.summary)


def _replicate(given: _Given, executor: Executor, config: dict[str, Any], count: int, usual: Path) -> int:
    from lsmlab.sim.studies.study import Study, Variant
    from lsmlab.sim.studies.summary_intervals import combine

    runs = given.runs.settings(executor, quiet=config["json"])
    study = Study({"run": Variant(config)}, count)
    keep_budget(lambda: study.cost(runs), given.runs, executor.count, "fewer or shorter runs")
    directory, _ = results_directory(given.output.out, usual)
    outcome = study.run(runs, [directory], all_into=directory)
    failed = report_failures(outcome.failures)
    if failed:
        return failed
    repeats = outcome.repeats("run")
    combined = combine(config, repeats.summaries, repeats.perturbed)
    write_json(directory / "summary.json", combined)
    return _show(given, config, combined, directory, directory / outcome.rows[0].job.name, ", one folder per seed")


def _show(
    given: _Given, config: Mapping[str, Any], summary: Mapping[str, Any], saved: Path, drawn: Path, more: str
) -> int:
    """Print a summary and draw the page of the run in the folder `drawn`; return the exit code."""
    from lsmlab.sim.explain.summary_text import summary_text

    if config["json"]:
        from lsmlab.reports.answers.conclusion import COLUMNS, conclude
        from lsmlab.reports.run_data import load_run

        sys.stdout.write(to_json({"conclusion": conclude(load_run(drawn, COLUMNS)).as_dict(), **summary}))
    else:
        title, _, rest = summary_text(summary).partition("\n")
        lines = [title, *filter(None, [drive_sentence(config)]), rest]
        sys.stdout.write("\n".join(lines) + f"\nSaved in {display_path(saved)}{more}\n")
    sys.stdout.flush()
    if not pages_wanted(config, json=config["json"], no_report=given.output.no_report):
        return 0
    from lsmlab.reports.folder_page import draw_run

    return draw(lambda: draw_run(drawn), quiet=config["json"])


def _through_hydra(given: _Given, overrides: list[str]) -> int:
    from lsmlab.reports.cli.hydra_runs import OBJECTIVES, sweep_overrides, through_hydra

    _check_flags(given)
    folders = given.request.config_dirs
    root = _sweep_directory(given, overrides) if given.multirun else None
    own_overrides = sweep_overrides(overrides, given.runs, given.output, root)
    check_hydra(overrides, folders)
    prepared = with_search_path(with_drive(prepare([*overrides, *own_overrides])), folders)
    try:
        return through_hydra(
            prepared, given.hydra_flags, fresh=given.runs.fresh, objectives=given.request.objective or OBJECTIVES
        )
    except KeyboardInterrupt:
        finished = sum(1 for _ in root.glob("*/summary.json")) if root is not None else 0
        location = f"{finished} runs are finished in {display_path(root)}; " if root is not None else ""
        sys.stderr.write(f"\nInterrupted. {location}the same command computes only the rest.\n")
        return INTERRUPTED
    except Exception as error:
        raise translated(error, overrides, folders) from error


def _check_flags(given: _Given) -> None:
    """Raise InputError for options that Hydra's runs do not take, and for flags of Hydra that need --trust."""
    if given.request.replications is not None and given.multirun:
        raise InputError("--replications does not go with --multirun; write seed=1,2,3 instead")
    for name, value in (("--on", given.runs.on), ("--budget", given.runs.budget)):
        if value is not None:
            raise InputError(f"{name} {value}: does not go with Hydra's launchers, sweepers and flags; use 'lsmlab sweep'")
    for flag in given.hydra_flags:
        if flag.partition("=")[0] in _FOREIGN_FLAGS and not given.trust.trust:
            raise InputError(f"{flag}: loads Hydra's own settings too, which can run code; {REMEDY}")


def _sweep_directory(given: _Given, overrides: list[str]) -> Path:
    """Return the folder for a sweep's runs, fixed before the sweep starts: the message after an interruption names it."""
    if given.output.out is not None:
        return given.output.out
    about_hydra = [text for text in overrides if names_hydra(text.partition("=")[0])]
    return output_directory(about_hydra, given.request.config_dirs, sweep=True)


def _whole(value: object, key: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise InputError(f"{key}: {value!r} must be a whole number of at least 1")
