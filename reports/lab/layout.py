"""Layout of the laboratory's page: form on the left; curves, progress, kept runs and the page of results on the right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from dash import dcc, html
from lsmlab.reports.lab.choice import GROUPS, IMPORTED, FormChoice
from lsmlab.reports.lab.fields import EXAMPLES, KIND_NAMES, Field
from lsmlab.sim.configuration.catalogue import entries

TEXT: Final = "text"
SLIDER: Final = "slider"
STEPS: Final = "steps"
_LONGEST: Final = 160
"""Characters of a description in the form; its title has all."""
START: Final = FormChoice(
    {"engine": "rocksdb", "device": "sata", "workload": "fillrandom"},
    {"workload.num": "20M", "workload.duration": "60s", "workload.value_size": "400"},
)
"""Choice at the start: a store that stalls, from README's first example."""
MAIN: Final = {
    "engine": (
        "write_buffer_size", "max_write_buffer_number", "max_background_jobs", "max_subcompactions",
        "level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger", "level0_stop_writes_trigger",
        "max_bytes_for_level_base", "max_bytes_for_level_multiplier", "target_file_size_base",
    ),
    "device": ("write_cap", "read_cap", "iops_cap", "page_cache"),
}  # fmt: skip
"""Settings of engine and device in the form; the search field finds the others. Of a workload the form has all."""
_OPEN: Final = ("duration", "num", "recordcount", "threads", "value_size", "rate", "peak_rate", "valley_rate", "target")
"""Settings of a workload that are shown first; the others are folded."""
_TITLES: Final = {"engine": "Engine", "device": "Device", "workload": "Workload"}
_STORES: Final = ("tab", "choice", "wanted", "applied", "source", "drawn", "request", "curves", "theme", "address", "saved")
"""Data in the browser: number of the tab; choice that was previewed last, is wanted, was applied; loaded file; choice whose
controls are drawn; number of the last request; curves; light or dark; page of results; number of saved results."""
_LIVE: Final = {"aria-live": "polite"}
_SIMULATING: Final = {
    "data": [],
    "layout": {
        "xaxis": {"visible": False}, "yaxis": {"visible": False}, "height": 270,
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "annotations": [{"text": "simulating …", "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False,
                         "font": {"size": 18, "color": "#808b94"}}],
    },
}  # fmt: skip
"""Figure before the first curves: no empty axes."""
_GRAPH: Final = {"displayModeBar": False, "responsive": True, "plotlyServerURL": ""}


def page(title: str) -> html.Div:
    """Return the layout of the page."""
    stores = [dcc.Store(id=name) for name in _STORES]
    return html.Div([
        *stores, dcc.Store(id="start", data=START.as_json()), dcc.Interval(id="poll", interval=2000),
        html.A("Skip to the curves", href="#results", className="skip"),
        html.Header([
            html.Div([html.H1(title), html.P("Everything runs on this machine; nothing leaves it.", className="subtitle")]),
            html.Button("light / dark", id="toggle", className="quiet", title="switch between light and dark"),
        ]),
        html.Main([_form(), _results()]),
    ], id="laboratory")  # fmt: skip


def entry_options(group: str, imported: bool) -> list[dict[str, Any]]:
    """Return the options of the list of a group's entries, with those of an imported LOG if there is one."""
    own = [IMPORTED, f"{IMPORTED}_full_speed"] if group == "workload" else [IMPORTED]
    names = [(entry.name, entry.description()) for entry in entries(group)]
    options = [{"label": _labelled(name, text), "value": name, "search": f"{name} {text}"} for name, text in names]
    return [*options, *({"label": f"{name} (of the LOG)", "value": name, "disabled": not imported} for name in own)]


def group_controls(group: str, fields: Sequence[Field], values: dict[str, str]) -> list[Any]:
    """Return the controls of a group: its main settings, and for a workload the others folded."""
    main = main_fields(group, fields)
    if group != "workload":
        return [control(f, values.get(f.key)) for f in main]
    first = sorted((f for f in main if f.name in _OPEN), key=lambda f: _OPEN.index(f.name))
    rest = [f for f in main if f not in first]
    summary = html.Summary(f"{len(rest)} more settings of the workload")
    folded = [html.Details([summary, *(control(f, values.get(f.key)) for f in rest)])] if rest else []
    return [*(control(f, values.get(f.key)) for f in first), *folded]


def main_fields(group: str, fields: Sequence[Field]) -> list[Field]:
    """Return the fields of a group that the form always has."""
    own = [f for f in fields if f.group == group]
    if group == "workload":
        return own
    order = MAIN[group]
    return sorted((f for f in own if f.name in order and f.key.count(".") <= 2), key=lambda f: order.index(f.name))


def other_options(fields: Sequence[Field]) -> list[dict[str, Any]]:
    """Return the options of the search field: all settings that the form does not have already."""
    shown = {f.key for group in GROUPS for f in main_fields(group, fields)}
    return [
        {"label": _labelled(f.key, f.description), "value": f.key, "search": f"{f.key} {f.description}"}
        for f in fields if f.key not in shown
    ]  # fmt: skip


def _labelled(name: str, text: str) -> str:
    """Return the label of an option in two lines. It is text: Dash 4.4 fails if options with components change in number."""
    return f"{name}\n{text}" if text else name


def _titled(*parts: Any) -> html.Div:
    return html.Div(list(parts), className="titled")


def _form() -> html.Div:
    groups = [
        html.Section([
            html.H2(_TITLES[group]),
            html.Label(f"{_TITLES[group]} entry", htmlFor=f"entry-{group}", className="hidden"),
            dcc.Dropdown(entry_options(group, imported=False), id=f"entry-{group}", clearable=False, maxHeight=360),
            html.Div(id=f"fields-{group}"),
        ], className="card")
        for group in GROUPS
    ]  # fmt: skip
    other = html.Section([
        html.H2("Any other setting"),
        html.Label("Search a setting by name or meaning", htmlFor="other"),
        dcc.Dropdown([], id="other", multi=True, placeholder="such as compression, cache_size, cores", maxHeight=360),
        html.Div(id="fields-other"),
    ], className="card")  # fmt: skip
    files = html.Section([
        html.H2("Your own store"),
        html.P("Read as data on this machine, up to 32 MiB each; plain or compressed.", className="hint"),
        dcc.Upload(html.Button("Load an OPTIONS file", type="button"), id="upload-options", className="upload"),
        dcc.Upload(html.Button("Load a LOG", type="button"), id="upload-log", className="upload"),
        html.P(id="source-text", className="hint"),
        html.Button("Forget the file, start again", id="restart", className="quiet"),
    ], className="card")  # fmt: skip
    return html.Div([*groups, other, files], className="form", role="form", **{"aria-label": "Settings of the simulation"})


def _results() -> html.Div:
    alert = html.Div(id="message", role="alert", className="message")
    return html.Div([alert, _curves(), _run(), _kept(), _frame()], id="results", tabIndex="-1")


def _curves() -> html.Section:
    return html.Section([
        _titled(html.H2("Preview"), html.P(id="window", className="caption", **_LIVE)),
        html.Div(id="facts", className="facts-row"),
        html.Dl(id="answers", className="short-answers", **_LIVE),
        html.H3("Throughput and write stalls"),
        html.P("A band marks a write stall, its colour the cause. Dotted: before the last change.", className="caption"),
        dcc.Graph(id="graph-throughput", figure=_SIMULATING, config=_GRAPH, className="graph"),
        html.H3("Level 0 against its triggers"),
        dcc.Graph(id="graph-l0", figure=_SIMULATING, config=_GRAPH, className="graph"),
        html.Ul(id="notes", className="hint"),
    ], className="card curves")  # fmt: skip


def _run() -> html.Section:
    return html.Section([
        html.H2("Simulate the whole run"),
        html.P(id="name", className="caption"),
        html.Div([
            html.Button("Simulate and keep", id="simulate", className="primary"),
            html.Button("Cancel", id="cancel", disabled=True),
            html.Progress(id="bar", value="0", max="1", **{"aria-label": "finished share of the simulation"}),
            html.Span(id="progress", **_LIVE),
        ], className="row"),
        html.Details([
            html.Summary("Command and YAML"),
            _titled(html.H3("Command"), html.Button("Copy the command", id="copy-command", className="quiet")),
            html.Pre(id="command", tabIndex="0"),
            _titled(html.H3("YAML"), html.Button("Copy the YAML", id="copy-yaml", className="quiet")),
            html.Pre(id="yaml", tabIndex="0"),
            html.P(id="copied", className="hint", **_LIVE),
        ], id="exact"),
    ], className="card")  # fmt: skip


def _kept() -> html.Section:
    return html.Section([
        html.H2("Kept runs"),
        html.P("Mark one to open it or to return to its settings, two to four to compare them.", className="caption"),
        dcc.Checklist([], [], id="marked", className="kept"),
        html.Div([
            html.Button("Open", id="open"), html.Button("Compare", id="compare"),
            html.Button("Use its settings", id="use"), html.Button("Remove", id="remove", className="quiet"),
        ], className="row"),
    ], className="card")  # fmt: skip


def _frame() -> html.Section:
    return html.Section([
        _titled(
            html.H2("Page", id="frame-title"),
            html.A("Open in a tab of its own", id="frame-link", href="#", target="_blank", rel="noopener"),
        ),
        html.Iframe(id="frame", title="page of results"),
    ], className="card", id="frame-card", hidden=True)  # fmt: skip


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
