"""Subcommands that answer a question about a store, one for each `StudyKind`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lsmlab.reports.cli.arguments import OutputOptions, RunOptions, parser_of, read
from lsmlab.reports.cli.running import draw, end_of_budget, keep_budget, output_directory, running
from lsmlab.reports.drive_source import drive_sentence_of_request
from lsmlab.reports.study_kind import StudyKind
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.results.rundir import display_path


def answer(kind: StudyKind[Any, Any], argv: Sequence[str]) -> int:
    """Ask a question, write and print its answer, and draw its page; return the exit code: 2 for an answer without content."""
    parser = parser_of(kind.name, kind.request, RunOptions, OutputOptions, epilog=f"example: {kind.example}")
    given = parser.parse_intermixed_args(argv)
    request, options, output = read(given, kind.request), read(given, RunOptions), read(given, OutputOptions)
    with running(options, output.out) as executor:
        runs = options.settings(executor, quiet=output.json)
        if kind.ends_at_budget:
            until_s = end_of_budget(lambda: kind.cost(request, runs), options, executor.count, quiet=output.json)
            runs = replace(runs, until_s=until_s)
        else:
            keep_budget(lambda: kind.cost(request, runs), options, executor.count, kind.smaller)
        folder = output_directory(output.out)
        found = kind.answer(request, runs, folder)
    about = drive_sentence_of_request(request)
    if output.json:
        sys.stdout.write(to_json({**kind.content(found), "directory": str(folder)}))
    else:
        sys.stdout.write(f"{kind.whole_text(found, about)}\nSaved in {display_path(folder)}\n")
    sys.stdout.flush()
    drawn = 0 if output.json or output.no_report else draw(lambda: kind.draw(found, folder, about))
    return 2 if kind.is_empty(found) else drawn
