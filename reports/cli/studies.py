"""Subcommands that answer a question about a store: `whatif`, `advise`, `tune`, `plan`, `grow`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from lsmlab.reports.cli.arguments import OutputOptions, RunOptions, parser_of, read
from lsmlab.reports.cli.running import draw, keep_budget, output_directory, running
from lsmlab.reports.study_kind import StudyKind
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.results.rundir import display_path


def whatif(argv: list[str]) -> int:
    """Run `lsmlab whatif RUN ALTERNATIVE ...`; return the exit code."""
    from lsmlab.reports.decisions.whatif_page import WHATIF

    return answer(WHATIF, argv)


def advise(argv: list[str]) -> int:
    """Run `lsmlab advise RUN`; return the exit code."""
    from lsmlab.reports.decisions.advice_page import ADVISE

    return answer(ADVISE, argv)


def tune(argv: list[str]) -> int:
    """Run `lsmlab tune RUN SPACE ...`; return the exit code."""
    from lsmlab.reports.decisions.tuning_page import TUNE

    return answer(TUNE, argv)


def grow(argv: list[str]) -> int:
    """Run `lsmlab grow RUN --horizon TIME`; return the exit code."""
    from lsmlab.reports.growth.page import GROW

    return answer(GROW, argv)


def plan(argv: list[str]) -> int:
    """Run `lsmlab plan PLAN.yaml`; return the exit code: 2 if no candidate can run."""
    from lsmlab.reports.plan.page import PLAN

    return answer(PLAN, argv, lambda found: all(row.error is not None for row in found.candidates))


def answer(kind: StudyKind[Any, Any], argv: Sequence[str], is_empty: Callable[[Any], bool] = lambda _: False) -> int:
    """Ask a question, write and print its answer, and draw its page; return the exit code.

    `is_empty`: whether an answer says nothing, because no run was possible.
    """
    parser = parser_of(kind.name, kind.request, RunOptions, OutputOptions, epilog=f"example: {kind.example}")
    given = parser.parse_intermixed_args(argv)
    request, options, output = read(given, kind.request), read(given, RunOptions), read(given, OutputOptions)
    with running(options, output.out) as executor:
        runs = options.settings(executor, quiet=output.json)
        keep_budget(lambda: kind.cost(request, runs), options, executor.count, kind.smaller)
        folder = output_directory(output.out)
        found = kind.answer(request, runs, folder)
    if output.json:
        sys.stdout.write(to_json({**found.as_dict(), "directory": str(folder)}))
    else:
        sys.stdout.write(f"{kind.text(found)}\nSaved in {display_path(folder)}\n")
    sys.stdout.flush()
    drawn = 0 if output.json or output.no_report else draw(lambda: kind.draw(found, folder))
    return 2 if is_empty(found) else drawn
