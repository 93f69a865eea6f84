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
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.papers import VERDICT_COLORS, effects, short_id
from lsmlab.reports.page import assemble, paragraphs, section, write_page
from lsmlab.reports.parts import Html, html_section, html_table
from lsmlab.validation.papers.text import figure_text, sentences

Claims = Sequence[Mapping[str, Any]]


def draw_papers(directory: Path) -> Path:
    """Write DIR/report.html of a suite; return its path. Raises InputError if DIR has no papers.json."""
    try:
        suite = json.loads((directory / "papers.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{directory}: no suite here ({error}); 'lsmlab papers --out {directory}' writes one"
        ) from None
    return write_page(directory / "report.html", papers_page(suite))


def papers_page(suite: Mapping[str, Any]) -> str:
    """Return the HTML page of a suite."""
    figures: list[Figure] = []
    parts = [_headline(suite["claims"]), paragraphs(_story(suite["claims"]))]
    for paper in suite["papers"]:
        claims = [c for c in suite["claims"] if c["paper"] == paper["name"]]
        figure = effects(paper["name"], claims)
        figures.append(figure)
        parts.append(section(figure))
        parts.append(_table(paper, claims, suite["released"]))
    parts += [_released(suite["released"]), _settings(suite["settings"])]
    papers = ", ".join(p["name"] for p in suite["papers"])
    subtitle = f"{len(suite['claims'])} claims ({papers}), {numbers.plural(suite['seeds'], 'simulated run')} of each setting"
    footer = "Written by lsmlab papers. This file needs no network."
    return assemble("The papers' results, simulated", subtitle, "".join(parts), figures, footer)


def _headline(claims: Claims) -> str:
    facts = []
    for verdict, color in VERDICT_COLORS.items():
        count = sum(c["verdict"] == verdict for c in claims)
        if count or verdict != "failed":
            facts.append(
                f'<div class="fact"><span class="label"><span class="key" style="background:{color}"></span>{verdict}</span>'
                f'<b>{count}</b><span class="note">of {len(claims)} claims</span></div>'
            )
    return f'<div class="headline">{"".join(facts)}</div>'


def _story(claims: Claims) -> list[str]:
    sentences = [
        "Reproduced: the simulated value is inside the accepted range. Direction only: the effect has the published "
        "sign, but its size is outside the range. No constant is tuned to a figure: each platform has one parameter "
        "set, taken from the numbers of the baseline."
    ]
    for verdict in ("direction only", "not reproduced", "failed"):
        names = [c["id"] for c in claims if c["verdict"] == verdict]
        if names:
            sentences.append(f"{verdict.capitalize()}: {', '.join(names)}.")
    return sentences


def _table(paper: Mapping[str, Any], claims: Claims, released_runs: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f"<th>{text}</th>" for text in ("claim", "verdict", "simulation", "paper", "released code"))
    rows = "".join(_row(claim, released_runs) for claim in claims)
    return (
        f'<section id="claims-{html.escape(paper["name"])}"><h2>{html.escape(paper["name"])}: claim by claim</h2>'
        f'<p class="caption">{html.escape(paper["citation"])}</p>'
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>'
    )


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
    color = VERDICT_COLORS[claim["verdict"]]
    verdict = f'<span class="key" style="background:{color}"></span>{html.escape(claim["verdict"])}'
    remarks = sentences(claim["mechanism"], claim["note"], claim["error"])
    return (
        f'<tr><td style="min-width:min(420px,44vw)"><b>{html.escape(short_id(claim["id"], claim["paper"]))}</b><br>'
        f'{html.escape(claim["setting"])}'
        f'<br><small>{html.escape(remarks)}</small></td><td style="white-space:nowrap">{verdict}</td>'
        f'<td style="white-space:nowrap">{simulation}</td><td>{paper}</td>'
        f"<td><small>{html.escape(code)}</small></td></tr>"
    )


def _released(released_runs: Sequence[Mapping[str, Any]]) -> str:
    if not released_runs:
        return ""
    rows = [(r["setting"], r["figure"], figure_text(r["recorded"]), figure_text(r["simulated"])) for r in released_runs]
    head = ("recorded setting", "figure", "released code", "its simulation")
    caption = (
        "Recorded runs of the authors' code on a throttled disk, minutes instead of hours, and simulations of that "
        "code in the same setting. These numbers differ from those above if the code differs from the paper's rules."
    )
    return html_section("released", "The released code and its model", html_table(head, rows, texts=[1]), caption)


def _settings(settings: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (
            f"{s['paper']} {s['name']}", Html(f"<code>lsmlab run {html.escape(' '.join(s['overrides']))}</code>"),
            f"{s['wall_s']:.0f} s",
        )
        for s in settings
    ]  # fmt: skip
    summary = f"{len(settings)} settings, with the wall time of all runs of each"
    table = html_table([], rows, texts=[1])
    return html_section("settings", "Settings", f"<details><summary>{summary}</summary>{table}</details>")
