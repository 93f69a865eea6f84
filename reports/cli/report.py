"""Subcommand `lsmlab report`: draw the page of a finished run or of an answer again, or compare the runs in a folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import parser_of, read
from lsmlab.reports.cli.main import VERBS
from lsmlab.reports.folder_page import draw
from lsmlab.reports.run_data import PAGE
from lsmlab.reports.study_kind import StudyKind
from lsmlab.sim.results.reading import damage_as_input_error
from lsmlab.sim.studies.request import argument, option


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """Draw the page of a finished run or of an answer again, or the comparison page of the runs in a directory."""

    directory: Path = argument("DIR", "a run's directory, that of an answer (whatif, sweep, plan, ...), or a directory of runs")
    out: Path | None = option(None, f"path of the page (default: DIR/{PAGE})", metavar="FILE")


def report(argv: list[str]) -> int:
    """Run `lsmlab report DIR [--out FILE]`; return 0. Raises InputError if DIR has no run, or FILE cannot be written."""
    request = read(parser_of("report", ReportRequest).parse_args(argv), ReportRequest)
    with damage_as_input_error(request.directory):
        path = _draw(request)
    sys.stdout.write(f"{path}\n")
    return 0


def _draw(request: ReportRequest) -> Path:
    """Draw the page of an answer, if the directory has one: its verb knows more than a comparison of the runs in it."""
    kind = next((one for one in study_kinds() if (request.directory / one.file).is_file()), None)
    if kind is None:
        return draw(request.directory, request.out or request.directory / PAGE)
    if request.out is not None:
        raise InputError(f"--out: {request.directory} has an answer of {kind.name}, whose page has links to its runs; omit --out")
    return kind.draw(kind.read(request.directory), request.directory)


def study_kinds() -> list[StudyKind[Any, Any]]:
    """Return the kind of question of each verb that answers one."""
    from lsmlab.reports.decisions.sweep import SWEEP

    places = (place.partition(":") for place, _ in VERBS.values())
    named = [getattr(import_module(f"lsmlab.reports.{module}"), name) for module, _, name in places if name.isupper()]
    return [*named, SWEEP]
