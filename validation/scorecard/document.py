"""Writes the scorecard to docs/validation.md (`lsmlab validate --write-docs`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lsmlab.validation.checkout import HOME
from lsmlab.validation.markdown import digest_comment
from lsmlab.validation.scorecard.card import SET_TITLES, Scorecard
from lsmlab.validation.scorecard.ci_baseline import digest, write_baseline
from lsmlab.validation.scorecard.tables import (
    LEGEND,
    MISSED,
    Document,
    ScoreTable,
    coverage_text,
    largest_errors,
    left_out,
    sections,
    sets_of_cases,
    target_table,
)

FILE: Final = HOME / "docs" / "validation.md"


def write_documents(card: Scorecard) -> None:
    """Write docs/validation.md and validation/scorecard/baseline.json."""
    FILE.write_text(document_text(card.document()), encoding="utf-8")
    write_baseline(card)


def document_text(document: Document) -> str:
    """Return the whole document."""
    parts = [
        "# Accuracy: LSMLab compared with real RocksDB",
        digest_comment(digest()),
        "`lsmlab validate --write-docs` (`make validate`) writes this page; do not edit it. Definition of errors and "
        "intervals: [confidence](background/confidence.md). How the constants of each machine came about: "
        "[parameter sets](reference/parameter-sets.md). How to score your own runs: "
        "[how-to](how-to/score-your-own-runs.md).",
        _sizes(document),
        "## Targets",
        _table(target_table(document["metrics"])),
        _coverage(document),
        LEGEND,
        *_missed(document),
    ]
    for section in sections(document):
        parts += [f"## {section.title}", section.about, *map(_table, section.tables)]
    if lines := left_out(document):
        parts += ["## Left out", "\n".join(f"- {line}" for line in lines)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(table: ScoreTable) -> str:
    return table.markdown() if table.rows else "No case was scored."


def _sizes(document: Document) -> str:
    counts = [f"{count} of {SET_TITLES[name]}" for name, count in sets_of_cases(document).items()]
    return f"Cases: {', '.join(counts) or 'none'}; {document['seeds']} simulated runs of each."


def _coverage(document: Document) -> str:
    text = coverage_text(document).replace(MISSED, f"**{MISSED}**")
    return text and f"{text}. Each interval was learnt without the cases of its fold, one fifth of all."


def _missed(document: Document) -> Iterator[str]:
    if document["missed"]:
        yield "## Missed targets"
    for miss in document["missed"]:
        yield f"### {miss['title']}"
        yield f"Largest errors: {largest_errors(miss)}."
        for finding in miss["findings"]:
            about = f"{', '.join(finding['cases'])}: " if finding["cases"] else ""
            yield f"{about}**Suspected cause:** {finding['mechanism']} **Deciding experiment:** {finding['experiment']}"
