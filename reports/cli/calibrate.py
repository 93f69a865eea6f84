"""Command `lsmlab calibrate`: fits the constants of a machine to runs that were recorded on it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import LineParser
from lsmlab.sim.results.jsontext import to_json
from lsmlab.validation.calibrate.fit import calibrate_cases
from lsmlab.validation.calibrate.group_out import group_table, leave_group_out
from lsmlab.validation.calibrate.left_out import leave_one_out, table
from lsmlab.validation.calibrate.set_text import document, parameter_text, report_text
from lsmlab.validation.checkout import OWN_CASES, source_tree_or_error

CASES: Final = OWN_CASES / "calibration"
_ABOUT: Final = """Fit the CPU and device constants of a machine to runs that 'lsmlab record' recorded on it, by bounded
least squares over job records, histograms and counters, with priors from configs/host/default and configs/device. Only
cases of the calibration part are accepted. The report names the constants that the runs do not separate."""


def calibrate(argv: list[str]) -> int:
    """Fit and print the constants; with --out write the parameter file. Return 0."""
    parser = LineParser(prog="lsmlab calibrate", description=_ABOUT)
    parser.add_argument(
        "cases", nargs="?", type=Path, metavar="CASES",
        help="folder of recorded cases (validation/cases/calibration of the source tree)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the parameter set here, such as configs/parameters/NAME.yaml"
    )
    parser.add_argument(
        "--leave-one-out", action="store_true", help="also simulate each case with constants fitted to all others"
    )
    parser.add_argument(
        "--leave-group-out", action="store_true",
        help="also simulate all runs of a kind (a WAL, no cap, ...) with constants fitted to the other kinds",
    )
    parser.add_argument(
        "--also", type=Path, metavar="CASES", action="append",
        help="with --leave-group-out: a further folder of recorded cases of this machine to simulate; may be repeated "
        "(without CASES: validation/cases/test)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    given = parser.parse_args(argv)
    if given.also and not given.leave_group_out:
        raise InputError("--also: only --leave-group-out simulates further cases")
    if given.cases is None:
        source_tree_or_error("calibrate: its default is LSMLab's recorded cases", "name a folder of recorded cases of your own")
    found = calibrate_cases(given.cases or CASES)
    if given.out is not None:
        try:
            given.out.write_text(parameter_text(found, COMMAND), encoding="utf-8")
        except OSError as error:
            raise InputError(f"--out {given.out}: cannot be written ({error.strerror})") from None
    rows = list(leave_one_out(given.cases or CASES, found)) if given.leave_one_out else []
    also = given.also or ([] if given.cases else [OWN_CASES / "test"])
    groups = list(leave_group_out([given.cases or CASES, *also], found)) if given.leave_group_out else []
    if given.json:
        left_out = {row.case: {"errors": row.errors, "at_prior": row.at_prior} for row in rows}
        kinds = {g.kind: {"errors": g.errors, "left_out": g.left_out, "at_prior": g.at_prior} for g in groups}
        more = ({"leave_one_out": left_out} if rows else {}) | ({"leave_group_out": kinds} if groups else {})
        sys.stdout.write(to_json(document(found) | more))
    else:
        parts = [report_text(found), table(rows) if rows else "", group_table(groups) if groups else ""]
        sys.stdout.write("\n".join(filter(None, parts)))
    if given.out is not None and not given.json:
        sys.stdout.write(f"\nSaved in {given.out}\n")
    return 0


COMMAND: Final = "lsmlab calibrate"
"""Command in the parameter file. Its arguments are left out, since they are paths of one machine."""
