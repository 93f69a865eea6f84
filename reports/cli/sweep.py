"""Subcommand `sweep`: run many points of a space of settings."""

from __future__ import annotations

import sys

from lsmlab.reports.cli.arguments import OutputOptions, RunOptions, TrustOptions, parser_of, read
from lsmlab.reports.cli.running import draw, keep_budget, output_directory, print_notes, running
from lsmlab.reports.decisions.sweep import draw_sweep, sweep_text
from lsmlab.sim.configuration.trust import allow_packages, trusting
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.runs.index import INDEX
from lsmlab.sim.studies.sweep.sweep import SweepAnswer, SweepRequest, cost, planned
from lsmlab.sim.studies.sweep.sweep import sweep as run_sweep

_USAGE = "lsmlab sweep [RUN] KEY=VALUES ... [KEY=VALUE ...] [options]"
_EXAMPLE = (
    "example: lsmlab sweep device=nvme,sata engine.options.write_buffer_size=16MiB..256MiB "
    "engine.options.max_background_jobs=2,4,8 --design lhs --points 50 --replications 3"
)


def sweep(argv: list[str]) -> int:
    """Simulate the points of a design over the space of the arguments.

    Returns exit code 0 without failures, 2 if all runs failed on bad input, else 1.
    """
    parser = parser_of("sweep", SweepRequest, RunOptions, OutputOptions, TrustOptions, epilog=_EXAMPLE, usage=_USAGE)
    given = parser.parse_intermixed_args(argv)
    request, options = read(given, SweepRequest), read(given, RunOptions)
    output, trust = read(given, OutputOptions), read(given, TrustOptions)
    allow_packages(trust.allow_package)
    with trusting(trust.trust), running(options, output.out) as executor:
        asked, notes = planned(request)
        print_notes(notes)
        runs = options.settings(executor, quiet=output.json)
        keep_budget(lambda: cost(asked, runs), options, executor.count, "fewer points or replications, or shorter runs")
        folder = output_directory(output.out, "multirun")
        found = run_sweep(asked, request.objective, runs, folder)
    drawn = 0
    analysis = found.analysis
    if analysis is not None and output.json:
        sys.stdout.write(to_json({"directory": str(folder), **found.as_dict()}))
    elif analysis is not None:
        sys.stdout.write(
            f"{sweep_text(found)}\nSaved in {display_path(folder)}: one folder per run, {INDEX} lists them\n"
        )
        drawn = 0 if output.no_report else draw(lambda: draw_sweep(analysis, folder))
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
