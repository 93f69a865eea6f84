"""Command `lsmlab calibrate`: fits the constants of a machine to runs that were recorded on it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import parser_of, read
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.studies.request import option
from lsmlab.validation.calibrate.hold_out import CalibrateRequest, calibrated, case_table, group_table
from lsmlab.validation.calibrate.set_text import document, parameter_text, report_text


@dataclass(frozen=True, kw_only=True)
class ParameterOutput:
    """How to give the parameter set."""

    out: Path | None = option(
        None, "write the parameter set here, such as configs/parameters/NAME.yaml", metavar="FILE"
    )
    json: bool = option(False, "print one JSON document and nothing else")


def calibrate(argv: list[str]) -> int:
    """Fit and print the constants; with --out write the parameter file. Return 0."""
    given = parser_of("calibrate", CalibrateRequest, ParameterOutput).parse_args(argv)
    request, output = read(given, CalibrateRequest), read(given, ParameterOutput)
    found, cases, groups = calibrated(request)
    if output.out is not None:
        try:
            output.out.write_text(parameter_text(found), encoding="utf-8")
        except OSError as error:
            raise InputError(f"--out {output.out}: cannot be written ({error.strerror})") from None
    if output.json:
        left_out = {row.name: {"errors": row.errors[row.name], "at_prior": row.at_prior} for row in cases}
        kinds = {g.name: {"errors": g.errors, "left_out": g.left_out, "at_prior": g.at_prior} for g in groups}
        more = ({"leave_one_out": left_out} if cases else {}) | ({"leave_group_out": kinds} if groups else {})
        sys.stdout.write(to_json(document(found) | more))
        return 0
    parts = [report_text(found), case_table(cases) if cases else "", group_table(groups) if groups else ""]
    sys.stdout.write("\n".join(filter(None, parts)))
    if output.out is not None:
        sys.stdout.write(f"\nSaved in {output.out}\n")
    return 0
