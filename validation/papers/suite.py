"""Reads the claims of all papers: claims/<paper>.yaml.

A file has the citation, `headlines` (ids of the five claims for which the paper is read), `overrides` (shared parts of
settings), `settings` (overrides of each run by its name), `seeds` (largest number of seeds by pattern of the name, the first
that matches), `texts`, `released` and `claims`. `$name` in a
setting or a text stands for the shared part or text of this name. A setting may state a number of another setting, which
is simulated first, as `{expression:format}` without spaces. A claim's expression names the runs that it needs; `runs`
lists others, of which only its texts state numbers. A mechanism or a note states a number of the runs as
`{expression:format}`, such as `{vlsm_load_a.ops_per_s / 1e3:.0f}`; it is the mean over the seeds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.yaml_text import read_yaml
from lsmlab.validation.papers.claim import KINDS, Claim, PaperSetting
from lsmlab.validation.papers.expression import Expression, places
from lsmlab.validation.papers.released import Counterpart

PAPERS: Final = ("vlsm", "silk", "adoc", "ldc")
"""Names of the papers, in the order of the document."""
_FOLDER: Final = Path(__file__).with_name("claims")
_NAME: Final = re.compile(r"\$(\w+)")
_NEEDED: Final = frozenset(
    ("setting", "source", "kind", "published", "accepted", "neutral", "expression", "mechanism")
)
_KEYS: Final = _NEEDED | {"runs", "note", "tolerance_from"}
"""Keys of a claim."""


@dataclass(frozen=True)
class Paper:
    """A paper with its claims."""

    name: str
    citation: str
    claims: tuple[Claim, ...]
    headlines: tuple[str, ...] = ()
    """Ids of the five claims for which the paper is read, in their order."""
    counterparts: tuple[Counterpart, ...] = ()
    """Effects of claims in recorded runs of the authors' code."""


def read_papers(names: Sequence[str] = (), only: str | None = None) -> list[Paper]:
    """Return the named papers, or all papers, with the claims whose id matches the pattern `only`.

    Raises InputError for an unknown paper, for a pattern without a match, or for a claim that is not well formed.
    """
    for name in names:
        if name not in PAPERS:
            raise InputError(f"{name}: no such paper; choose from {', '.join(PAPERS)}")
    papers = [read_paper(_FOLDER / f"{name}.yaml") for name in names or PAPERS]
    if only is not None:
        papers = [replace(p, claims=tuple(c for c in p.claims if fnmatchcase(c.id, only)), counterparts=()) for p in papers]
        papers = [p for p in papers if p.claims]
        if not papers:
            example = "an id is, for example, vlsm.load_a.p99_write; * matches any text"
            raise InputError(f"--only {only}: matches no claim; {example}")
    return papers


def settings_of(papers: Sequence[Paper]) -> list[tuple[str, PaperSetting]]:
    """Return each distinct configuration once, as (paper, setting), in the order of the claims."""
    found: dict[tuple[str, ...], tuple[str, PaperSetting]] = {}
    for paper in papers:
        for claim in paper.claims:
            for setting in [*(profile for one in claim.runs for profile in one.profiles), *claim.runs]:
                known = found.setdefault(setting.overrides, (paper.name, setting))[1]
                if known.seeds is not None and (setting.seeds is None or setting.seeds > known.seeds):
                    found[setting.overrides] = (paper.name, setting)
    return list(found.values())


def read_paper(path: Path) -> Paper:
    """Return the paper of a file; its name is the paper's. Raises InputError with file, claim and position."""
    data: Mapping[str, Any] = read_yaml(path)
    settings: dict[str, PaperSetting] = {}
    for name, text in data["settings"].items():
        settings[name] = _setting(f"{path.name}: {name}", name, text, data, settings)
    claims = tuple(_claim(f"{path.name}: {id_}", id_, row, data["texts"], settings) for id_, row in data["claims"].items())
    counterparts = tuple(_counterpart(path, row) for row in data.get("released", ()))
    headlines = tuple(data.get("headlines", ()))
    if lost := [id_ for id_ in headlines if id_ not in data["claims"]]:
        raise InputError(f"{path.name}: headlines: no claim {lost[0]}; the claims are the names below 'claims'")
    return Paper(path.stem, data["citation"], claims, headlines, counterparts)


def _setting(where: str, name: str, text: str, data: Mapping[str, Any], before: Mapping[str, PaperSetting]) -> PaperSetting:
    """Return a setting; `before` are the settings above it, of which it may state numbers."""
    seeds = (most for pattern, most in data.get("seeds", {}).items() if fnmatchcase(name, pattern))
    whole = _whole(where, text, data["overrides"])
    profiles = dict.fromkeys(run for place in places(whole, where, before) for run in place.runs)
    return PaperSetting(name, tuple(whole.split()), next(seeds, None), tuple(before[run] for run in profiles))


def _claim(where: str, id_: str, row: Mapping[str, Any], texts: Mapping[str, str], settings: Mapping[str, PaperSetting]) -> Claim:
    if wrong := sorted((_NEEDED - row.keys()) | (row.keys() - _KEYS)):
        raise InputError(f"{where}: {wrong[0]} is {'missing' if wrong[0] in _NEEDED else 'no key of a claim'}; the keys are"
            f" {', '.join(sorted(_KEYS))}")
    data: dict[str, Any] = {key: _whole(where, value, texts) if isinstance(value, str) else value for key, value in row.items()}
    kind, published = data["kind"], data["published"]
    if kind not in KINDS or (kind == "number") != isinstance(published, int | float):
        raise InputError(f"{where}: kind '{kind}' of the published {published!r}; a number is of kind number, words are of"
            f" another kind of {', '.join(KINDS)}")
    measure = Expression(data.pop("expression"), where, settings)
    for text in (data["mechanism"], data.get("note", "")):
        places(text, where, settings)
    low, high = data.pop("accepted")
    names = dict.fromkeys([*measure.runs, *data.pop("runs", ())])
    if lost := [name for name in names if name not in settings]:
        raise InputError(f"{where}: no run {lost[0]}; the runs are the names below 'settings'")
    runs = tuple(settings[name] for name in names)
    return Claim(id=id_, accepted=(float(low), float(high)), runs=runs, measure=measure, **data)


def _counterpart(path: Path, row: Mapping[str, Any]) -> Counterpart:
    measure = Expression(row["expression"], f"{path.name}: released: {row['figure']}")
    return Counterpart(path.stem, row["figure"], measure, tuple(row.get("claims", ())))


def _whole(where: str, text: str, shared: Mapping[str, str]) -> str:
    """Replace each `$name` in a text by the shared text."""

    def replaced(found: re.Match[str]) -> str:
        if found[1] not in shared:
            raise InputError(f"{where}: ${found[1]} is not defined; add it, or take one of {', '.join(shared)}")
        return _whole(where, shared[found[1]], shared)

    return _NAME.sub(replaced, text)
