"""Callbacks of whole runs: start, cancel, progress, the page of the result; uploads."""

from __future__ import annotations

from typing import Any, Final

from dash import ClientsideFunction, Input, Output, State, no_update
from lsmlab.models.errors import InputError
from lsmlab.reports.lab.choice import IMPORTED, FormChoice
from lsmlab.reports.lab.form_callbacks import FORM, Form
from lsmlab.reports.lab.job_queue import JobQueue, Status
from lsmlab.reports.lab.kept_runs import IMPORTS, KeptRuns, decoded
from lsmlab.reports.lab.layout import START
from lsmlab.reports.lab.work import Import, WholeRun

BUSY_MS: Final = 300
"""Time between two looks at the progress of a simulation."""
IDLE_MS: Final = 3000
"""The same without a simulation: another tab may have kept a run."""


class RunCallbacks:
    """Callbacks of whole runs."""

    def __init__(self, jobs: JobQueue, form: Form, kept: KeptRuns) -> None:
        self._jobs, self._form, self._kept = jobs, form, kept

    def simulate(self, _clicks: int, tab: str, *states: Any) -> Any:
        """Start the whole run of the form's choice."""
        try:
            choice = self._form.choice(*states)
            name = choice.name(START)
            folder = self._kept.run_folder(name)
            task = WholeRun(name, choice.configuration(), folder)
            self._jobs.start(tab, name, task, lambda _page: self._kept.keep_choice(folder, name, choice.as_json()))
        except InputError as error:
            return str(error), no_update
        return "", BUSY_MS

    def cancel(self, _clicks: int, tab: str) -> int:
        """End the tab's simulation."""
        self._jobs.cancel(tab)
        return BUSY_MS

    def poll(self, _intervals: int, tab: str | None, before: str | None, saved: int | None) -> Any:
        """Show the progress of the tab's simulation and, at its end, the page."""
        if not tab:
            return (no_update,) * 8
        status = self._jobs.status(tab)
        text = progress_text(status)
        ended = not status.active and text != before
        page = self._kept.page(status.page) if ended and status.page is not None else None
        wanted = imported_choice(page) if page is not None and page.startswith(f"{IMPORTS}/") else None
        return (
            text, f"{status.share:.3f}", not status.active,
            status.error if ended and status.phase == "failed" else no_update,
            {"page": page, "title": status.title} if page is not None else no_update,
            {**wanted, "imported": str(self._kept.root / wanted["imported"])} if wanted is not None else no_update,
            self._jobs.changes if self._jobs.changes != saved else no_update, BUSY_MS if status.active else IDLE_MS,
        )  # fmt: skip

    def load_options(self, contents: object, name: str, _tab: str, *states: Any) -> Any:
        """Take over the options of an uploaded OPTIONS file."""
        try:
            path = self._kept.upload_options(contents, name)
            choice = self._form.choice(*states)
        except InputError as error:
            return str(error), no_update, no_update
        values = {k: v for k, v in choice.values.items() if not k.startswith("engine.")}
        entries = {**choice.entries, "engine": START.entries["engine"]}
        return "", FormChoice(entries, values, str(path)).as_json(), no_update

    def load_log(self, contents: object, name: str, tab: str, *_states: Any) -> Any:
        """Import an uploaded LOG in a worker process."""
        try:
            path = self._kept.upload(name, decoded(contents, name))
            self._jobs.start(tab, f"import of {name}", Import(path, self._kept.import_folder(path)))
        except InputError as error:
            return str(error), no_update, no_update
        return "", no_update, BUSY_MS


def register_runs(app: Any, jobs: JobQueue, form: Form, kept: KeptRuns) -> None:
    """Register the callbacks of whole runs."""
    own = RunCallbacks(jobs, form, kept)
    changed = {"allow_duplicate": True}
    app.callback(
        Output("message", "children", **changed), Output("poll", "interval", **changed),
        Input("simulate", "n_clicks"), State("tab", "data"), *FORM, prevent_initial_call=True,
    )(own.simulate)  # fmt: skip
    app.callback(
        Output("poll", "interval", **changed), Input("cancel", "n_clicks"), State("tab", "data"), prevent_initial_call=True
    )(own.cancel)
    app.callback(
        Output("progress", "children"), Output("bar", "value"), Output("cancel", "disabled"),
        Output("message", "children", **changed), Output("address", "data", **changed), Output("wanted", "data", **changed),
        Output("saved", "data"), Output("poll", "interval"),
        Input("poll", "n_intervals"), Input("tab", "data"), State("progress", "children"), State("saved", "data"),
        prevent_initial_call=True,
    )(own.poll)  # fmt: skip
    for name, load in (("options", own.load_options), ("log", own.load_log)):
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


