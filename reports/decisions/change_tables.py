"""Tables of changes and of options, which the pages of what-ifs, advice and searches share."""

from __future__ import annotations

import html
from collections.abc import Sequence

from lsmlab.reports import numbers
from lsmlab.reports.parts import html_section, html_table
from lsmlab.reports.text.words import change_text, interval_text
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.metrics import BY_NAME
from lsmlab.sim.studies.written_options import OptionsAdvice


def differences_table(
    differences: Sequence[Difference], before: str = "present", after: str = "alternative"
) -> str:
    """Return the HTML table of all differences of one alternative; `before` and `after` head the columns of values."""
    rows = []
    for found in differences:
        metric = BY_NAME[found.metric]
        if found.tie:
            change, between, verdict = "none", "", "exactly the same"
        else:
            change = change_text(found)
            between = interval_text(found) if found.low is not None else "unknown"
            verdict = "beyond the error" if found.certain else "within the error"
        cells = (metric.form(found.present), metric.form(found.alternative), change, between, verdict)
        rows.append((metric.label, *map(numbers.micro, cells)))
    return html_table(["", before, after, "change", "90 % interval", ""], rows)


def options_section(title: str, options: OptionsAdvice | None) -> str:
    """Return the HTML section of a written OPTIONS file: changed options, and those to set in code."""
    if not options:
        return ""
    table = html_table(["option", "now", "new"], [[str(cell) for cell in change] for change in options.changes], texts=[1, 2])
    code = "".join(f"<li>{html.escape(name)}: {html.escape(place)}</li>" for name, place in options.in_code.items())
    caption = f"{options.file} contains the options below and all others of the store."
    return html_section("options", title, f"{table}{f'<p>To set in code:</p><ul>{code}</ul>' if code else ''}", caption)
