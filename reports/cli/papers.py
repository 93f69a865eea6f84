"""The verb `lsmlab papers`."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from lsmlab.reports.cli.arguments import OutputOptions, parser_of, read
from lsmlab.reports.cli.running import draw, output_directory
from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.rundir import display_path
from lsmlab.validation.papers.document import write_document
from lsmlab.validation.papers.reproduce import PapersRequest, reproduce
from lsmlab.validation.papers.text import claims_text

_FAILED: Final = 2
_EPILOG: Final = (
    "Settings that several claims share are simulated once per seed. If a run fails, only its claims fail, and the "
    "exit code is 2. docs/papers.md contains the results of the last full run."
)


def papers(argv: list[str]) -> int:
    """Simulate the published experiments and compare the figures. Returns 0; 2 if a claim failed."""
    given = parser_of("papers", PapersRequest, OutputOptions, epilog=_EPILOG).parse_args(argv)
    request, output = read(given, PapersRequest), read(given, OutputOptions)
    chosen = request.chosen()
    kept = output.out is not None or not output.json
    with ExitStack() as stack:
        if kept:
            folder = output_directory(output.out)
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lsmlab-papers-")))
        found = reproduce(request, chosen, folder, quiet=output.json)
    if kept:
        write_json(folder / "papers.json", found.document())
    if request.write_docs:
        write_document(found)
    if output.json:
        sys.stdout.write(to_json(found.document()))
        for one in found.failures:
            sys.stderr.write(f"lsmlab: {one.claim.id}: {one.error}\n")
    else:
        sys.stdout.write(f"{claims_text(found)}\nSaved in {display_path(folder)}, one folder per setting\n")
        if not output.no_report:
            from lsmlab.reports.papers_page import draw_papers

            draw(lambda: draw_papers(folder))
    return _FAILED if found.failures else 0
