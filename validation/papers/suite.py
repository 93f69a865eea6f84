"""Loads the claims of all papers; each paper has one module in this package."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.validation.papers.claim import Claim, Setting
from lsmlab.validation.papers.claim_data import citation

PAPERS: Final = ("vlsm", "silk", "adoc", "ldc")
"""Modules of the papers, in the order of the document."""


@dataclass(frozen=True)
class Paper:
    """A paper with its claims."""

    name: str
    citation: str
    claims: tuple[Claim, ...]


def read_papers(names: Sequence[str] = (), only: str | None = None) -> list[Paper]:
    """Return the named papers, or all papers, with the claims whose id matches the pattern `only`.

    Raises InputError for an unknown paper or for a pattern without a match.
    """
    for name in names:
        if name not in PAPERS:
            raise InputError(f"{name}: no such paper; choose from {', '.join(PAPERS)}")
    papers = [_read(name) for name in names or PAPERS if _exists(name)]
    if only is not None:
        papers = [Paper(p.name, p.citation, tuple(c for c in p.claims if fnmatchcase(c.id, only))) for p in papers]
        papers = [p for p in papers if p.claims]
        if not papers:
            example = "an id is, for example, vlsm.load_a.p99_write; * matches any text"
            raise InputError(f"--only {only}: matches no claim; {example}")
    if not papers:
        raise InputError(f"the claims of {', '.join(names or PAPERS)} are missing; install the package again")
    return papers


def settings_of(papers: Sequence[Paper]) -> list[tuple[str, Setting]]:
    """Return each distinct configuration once, as (paper, setting), in the order of the claims."""
    found: dict[tuple[str, ...], tuple[str, Setting]] = {}
    for paper in papers:
        for claim in paper.claims:
            for setting in claim.runs:
                known = found.setdefault(setting.overrides, (paper.name, setting))[1]
                if known.seeds is not None and (setting.seeds is None or setting.seeds > known.seeds):
                    found[setting.overrides] = (paper.name, setting)
    return list(found.values())


def _exists(name: str) -> bool:
    return find_spec(f"{__package__}.{name}") is not None


def _read(name: str) -> Paper:
    module = importlib.import_module(f"{__package__}.{name}")
    return Paper(module.PAPER, citation(module.PAPER), tuple(module.CLAIMS))
