"""The verb `record`: run real RocksDB for cases on this machine, on a device with known limits."""

from __future__ import annotations

import sys

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import parser_of, read
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.validation.casefiles.case import find_cases, read_case
from lsmlab.validation.recorder.keep import is_recorded
from lsmlab.validation.recorder.recording import RecordRequest, record_case


def record(argv: list[str]) -> int:
    """Record the named cases.

    Returns 0; 2 if one of several cases failed (all others are recorded); 130 after an interrupt, which keeps the
    finished repeats.
    """
    request = read(parser_of("record", RecordRequest).parse_args(argv or ["--help"]), RecordRequest)
    request.budget()
    cases = [read_case(path) for named in request.cases for path in find_cases(named)]
    failed = False
    try:
        for case in cases:
            if is_recorded(case.directory) and not request.again and not request.dry_run:
                _say(f"{case.name}: recorded already; --again replaces it\n")
                continue
            try:
                record_case(case, request, _say)
            except InputError as error:
                if len(cases) == 1:
                    raise
                sys.stderr.write(f"lsmlab: {case.name}: {error}\n")
                failed = True
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. Databases are removed; finished repeats are kept.\n")
        return INTERRUPTED
    return 2 if failed else 0


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
