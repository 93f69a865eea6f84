"""Headline numbers of several runs side by side, with links to the pages of the runs."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from lsmlab.reports.comparison.members import ShownRun
from lsmlab.reports.headline import Fact, headline
from lsmlab.reports.palette import RUNS
from lsmlab.reports.parts import html_section
from lsmlab.reports.run_data import PAGE


def numbers_section(shown: Sequence[ShownRun], home: Path, title: str = "Headline numbers") -> str:
    """Return the section with the headline numbers; links to the pages of the runs are relative to the folder `home`."""
    linked = any((one.run.directory / PAGE).is_file() for one in shown)
    links = "; a name links to that run's own page" if linked else ""
    several = shown[0].seeds > 1
    seeds = " The numbers are those of the first seed; the table of differences has means over the seeds." if several else ""
    return html_section(
        "headline-numbers", title, _table(shown, home), f"A star marks the best run of each row{links}.{seeds}"
    )


def page_link(folder: Path, name: str, home: Path) -> str:
    """Return the HTML of a name that links to the page of the run in `folder`; the name alone if the run has no page."""
    page = folder / PAGE
    if not page.is_file():
        return html.escape(name)
    target = quote(Path(os.path.relpath(page, home)).as_posix())
    return f'<a href="{html.escape(target)}">{html.escape(name)}</a>'


def _table(shown: Sequence[ShownRun], home: Path) -> str:
    """Return an HTML table with one row per headline number and one column per run."""
    facts = [{fact.key: fact for fact in headline(one.run)} for one in shown]
    row_facts = list({key: fact for run_facts in facts for key, fact in run_facts.items()}.values())
    head = "".join(
        f'<th><span class="key" style="background:{color}"></span>{page_link(one.run.directory, one.name, home)}</th>'
        for one, color in zip(shown, RUNS, strict=False)
    )
    rows = "".join(
        f"<tr><th>{html.escape(fact.label)}</th>"
        + "".join(_cell(fact, run_facts.get(fact.key), facts) for run_facts in facts)
        + "</tr>"
        for fact in row_facts
    )
    return (
        '<div class="scroll"><table class="compare"><thead><tr><td></td>'
        f"{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(row: Fact, fact: Fact | None, facts: Sequence[dict[str, Fact]]) -> str:
    if fact is None:
        return f'<td class="number">{row.missing}</td>'
    rivals = [run_facts[row.key] for run_facts in facts if row.key in run_facts]
    best = max(rivals, key=lambda rival: rival.better * rival.value)
    marked = fact.better != 0 and fact.text == best.text and any(rival.text != best.text for rival in rivals)
    return f'<td class="number{" best" if marked else ""}">{html.escape(fact.text)}</td>'
