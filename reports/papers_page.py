"""Page of the papers' figures: paper, released code, simulation and verdict of each claim."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.reports import numbers
from lsmlab.reports.figures.papers import VERDICT_COLORS, effects, short_id
from lsmlab.reports.page import Page
from lsmlab.reports.parts import Html, Part, Section, Story, Table, Tile, Tiles, folded
from lsmlab.reports.run_data import PAGE
from lsmlab.validation.papers.claim import KINDS
from lsmlab.validation.papers.text import figure_text, sentences
from lsmlab.validation.papers.verdict import REPRODUCED

Claims = Sequence[Mapping[str, Any]]


def draw_papers(directory: Path) -> Path:
    """Write DIR/report.html of a suite; return its path. Raises InputError if DIR has no papers.json."""
    try:
        suite = json.loads((directory / "papers.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{directory}: no suite here ({error}); 'lsmlab papers --out {directory}' writes one"
        ) from None
    return papers_page(suite).write(directory / PAGE)


def papers_page(suite: Mapping[str, Any]) -> Page:
    """Return the page of a suite."""
    parts: list[Part] = [Tiles(_tiles(suite["claims"])), Story(_story(suite["claims"]))]
    of_paper = {paper["name"]: [c for c in suite["claims"] if c["paper"] == paper["name"]] for paper in suite["papers"]}
    parts += [_five_lines(paper, of_paper[paper["name"]]) for paper in suite["papers"]]
    for paper in suite["papers"]:
        claims = of_paper[paper["name"]]
        parts += [effects(paper["name"], claims), _table(paper, claims, suite["released"])]
    parts += [*_released(suite["released"]), _settings(suite["settings"])]
    papers = ", ".join(of_paper)
    subtitle = f"{len(suite['claims'])} claims ({papers}), {numbers.plural(suite['seeds'], 'simulated run')} of each setting"
    return Page("The papers' results, simulated", subtitle, parts, "Written by lsmlab papers")


def _tiles(claims: Claims) -> list[Tile]:
    """Numbers first: a claim of a direction or in words is easier to meet."""
    tiles = []
    for kind in KINDS:
        verdicts = [c["verdict"] for c in claims if c["kind"] == kind]
        if verdicts:
            others = ", ".join(f"{n} {v}" for v in VERDICT_COLORS if v != REPRODUCED and (n := verdicts.count(v)))
            label = {"number": "published numbers", "direction": "directions", "word": "statements in words"}[kind]
            value = f"{verdicts.count(REPRODUCED)} of {len(verdicts)}"
            tiles.append(Tile(label, value, f"reproduced; {others}" if others else "reproduced"))
    return tiles


def _story(claims: Claims) -> list[str]:
    sentences = [
        "Reproduced: the simulated value is inside the accepted range. Direction only: the effect has the published "
        "sign, but its size is outside the range. No constant is tuned to a figure: each platform has one parameter "
        "set, taken from the numbers of the baseline."
    ]
    if failed := [c["id"] for c in claims if c["verdict"] == "failed"]:
        sentences.append(f"Failed: {', '.join(failed)}.")
    return sentences


def _five_lines(paper: Mapping[str, Any], claims: Claims) -> Part:
    """The results for which a paper is read, with the reason of each."""
    by_id = {claim["id"]: claim for claim in claims}
    rows = [
        [
            Html(f"<b>{html.escape(c['setting'])}</b><br><small>{html.escape(c['mechanism'])}</small>"),
            figure_text(c["published"]), figure_text(c["simulated"]), _verdict(c),
        ]
        for c in (by_id[id_] for id_ in paper["headlines"] if id_ in by_id)
    ]  # fmt: skip
    table = Table(("result, and why", "paper", "simulation", "verdict"), rows, texts=(0, 1, 3), named=False)
    return Section(f"headlines-{paper['name']}", f"{paper['name']} in five lines", [table] if rows else [], paper["citation"])


def _verdict(claim: Mapping[str, Any]) -> Html:
    color = VERDICT_COLORS[claim["verdict"]]
    return Html(f'<span class="key" style="background:{color}"></span>{claim["kind"]}: {html.escape(claim["verdict"])}')


def _table(paper: Mapping[str, Any], claims: Claims, released_runs: Sequence[Mapping[str, Any]]) -> Part:
    head = "".join(f"<th>{text}</th>" for text in ("claim", "verdict", "simulation", "paper", "released code"))
    rows = "".join(_row(claim, released_runs) for claim in claims)
    table = Html(f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>')
    return Section(f"claims-{paper['name']}", f"{paper['name']}: claim by claim", [table])


def _row(claim: Mapping[str, Any], released_runs: Sequence[Mapping[str, Any]]) -> str:
    code = "; ".join(
        f"{figure_text(r['recorded'])} ({r['figure']}, {r['setting']})"
        for r in released_runs
        if any(fnmatchcase(claim["id"], pattern) for pattern in r["claims"])
    )
    low, high = claim["accepted"]
    ends = [figure_text(low) if low is not None else "any", figure_text(high) if high is not None else "any"]
    paper = f"<b>{html.escape(figure_text(claim['published']))}</b><br><small>accepted {ends[0]} to {ends[1]}</small>"
    simulation = f"<b>{html.escape(figure_text(claim['simulated']))}</b>"
    if claim["low"] is not None and claim["high"] is not None:
        simulation += f"<br><small>{figure_text(claim['low'])} to {figure_text(claim['high'])}</small>"
    remarks = sentences(claim["mechanism"], claim["note"], claim["error"])
    return (
        f'<tr><td style="min-width:min(420px,44vw)"><b>{html.escape(short_id(claim["id"], claim["paper"]))}</b><br>'
        f'{html.escape(claim["setting"])}'
        f'<br><small>{html.escape(remarks)}</small></td><td>{_verdict(claim)}</td>'
        f'<td style="white-space:nowrap">{simulation}</td><td>{paper}</td>'
        f"<td><small>{html.escape(code)}</small></td></tr>"
    )


def _released(released_runs: Sequence[Mapping[str, Any]]) -> list[Part]:
    if not released_runs:
        return []
    rows = [(r["setting"], r["figure"], figure_text(r["recorded"]), figure_text(r["simulated"])) for r in released_runs]
    head = ("recorded setting", "figure", "released code", "its simulation")
    caption = (
        "Recorded runs of the authors' code on a throttled disk, minutes instead of hours, and simulations of that "
        "code in the same setting. These numbers differ from those above if the code differs from the paper's rules."
    )
    return [Section("released", "The released code and its model", [Table(head, rows, texts=[1])], caption)]


def _settings(settings: Sequence[Mapping[str, Any]]) -> Part:
    rows = [
        (
            f"{s['paper']} {s['name']}", Html(f"<code>lsmlab run {html.escape(' '.join(s['overrides']))}</code>"),
            f"{s['wall_s']:.0f} s",
        )
        for s in settings
    ]  # fmt: skip
    summary = f"{len(settings)} settings, with the wall time of all runs of each"
    return Section("settings", "Settings", [folded(summary, Table([], rows, texts=[1]))])
