"""Words that several answers share: changes with their intervals, and lines of a terminal's width."""

from __future__ import annotations

import textwrap
from typing import Final

from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.metrics import BY_NAME

WIDTH: Final = 120
"""Columns of a line."""
_DOUBLE: Final = 1.0
"""Relative change from which on a factor reads better than a percentage."""
_HUGE: Final = 999.0
"""Relative change from which on a factor is a whole number."""


def change_text(found: Difference) -> str:
    """Return a change with its sign: a percentage, a factor, points of a share, or a value with its unit."""
    return _change(found, found.change)


def interval_text(found: Difference) -> str:
    """Return the ends of a change's interval in the form of the change."""
    return f"{_change(found, found.low or 0.0)} to {_change(found, found.high or 0.0)}"


def _change(found: Difference, value: float) -> str:
    metric = BY_NAME[found.metric]
    if metric.share:
        return f"{100 * value:+.1f} points"
    if not found.relative:
        return f"{'+' if value >= 0 else '-'}{metric.form(abs(value))}"
    if max(found.change, found.high or 0.0) >= _DOUBLE:
        return f"x{1 + value:,.0f}" if value >= _HUGE else f"x{1 + value:.3g}"
    return f"{value:+.1%}"


def wrapped(head: str, text: str) -> list[str]:
    """Return the lines of `head` and `text`; later lines are indented as far as the head, but at most by 18 columns."""
    indent = " " * min(len(head), 18)
    return textwrap.wrap(f"{head}{text}", WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
