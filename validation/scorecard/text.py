"""Formats the scorecard for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from lsmlab.sim.results.comparison_text import in_columns
from lsmlab.validation.scorecard.card import SCORED, SET_TITLES, Scorecard, engine_rows, replay_shares
from lsmlab.validation.scorecard.metrics import COVERAGE, DISTANCE, WRONG, ScoredMetric, error_text
from lsmlab.validation.scorecard.score import ScoreRow, Total, coverage, totals
from lsmlab.validation.scorecard.trends import trend_shares

_WIDTH = 120
_WORST = 8
"""Number of cases in the list of the worst cases."""


def target_text(total: Total) -> str:
    """Return the targets of a metric and whether they are met, such as "<= 3.0 % met, worst <= 10.0 % MISSED"."""
    metric = total.metric
    parts = []
    if goal := median_goal(metric):
        parts.append(f"<= {goal} {_met(total.meets_target)}")
    if metric.worst is not None:
        parts.append(f"worst <= {error_text(metric.worst, metric.kind)} {_met(total.meets_worst)}")
    return ", ".join(parts)


def median_goal(metric: ScoredMetric) -> str:
    """Return the target of a metric's median, such as "3.0 %", or an empty text."""
    if metric.target is None:
        return ""
    return f"{metric.target:g} x repeats" if metric.kind is DISTANCE else error_text(metric.target, metric.kind)


def _met(value: bool | None) -> str:
    return "unknown" if value is None else "met" if value else "MISSED"


def card_text(card: Scorecard) -> str:
    """Return the text that `lsmlab validate` prints."""
    lines = [_title(card), ""]
    scored = card.scored
    if scored:
        lines += [*table(scored.values()), *_coverage_lines(card.of(*SCORED)), ""]
        lines += _legend()
        lines += ["", *_worst(card)]
    for name in card.sets:
        if name not in SCORED or len([s for s in card.sets if s in SCORED]) > 1:
            lines += [
                "",
                f"{SET_TITLES[name]}: {_cases(card.of(name))}",
                *table(totals(card.of(name)).values(), short=True),
            ]
    lines += _engine_lines(card)
    lines += [*_trend_lines(card), *_replay_lines(card), *_theory_lines(card)]
    lines += ["", *(_wrapped(f"left out: {text}") for text in card.skipped)] if card.skipped else []
    if card.failures:
        lines += ["", f"FAILED ({len(card.failures)}):", *(_wrapped(f"  {name}: {why}") for name, why in card.failures)]
    return "\n".join(lines) + "\n"


def _engine_lines(card: Scorecard) -> list[str]:
    return [
        f"  {r.case:<26} {r.metric:<24} real {r.real:>8}  simulated {r.simulated:>8}  "
        f"{r.error:>9}{'' if r.met else '  MISSED'}"
        for r in engine_rows(card)
    ]


def _title(card: Scorecard) -> str:
    parts = [f"{_cases(card.of(name))} of {SET_TITLES[name]}" for name in card.sets]
    cases = ", ".join(parts) if parts else "no case was scored"
    return f"LSMLab compared with real RocksDB: {cases}; {card.seeds} simulated runs per case"


def _cases(rows: Iterable[ScoreRow]) -> str:
    count = len({row.case for row in rows})
    return f"{count} case{'' if count == 1 else 's'}"


def table(found: Iterable[Total], *, short: bool = False) -> list[str]:
    """Return totals as the lines of a table with a header; `short` leaves out metrics without a target."""
    rows = [["metric", "median", "P90", "worst", "bias", "noise", "in noise", "in 90 %", "n", "target"]]
    for total in found:
        metric = total.metric
        if short and metric.target is None:
            continue
        kind = metric.kind
        shown = [error_text(v, kind) for v in (total.median, total.p90, total.worst)]
        if kind is WRONG:
            shown = [f"{100 * total.bias:.0f} % wrong", "", ""]
        rows.append([
            metric.title, *shown, "" if kind in (WRONG, DISTANCE) else error_text(total.bias, kind, signed=True),
            error_text(total.noise, kind), _share(total.within_noise), _share(total.coverage), str(total.values),
            target_text(total),
        ])  # fmt: skip
    return [f"  {line}" for line in in_columns(rows, left=(0, len(rows[0]) - 1))]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _coverage_lines(rows: Sequence[ScoreRow]) -> list[str]:
    held = coverage(rows)
    if held is None:
        return []
    share, values = held
    low, high = COVERAGE
    met = "met" if low <= share <= high else "MISSED"
    return [
        f"  90 % intervals contain {100 * share:.0f} % of {values} real values; "
        f"target {100 * low:.0f} to {100 * high:.0f} %: {met}"
    ]


def _legend() -> list[str]:
    return [
        _wrapped(
            "  Errors are absolute values of simulated against real numbers; bias keeps the sign. pt: percentage "
            "points; b: buckets of RocksDB's histogram (each bound is 1.5 times the one before); x: ratio. noise: "
            "range between repeats of the real run; in noise: share of values with an error of at most twice the "
            "noise; in 90 %: share of real values inside the predicted interval; n: scored values."
        )
    ]


def _worst(card: Scorecard) -> list[str]:
    """Return the list of the worst cases, by their largest error relative to the target for the worst case."""
    lines = ["worst cases (first column: error / target for the worst case):"]
    for case, row, excess in worst_cases(card)[:_WORST]:
        error = error_text(row.error, row.scored_by.kind, signed=True)
        lines.append(f"  {excess:5.1f}  {case:<34} {row.metric:<24} {error:>9}  "
                     f"real {_number(row.real)}, simulated {_number(row.simulated)}")  # fmt: skip
    return lines if len(lines) > 1 else []


def worst_cases(card: Scorecard) -> list[tuple[str, ScoreRow, float]]:
    """Return (case, its worst row, error / target for the worst case), worst first."""
    found: dict[str, tuple[ScoreRow, float]] = {}
    for row in card.of(*SCORED):
        if not row.scored_by.worst:
            continue
        excess = abs(row.error) / row.scored_by.worst
        if row.case not in found or excess > found[row.case][1]:
            found[row.case] = (row, excess)
    return sorted(((case, row, excess) for case, (row, excess) in found.items()), key=lambda item: -item[2])


def _number(value: float | str | None) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _trend_lines(card: Scorecard) -> list[str]:
    shares = trend_shares(card.trends)
    if not shares:
        return []
    parts = [f"{name} {entry['right']} of {entry['total']}" for name, entry in shares.items()]
    return [
        "",
        _wrapped(
            "pairs with one changed key and a real change above 5 % or 5 points; pairs with a simulated change in "
            f"the same direction: {', '.join(parts)}"
        ),
    ]


def _replay_lines(card: Scorecard) -> list[str]:
    if not card.replays:
        return []
    names = sorted({check.recording for check in card.replays})
    lines = ["", f"exact replays of {len(names)} recordings: decisions of the policies that are the same as RocksDB's"]
    for name, entry in replay_shares(card.replays).items():
        if entry["total"]:
            lines.append(f"  {name:<44} {entry['matched']:>7,} of {entry['total']:>7,}  {100 * entry['share']:.2f} %")
    return lines


def _theory_lines(card: Scorecard) -> list[str]:
    if not card.theory:
        return []
    held = sum(check.holds for check in card.theory)
    lines = ["", f"theory checks: {held} of {len(card.theory)} hold"]
    for check in card.theory:
        mark = "" if check.holds else "  MISSED"
        lines.append(
            f"  {check.name:<66} theory {check.expected:<10.5g} simulator {check.found:<10.5g} tolerance "
            f"{check.tolerance:.1%}{mark}"
        )
    return lines


def _wrapped(text: str) -> str:
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
