"""The verb `lsmlab validate`."""

from __future__ import annotations

import sys
from typing import Final

from lsmlab.reports.cli.arguments import OutputOptions, parser_of, read
from lsmlab.reports.cli.running import draw, output_directory
from lsmlab.sim.progress import on_terminal, silent
from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.rundir import display_path
from lsmlab.validation.checkout import source_tree_or_error
from lsmlab.validation.scorecard.groups import groups_text
from lsmlab.validation.scorecard.session import ValidateRequest, score
from lsmlab.validation.scorecard.text import card_text

_FAILED: Final = 2
_EPILOG: Final = (
    "A case is a folder with a case.yaml (docs/reference/cases.md). Exit code 2 if a case could not be read or "
    "simulated (all others are scored)."
)


def validate(argv: list[str]) -> int:
    """Score the simulator on real runs. Returns 0; 2 if a case failed (all others are scored)."""
    given = parser_of("validate", ValidateRequest, OutputOptions, epilog=_EPILOG).parse_intermixed_args(argv)
    request, output = read(given, ValidateRequest), read(given, OutputOptions)
    if request.ablate:
        return _ablate(request, quiet=output.json)
    if output.out is not None:
        output_directory(output.out)  # early, so that an unwritable folder is an error before the simulations
    card = score(request, quiet=output.json)
    document = card.document()
    if request.groups is not None:
        request.groups.write_text(groups_text(card), encoding="utf-8")
    if request.write_docs:
        from lsmlab.validation.scorecard.document import write_documents

        write_documents(card)
    if output.out is not None or not output.json:
        directory = output_directory(output.out)
        write_json(directory / "scorecard.json", document)
        write_json(directory / "curves.json", {"curves": card.curves()})
    if output.json:
        sys.stdout.write(to_json(document))
        for name, reason in card.failures:
            sys.stderr.write(f"lsmlab: {name}: {reason}\n")
    else:
        sys.stdout.write(f"{card_text(document)}\nSaved in {display_path(directory)}\n")
        if not output.no_report:
            from lsmlab.reports.validation_page import draw_validation

            draw(lambda: draw_validation(directory))
    return _FAILED if card.failures else 0


def _ablate(request: ValidateRequest, *, quiet: bool) -> int:
    """Print what each part of the model is worth, and write the page with `--write-docs`. Returns 0; 2 if a run failed."""
    from lsmlab.validation.ablation.ablate import ablate
    from lsmlab.validation.ablation.document import PAGE, ablation_text
    from lsmlab.validation.ablation.parts import read_parts
    from lsmlab.validation.casefiles.public.cases import calibration_cases

    source_tree_or_error("validate: --ablate needs LSMLab's recorded cases", "leave --ablate out")
    published = list(calibration_cases(request.public_data))
    for done in ablate(read_parts(request.match), request.jobs, silent if quiet else on_terminal, published):
        text = ablation_text(done)
        if request.write_docs:
            PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return _FAILED if done.failed else 0
