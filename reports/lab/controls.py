"""Controls of the form: label with unit, slider, text field or list, limits and description of one setting."""

from __future__ import annotations

import json
from typing import Any, Final

from dash import dcc, html
from lsmlab.reports.lab.fields import EXAMPLES, KIND_NAMES, Field

TEXT: Final = "text"
SLIDER: Final = "slider"
STEPS: Final = "steps"
_LONGEST: Final = 160
"""Characters of a description in the form; its title has all."""


def part(name: str, key: str) -> dict[str, str]:
    """Return the id of a part of the control of setting `key`."""
    return {"part": name, "key": key}


def element(identifier: dict[str, str]) -> str:
    """Return the id that the element has in the page."""
    return json.dumps(identifier, sort_keys=True, separators=(",", ":"))


def control(field: Field, value: str | None = None) -> html.Div:
    """Return the control of a setting; `value`: its text, None for the default."""
    shown = field.default if value is None else value
    head = html.Label(
        [html.Span(_breakable(field.name), className="setting"), html.Span(_unit(field), className="unit")],
        htmlFor=element(part(TEXT, field.key)),
    )
    hint = html.P(_hint(field), className="hint", title=field.description or None, id=f"hint-{_plain(field.key)}")
    return html.Div([head, *_inputs(field, shown), hint], className="field", **{"data-key": field.key})


def _inputs(field: Field, shown: str) -> list[Any]:
    if field.choices:
        known = [*field.choices, *([shown] if shown and shown not in field.choices else [])]
        return [dcc.Dropdown(known, shown or None, id=part(TEXT, field.key), clearable=False, searchable=len(known) > 6)]
    text = dcc.Input(
        id=part(TEXT, field.key), type="text", value=shown, debounce=True, placeholder=field.default or "not set",
        className="text", spellCheck=False,
    )  # fmt: skip
    if len(field.steps) < 2:
        return [text]
    place = field.steps.index(shown) if shown in field.steps else len(field.steps) // 2
    slider = dcc.Input(
        id=part(SLIDER, field.key), type="range", min=0, max=len(field.steps) - 1, step=1, value=place, className="slider"
    )
    return [html.Div([slider, text], className="pair"), dcc.Store(id=part(STEPS, field.key), data=list(field.steps))]


def _breakable(name: str) -> list[Any]:
    """Return a name that may break after its underscores."""
    first, *rest = name.split("_")
    return [first, *(part for word in rest for part in ("_", html.Wbr(), word))]


def _unit(field: Field) -> str:
    if field.kind is None:
        return ""
    name = KIND_NAMES[field.kind]
    return f"{name}, such as {EXAMPLES[field.kind]}" if field.kind in EXAMPLES else name


def _hint(field: Field) -> str:
    text = field.description if len(field.description) <= _LONGEST else f"{field.description[:_LONGEST]}…"
    default = f"default {field.default}" if field.default else "default: not set"
    sentences = (text[:1].upper() + text[1:].rstrip("."), ", ".join(p for p in (field.limits, default) if p))
    return ". ".join(sentence for sentence in sentences if sentence)


def _plain(key: str) -> str:
    return key.replace(".", "-")
