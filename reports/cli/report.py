"""Subcommand `lsmlab report`: draw the page of a finished run, or compare the runs in a folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from lsmlab.reports.cli.arguments import parser_of, read
from lsmlab.reports.folder_page import draw
from lsmlab.reports.run_data import PAGE
from lsmlab.sim.results.reading import damage_as_input_error
from lsmlab.sim.studies.request import argument, option


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """Draw the page of a finished run, or the comparison page of the runs in a directory."""

    directory: Path = argument("DIR", "a run's directory, or a directory of runs")
    out: Path | None = option(None, f"path of the page (default: DIR/{PAGE})", metavar="FILE")


def report(argv: list[str]) -> int:
    """Run `lsmlab report DIR [--out FILE]`; return 0. Raises InputError if DIR has no run, or FILE cannot be written."""
    request = read(parser_of("report", ReportRequest).parse_args(argv), ReportRequest)
    with damage_as_input_error(request.directory):
        path = draw(request.directory, request.out or request.directory / PAGE)
    sys.stdout.write(f"{path}\n")
    return 0
