"""Callbacks of whole runs: start, cancel, progress, the page of the result; uploads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dash import ClientsideFunction, Input, Output, State, no_update
from lsmlab.models.errors import InputError
from lsmlab.reports.lab.choice import IMPORTED, FormChoice
from lsmlab.reports.lab.form_callbacks import FORM, Form
from lsmlab.reports.lab.job_queue import JobQueue, Status
from lsmlab.reports.lab.kept_runs import IMPORTS, KeptRuns, decoded
from lsmlab.reports.lab.layout import START
from lsmlab.reports.lab.work import Import, WholeRun

Callback = Callable[..., Any]
BUSY_MS: Final = 300
"""Time between two looks at the progress of a simulation."""
IDLE_MS: Final = 3000
"""The same without a simulation: another tab may have kept a run."""


def register_runs(app: Any, jobs: JobQueue, form: Form, kept: KeptRuns) -> None:
    """Register the callbacks of whole runs."""
    changed = {"allow_duplicate": True}
    app.callback(
        Output("message", "children", **changed), Output("poll", "interval", **changed),
        Input("simulate", "n_clicks"), State("tab", "data"), *FORM, prevent_initial_call=True,
    )(simulate_callback(jobs, form, kept))  # fmt: skip
    app.callback(
        Output("poll", "interval", **changed), Input("cancel", "n_clicks"), State("tab", "data"), prevent_initial_call=True
    )(cancel_callback(jobs))
    app.callback(
        Output("progress", "children"), Output("bar", "value"), Output("cancel", "disabled"),
        Output("message", "children", **changed), Output("address", "data", **changed), Output("wanted", "data", **changed),
        Output("saved", "data"), Output("poll", "interval"),
        Input("poll", "n_intervals"), Input("tab", "data"), State("progress", "children"), State("saved", "data"),
        prevent_initial_call=True,
    )(poll_callback(jobs, kept))  # fmt: skip
    for name, load in (("options", options_callback(form, kept)), ("log", log_callback(jobs, kept))):
        app.callback(
            Output("message", "children", **changed), Output("wanted", "data", **changed), Output("poll", "interval", **changed),
            Input(f"upload-{name}", "contents"), State(f"upload-{name}", "filename"), State("tab", "data"), *FORM,
            prevent_initial_call=True,
        )(load)  # fmt: skip
    app.clientside_callback(
        ClientsideFunction("lab", "frame"),
        Output("frame", "src"), Output("frame-link", "href"), Output("frame-title", "children"), Output("frame-card", "hidden"),
        Input("address", "data"), prevent_initial_call=True,
    )  # fmt: skip


def simulate_callback(jobs: JobQueue, form: Form, kept: KeptRuns) -> Callback:
    """Return the callback that starts the whole run of the form's choice."""

    def simulate(_clicks: int, tab: str, *states: Any) -> Any:
        try:
            choice = form.choice(*states)
            name = choice.name(START)
            folder = kept.run_folder(name)
            task = WholeRun(name, choice.configuration(), folder)
            jobs.start(tab, name, task, lambda _page: kept.keep_choice(folder, name, choice.as_json()))
        except InputError as error:
            return str(error), no_update
        return "", BUSY_MS

    return simulate


def cancel_callback(jobs: JobQueue) -> Callback:
    """Return the callback that ends the tab's simulation."""

    def cancel(_clicks: int, tab: str) -> int:
        jobs.cancel(tab)
        return BUSY_MS

    return cancel


def poll_callback(jobs: JobQueue, kept: KeptRuns) -> Callback:
    """Return the callback that shows the progress of the tab's simulation and, at its end, the page."""

    def poll(_intervals: int, tab: str | None, before: str | None, saved: int | None) -> Any:
        if not tab:
            return (no_update,) * 8
        status = jobs.status(tab)
        text = progress_text(status)
        ended = not status.active and text != before
        page = kept.page(status.page) if ended and status.page is not None else None
        wanted = imported_choice(page) if page is not None and page.startswith(f"{IMPORTS}/") else None
        return (
            text, f"{status.share:.3f}", not status.active,
            status.error if ended and status.phase == "failed" else no_update,
            {"page": page, "title": status.title} if page is not None else no_update,
            {**wanted, "imported": str(kept.root / wanted["imported"])} if wanted is not None else no_update,
            jobs.changes if jobs.changes != saved else no_update, BUSY_MS if status.active else IDLE_MS,
        )  # fmt: skip

    return poll


def progress_text(status: Status) -> str:
    """Return the state of a task in words.

    >>> progress_text(Status("running", "sata", 0.251, "about 3 s left"))
    'sata: 25 %, about 3 s left'
    """
    words = {
        "idle": "", "waiting": "waits for another simulation to end",
        "done": "done", "failed": "failed", "cancelled": "cancelled",
        "running": ", ".join(t for t in (f"{100 * status.share:.0f} %", status.left) if t),
    }  # fmt: skip
    return f"{status.title}: {words[status.phase]}" if status.title else ""


def imported_choice(page: str) -> dict[str, Any]:
    """Return the choice of an imported LOG; `page`: address of its page, `imports/NAME/report.html`."""
    entries = dict.fromkeys(START.entries, IMPORTED)
    return FormChoice(entries, {}, "", page.rpartition("/")[0]).as_json()


def options_callback(form: Form, kept: KeptRuns) -> Callback:
    """Return the callback that takes over the options of an uploaded OPTIONS file."""

    def load(contents: object, name: str, _tab: str, *states: Any) -> Any:
        try:
            path = kept.upload_options(contents, name)
            choice = form.choice(*states)
        except InputError as error:
            return str(error), no_update, no_update
        values = {k: v for k, v in choice.values.items() if not k.startswith("engine.")}
        entries = {**choice.entries, "engine": START.entries["engine"]}
        return "", FormChoice(entries, values, str(path)).as_json(), no_update

    return load


def log_callback(jobs: JobQueue, kept: KeptRuns) -> Callback:
    """Return the callback that imports an uploaded LOG in a worker process."""

    def load(contents: object, name: str, tab: str, *_states: Any) -> Any:
        try:
            path = kept.upload(name, decoded(contents, name))
            jobs.start(tab, f"import of {name}", Import(path, kept.import_folder(path)))
        except InputError as error:
            return str(error), no_update, no_update
        return "", no_update, BUSY_MS

    return load
