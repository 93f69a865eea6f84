"""Server of the laboratory: the Dash application, the pages of results, and the rules of `safety` around both."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any, Final

import flask
from dash import Dash
from lsmlab.reports.lab import safety
from lsmlab.reports.lab.form_callbacks import Form, register_form
from lsmlab.reports.lab.job_queue import JobQueue
from lsmlab.reports.lab.kept_callbacks import register_kept
from lsmlab.reports.lab.kept_runs import KeptRuns
from lsmlab.reports.lab.layout import page
from lsmlab.reports.lab.run_callbacks import register_runs

PAGES: Final = "/pages/"
"""Address of the pages of results."""
TITLE: Final = "LSMLab laboratory"
_SHOWN: Final = (".html", ".js")
"""Files that the server sends from the kept."""
_HERE: Final = Path(__file__).parent
_INDEX: Final = """<!DOCTYPE html>
<html lang="en">
<head>{%metas%}<title>{%title%}</title>{%css%}<style>@STYLE@</style></head>
<body>{%app_entry%}<footer>{%config%}{%scripts%}{%renderer%}</footer></body>
</html>"""


def application(jobs: JobQueue, kept: KeptRuns, port: int, key: str) -> Dash:
    """Return the application that answers on `port`; `key`: the text that the browser must know."""
    app = Dash(
        __name__, title=TITLE, update_title=None, assets_folder=str(_HERE / "assets"), serve_locally=True, compress=False,
        enable_mcp=False, url_base_pathname="/",
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )  # fmt: skip
    app.enable_dev_tools(debug=False, dev_tools_ui=False, dev_tools_disable_version_check=True)
    style = (_HERE.parent / "page.css").read_text(encoding="utf-8")
    app.index_string = _INDEX.replace("@STYLE@", style)
    app.layout = page(TITLE)
    form = Form(jobs, kept)
    register_form(app, form)
    register_runs(app, jobs, form, kept)
    register_kept(app, jobs, kept)
    _guard(app, kept, port, key)
    return app


def new_key() -> str:
    """Return a new random key."""
    return secrets.token_urlsafe(24)


def _guard(app: Dash, kept: KeptRuns, port: int, key: str) -> None:
    """Answer only requests that `safety` allows and that carry the key; send its headers with every response."""
    server: Any = app.server
    server.config["MAX_CONTENT_LENGTH"] = safety.MOST_REQUEST_BYTES
    cookie = safety.cookie_name(port)
    hashes = tuple(app.csp_hashes())

    def check() -> Any:
        request = flask.request
        reason = safety.refusal(request.headers, request.method, port)
        if (request.content_length or 0) > safety.MOST_REQUEST_BYTES:  # Dash would answer that it is no JSON
            flask.abort(413)
        if reason is None and request.method == "GET" and safety.has_key(request.args.get(safety.KEY), key):
            answer = flask.redirect(request.path)
            answer.set_cookie(cookie, key, httponly=True, samesite="Lax")
            return answer
        if reason is None and not safety.has_key(request.cookies.get(cookie), key):
            reason = "the key is missing; open the whole address that the terminal shows"
        return flask.Response(f"lsmlab lab: {reason}\n", status=403, mimetype="text/plain") if reason is not None else None

    def results(path: str) -> Any:
        if not path.endswith(_SHOWN) or any(part.startswith(".") for part in Path(path).parts):
            flask.abort(404)
        return flask.send_from_directory(kept.root.resolve(), path)

    def headers(response: Any) -> Any:
        of_results = flask.request.path.startswith(PAGES)
        response.headers.update(safety.response_headers(page_of_results=of_results, script_hashes=hashes))
        if flask.request.path.startswith(("/_dash-component-suites/", "/assets/")):  # their addresses have a fingerprint
            response.headers["Cache-Control"] = "max-age=86400"
        return response

    server.before_request_funcs.setdefault(None, []).insert(0, check)  # before Dash's own functions
    server.after_request(headers)
    server.add_url_rule(f"{PAGES}<path:path>", "results", results)
