"""Subcommand `whatif`: differences between a store and alternatives to it."""

from __future__ import annotations

from lsmlab.models.errors import InputError
from lsmlab.sim.commands.answers import (
    add_answer_options,
    add_store_options,
    give_answer,
    output_directory,
    run_options,
)
from lsmlab.sim.commands.arguments import LineParser
from lsmlab.sim.commands.many import run_jobs
from lsmlab.sim.decisions.alternatives import alternatives
from lsmlab.sim.decisions.answer import FILE, Question, answer
from lsmlab.sim.decisions.model_errors import model_errors_of
from lsmlab.sim.decisions.subject import read_subject
from lsmlab.sim.decisions.text import answer_text
from lsmlab.sim.decisions.trials import trial_jobs, trials
from lsmlab.sim.results.stopping import INTERRUPTED

FINISHERS = "lsmlab.whatif_finishers"
"""Entry points `(directory: Path) -> Path | None` that may draw a page of an answer."""


def whatif(argv: list[str]) -> int:
    """Run `lsmlab whatif RUN ALTERNATIVE ...`; return the exit code. Raises InputError for bad input."""
    given = _parser().parse_intermixed_args(argv)
    if given.replications < 1:
        raise InputError(f"--replications {given.replications}: at least 1 run is needed")
    subject = read_subject(given.run, given.set, given.config_dir)
    asked = alternatives(given.alternatives)
    configs = subject.compose_all([(), *(a.overrides for a in asked)])
    question = Question(subject, asked, configs)
    directory = output_directory(given.out)
    jobs = trial_jobs(question.names, configs, given.replications, directory)
    outcomes = run_jobs(jobs, run_options(given), directory, quiet=given.json)
    if outcomes is None:
        return INTERRUPTED
    found = trials(outcomes, question.names, given.replications)
    result = answer(question, found, model_errors_of(configs[0], from_a_log=subject.from_a_log, changed=True))
    return give_answer(result, directory / FILE, answer_text, given, FINISHERS)


def _parser() -> LineParser:
    parser = LineParser(
        prog="lsmlab whatif", allow_abbrev=False,
        description="Simulate a store and alternatives to it with the same seeds; print the differences with 90 % intervals.",
        epilog="example: lsmlab whatif mystore device=sata 'engine=vlsm workload.scale=2' host.cores=4,8",
    )  # fmt: skip
    add_subject_arguments(parser)
    parser.add_argument(
        "alternatives", nargs="*", metavar="ALTERNATIVE",
        help="change to the store: key=value; several in quotes; comma lists give one alternative per combination",
    )  # fmt: skip
    return parser


def add_subject_arguments(parser: LineParser) -> None:
    """Add the arguments of commands that run one store with several seeds."""
    add_store_options(parser)
    parser.add_argument("--replications", type=int, default=5, metavar="N", help="seeds per configuration (default: 5)")
    add_answer_options(parser)
