"""Page of a scorecard: targets, missed targets with suspected causes, curves of real and simulated runs."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports import numbers
from lsmlab.reports.figures.validation import overlaid_curve, scatter
from lsmlab.reports.page import Page
from lsmlab.reports.parts import Html, Part, Section, Story, Table, Tile, Tiles, paragraph
from lsmlab.reports.run_data import PAGE
from lsmlab.validation.scorecard.card import SET_TITLES
from lsmlab.validation.scorecard.metrics import METRICS, error_text
from lsmlab.validation.scorecard.tables import (
    MISSED,
    TITLES,
    ScoreTable,
    cases_section,
    error_in,
    largest_errors,
    left_out,
    sections,
    sets_of_cases,
    share_text,
    target_table,
    worst_first,
)
from lsmlab.validation.scorecard.tables import Section as ScoreSection

_CURVES: Final = 40
"""Largest number of cases whose curves are drawn, the worst cases first."""


def draw_validation(directory: Path) -> Path:
    """Write DIR/report.html of a scorecard; return its path. Raises InputError if DIR has no scorecard."""
    try:
        card = json.loads((directory / "scorecard.json").read_text(encoding="utf-8"))
        curves = json.loads((directory / "curves.json").read_text(encoding="utf-8"))["curves"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{directory}: no scorecard here ({error}); 'lsmlab validate --out {directory}' writes one"
        ) from None
    return validation_page(card, curves).write(directory / PAGE)


def validation_page(card: Mapping[str, Any], curves: Sequence[Mapping[str, Any]]) -> Page:
    """Return the page of a scorecard and the curves of its cases."""
    order = {row["name"]: excess for excess, row in worst_first(card["cases"])}
    drawn = sorted((c for c in curves if c["real"]), key=lambda c: -order.get(c["name"], 0.0))
    cases = cases_section("Every case, worst first", sorted(card["cases"], key=lambda row: -order.get(row["name"], 0.0)))
    parts: list[Part] = [Tiles(_tiles(card)), Story(_story(card))]
    if card["metrics"]:
        parts.append(Section("targets", "Metrics and targets", [_table(target_table(card["metrics"]))]))
    parts += _missed(card)
    if card["cases"]:
        parts.append(scatter(card["cases"]))
    parts += [_section(cases), *_curve_intro(drawn)]
    parts += [overlaid_curve(i, curve, _caption(curve, card["cases"])) for i, curve in enumerate(drawn[:_CURVES])]
    parts += [*(_section(found) for found in sections(card) if found.place != "cases"), *_left_out(card)]
    return Page("LSMLab compared with real RocksDB", _subtitle(card), parts, f"{card['seeds']} simulated runs per case")


def _section(found: ScoreSection) -> Part:
    return Section(found.place, found.title, [_table(table) for table in found.tables], found.about.replace("`", ""))


def _table(table: ScoreTable) -> Part:
    rows = [
        [Html(f"<b>{html.escape(cell)}</b>") if cell.endswith(MISSED) else cell for cell in row] for row in table.rows
    ]
    return Table(table.head, rows, table.texts)


def _subtitle(card: Mapping[str, Any]) -> str:
    counts = [f"{SET_TITLES[name]}: {numbers.plural(count, 'case')}" for name, count in sets_of_cases(card).items() if count]
    return "; ".join(counts) or "no case was scored"


def _tiles(card: Mapping[str, Any]) -> list[Tile]:
    tiles = []
    for name, label in (("ops_per_s", "throughput, median error"), ("write_amplification", "W-Amp, median error"),
                        ("stall_fraction", "stall fraction, median error")):  # fmt: skip
        if name in card["metrics"]:
            total = card["metrics"][name]
            worst = f"worst {error_in(total['worst'], total)}, {total['cases']} cases"
            tiles.append(Tile(label, error_in(total["median"], total), worst))
    coverage = card["coverage"]
    if coverage:
        tiles.append(Tile("inside the 90 % interval", share_text(coverage["share"]), f"of {coverage['values']} real values"))
    goals = [t[key] for t in card["metrics"].values() for key in ("meets_target", "meets_worst") if t[key] is not None]
    if goals:
        tiles.append(Tile("targets met", f"{sum(goals)} of {len(goals)}", "medians and worst cases"))
    return tiles


def _story(card: Mapping[str, Any]) -> list[str]:
    sentences = []
    metrics = card["metrics"]
    for key, words in (("meets_target", "Medians miss"), ("meets_worst", "Worst cases miss")):
        missed = [m["title"] for m in card["missed"] if metrics.get(m["metric"], {}).get(key) is False]
        if missed:
            sentences.append(f"{words} their targets: {', '.join(missed)}.")
    if metrics and not sentences:
        sentences.append("Every target is met.")
    elif not metrics:
        sentences.append("No case counts for the score; the page has only calibration runs, other engines, failures.")
    if card["failed"]:
        sentences.append(f"{len(card['failed'])} cases failed and are not in the score; the reasons are at the end.")
    sentences.append(
        "An error is the mean of the simulated runs (the median for latencies) against the measured value."
    )
    return sentences


def _missed(card: Mapping[str, Any]) -> list[Part]:
    parts = []
    for miss in card["missed"]:
        words = "".join(
            f"<p>{html.escape(', '.join([*f['cases'], '']))}<b>Suspected:</b> {html.escape(f['mechanism'])} "
            f"<b>Deciding experiment:</b> {html.escape(f['experiment'])}</p>"
            for f in miss["findings"]
        ) or "<p>validation/scorecard/findings.yaml has no explanation yet.</p>"  # fmt: skip
        parts.append(f"<h3>{html.escape(miss['title'])}</h3><p>{html.escape(largest_errors(miss))}</p>{words}")
    title = "Missed targets: cases, suspected mechanisms, deciding experiments"
    return [Section("missed", title, [Html("".join(parts))])] if parts else []


def _curve_intro(drawn: Sequence[Any]) -> list[Part]:
    if not drawn:
        return []
    more = f" The page shows the {_CURVES} worst of {len(drawn)} cases." if len(drawn) > _CURVES else ""
    caption = (
        "Operations per second of the real runs (orange) and of three simulated runs (blue); pale: further repeats or "
        f"seeds.{more}"
    )
    return [Section("curves", "Curves, worst cases first", [], caption)]


def _caption(curve: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> str:
    by_metric = {r["metric"]: r for r in rows if r["name"] == curve["name"]}
    kinds = {m.name: m.kind for m in METRICS}
    parts = [
        f"{TITLES[n]} {error_text(by_metric[n]['error'], kinds[n], signed=True)}"
        for n in ("ops_per_s", "write_amplification", "stall_fraction", "throughput.ks")
        if n in by_metric
    ]
    origin = "; ".join(text for text in (SET_TITLES[curve["set"]], curve["source"]) if text)
    return " ".join(f"{text}." for text in (origin, "; ".join(parts), *curve["notes"]) if text)


def _left_out(card: Mapping[str, Any]) -> list[Part]:
    lines = left_out(card)
    return [Section("left-out", "Left out", list(map(paragraph, lines)))] if lines else []
