"""Subcommand `trace`: a finished run as a trace for Perfetto's viewer."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import parser_of, read
from lsmlab.reports.run_data import is_run, load_run
from lsmlab.reports.trace.document import write_trace
from lsmlab.sim.results.reading import damage_as_input_error
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.studies.request import argument, option

FILE: Final = "trace.json.gz"
VIEWER: Final = "https://ui.perfetto.dev"


@dataclass(frozen=True, kw_only=True)
class TraceRequest:
    """Write a finished run or an imported LOG as a trace for Perfetto's viewer: jobs, stalls with arrows, memtables, curves."""

    run: Path = argument("RUN", "folder of a run, or of 'lsmlab import'")
    out: Path | None = option(None, f"path of the trace, compressed if it ends in .gz (default: RUN/{FILE})", metavar="FILE")


def trace(argv: list[str]) -> int:
    """Run `lsmlab trace RUN [--out FILE]`; return 0.

    Raises InputError if RUN has no finished run, or FILE cannot be written.
    """
    given = read(parser_of("trace", TraceRequest).parse_args(argv), TraceRequest)
    if not is_run(given.run):
        raise InputError(f"{given.run}: no finished run here; name the folder of a run or of 'lsmlab import'")
    path = given.out or given.run / FILE
    with damage_as_input_error(given.run):
        count = write_trace(path, load_run(given.run))
    sys.stdout.write(f"{display_path(path)}: {count:,} events\nOpen it in {VIEWER}, which reads it without uploading it.\n")
    return 0
