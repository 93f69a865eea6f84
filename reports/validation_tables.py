"""Tables on the page of a scorecard: metrics and targets, cases, sets, trends, replays, theory."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from lsmlab.reports.figures.validation import SET_NAMES
from lsmlab.reports.parts import html_section
from lsmlab.validation.scorecard.metrics import KINDS, METRICS, error_text

TITLES: Final = {m.name: m.title for m in METRICS}
"""Title by name of a metric."""


def targets_table(card: Mapping[str, Any]) -> str:
    """Return the table of all metrics with their targets, over all cases of the score."""
    if not card["metrics"]:
        return ""
    rows = []
    for name, total in card["metrics"].items():
        target = "" if total["target"] is None else (
            f"{total['target']:g} x repeats" if total["unit"] == "distance" else error_in(total["target"], total)
        )  # fmt: skip
        at_worst = "" if total["target_worst"] is None else error_in(total["target_worst"], total)
        cells = [
            _median(total), _goal(target, total["meets_target"]), error_in(total["p90"], total),
            error_in(total["worst"], total), _goal(at_worst, total["meets_worst"]),
            error_in(total["bias"], total, signed=True), error_in(total["noise"], total),
            _share(total["within_noise"]), _share(total["coverage"]), str(total["values"]),
        ]  # fmt: skip
        rows.append((TITLES.get(name, name), cells))
    head = ("median", "target", "P90", "worst", "target", "bias", "noise", "in noise", "in 90 %", "n")
    caption = (
        "Absolute errors over cases; pt: percentage points, b: buckets of RocksDB's own histogram, x: ratio. Noise: "
        "range between repeats of the real run, median over the cases with repeats. In noise: share of values within "
        "twice the noise. In 90 %: share of values inside the interval. Calibration runs are not in this table; the "
        "worst cases are below."
    )
    return _table("targets", "Metrics and targets", caption, head, rows)


def case_table(card: Mapping[str, Any], order: Mapping[str, float]) -> str:
    """Return the table of all cases with their signed errors, the largest value of `order` (worst case) first."""
    names = ("ops_per_s", "write_amplification", "stall_fraction", "device_bytes_written", "write_latency_s.p99",
             "write_latency_s.p999", "write_latency_s.max", "throughput.ks")  # fmt: skip
    by_case: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in card["cases"]:
        by_case.setdefault(row["name"], {})[row["metric"]] = row
    kinds = {m.name: m.kind for m in METRICS}
    rows = []
    for case in sorted(by_case, key=lambda c: -order.get(c, 0.0)):
        by_metric = by_case[case]
        cells = [error_text(by_metric[n]["error"], kinds[n], signed=True) if n in by_metric else "" for n in names]
        rows.append((case, [SET_NAMES.get(next(iter(by_metric.values()))["set"], ""), *cells]))
    head = ("set", *(TITLES[n] for n in names))
    return _table(
        "cases",
        "Every case, worst first",
        "Signed errors: + means that the simulation is above the real run.",
        head,
        rows,
    )


def set_tables(card: Mapping[str, Any]) -> str:
    """Return one table per set, with medians, worst cases and bias."""
    parts = []
    for name, label in SET_NAMES.items():
        totals = card["sets"].get(name)
        if totals:
            rows = [
                (
                    TITLES.get(key, key),
                    [*(error_in(t[k], t) for k in ("median", "p90", "worst")),
                     error_in(t["bias"], t, signed=True), str(t["values"])],
                )
                for key, t in totals.items()
            ]  # fmt: skip
            parts.append(
                _table(f"set-{name}", f"By set: {label}", "", ("median", "P90", "worst", "bias", "values"), rows)
            )
    return "".join(parts)


def trends_table(card: Mapping[str, Any]) -> str:
    """Return the table of trends: pairs of cases in which simulation and real run change in the same direction."""
    trends = card.get("trends")
    if not trends:
        return ""
    rows = [
        (
            TITLES.get(name, name),
            [str(e["right"]), str(e["total"]), "; ".join(f"{w['first']} to {w['second']}" for w in e["wrong"][:4])],
        )
        for name, e in trends.items()
    ]
    caption = (
        "Pairs of cases that differ in one key and whose real values differ by more than 5 % (5 points for shares)."
    )
    return _table(
        "trends", "Effects of changes", caption, ("same direction", "pairs", "other direction, for example"), rows
    )


def replay_table(card: Mapping[str, Any]) -> str:
    """Return the table of exact replays: decisions that equal RocksDB's, by kind."""
    replays = card["sets"].get("replay")
    if not replays:
        return ""
    rows = [
        (name, [f"{e['matched']:,}", f"{e['total']:,}", f"{100 * e['share']:.2f} %"])
        for name, e in replays.items()
        if e["total"]
    ]
    caption = "The policies get the real sequence of events; the table counts the decisions that equal RocksDB's."
    return _table("replay", "Exact replays", caption, ("same decision", "decisions", "share"), rows)


def theory_table(card: Mapping[str, Any]) -> str:
    """Return the table of theory checks: simulated values and their closed forms."""
    checks = card["sets"].get("theory")
    if not checks:
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
        for name, e in checks.items()
    ]
    return _table("theory", "Theory checks", "", ("theory", "simulator", "tolerance", "", "source"), rows)


def _goal(target: str, met: bool | None) -> str:
    return target if met is None else f"{target}, {'met' if met else 'missed'}"


def _median(total: Mapping[str, Any]) -> str:
    return f"{100 * total['bias']:.0f} % wrong" if total["unit"] == "wrong" else error_in(total["median"], total)


def error_in(value: float | None, total: Mapping[str, Any], *, signed: bool = False) -> str:
    """Format a value of a metric's total in the unit of the metric."""
    return error_text(value, KINDS[total["unit"]], signed=signed)


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _table(place: str, title: str, caption: str, head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    top = "".join(f"<th>{html.escape(text)}</th>" for text in head)
    lines = "".join(
        f'<tr><th style="min-width:10rem">{html.escape(name)}</th>'
        + "".join(f'<td class="number">{_marked(cell)}</td>' for cell in cells)
        + "</tr>"
        for name, cells in rows
    )
    table = (
        f'<div class="scroll"><table class="compare" style="font-size:.8rem"><thead><tr><td></td>{top}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )
    return html_section(place, title, table, caption)


def _marked(cell: str) -> str:
    text = html.escape(cell)
    return f"<b>{text}</b>" if cell.endswith("missed") else text
