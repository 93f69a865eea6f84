"""Parts that the pages of what-ifs and advice share."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.decisions.metrics import METRICS
from lsmlab.sim.decisions.text import change_text

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


def differences_table(differences: Sequence[Mapping[str, Any]]) -> str:
    """Return the HTML table of all differences of one alternative."""
    rows = ""
    for found in differences:
        metric = _METRICS[found["metric"]]
        if found["tie"]:
            change, between, verdict = "none", "", "exactly the same"
        else:
            change = change_text(found, "change")
            between = f"{change_text(found, 'low')} to {change_text(found, 'high')}" if found["low"] is not None else "unknown"
            verdict = "beyond the error" if found["certain"] else "within the error"
        cells = (metric.form(found["present"]), metric.form(found["alternative"]), change, between, verdict)
        rows += f"<tr><th>{html.escape(metric.label)}</th>" + "".join(
            f'<td class="number">{html.escape(cell)}</td>' for cell in cells
        )
        rows += "</tr>"
    head = "".join(
        f'<th class="number">{name}</th>' for name in ("present", "alternative", "change", "90 % interval", "")
    )
    return f'<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
