"""Parts that the pages of what-ifs, advice and searches share."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.reports import numbers
from lsmlab.sim.decisions.metrics import METRICS
from lsmlab.sim.decisions.text import change_text, interval_text

_METRICS = {m.name: m for m in METRICS}


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of an answer. Raises InputError if the file is missing or damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); repeat the command") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: does not contain a JSON object; repeat the command")
    return content


def differences_table(
    differences: Sequence[Mapping[str, Any]], before: str = "present", after: str = "alternative"
) -> str:
    """Return the HTML table of all differences of one alternative; `before` and `after` head the columns of values."""
    rows = ""
    for found in differences:
        metric = _METRICS[found["metric"]]
        if found["tie"]:
            change, between, verdict = "none", "", "exactly the same"
        else:
            change = change_text(found)
            between = interval_text(found) if found["low"] is not None else "unknown"
            verdict = "beyond the error" if found["certain"] else "within the error"
        cells = (metric.form(found["present"]), metric.form(found["alternative"]), change, between, verdict)
        rows += f"<tr><th>{html.escape(metric.label)}</th>" + "".join(
            f'<td class="number">{html.escape(numbers.micro(cell))}</td>' for cell in cells
        )
        rows += "</tr>"
    head = "".join(
        f'<th class="number">{html.escape(name)}</th>' for name in (before, after, "change", "90 % interval", "")
    )
    return f'<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def options_section(title: str, options: Mapping[str, Any] | None) -> str:
    """Return the HTML section of a written OPTIONS file: changed options, and those to set in code."""
    if not options:
        return ""
    rows = "".join(
        f"<tr><th>{html.escape(str(name))}</th><td>{html.escape(str(before))}</td><td>{html.escape(str(after))}</td></tr>"
        for name, before, after in options["changes"]
    )
    code = "".join(f"<li>{html.escape(name)}: {html.escape(place)}</li>" for name, place in options["in_code"].items())
    return (
        f"<section id='options'><h2>{html.escape(title)}</h2><p class='caption'>{html.escape(options['file'])} "
        "contains the options below and all others of the store.</p><div class='scroll'><table><thead><tr><th>option</th>"
        f"<th>now</th><th>new</th></tr></thead><tbody>{rows}</tbody></table></div>"
        f"{f'<p>To set in code:</p><ul>{code}</ul>' if code else ''}</section>"
    )
