"""Parts that the pages of what-ifs, advice and searches share."""

from __future__ import annotations

import html
from collections.abc import Sequence

from lsmlab.reports import numbers
from lsmlab.reports.text.words import change_text, interval_text
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.metrics import BY_NAME
from lsmlab.sim.studies.written_options import OptionsAdvice


def differences_table(
    differences: Sequence[Difference], before: str = "present", after: str = "alternative"
) -> str:
    """Return the HTML table of all differences of one alternative; `before` and `after` head the columns of values."""
    rows = ""
    for found in differences:
        metric = BY_NAME[found.metric]
        if found.tie:
            change, between, verdict = "none", "", "exactly the same"
        else:
            change = change_text(found)
            between = interval_text(found) if found.low is not None else "unknown"
            verdict = "beyond the error" if found.certain else "within the error"
        cells = (metric.form(found.present), metric.form(found.alternative), change, between, verdict)
        rows += f"<tr><th>{html.escape(metric.label)}</th>" + "".join(
            f'<td class="number">{html.escape(numbers.micro(cell))}</td>' for cell in cells
        )
        rows += "</tr>"
    head = "".join(
        f'<th class="number">{html.escape(name)}</th>' for name in (before, after, "change", "90 % interval", "")
    )
    return f'<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def options_section(title: str, options: OptionsAdvice | None) -> str:
    """Return the HTML section of a written OPTIONS file: changed options, and those to set in code."""
    if not options:
        return ""
    rows = "".join(
        f"<tr><th>{html.escape(str(name))}</th><td>{html.escape(str(before))}</td><td>{html.escape(str(after))}</td></tr>"
        for name, before, after in options.changes
    )
    code = "".join(f"<li>{html.escape(name)}: {html.escape(place)}</li>" for name, place in options.in_code.items())
    return (
        f"<section id='options'><h2>{html.escape(title)}</h2><p class='caption'>{html.escape(options.file)} "
        "contains the options below and all others of the store.</p><div class='scroll'><table><thead><tr><th>option</th>"
        f"<th>now</th><th>new</th></tr></thead><tbody>{rows}</tbody></table></div>"
        f"{f'<p>To set in code:</p><ul>{code}</ul>' if code else ''}</section>"
    )
