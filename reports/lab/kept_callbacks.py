"""Callbacks of kept runs: their list, opening, comparing, returning to settings, removing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import ClientsideFunction, Input, Output, State, ctx, no_update
from lsmlab.models.errors import InputError
from lsmlab.reports.lab.job_queue import JobQueue
from lsmlab.reports.lab.kept_runs import MOST_COMPARED, KeptRun, KeptRuns
from lsmlab.reports.lab.run_callbacks import BUSY_MS
from lsmlab.reports.lab.work import DrawComparison
from lsmlab.reports.run_data import PAGE


class KeptCallbacks:
    """Callbacks of kept runs."""

    def __init__(self, jobs: JobQueue, kept: KeptRuns) -> None:
        self._jobs, self._kept = jobs, kept

    def listed(self, _saved: int | None, _clicks: int | None, marked: Sequence[str] | None) -> Any:
        """List the kept runs, after the marked ones are removed if the user asked for it."""
        text: Any = no_update
        if ctx.triggered_id == "remove":
            try:
                for folder in marked or []:
                    self._kept.remove(folder)
                self._jobs.changes += 1
            except InputError as error:
                text = str(error)
        runs = self._kept.runs()
        still = {run.folder for run in runs}
        left = [folder for folder in marked or [] if folder in still]
        options = [{"label": _row(run), "value": run.folder} for run in runs]
        return options, left if left != (marked or []) else no_update, text

    def opened(self, _open: int | None, _use: int | None, marked: Sequence[str] | None) -> Any:
        """Open the page of the marked run, or return to its settings."""
        try:
            path = self._kept.find((marked or [""])[0])
            if ctx.triggered_id == "use":
                return no_update, self._kept.choice(path.name), ""
            return {"page": self._kept.page(path / PAGE), "title": path.name}, no_update, ""
        except InputError as error:
            return no_update, no_update, str(error)

    def compare(self, _clicks: int, tab: str, marked: Sequence[str] | None) -> Any:
        """Draw the page of a comparison in a worker process."""
        try:
            runs, folder = self._kept.comparison(marked or [])
            self._jobs.start(tab, f"comparison of {len(runs)} runs", DrawComparison(tuple(runs), folder))
        except InputError as error:
            return str(error), no_update
        return "", BUSY_MS


def register_kept(app: Any, jobs: JobQueue, kept: KeptRuns) -> None:
    """Register the callbacks of kept runs, and those that only the browser does."""
    own = KeptCallbacks(jobs, kept)
    changed = {"allow_duplicate": True}
    app.callback(
        Output("marked", "options"), Output("marked", "value"), Output("message", "children", **changed),
        Input("saved", "data"), Input("remove", "n_clicks"), State("marked", "value"), prevent_initial_call="initial_duplicate",
    )(own.listed)  # fmt: skip
    app.callback(
        *(Output(name, "disabled") for name in ("open", "use", "remove", "compare")), Input("marked", "value")
    )(possible)
    app.callback(
        Output("address", "data"), Output("wanted", "data"), Output("message", "children", **changed),
        Input("open", "n_clicks"), Input("use", "n_clicks"), State("marked", "value"), prevent_initial_call=True,
    )(own.opened)  # fmt: skip
    app.callback(
        Output("message", "children", **changed), Output("poll", "interval", **changed),
        Input("compare", "n_clicks"), State("tab", "data"), State("marked", "value"), prevent_initial_call=True,
    )(own.compare)  # fmt: skip
    _register_browser(app)


def _register_browser(app: Any) -> None:
    app.clientside_callback(
        ClientsideFunction("lab", "draw"), Output("graph-throughput", "figure"), Output("graph-l0", "figure"),
        Input("curves", "data"), Input("theme", "data"), prevent_initial_call=True,
    )  # fmt: skip
    app.clientside_callback(ClientsideFunction("lab", "theme"), Output("theme", "data"), Input("toggle", "n_clicks"))
    app.clientside_callback(
        ClientsideFunction("lab", "copy"), Output("copied", "children"),
        Input("copy-command", "n_clicks"), Input("copy-yaml", "n_clicks"), prevent_initial_call=True,
    )  # fmt: skip
    app.clientside_callback(
        ClientsideFunction("lab", "restore"), Output("tab", "data"), Output("wanted", "data", allow_duplicate=True),
        Input("start", "data"), Input("restart", "n_clicks"), prevent_initial_call="initial_duplicate",
    )  # fmt: skip
    for function, output, changed in (
        ("keep", Output("choice", "id"), Input("choice", "data")),
        ("point", Output("message", "title"), Input("message", "children")),
    ):
        app.clientside_callback(ClientsideFunction("lab", function), output, changed, prevent_initial_call=True)


def _row(run: KeptRun) -> str:
    return f"{run.name}\n{', '.join(f'{label} {text}' for label, text in run.facts.items())}"


def possible(marked: Sequence[str] | None) -> tuple[bool, ...]:
    """Return whether each button is disabled: open and use need one marked run, remove any, compare two to four."""
    count = len(marked or [])
    return count != 1, count != 1, count == 0, not 2 <= count <= MOST_COMPARED


