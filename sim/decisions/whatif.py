"""Subcommand `whatif`: differences between a store and alternatives to it."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.sim.commands import finishers
from lsmlab.sim.commands.arguments import Arguments, LineParser, add_place
from lsmlab.sim.commands.many import run_jobs
from lsmlab.sim.decisions.alternatives import alternatives
from lsmlab.sim.decisions.answer import FILE, Question, answer
from lsmlab.sim.decisions.model_errors import read_model_errors
from lsmlab.sim.decisions.subject import read_subject
from lsmlab.sim.decisions.text import answer_text
from lsmlab.sim.decisions.trials import trial_jobs, trials
from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.rundir import display_path, make_directory, unused_directory
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.sim.runs.choice import cluster

FINISHERS = "lsmlab.whatif_finishers"
"""Entry points `(directory: Path) -> Path | None` that may draw a page of an answer."""


def whatif(argv: list[str]) -> int:
    """Run `lsmlab whatif RUN ALTERNATIVE ...`; return the exit code. Raises InputError for bad input."""
    given = _parser().parse_args(argv)
    with cluster(given.on, given.jobs):
        return _whatif(given)


def _whatif(given: argparse.Namespace) -> int:
    if given.replications < 1:
        raise InputError(f"--replications {given.replications}: at least 1 run is needed")
    subject = read_subject(given.run, given.set, given.config_dir)
    asked = alternatives(given.alternatives)
    configs = subject.compose_all([(), *(a.overrides for a in asked)])
    question = Question(subject, asked, configs)
    directory = output_directory(given.out)
    jobs = trial_jobs(question.names, configs, given.replications, directory)
    outcomes = run_jobs(jobs, common_options(given), directory, quiet=given.json)
    if outcomes is None:
        return INTERRUPTED
    found = trials(outcomes, question.names, given.replications)
    known = (configs[0].get("parameters") or {}).get("model_errors") or {}
    result = answer(question, found, {**read_model_errors(from_a_log=subject.from_a_log), **known})
    write_json(directory / FILE, result)
    if given.json:
        sys.stdout.write(to_json({**result, "directory": str(directory)}))
    else:
        sys.stdout.write(f"{answer_text(result)}\nSaved in {display_path(directory)}\n")
    sys.stdout.flush()
    if given.json or given.no_report:
        return 0
    pages, drawn = finishers.finish(FINISHERS, directory)
    for page in pages:
        sys.stdout.write(f"Report: {display_path(page)}\n")
    return 0 if drawn else 1


def common_options(given: argparse.Namespace) -> Arguments:
    """Return the options for running jobs from a parsed command line."""
    return Arguments([], jobs=given.jobs, on=given.on, fresh=given.fresh, budget=given.budget)


def output_directory(out: Path | None) -> Path:
    """Return the folder for the results; by default a new one in outputs/. Raises InputError if it is a file."""
    if out is None:
        now = datetime.now().astimezone()
        return unused_directory(Path("outputs") / now.strftime("%Y-%m-%d") / now.strftime("%H-%M-%S"))
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: this is a file; name a folder")
    return make_directory(out)


def _parser() -> LineParser:
    parser = LineParser(
        prog="lsmlab whatif", allow_abbrev=False,
        description="Simulate a store and alternatives to it with the same seeds; print the differences with 90 % intervals.",
        epilog="example: lsmlab whatif mystore device=sata 'engine=vlsm workload.scale=2' host.cores=4,8",
    )  # fmt: skip
    add_common_arguments(parser)
    parser.add_argument(
        "alternatives", nargs="*", metavar="ALTERNATIVE",
        help="change to the store: key=value; several in quotes; comma lists give one alternative per combination",
    )  # fmt: skip
    return parser


def add_common_arguments(parser: LineParser) -> None:
    """Add the arguments that commands about one store share."""
    parser.add_argument(
        "run", metavar="RUN", help="folder of 'lsmlab import', folder of a run, or an override such as experiment=NAME"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override for the present state and all alternatives"
    )
    parser.add_argument("--replications", type=int, default=5, metavar="N", help="seeds per configuration (default: 5)")
    parser.add_argument("-cd", "--config-dir", action="append", default=[], type=Path, metavar="DIR", help="folder of groups")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results (default: outputs/<date>/<time>)")
    parser.add_argument("-j", "--jobs", type=int, metavar="N", help="processes (default: one per core)")
    add_place(parser)
    parser.add_argument("--budget", metavar="TIME", help="refuse, or ask on a terminal, if the runs take longer, such as 10min")
    parser.add_argument("--fresh", action="store_true", help="simulate again the runs that the run store holds")
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else; draws no page")
    parser.add_argument("--no-report", action="store_true", help="draw no page")
