"""Subcommand `sweep`: run many points of a space of settings."""

from __future__ import annotations

import sys

from lsmlab.reports.cli.arguments import OutputOptions, RunOptions, TrustOptions, parser_of, read
from lsmlab.reports.cli.running import draw, keep_budget, output_directory, print_notes, running
from lsmlab.reports.decisions.sweep import SWEEP
from lsmlab.sim.configuration.trust import allow_packages, trusting
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.runs.index import INDEX
from lsmlab.sim.studies.sweep.sweep import SweepAnswer, SweepRequest, planned

_USAGE = "lsmlab sweep [RUN] KEY=VALUES ... [KEY=VALUE ...] [options]"
def sweep(argv: list[str]) -> int:
    """Simulate the points of a design over the space of the arguments.

    Returns exit code 0 without failures, 2 if all runs failed on bad input, else 1.
    """
    epilog = f"example: {SWEEP.example}"
    parser = parser_of("sweep", SweepRequest, RunOptions, OutputOptions, TrustOptions, epilog=epilog, usage=_USAGE)
    given = parser.parse_intermixed_args(argv)
    request, options = read(given, SweepRequest), read(given, RunOptions)
    output, trust = read(given, OutputOptions), read(given, TrustOptions)
    allow_packages(trust.allow_package)
    with trusting(trust.trust), running(options, output.out) as executor:
        _, notes = planned(request)
        print_notes(notes)
        runs = options.settings(executor, quiet=output.json)
        keep_budget(lambda: SWEEP.cost(request, runs), options, executor.count, SWEEP.smaller)
        folder = output_directory(output.out, "multirun")
        found = SWEEP.answer(request, runs, folder)
    drawn = 0
    if found.analysis is not None and output.json:
        sys.stdout.write(to_json({**SWEEP.content(found), "directory": str(folder)}))
    elif found.analysis is not None:
        sys.stdout.write(
            f"{SWEEP.whole_text(found)}\nSaved in {display_path(folder)}: one folder per run, {INDEX} lists them\n"
        )
        drawn = 0 if output.no_report else draw(lambda: SWEEP.draw(found, folder))
    sys.stdout.flush()
    _print_failures(found, folder / "failed")
    if not found.failed:
        return drawn
    return 2 if found.bad_input == found.failed and not found.finished else 1


def _print_failures(found: SweepAnswer, place: object) -> None:
    for one in found.failures:
        sys.stderr.write(f"lsmlab: {one.name}: {one.reason}\n")
    if found.failed > len(found.failures):
        sys.stderr.write(f"lsmlab: {found.failed - len(found.failures)} more runs failed: {place}\n")
