"""Differences between configurations, in words, as a table and as figures, and the options that bring them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.changes import SHOWN, change_figure
from lsmlab.reports.parts import Html, Part, Section, Table, bullets
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.metrics import BY_NAME, Metric
from lsmlab.sim.studies.written_options import OptionsAdvice

MAIN: Final = ("ops_per_s", "write_latency_s.p999", "read_latency_s.p99", "stall_fraction", "write_amplification")
"""Metrics that a summary names."""
ERROR_UNKNOWN: Final = "the model's error is not known"
_UNIT: Final = re.compile(r"^[-+x]?[\d.,e+/-]*\d")
"""Number at the beginning of a change."""
_DOUBLE: Final = 1.0
"""Relative change from which on a factor reads better than a percentage."""
_SHRUNK: Final = -0.99
"""Relative change from which on a factor reads better, because percentages round to 100."""
_SMALL: Final = 0.01
"""Factor below which it is shown as a fraction."""
_HUGE: Final = 999.0
"""Relative change from which on a factor is a whole number."""


def change_text(found: Difference) -> str:
    """Return a change with its sign: a percentage, a factor, points of a share, or a value with its unit."""
    return _change(found, found.change)


def ends_text(found: Difference) -> str:
    """Return the ends of a change's interval in the form of the change, with their unit once."""
    if found.low is None:
        return ERROR_UNKNOWN
    low, high = _change(found, found.low), _change(found, found.high or 0.0)
    return f"{low.removesuffix(_unit(low))} to {high}" if _unit(low) == _unit(high) else f"{low} to {high}"


def interval_text(found: Difference) -> str:
    """Return the interval of a change in parentheses, for a place behind the change, whose unit it shares."""
    if found.low is None:
        return f"({ERROR_UNKNOWN})"
    return between(change_text(found), _change(found, found.low), _change(found, found.high or 0.0))


def between(value: str, low: str, high: str) -> str:
    """Return an interval in parentheses, for a place behind `value`, whose unit is not repeated.

    >>> between("+29.9 points", "+22.9 points", "+37.0 points"), between("2 ms", "900 us", "3 ms")
    ('(+22.9 to +37.0)', '(900 us to 3 ms)')
    """
    unit = _unit(value)
    if _unit(low) == _unit(high) == unit:
        low, high = low.removesuffix(unit), high.removesuffix(unit)
    return f"({low} to {high})"


def held_text(found: Difference) -> str:
    """Return a warning if the simulated present state does not reproduce the metric in the LOG; "" if it does."""
    if found.held is not False or found.recorded is None:
        return ""
    return f"not reproduced: {BY_NAME[found.metric].form(found.recorded)} in the LOG"


def verdict_text(found: Difference) -> str:
    """Return whether a change exceeds the error, and whether its stores had settled, in words."""
    known = "within the error" if found.error_known else "unknown"
    verdict = "exactly the same" if found.tie else "beyond the error" if found.certain else known
    words = ", ".join(filter(None, (verdict, "" if found.settled else "not settled")))
    return "; ".join(filter(None, (words, held_text(found))))


def change_with_interval(found: Difference) -> str:
    """Return a change, its interval, and a warning if the metric is not that of the LOG."""
    warning = held_text(found)
    return f"{change_text(found)} {interval_text(found)}{f' [{warning}]' if warning else ''}".rstrip()


def values_text(found: Difference) -> str:
    """Return the value before and after."""
    form = BY_NAME[found.metric].form
    return f"{form(found.present)} -> {form(found.alternative)}"


def _change(found: Difference, value: float) -> str:
    metric = BY_NAME[found.metric]
    if metric.share:
        return f"{100 * value:+.1f} points"
    if not found.relative:
        return f"{'+' if value >= 0 else '-'}{metric.form(abs(value))}"
    if max(found.change, found.high or 0.0) >= _DOUBLE or found.change <= _SHRUNK:
        return _factor(1.0 + value)
    return f"{value:+.1%}"


def _factor(value: float) -> str:
    """Return a factor, a small one as a fraction: a store that is 70,000 times faster is not 100 % faster.

    >>> [_factor(value) for value in (1250.4, 2.5, 0.0134, 1.44e-5)]
    ['x1,250', 'x2.5', 'x0.0134', 'x1/69,444']
    """
    if 0.0 < value < _SMALL:
        return f"x1/{1.0 / value:,.0f}"
    return f"x{value:,.0f}" if value >= 1.0 + _HUGE else f"x{value:.3g}"


def _unit(text: str) -> str:
    """Return the unit at the end of a change, with the space before it; "" for a factor."""
    return _UNIT.sub("", text)


def wanted(goal: Metric) -> str:
    """Return a goal in words, such as "higher throughput"."""
    return f"{'higher' if goal.higher_is_better else 'lower'} {goal.label}"


def short(point: str) -> str:
    """Return overrides without the prefix of options."""
    return point.replace("engine.options.", "")


def sum_up(name: str, first: str, differences: Sequence[Difference]) -> str:
    """Return a sentence on what a configuration changes: with intervals, and what stays within the error or is the same.

    >>> same = Difference("write_amplification", 4.0, 4.0, 0.0, 0.0, 0.0, relative=True, tie=True, certain=False)
    >>> slower = Difference("ops_per_s", 10.0, 6.0, -0.4, -0.5, -0.3, relative=True, tie=False, certain=True)
    >>> sum_up("sata", "nvme", [slower, same])
    'sata against nvme: throughput -40.0% (-50.0 to -30.0); write amp exactly the same.'
    """
    if differences and all(d.tie for d in differences):
        return f"{name} gives exactly the same results as {first} with every seed."
    found = in_words(differences)
    return f"{name} against {first}: {found}." if found else f"{name} and {first} have no number in common."


def in_words(differences: Sequence[Difference]) -> str:
    """Return the main changes with their intervals, and what stays within the error or is the same; "" without any."""
    main = [d for d in differences if d.metric in MAIN]
    shown = [f"{BY_NAME[d.metric].label} {change_with_interval(d)}" for d in main if d.certain or not d.error_known]
    unclear = [BY_NAME[d.metric].label for d in main if d.error_known and not (d.certain or d.tie)]
    ties = [BY_NAME[d.metric].label for d in main if d.tie]
    parts = [", ".join(shown)] if shown else []
    parts += [f"no difference beyond the error in {_joined(unclear)}"] if unclear else []
    parts += [f"{_joined(ties)} exactly the same"] if ties else []
    return "; ".join(parts)


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]


def differences_table(differences: Sequence[Difference], before: str = "present", after: str = "alternative") -> Table:
    """Return the table of all differences of one alternative; `before` and `after` head the columns of values."""
    rows = []
    for found in differences:
        metric = BY_NAME[found.metric]
        if found.tie:
            change, between = "none", ""
        else:
            change, between = change_text(found), ends_text(found)
        values = metric.form(found.present), metric.form(found.alternative)
        rows.append((metric.label, *values, change, between, verdict_text(found)))
    return Table(["", before, after, "change", "90 % interval", ""], rows)


def change_figures(found: Iterable[tuple[str, Sequence[Difference]]], reference: str = "the present state") -> list[Figure]:
    """Return a figure per main metric with the change of each named alternative; none for a metric that is a tie of all."""
    several = list(found)
    figures = []
    for metric in SHOWN:
        rows = [(name, d) for name, differences in several for d in differences if d.metric == metric.name]
        if any(not d.tie and d.low is not None for _, d in rows):
            figures.append(change_figure(metric, rows, reference))
    return figures


def options_section(title: str, options: OptionsAdvice | None) -> list[Part]:
    """Return the section of a written OPTIONS file: changed options, and those to set in code; none without a file."""
    if not options:
        return []
    changes = [[str(cell) for cell in change] for change in options.changes]
    content: list[Part] = [Table(["option", "now", "new"], changes, texts=[1, 2])]
    if options.in_code:
        content += [Html("<p>To set in code:</p>"), bullets(f"{name}: {place}" for name, place in options.in_code.items())]
    return [Section("options", title, content, f"{options.file} contains the options below and all others of the store.")]


def options_lines(title: str, options: OptionsAdvice | None) -> list[str]:
    """Return the same as lines of text."""
    if not options:
        return []
    lines = ["", f"{title}: {options.file}", *(f"  {name}: {before} -> {after}" for name, before, after in options.changes)]
    return [*lines, *(f"  set in code: {name}: {place}" for name, place in options.in_code.items())]
