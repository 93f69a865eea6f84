"""Subcommand `compare`: the combinations of comma lists and variants, simulated in parallel and shown side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

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
from lsmlab.reports.comparison.conclusion import conclude
from lsmlab.reports.comparison.members import members
from lsmlab.reports.run_data import load_run
from lsmlab.sim.configuration.compose import output_directory
from lsmlab.sim.configuration.trust import allow_packages, trusting
from lsmlab.sim.runs.index import IndexedRun, publish
from lsmlab.sim.studies.compare import Compared, CompareRequest, compare_all, cost, planned

_USAGE: Final = "lsmlab compare engine=a,b device=x,y [key=value ...] [options]"
_EXAMPLE: Final = "example: lsmlab compare engine=rocksdb,universal device=nvme,sata workload.duration=60s"


def compare(argv: list[str]) -> int:
    """Simulate all combinations of the comma lists in the overrides, in parallel; print the results side by side."""
    parser = parser_of("compare", CompareRequest, RunOptions, OutputOptions, TrustOptions, epilog=_EXAMPLE, usage=_USAGE)
    given = parser.parse_intermixed_args(argv)
    request, options = read(given, CompareRequest), read(given, RunOptions)
    output, trust = read(given, OutputOptions), read(given, TrustOptions)
    allow_packages(trust.allow_package)
    with trusting(trust.trust), running(options, output.out) as executor:
        asked = planned(request)
        print_notes(asked.notes)
        config = asked.configs[0]
        as_json = output.json or bool(config.get("json"))
        runs = options.settings(executor, quiet=as_json)
        keep_budget(lambda: cost(asked, runs), options, executor.count, "fewer or shorter runs")
        folder, _ = results_directory(output.out, output_directory(asked.overrides, request.config_dirs))
        found = compare_all(asked, runs, folder)
    return _show(found, folder, as_json=as_json, pages=pages_wanted(config, json=as_json, no_report=output.no_report))


def _show(found: Compared, folder: Path, *, as_json: bool, pages: bool) -> int:
    if found.finished:
        runs = [IndexedRun(r.job.name, r.job.choices, r.summary or {}, r.job.parameters) for r in found.finished]
        text, more = "", {"comparison": None if found.comparison is None else found.comparison.as_dict()}
        if found.comparison is not None:
            shown = members([load_run(row.folder) for row in found.finished if row.folder is not None], folder)
            conclusion = conclude(shown, found.comparison.command)
            text, more["conclusion"] = "\n".join([*conclusion.lines(), "", ""]), conclusion.as_dict()
        sys.stdout.write(publish(folder, runs, as_json=as_json, more=more, text=text))
        sys.stdout.flush()
    failed = report_failures(found.failures)
    if not found.finished or not pages:
        return failed
    from lsmlab.reports.comparison.page import draw_comparison

    folders = [row.folder for row in found.finished if row.folder is not None]
    return draw(lambda: draw_comparison(folder, folders), quiet=as_json) or failed
