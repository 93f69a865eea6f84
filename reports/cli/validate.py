"""The verb `lsmlab validate`."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import LineParser
from lsmlab.reports.cli.running import draw
from lsmlab.sim.progress import on_terminal, silent
from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.rundir import make_directory, unused_directory
from lsmlab.sim.studies.metrics import read_model_errors
from lsmlab.validation.checkout import ENGINE_DATA, OWN_CASES, PUBLIC_DATA, source_tree_or_error
from lsmlab.validation.scorecard.card import FROM_A_LOG, PUBLIC_2, WHAT_IFS, Scorecard
from lsmlab.validation.scorecard.groups import groups_text
from lsmlab.validation.scorecard.model_errors import choose_learning_half, write_model_errors
from lsmlab.validation.scorecard.runs import DEFAULT_PROCESSES, DEFAULT_SEEDS, run_cases
from lsmlab.validation.scorecard.sources import (
    FURTHER_SETS,
    SETS,
    check_sets,
    gather_cases,
    gather_engines,
    gather_logs,
    gather_public,
    gather_second,
    replays,
)
from lsmlab.validation.scorecard.text import card_text

_FAILED = 2


def validate(argv: list[str]) -> int:
    """Score the simulator on real runs. Returns 0; 2 if a case failed (all others are scored)."""
    given = _parse(argv)
    card = Scorecard(seeds=given.seeds)
    say = silent if given.json else on_terminal
    cases = []
    if given.cases is not None:
        cases = gather_cases(card, given.cases, release=given.release)
    elif "own" in given.sets and OWN_CASES.is_dir():
        cases = gather_cases(card, OWN_CASES, release=given.release)
    if "public" in given.sets:
        cases += gather_public(card, given.public_data)
    if "public_2" in given.sets:
        cases += gather_second(card, given.public_data)
    if "real_engines" in given.sets:
        cases += gather_engines(card, given.engines)
    if "logs" in given.sets:
        cases += gather_logs(given.public_data)
    if given.match:
        cases = [(name, case) for name, case in cases if any(word in case.name for word in given.match)]
    card.runs = run_cases(cases, given.seeds, given.jobs, given.overrides, say, fresh=given.fresh, quiet=given.json)
    if given.cases is None:
        choose_learning_half(card.runs)
    if given.docs:
        write_model_errors(card.runs)
    for run in card.runs:
        published = read_model_errors(
            from_a_log=run.set in FROM_A_LOG, changed=run.set == WHAT_IFS, parameters=run.parameters
        )
        run.model_errors = {**published, **run.set_errors}
    if "replay" in given.sets:
        replays(card, release=given.release)
    if "theory" in given.sets:
        from lsmlab.validation.scorecard.theory import all_checks

        card.theory = list(all_checks())
    return _show(card, given)


class _Given:
    """Parsed command line."""

    json: bool
    release: bool
    cases: Path | None
    public_data: Path
    engines: Path
    out: Path | None
    seeds: int
    jobs: int
    report: bool | None
    docs: bool
    fresh: bool
    groups: Path | None
    match: list[str]
    sets: tuple[str, ...]
    overrides: list[str]


def _parser() -> LineParser:
    parser = LineParser(prog="lsmlab validate", description=_ABOUT, epilog=_EPILOG)
    parser.add_argument(
        "overrides", nargs="*", metavar="key=value", help="overrides for every case, as for 'lsmlab run'"
    )
    parser.add_argument(
        "--cases", type=Path, metavar="DIR", help="score only the case.yaml files in and below DIR"
    )
    parser.add_argument("--json", action="store_true", help="print only one JSON document")
    parser.add_argument(
        "--only", action="append", choices=(*SETS, *FURTHER_SETS), metavar="SET",
        help=f"{', '.join((*SETS, *FURTHER_SETS))}; may be repeated",
    )
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="one more override")
    parser.add_argument(
        "--match", action="append", default=[], metavar="TEXT", help="score only cases with TEXT in their name"
    )
    parser.add_argument(
        "--seeds", type=int, default=DEFAULT_SEEDS, metavar="N", help=f"simulated runs per case ({DEFAULT_SEEDS})"
    )
    parser.add_argument(
        "-j", "--jobs", type=int, default=DEFAULT_PROCESSES, metavar="N", help=f"processes ({DEFAULT_PROCESSES})"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for page and JSON (outputs/validation-<time>)")
    parser.add_argument("--release", action="store_true", help="score the quarantine part as well")
    parser.add_argument(
        "--fresh", action="store_true", help="simulate also runs that the run store (outputs/runs) contains"
    )
    parser.add_argument("--no-report", action="store_true", help="draw no page")
    parser.add_argument(
        "--write-docs", action="store_true", help="write docs/validation.md and validation/scorecard/baseline.json"
    )
    parser.add_argument(
        "--groups", type=Path, metavar="FILE", help="write the errors by group of cases to FILE (Markdown)"
    )
    parser.add_argument("--public-data", type=Path, default=PUBLIC_DATA, metavar="DIR", help="the folder public_runs")
    parser.add_argument(
        "--engines", type=Path, default=ENGINE_DATA, metavar="DIR", help="the folder real_engines, or one of that form"
    )
    return parser


def _parse(argv: list[str]) -> _Given:
    found = _parser().parse_intermixed_args(argv)
    given = _Given()
    given.json, given.release, given.cases, given.out = found.json, found.release, found.cases, found.out
    given.public_data, given.engines, given.match = found.public_data, found.engines, found.match
    given.seeds, given.jobs = found.seeds, found.jobs
    given.report = False if found.no_report else None
    given.docs, given.fresh, given.groups = found.write_docs, found.fresh, found.groups
    given.overrides = [*found.overrides, *found.set]
    given.sets = tuple(found.only or (SETS if found.cases is None else ()))
    _check(given)
    if given.docs:
        given.sets = (*given.sets, PUBLIC_2)
    return given


def _check(given: _Given) -> None:
    """Raise InputError for options that exclude each other and for missing recordings."""
    for text in given.overrides:
        if "=" not in text:
            raise InputError(f"{text}: not an override; write key=value, or give the folder of cases with --cases")
    if given.seeds < 1 or given.jobs < 1:
        raise InputError("--seeds and --jobs must be at least 1")
    if given.docs and (given.cases or given.sets != SETS or given.overrides or given.match):
        raise InputError("--write-docs: leave out --cases, --only, --match and overrides; it scores all cases")
    if given.docs:
        source_tree_or_error("validate: --write-docs renews docs/validation.md of the source tree", "leave --write-docs out")
    check_sets(given.sets, given.public_data)
    if given.out is not None:
        make_directory(given.out)  # early, so that an unwritable folder is an error before the simulations
    if given.docs and not given.public_data.is_dir():
        raise InputError(
            f"--write-docs needs the public runs: the folder {given.public_data} is missing; give it with --public-data"
        )


def _show(card: Scorecard, given: _Given) -> int:
    document = card.document()
    if given.out is not None or not given.json:
        directory = given.out or unused_directory(Path("outputs") / f"validation-{datetime.now():%Y-%m-%d_%H-%M-%S}")
        write_json(directory / "scorecard.json", document)
        write_json(directory / "curves.json", {"curves": card.curves()})
    if given.groups is not None:
        given.groups.write_text(groups_text(card), encoding="utf-8")
    if given.docs:
        from lsmlab.validation.scorecard.document import write_documents

        write_documents(card)
    if given.json:
        sys.stdout.write(to_json(document))
    else:
        sys.stdout.write(card_text(card))
        sys.stdout.write(f"\nSaved in {directory}\n")
        if given.report is not False:
            from lsmlab.reports.validation_page import draw_validation

            draw(lambda: draw_validation(directory))
    for name, reason in card.failures if given.json else ():
        sys.stderr.write(f"lsmlab: {name}: {reason}\n")
    return _FAILED if card.failures else 0


_ABOUT = (
    "Simulate measured runs of real RocksDB and score the results. Without --cases: the own recordings "
    "(validation/cases), the public runs, the recorded runs of other engines, reruns and what-ifs from "
    "LOGs alone, the exact replays and the theory checks."
)
_EPILOG = (
    "A case is a folder with a case.yaml (docs/reference/cases.md). Exit code 2 if a case could not be read or "
    "simulated (all others are scored)."
)
