"""Answer to a what-if as text for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any, Final

from lsmlab.sim.decisions.metrics import METRICS, Metric
from lsmlab.sim.decisions.reproduction import CHECKED

_WIDTH: Final = 120
_METRICS: Final[Mapping[str, Metric]] = {m.name: m for m in (*CHECKED, *METRICS)}
_DOUBLE: Final = 1.0
"""Relative change from which on a factor reads better than a percentage."""
_HUGE: Final = 999.0
"""Relative change from which on a factor is a whole number."""
_MAIN: Final = ("ops_per_s", "write_latency_s.p99", "stall_fraction", "write_amplification", "device.write_bytes_per_s")


def answer_text(answer: Mapping[str, Any]) -> str:
    """Return the present state, its check against the LOG, and the differences of each alternative."""
    seeds = len(answer["seeds"])
    lines = [f"What if: {answer['subject']} ({seeds} seed{'s' if seeds > 1 else ''} each, 90 % intervals)", ""]
    values = answer["present"]["values"]
    shown = [f"{_METRICS[n].label} {_METRICS[n].form(values[n])}" for n in _MAIN if n in values]
    lines += _wrapped("present state   ", "; ".join(shown))
    if answer["reproduction"]:
        lines += _reproduction(answer["reproduction"])
    for alternative in answer["alternatives"]:
        lines += ["", *_alternative(alternative)]
    return "\n".join(lines) + "\n"


def _reproduction(found: Mapping[str, Any]) -> list[str]:
    texts = []
    for check in found["checks"]:
        metric = _METRICS[check["metric"]]
        error = f"{100 * check['error']:+.1f} points" if metric.share else f"{check['error']:+.1%}"
        texts.append(f"{metric.label} {metric.form(check['recorded'])} (simulated {error})")
    lines = _wrapped("in the LOG      ", "; ".join(texts))
    return lines + (_wrapped("warning: ", found["warning"]) if found["warning"] else [])


def _alternative(found: Mapping[str, Any]) -> list[str]:
    lines = [found["name"], *(line for text in found["changes"] for line in _wrapped("  ", text))]
    if found["kept"]:
        lines += _wrapped("  ", f"({'; '.join(found['kept'])})")
    rows = [_row(d) for d in found["differences"] if d["certain"]]
    widths = [max(len(row[i]) for row in rows) for i in range(4)] if rows else []
    lines += ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    unclear = [f"{_METRICS[d['metric']].label} {_row(d)[2]}" for d in found["differences"] if not (d["certain"] or d["tie"])]
    ties = [_METRICS[d["metric"]].label for d in found["differences"] if d["tie"]]
    if unclear:
        lines += _wrapped("  within the error: ", ", ".join(unclear))
    if ties and (rows or unclear):
        lines += _wrapped("  exactly the same with every seed: ", ", ".join(ties))
    elif ties:
        lines.append("  exactly the same results as the present state with every seed")
    return lines


def _row(found: Mapping[str, Any]) -> tuple[str, str, str, str]:
    metric = _METRICS[found["metric"]]
    values = f"{metric.form(found['present'])} -> {metric.form(found['alternative'])}"
    between = f"({interval_text(found)})" if found["low"] is not None else ""
    return metric.label, values, change_text(found), between


def change_text(found: Mapping[str, Any]) -> str:
    """Return a change with its sign: a percentage, a factor, points of a share, or a value with its unit."""
    return _change(found, float(found["change"]))


def interval_text(found: Mapping[str, Any]) -> str:
    """Return the ends of a change's interval in the form of the change."""
    return f"{_change(found, float(found['low']))} to {_change(found, float(found['high']))}"


def _change(found: Mapping[str, Any], value: float) -> str:
    metric = _METRICS[found["metric"]]
    if metric.share:
        return f"{100 * value:+.1f} points"
    if not found["relative"]:
        return f"{'+' if value >= 0 else '-'}{metric.form(abs(value))}"
    if max(found["change"], found["high"] or 0.0) >= _DOUBLE:
        return f"x{1 + value:,.0f}" if value >= _HUGE else f"x{1 + value:.3g}"
    return f"{value:+.1%}"


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(
        f"{head}{text}", _WIDTH, subsequent_indent=" " * len(head), break_on_hyphens=False, break_long_words=False
    )
