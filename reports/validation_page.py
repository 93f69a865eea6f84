"""The page of a scorecard: targets, misses and their suspected reasons, curves of real and simulated runs."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.validation import SET_NAMES, overlaid_curve, scatter
from lsmlab.reports.page import assemble, paragraphs, section, write_page
from lsmlab.validation.scorecard.metrics import KINDS, METRICS
from lsmlab.validation.scorecard.text import error_text

_CURVES: Final = 40
"""Cases whose curves are drawn, the worst first."""
_TITLES: Final = {m.name: m.title for m in METRICS}


def finish_validation(directory: Path) -> Path:
    """Write DIR/report.html of a scorecard; returns its path. Raises InputError if the scorecard is not there."""
    try:
        card = json.loads((directory / "scorecard.json").read_text(encoding="utf-8"))
        curves = json.loads((directory / "curves.json").read_text(encoding="utf-8"))["curves"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{directory}: no scorecard here ({error}); 'lsmlab validate --out {directory}' makes one"
        ) from None
    return write_page(directory / "report.html", validation_page(card, curves))


def validation_page(card: Mapping[str, Any], curves: Sequence[Mapping[str, Any]]) -> str:
    """HTML page of a scorecard and the curves of its cases."""
    order = worst_first(card["cases"])
    drawn = sorted((c for c in curves if c["real"]), key=lambda c: -order.get(c["name"], 0.0))
    figures = [scatter(card["cases"])] if card["cases"] else []
    overlaid = [overlaid_curve(i, curve, _caption(curve, card["cases"])) for i, curve in enumerate(drawn[:_CURVES])]
    end = f"{_trends(card)}{_sets(card)}{_replays(card)}{_theory(card)}{_left_out(card)}"
    body = (
        f"{_headline(card)}{paragraphs(_story(card))}{_targets(card)}{_missed(card)}"
        f"{''.join(section(figure) for figure in figures)}{_case_table(card, order)}"
        f"{_curve_intro(drawn)}{''.join(section(figure) for figure in overlaid)}{end}"
    )
    everything: list[Figure] = [*figures, *overlaid]
    footer = f"{card['seeds']} simulated runs per case. This file is complete: it opens without a network."
    return assemble("LSMLab beside real RocksDB", _subtitle(card), body, everything, footer)


def worst_first(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """By case, its worst error in units of what the metric's worst case may be."""
    found: dict[str, float] = {}
    for row in rows:
        metric = next((m for m in METRICS if m.matches(row["metric"])), None)
        if metric is not None and metric.worst and row["error"] is not None:
            found[row["name"]] = max(found.get(row["name"], 0.0), abs(row["error"]) / metric.worst)
    return found


def _subtitle(card: Mapping[str, Any]) -> str:
    counts = {name: len({r["name"] for r in card["cases"] if r["set"] == name}) for name in SET_NAMES}
    return "; ".join(f"{SET_NAMES[name]}: {n} cases" for name, n in counts.items() if n) or "no case was scored"


def _headline(card: Mapping[str, Any]) -> str:
    facts = []
    for name, label in (("ops_per_s", "throughput, median error"), ("write_amplification", "W-Amp, median error"),
                        ("stall_fraction", "stall fraction, median error")):  # fmt: skip
        if name in card["metrics"]:
            total = card["metrics"][name]
            facts.append(
                (
                    label,
                    _error(total["median"], total),
                    f"worst {_error(total['worst'], total)}, {total['cases']} cases",
                )
            )
    held = card["coverage"]
    if held:
        facts.append(("inside the 90 % interval", f"{100 * held['share']:.0f} %", f"of {held['values']} real values"))
    goals = [t[key] for t in card["metrics"].values() for key in ("meets_target", "meets_worst") if t[key] is not None]
    if goals:
        facts.append(("targets met", f"{sum(goals)} of {len(goals)}", "medians and worst cases"))
    cards = "".join(
        f'<div class="fact"><span class="label">{html.escape(label)}</span><b>{html.escape(value)}</b>'
        f'<span class="note">{html.escape(note)}</span></div>'
        for label, value, note in facts
    )
    return f'<div class="headline">{cards}</div>'


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
        sentences.append("No case counts for the score: what follows are calibration runs, other engines, or what failed.")
    if card["failed"]:
        sentences.append(f"{len(card['failed'])} cases failed and are not in the score; the end of the page says why.")
    sentences.append(
        "Errors are those of the mean of the simulated runs (of the median for latencies) against what was measured."
    )
    return sentences


def _error(value: float | None, total: Mapping[str, Any], *, signed: bool = False) -> str:
    return error_text(value, KINDS[total["unit"]], signed=signed)


def _median(total: Mapping[str, Any]) -> str:
    return f"{100 * total['bias']:.0f} % wrong" if total["unit"] == "wrong" else _error(total["median"], total)


def _goal(target: str, met: bool | None) -> str:
    return target if met is None else f"{target}, {'met' if met else 'missed'}"


def _targets(card: Mapping[str, Any]) -> str:
    if not card["metrics"]:
        return ""
    rows = []
    for name, total in card["metrics"].items():
        target = "" if total["target"] is None else (
            f"{total['target']:g} x repeats" if total["unit"] == "distance" else _error(total["target"], total)
        )  # fmt: skip
        at_worst = "" if total["target_worst"] is None else _error(total["target_worst"], total)
        cells = [
            _median(total), _goal(target, total["meets_target"]), _error(total["p90"], total),
            _error(total["worst"], total), _goal(at_worst, total["meets_worst"]),
            _error(total["bias"], total, signed=True), _error(total["noise"], total),
            _share(total["within_noise"]), _share(total["coverage"]), str(total["values"]),
        ]  # fmt: skip
        rows.append((_TITLES.get(name, name), cells))
    head = ("median", "target", "P90", "worst", "target", "bias", "noise", "in noise", "in 90 %", "n")
    caption = (
        "Absolute errors over cases; pt: percentage points, b: buckets of RocksDB's own histogram, x: ratio. Noise is the "
        "range between repeats of the real run, median over the cases that know it; in noise: within twice that; "
        "in 90 %: inside the interval. Calibration "
        "runs are not in this table; the worst cases stand below."
    )
    return _table("targets", "Metrics and targets", caption, head, rows)


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _table(place: str, title: str, caption: str, head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    top = "".join(f"<th>{html.escape(text)}</th>" for text in head)
    lines = "".join(
        f'<tr><th style="min-width:11rem">{html.escape(name)}</th>'
        + "".join(f'<td class="number">{_marked(cell)}</td>' for cell in cells)
        + "</tr>"
        for name, cells in rows
    )
    return (
        f'<section id="{place}"><h2>{html.escape(title)}</h2><p class="caption">{html.escape(caption)}</p>'
        f'<div class="scroll"><table class="compare" style="font-size:.85rem"><thead><tr><td></td>{top}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div></section>"
    )


def _marked(cell: str) -> str:
    text = html.escape(cell)
    return f"<b>{text}</b>" if cell.endswith("missed") else text


def _missed(card: Mapping[str, Any]) -> str:
    if not card["missed"]:
        return ""
    parts = []
    for miss in card["missed"]:
        kind = KINDS[miss["kind"]]
        cases = ", ".join(
            f"{c['name']} ({c['metric'].removeprefix(miss['metric'])} {error_text(c['error'], kind, signed=True)})".replace(
                "( ", "("
            )
            for c in miss["cases"]
        )
        more = f" and {miss['more']} more" if miss["more"] else ""
        words = "".join(
            f"<p>{html.escape(', '.join([*f['cases'], '']))}<b>Suspected:</b> {html.escape(f['mechanism'])} "
            f"<b>What would decide:</b> {html.escape(f['experiment'])}</p>"
            for f in miss["findings"]
        ) or "<p>No explanation is written down yet (validation/findings.yaml).</p>"  # fmt: skip
        parts.append(f"<h3>{html.escape(miss['title'])}</h3><p>{html.escape(cases + more)}</p>{words}")
    title = "Missed targets: cases, suspected mechanisms, deciding experiments"
    return f'<section id="missed"><h2>{title}</h2>{"".join(parts)}</section>'


def _case_table(card: Mapping[str, Any], order: Mapping[str, float]) -> str:
    names = ("ops_per_s", "write_amplification", "stall_fraction", "device_bytes_written", "write_latency_s.p99",
             "write_latency_s.p999", "write_latency_s.max", "throughput.ks")  # fmt: skip
    by_case: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in card["cases"]:
        by_case.setdefault(row["name"], {})[row["metric"]] = row
    kinds = {m.name: m.kind for m in METRICS}
    rows = []
    for case in sorted(by_case, key=lambda c: -order.get(c, 0.0)):
        mine = by_case[case]
        cells = [error_text(mine[n]["error"], kinds[n], signed=True) if n in mine else "" for n in names]
        rows.append((case, [SET_NAMES.get(next(iter(mine.values()))["set"], ""), *cells]))
    head = ("set", *(_TITLES[n] for n in names))
    return _table(
        "cases",
        "Every case, worst first",
        "Signed errors: + means that the simulation is above the real run.",
        head,
        rows,
    )


def _curve_intro(drawn: Sequence[Any]) -> str:
    if not drawn:
        return ""
    more = f" The {_CURVES} worst of {len(drawn)} cases are drawn." if len(drawn) > _CURVES else ""
    return (
        f'<section id="curves"><h2>Curves, worst cases first</h2><p class="caption">Operations per second: real '
        f"runs (orange) and the first three simulated ones (blue); fainter: further repeats or seeds.{more}</p></section>"
    )


def _caption(curve: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> str:
    mine = {r["metric"]: r for r in rows if r["name"] == curve["name"]}
    kinds = {m.name: m.kind for m in METRICS}
    parts = [
        f"{_TITLES[n]} {error_text(mine[n]['error'], kinds[n], signed=True)}"
        for n in ("ops_per_s", "write_amplification", "stall_fraction", "throughput.ks")
        if n in mine
    ]
    set_name = SET_NAMES.get(curve["set"], curve["set"])
    return (
        f"{set_name}; {curve['source']}. {'; '.join(parts)}." if curve["source"] else f"{set_name}. {'; '.join(parts)}."
    )


def _sets(card: Mapping[str, Any]) -> str:
    parts = []
    for name, label in SET_NAMES.items():
        totals = card["sets"].get(name)
        if totals:
            rows = [
                (_TITLES.get(key, key),
                 [*(_error(t[k], t) for k in ("median", "p90", "worst")), _error(t["bias"], t, signed=True), str(t["values"])])
                for key, t in totals.items()
            ]  # fmt: skip
            parts.append(
                _table(f"set-{name}", f"By set: {label}", "", ("median", "P90", "worst", "bias", "values"), rows)
            )
    return "".join(parts)


def _trends(card: Mapping[str, Any]) -> str:
    found = card.get("trends")
    if not found:
        return ""
    rows = [
        (
            _TITLES.get(name, name),
            [str(e["right"]), str(e["total"]), "; ".join(f"{w['first']} to {w['second']}" for w in e["wrong"][:4])],
        )
        for name, e in found.items()
    ]
    caption = (
        "Pairs of cases that differ in one key and whose real values differ by more than 5 % (5 points for shares)."
    )
    return _table(
        "trends", "What a change does", caption, ("same direction", "pairs", "other direction, for example"), rows
    )


def _examples(pairs: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(f"{p['first']} to {p['second']}" for p in pairs[:4])


def _replays(card: Mapping[str, Any]) -> str:
    found = card["sets"].get("replay")
    if not found:
        return ""
    rows = [
        (name, [f"{e['matched']:,}", f"{e['total']:,}", f"{100 * e['share']:.2f} %"])
        for name, e in found.items()
        if e["total"]
    ]
    caption = "Fed with the real order of events, the policies are asked what RocksDB was asked."
    return _table("replay", "Exact replays", caption, ("the same answer", "asked", "share"), rows)


def _theory(card: Mapping[str, Any]) -> str:
    found = card["sets"].get("theory")
    if not found:
        return ""
    rows = [
        (
            name,
            [
                f"{e['expected']:.5g}",
                f"{e['found']:.5g}",
                f"{e['tolerance']:.1%}",
                "holds" if e["holds"] else "missed",
                e["source"],
            ],
        )
        for name, e in found.items()
    ]
    return _table("theory", "Theory checks", "", ("theory", "simulator", "tolerance", "", "source"), rows)


def _left_out(card: Mapping[str, Any]) -> str:
    lines = [*card["skipped"], *(f"failed: {f['name']}: {f['reason']}" for f in card["failed"])]
    if not lines:
        return ""
    return (
        f'<section id="left-out"><h2>Left out</h2>{"".join(f"<p>{html.escape(text)}</p>" for text in lines)}</section>'
    )
