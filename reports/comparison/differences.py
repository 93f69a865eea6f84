"""Differences of the runs of a page from the first one: sentences, figures and tables."""

from __future__ import annotations

import html
from collections.abc import Sequence

from lsmlab.reports.comparison.members import ShownRun
from lsmlab.reports.decisions.change_tables import differences_table
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.changes import SHOWN, change_figure
from lsmlab.reports.parts import html_section
from lsmlab.reports.text.comparison import sum_up


def summaries(shown: Sequence[ShownRun]) -> list[str]:
    """Return a sentence for each run after the first: its differences from the first one."""
    return [sum_up(one.name, shown[0].name, one.differences) for one in shown[1:]]


def sentences(shown: Sequence[ShownRun]) -> list[str]:
    """Return a sentence for each run after the first, and one on the noise that a single seed leaves out."""
    first, found = shown[0], summaries(shown)
    if len(shown) > 1 and first.seeds == 1:
        found.append(
            "One seed each: the intervals contain the model's own error, not the noise between seeds "
            "('lsmlab compare --replications 5' adds it)."
        )
    return found


def change_figures(shown: Sequence[ShownRun]) -> list[Figure]:
    """Return a figure per main metric with the change of each run and its interval; none for a tie of all runs."""
    figures = []
    for metric in SHOWN:
        rows = [(one.name, d) for one in shown[1:] for d in one.differences if d.metric == metric.name]
        if any(not d.tie and d.low is not None for _, d in rows):
            figures.append(change_figure(metric, rows, reference=shown[0].name))
    return figures


def tables(shown: Sequence[ShownRun]) -> str:
    """Return the section with a table of all differences for each run after the first."""
    first = shown[0]
    parts = [
        f"<h3>{html.escape(one.name)} against {html.escape(first.name)}</h3>"
        f"{differences_table(one.differences, before=first.name, after=one.name)}"
        for one in shown[1:]
    ]
    if not parts:
        return ""
    seeds = f"{first.seeds} seeds each, the same for all runs" if first.seeds > 1 else "one seed each"
    caption = f"Means over the seeds ({seeds}); the interval is that of the change between one real run of each configuration."
    return html_section("differences", "Differences", "".join(parts), caption)
