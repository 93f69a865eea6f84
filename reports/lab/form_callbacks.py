"""Callbacks of the form: its controls for the chosen entries, and the preview of the chosen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dash import ALL, MATCH, ClientsideFunction, Input, Output, State, ctx, html, no_update
from lsmlab.models.errors import InputError
from lsmlab.reports.lab.choice import GROUPS, FormChoice, changed_values, fields
from lsmlab.reports.lab.job_queue import JobQueue
from lsmlab.reports.lab.kept_runs import IMPORTS, UPLOADS, KeptRuns
from lsmlab.reports.lab.layout import (
    SLIDER,
    START,
    STEPS,
    TEXT,
    control,
    entry_options,
    group_controls,
    main_fields,
    other_options,
)
from lsmlab.reports.lab.preview import Curves

TEXTS = {"part": TEXT, "key": ALL}
FORM = (
    *(State(f"entry-{group}", "value") for group in GROUPS), State("source", "data"), State(TEXTS, "value"), State(TEXTS, "id"),
)  # fmt: skip
"""States from which `Form.choice` reads the form."""


class Form:
    """The form: its content, and its callbacks."""

    def __init__(self, jobs: JobQueue, kept: KeptRuns) -> None:
        self._jobs, self._kept = jobs, kept

    def base(self, engine: str, device: str, workload: str, source: Mapping[str, str] | None) -> FormChoice:
        """Return the choice without values. Raises InputError for a file that the laboratory did not write."""
        entries = dict(zip(GROUPS, (engine, device, workload), strict=True))
        choice = FormChoice.of({"entries": entries, **(source or {})})
        for path, place in ((choice.options_file, UPLOADS), (choice.imported, IMPORTS)):
            if path and not self._kept.contains(path, place):
                raise InputError(f"{Path(path).name}: this file is not there any more; load it again")
        return choice

    def choice(self, *form: Any) -> FormChoice:
        """Return the choice of the states `FORM`."""
        *chosen, texts, identifiers = form
        base = self.base(*chosen)
        known = {f.key: f for f in fields(base)}
        values = changed_values({i["key"]: t for i, t in zip(identifiers, texts, strict=True)}, known)
        return FormChoice.of({**base.as_json(), "values": values})

    def controls(
        self, engine: str, device: str, workload: str, applied: Mapping[str, Any] | None, other: Sequence[str] | None,
        source: Mapping[str, str] | None, drawn: Mapping[str, Any] | None, texts: Sequence[str],
        identifiers: Sequence[Mapping[str, str]],
    ) -> Any:  # fmt: skip
        """Return the controls of the chosen entries; values that the user has changed stay."""
        nothing = (no_update,) * 11
        if not (engine and device and workload):
            return (*nothing, no_update)
        fresh = "applied.data" in ctx.triggered_prop_ids
        try:
            base = self.base(engine, device, workload, source)
            known = {f.key: f for f in fields(base)}
            values = dict((applied or {}).get("values") or {}) if fresh else _changed(drawn, texts, identifiers)
        except InputError as error:
            return (*nothing, str(error))
        shown = {f.key for group in GROUPS for f in main_fields(group, list(known.values()))}
        extra = [k for k in dict.fromkeys([*([] if fresh else other or []), *values]) if k in known and k not in shown]
        return (
            *(group_controls(group, list(known.values()), values) for group in GROUPS),
            [control(known[key], values.get(key)) for key in extra],
            *(entry_options(group, imported=bool(base.imported)) for group in GROUPS),
            other_options(list(known.values())), extra, source_text(base), base.as_json(), "",
        )  # fmt: skip

    def preview(self, number: object, tab: str | None, *states: Any) -> Any:
        """Return the preview of the values of the form."""
        nothing = (no_update,) * 10
        if not tab or not states[-1] or not all(states[:3]) or not isinstance(number, int):
            return nothing
        about: tuple[Any, ...] = (no_update,) * 4
        try:
            choice = self.choice(*states)
            about = (choice.as_json(), choice.name(START), choice.command(), choice.yaml())
            found: Curves | None = self._jobs.preview(tab, number, choice.configuration())
        except InputError as error:  # command and YAML follow the form also if the model refuses a value
            return (*(no_update,) * 5, str(error), *about)
        if found is None:
            return nothing
        facts = [
            html.Div([html.Span(f["label"], className="label"), html.B(f["text"])], className="fact", title=f["note"])
            for f in found.facts
        ]
        answers = [
            html.Div([html.Dt(a["question"]), html.Dd([html.B(a["answer"]), html.Span(a["reason"])])]) for a in found.answers
        ]
        curves = {"figures": found.figures, "end_s": found.end_s}
        return curves, facts, answers, found.window, [html.Li(note) for note in found.notes], "", *about


def register_form(app: Any, form: Form) -> None:
    """Register the callbacks of the form."""
    entries = [Input(f"entry-{group}", "value") for group in GROUPS]
    app.callback(
        *(Output(f"fields-{group}", "children") for group in (*GROUPS, "other")),
        *(Output(f"entry-{group}", "options") for group in GROUPS),
        Output("other", "options"), Output("other", "value"), Output("source-text", "children"), Output("drawn", "data"),
        Output("message", "children"), *entries, Input("applied", "data"), Input("other", "value"),
        State("source", "data"), State("drawn", "data"), State(TEXTS, "value"), State(TEXTS, "id"),
        prevent_initial_call=True,
    )(form.controls)  # fmt: skip
    app.callback(
        Output("curves", "data"), Output("facts", "children"), Output("answers", "children"), Output("window", "children"),
        Output("notes", "children"), Output("message", "children", allow_duplicate=True),
        Output("choice", "data"), Output("name", "children"), Output("command", "children"), Output("yaml", "children"),
        Input("request", "data"), State("tab", "data"), *FORM, prevent_initial_call=True,
    )(form.preview)  # fmt: skip
    app.clientside_callback(
        ClientsideFunction("lab", "number"), Output("request", "data"), Input(TEXTS, "value"), prevent_initial_call=True
    )
    app.clientside_callback(
        ClientsideFunction("lab", "apply"),
        *(Output(f"entry-{group}", "value") for group in GROUPS), Output("source", "data"), Output("applied", "data"),
        Input("wanted", "data"), State("start", "data"),
    )  # fmt: skip
    app.clientside_callback(
        ClientsideFunction("lab", "match"),
        Output({"part": TEXT, "key": MATCH}, "value"), Output({"part": SLIDER, "key": MATCH}, "value"),
        Input({"part": SLIDER, "key": MATCH}, "value"), Input({"part": TEXT, "key": MATCH}, "value"),
        State({"part": STEPS, "key": MATCH}, "data"), prevent_initial_call=True,
    )  # fmt: skip


def _changed(
    drawn: Mapping[str, Any] | None, texts: Sequence[str | None], identifiers: Sequence[Mapping[str, str]]
) -> dict[str, str]:
    """Return the values that the user has changed in the controls that were drawn for the choice `drawn`."""
    known = {f.key: f for f in fields(FormChoice.of(drawn or {}))} if drawn else {}
    return changed_values({i["key"]: t for i, t in zip(identifiers, texts, strict=True)}, known)


def source_text(base: FormChoice) -> str:
    """Return in words which file the store's settings come from."""
    if base.imported:
        return f"Store, machine and load of the LOG in {Path(base.imported).name}."
    return f"Options of {Path(base.options_file).name}." if base.options_file else ""
