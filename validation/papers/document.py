"""Writes docs/papers.md: figures of paper, released code and simulation (`lsmlab papers --write-docs`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from lsmlab.validation.checkout import HOME
from lsmlab.validation.markdown import digest_comment, digest_of, table
from lsmlab.validation.papers.released import Released
from lsmlab.validation.papers.reproduce import Reproduction
from lsmlab.validation.papers.suite import PAPERS, Paper
from lsmlab.validation.papers.text import accepted_text, figure_text, sentences, simulated_text, verdict_counts
from lsmlab.validation.papers.verdict import REPRODUCED, Found

FILE: Final = HOME / "docs" / "papers.md"


def digest(home: Path = HOME) -> str:
    """Return a digest of the inputs: claims, entries of engines, papers' experiments, parameter sets, recorded engines.

    The digest does not cover the simulator's sources, because most edits of them do not change results.
    """
    papers, configs = home / "validation" / "papers", home / "configs"
    paths = [*(papers / "claims").glob("*.yaml"), *(papers / f"{name}.py" for name in ("expression", "measures", "released"))]
    paths += [home / "validation" / "scorecard" / "real_engines.py"]
    paths += [path for name in PAPERS for path in (configs / "experiment").glob(f"*{name}_*.yaml")]
    paths += [*(configs / "engine").rglob("*.yaml"), *(configs / "parameters").glob("*.yaml")]
    return digest_of(home, paths)


def write_document(found: Reproduction) -> None:
    """Write docs/papers.md."""
    FILE.write_text(document_text(found), encoding="utf-8")


def document_text(found: Reproduction) -> str:
    """Return the whole document."""
    parts = [
        "# The papers' figures: paper, released code, simulation",
        digest_comment(digest()),
        "`lsmlab papers --write-docs` writes this page; do not edit it. [How the suite works](reference/papers.md).",
        f"{len(found.found)} claims. {verdict_counts(found.found)}. {found.seeds} simulated runs of each setting; brackets "
        "contain the 90 % interval of their mean over the seeds. *Number*, *direction*, *word*: what the paper gives. "
        "*Reproduced*: inside the accepted range; *direction only*: the effect has the right direction; *not reproduced*: "
        "neither. [Ranges and choices that were written after the first results](reference/papers.md).",
    ]
    for paper in found.papers:
        parts += _headlines(paper, found.of(paper))
    for paper in found.papers:
        parts += _paper(paper, found.of(paper), found.released_runs)
    parts += _released(found.released_runs)
    return "\n\n".join(part for part in parts if part) + "\n"


def _headlines(paper: Paper, found: Sequence[Found]) -> Iterator[str]:
    """The five results for which the paper is read, with the reason of each."""
    by_id = {f.claim.id: f for f in found}
    yield f"## {paper.name} in five lines"
    rows = [
        [f.claim.setting, figure_text(f.claim.published), simulated_text(f), _verdict(f), f.claim.mechanism]
        for f in (by_id[id_] for id_ in paper.headlines if id_ in by_id)
    ]
    yield table(("result", "paper", "simulation", "verdict", "why"), rows)


def _paper(paper: Paper, found: Sequence[Found], released_runs: Sequence[Released]) -> Iterator[str]:
    yield f"## {paper.name}"
    yield f"{paper.citation}. {verdict_counts(found)}."
    rows = [
        [
            f"`{f.claim.id}`", f.claim.setting, f"{figure_text(f.claim.published)} (accepted: {accepted_text(f)})",
            _code(f, released_runs), simulated_text(f), _verdict(f),
        ]
        for f in found
    ]  # fmt: skip
    yield table(("claim", "setting", "paper", "released code", "simulation", "verdict"), rows)
    yield "\n".join(f"- `{f.claim.id}`: {_why(f)}" for f in found)


def _code(found: Found, released_runs: Sequence[Released]) -> str:
    counterparts = [r for r in released_runs if r.belongs_to(found.claim.id)]
    return "; ".join(f"{figure_text(r.recorded)} ({r.counterpart.figure}, {r.setting})" for r in counterparts)


def _verdict(found: Found) -> str:
    return f"{found.claim.kind}: {found.verdict if found.verdict == REPRODUCED else f'**{found.verdict}**'}"


def _why(found: Found) -> str:
    origin = f"Accepted range: {found.claim.tolerance_from}" if found.claim.tolerance_from else ""
    return sentences(found.claim.mechanism, found.claim.note, found.error, origin)


def _released(released_runs: Sequence[Released]) -> Iterator[str]:
    if not released_runs:
        return
    yield "## Released code and its model"
    yield (
        "Recorded runs of the authors' code on a throttled disk (minutes instead of hours), and simulations of this "
        "code (`adoc_code`, `silk_code`) in the same setting. Figures that differ from the tables above have one of "
        "two reasons: the code differs from the rules in the paper, or the small setting differs from the large one. "
        "Results of each run: [validation](validation.md)."
    )
    rows = [[r.setting, r.counterpart.figure, figure_text(r.recorded), figure_text(r.simulated)] for r in released_runs]
    yield table(("recorded setting", "figure", "released code", "simulation of the code"), rows)
