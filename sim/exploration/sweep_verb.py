"""Subcommand `sweep`: run many points of a space of settings."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.sim.commands import finishers
from lsmlab.sim.commands.answers import output_directory
from lsmlab.sim.commands.arguments import LineParser, add_place
from lsmlab.sim.commands.many import interrupted
from lsmlab.sim.configuration.trust import allow_packages
from lsmlab.sim.decisions.subject import Subject, read_subject
from lsmlab.sim.exploration.analysis import FINISHERS, analyse
from lsmlab.sim.exploration.analysis_text import analysis_text
from lsmlab.sim.exploration.budget import keep_budget_of_sweep
from lsmlab.sim.exploration.designs import GRID, NAMES
from lsmlab.sim.exploration.measured import objectives
from lsmlab.sim.exploration.space import parse_space
from lsmlab.sim.exploration.sweep import Sweep, SweepResult, run_sweep, seeds_of
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.sim.runs.executor import open_executor
from lsmlab.sim.runs.index import INDEX
from lsmlab.sim.runs.store import default_store


def sweep(argv: list[str]) -> int:
    """Simulate the points of a design over the space of the arguments."""
    arguments = _parser().parse_intermixed_args(argv)
    for name in ("points", "replications", "jobs"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise InputError(f"--{name} {value}: must be at least 1")
    allow_packages(arguments.allow_package)
    planned = _planned(arguments)
    planned.check()
    result, store = SweepResult(), default_store()
    with open_executor(arguments.on, arguments.jobs, store) as executor:
        if arguments.budget is not None:
            missing_from = None if arguments.fresh else store
            keep_budget_of_sweep(planned, arguments.budget, missing_from, executor.count)
        directory = output_directory(arguments.out, "multirun")
        try:
            run_sweep(planned, directory, store, executor, result, fresh=arguments.fresh, quiet=arguments.json)
        except KeyboardInterrupt:
            sys.stderr.write(interrupted(result.finished, planned.runs, directory))
            return INTERRUPTED
    return _report(planned, directory, result, arguments)


def _planned(arguments: argparse.Namespace) -> Sweep:
    run, given = None, list(arguments.arguments)
    if "=" not in given[0] and not given[0].startswith("~"):
        run = given.pop(0)
    space = parse_space(_overrides(given, arguments.options))
    if run is not None:
        store = replace(read_subject(run, space.fixed, arguments.config_dir), recorded=None)
    else:
        store = Subject("", space.fixed, tuple(arguments.config_dir))
    return Sweep(store, space, arguments.design, arguments.points, seeds_of(store.compose(), arguments.replications))


def _report(planned: Sweep, directory: Path, result: SweepResult, arguments: argparse.Namespace) -> int:
    """Analyse and print the end of a sweep. Return exit code 0 without failures, 2 if all failed on bad input, else 1."""
    drawn = True
    if result.finished:
        found = analyse(directory, objectives(arguments.objective, directory))
        pages: list[Path] = []
        if not (arguments.json or arguments.no_report):
            pages, drawn = finishers.finish(FINISHERS, directory)
        if arguments.json:
            counts = {"finished": result.finished, "failed": result.failed}
            sys.stdout.write(to_json({"directory": str(directory), **planned.as_json(), **counts, "analysis": found}))
        else:
            saved = f"Saved in {display_path(directory)}: one folder per run, {INDEX} lists them\n"
            page_lines = "".join(f"Report: {display_path(page)}\n" for page in pages)
            sys.stdout.write(f"{_counts(planned, result)}\n\n{analysis_text(found)}\n{saved}{page_lines}")
        sys.stdout.flush()
    for name, reason in result.failures:
        sys.stderr.write(f"lsmlab: {name}: {reason}\n")
    if result.failed > len(result.failures):
        sys.stderr.write(f"lsmlab: {result.failed - len(result.failures)} more runs failed: {directory / 'failed'}\n")
    if not result.failed:
        return 0 if drawn else 1
    return 2 if result.bad_input == result.failed and not result.finished else 1


def _counts(planned: Sweep, result: SweepResult) -> str:
    seeds = f" x {len(planned.seeds)} seeds" if len(planned.seeds) > 1 else ""
    kept = f", {result.kept} of them from the run store" if result.kept else ""
    failed = f", {result.failed} failed" if result.failed else ""
    return f"{len(planned.points)} configurations{seeds}: {result.finished} finished runs{kept}{failed}"


def _overrides(given: list[str], options_file: Path | None) -> list[str]:
    bad = next((text for text in given if "=" not in text and not text.startswith("~")), None)
    if bad is not None:
        raise InputError(f"{bad}: not an override; write KEY=VALUE, or KEY=VALUES such as device=nvme,sata")
    if options_file is None:
        return given
    from lsmlab.sim.configuration.options_input import options_overrides

    from_file, notes = options_overrides(options_file, given)
    for note in notes:
        sys.stderr.write(f"lsmlab: {note}\n")
    return [*from_file, *given]


def _parser() -> LineParser:
    parser = LineParser(
        prog="lsmlab sweep",
        usage="lsmlab sweep [RUN] KEY=VALUES ... [KEY=VALUE ...] [options]",
        description="Simulate many configurations: the points of a design over a space of settings.",
        epilog="example: lsmlab sweep device=nvme,sata engine.options.write_buffer_size=16MiB..256MiB "
        "engine.options.max_background_jobs=2,4,8 --design lhs --points 50 --replications 3",
    )
    parser.add_argument(
        "arguments",
        nargs="+",
        metavar="RUN, KEY=VALUES",
        help="RUN: folder of 'lsmlab import' or of a run, to vary its store; KEY=VALUES: a list 2,4,8 or a range "
        "16MiB..256MiB; KEY=VALUE: a setting of all runs",
    )
    parser.add_argument(
        "--design",
        choices=NAMES,
        default=GRID,
        help="grid: all combinations (default); random; lhs: Latin hypercube; sobol: Sobol sequence; saltelli: for Sobol indices",
    )
    parser.add_argument(
        "--points", type=int, metavar="N", help="number of points; in a grid, values of each range (default 5)"
    )
    parser.add_argument("--replications", type=int, default=1, metavar="N", help="seeds of each configuration (default 1)")
    parser.add_argument(
        "--objective", action="append", default=[], metavar="KEY",
        help="number of summary.json for the analysis; max:KEY or min:KEY (default: throughput, P99, write amplification)",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results (default: multirun/<date>/<time>)")
    parser.add_argument("-j", "--jobs", type=int, metavar="N", help="number of processes (default: one per core)")
    add_place(parser)
    parser.add_argument("--options", type=Path, metavar="FILE", help="RocksDB's options from an OPTIONS file or a LOG")
    parser.add_argument("--fresh", action="store_true", help="simulate again the runs that the run store holds")
    parser.add_argument("--budget", metavar="TIME", help="refuse, or ask on a terminal, if the sweep takes longer, such as 10min")
    parser.add_argument("--json", action="store_true", help="print only one JSON document")
    parser.add_argument("--no-report", action="store_true", help="draw no page")
    parser.add_argument("--config-dir", type=Path, action="append", default=[], metavar="DIR",
                        help="a folder with configuration groups of your own")  # fmt: skip
    parser.add_argument("--allow-package", action="append", default=[], metavar="NAME",
                        help="let `_target_` name classes of this package")  # fmt: skip
    return parser
