"""docs/papers.md: paper, released code and simulation side by side, written by `lsmlab papers --write-docs`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from lsmlab.validation.checkout import HOME
from lsmlab.validation.papers.released import Released
from lsmlab.validation.papers.suite import PAPERS, Paper
from lsmlab.validation.papers.text import figure_text, sentences, simulated_text, verdict_counts
from lsmlab.validation.papers.verdict import REPRODUCED, Found
from lsmlab.validation.scorecard.document import markdown

FILE: Final = HOME / "docs" / "papers.md"
_MARK: Final = "<!-- digest: "


def digest(home: Path = HOME) -> str:
    """Of what the results rest on but the sources: claims, engines' entries, experiments, parameter sets, recorded cases.

    Sources of the simulator are not hashed: most edits of them change no result.
    """
    papers, configs = home / "validation" / "papers", home / "configs"
    paths = [p for name in PAPERS for p in (*papers.glob(f"{name}.py"), *papers.glob(f"{name}_*.py"))]
    paths += [*(papers / "claims").glob("*.yaml"), papers / "numbers.py", papers / "released.py"]
    paths += [home / "validation" / "scorecard" / "real_engines.py"]
    paths += [*(configs / "engine").rglob("*.yaml"), *(configs / "experiment").glob("*.yaml")]
    paths += [*(configs / "parameters").glob("*.yaml")]
    sums = hashlib.sha256()
    for path in sorted(p for p in paths if p.is_file()):
        sums.update(path.relative_to(home).as_posix().encode() + b"\0")
        sums.update(hashlib.sha256(path.read_bytes()).digest())
    return sums.hexdigest()


def document_digest(path: Path = FILE) -> str | None:
    """The digest of what the document was made from; None if it does not say."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return text.partition(_MARK)[2].partition(" ")[0] or None


def write_document(papers: Sequence[Paper], found: Sequence[Found], beside: Sequence[Released], seeds: int) -> None:
    """Write docs/papers.md."""
    FILE.write_text(document_text(papers, found, beside, seeds), encoding="utf-8")


def document_text(papers: Sequence[Paper], found: Sequence[Found], beside: Sequence[Released], seeds: int) -> str:
    """The whole document."""
    parts = [
        "# The papers' figures: paper, released code, simulation",
        f"{_MARK}{digest()} -->",
        "Written by `lsmlab papers --write-docs`; not to be edited. [How the suite works](reference/papers.md).",
        f"{len(found)} claims: {verdict_counts(found)}. {seeds} simulated runs of each setting; in brackets the 90 % interval of "
        "their mean. *Reproduced*: inside the accepted range; *direction only*: on the right side of no effect; *not "
        "reproduced*: neither. [Which ranges and choices came after results had been seen](reference/papers.md).",
    ]
    for paper in papers:
        parts += list(_paper(paper, [f for f in found if f.paper == paper.name], beside))
    parts += list(_released(beside))
    return "\n\n".join(part for part in parts if part) + "\n"


def _paper(paper: Paper, found: Sequence[Found], beside: Sequence[Released]) -> Iterator[str]:
    yield f"## {paper.name}"
    yield f"{paper.citation}. {verdict_counts(found)}."
    rows = [
        [f"`{f.claim.id}`", f.claim.setting, _published(f), _code(f, beside), simulated_text(f), _verdict(f)] for f in found
    ]
    yield markdown(("claim", "setting", "paper", "released code", "simulation", "verdict"), rows)
    yield "\n".join(f"- `{f.claim.id}`: {_why(f)}" for f in found)


def _published(found: Found) -> str:
    low, high = found.claim.accepted
    wanted = f"{figure_text(low)} to {figure_text(high)}"
    return f"{figure_text(found.claim.published)} (accepted: {wanted})"


def _code(found: Found, beside: Sequence[Released]) -> str:
    mine = [r for r in beside if r.stands_beside(found.claim.id)]
    return "; ".join(f"{figure_text(r.recorded)} ({r.counterpart.figure}, {r.setting})" for r in mine)


def _verdict(found: Found) -> str:
    return found.verdict if found.verdict == REPRODUCED else f"**{found.verdict}**"


def _why(found: Found) -> str:
    origin = f"Accepted range: {found.claim.tolerance_from}" if found.claim.tolerance_from else ""
    return sentences(found.claim.mechanism, found.claim.note, found.error, origin)


def _released(beside: Sequence[Released]) -> Iterator[str]:
    if not beside:
        return
    yield "## The released code, and its model"
    yield (
        "Recorded runs of the authors' code on a throttled disk, minutes instead of hours, and the simulation of that code "
        "(`adoc_code`, `silk_code`) in the same setting. Where this differs from the table above, the code differs from the "
        "paper's rules, or the small setting from the large one. Run by run: [validation](validation.md)."
    )
    rows = [[r.setting, r.counterpart.figure, figure_text(r.recorded), figure_text(r.simulated)] for r in beside]
    yield markdown(("recorded setting", "figure", "released code", "its simulation"), rows)
