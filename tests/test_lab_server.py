"""Server of the laboratory: its rules around Dash, pages of results, callbacks. Needs the package dash."""

from __future__ import annotations

import re
from typing import Any

import pytest
from lsmlab.reports.lab.job_queue import JobQueue
from lsmlab.reports.lab.kept_runs import KeptRuns
from lsmlab.reports.lab.safety import MOST_REQUEST_BYTES, cookie_name

pytest.importorskip("dash", reason="needs the package dash: pip install '.[lab]'")
PORT, KEY = 8050, "secret"
HOST = {"Host": f"127.0.0.1:{PORT}"}
OWN = {**HOST, "Origin": f"http://127.0.0.1:{PORT}", "Sec-Fetch-Site": "same-origin"}
UPDATE = "/_dash-update-component"


def no_process() -> Any:
    """Fail, because no test of this file simulates."""
    raise AssertionError


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeptRuns:
    """Return a kept with a page."""
    root = tmp_path_factory.mktemp("kept")
    (root / "a run").mkdir()
    (root / "a run" / "report.html").write_text("<title>page</title>")
    (root / "a run" / "config.yaml").write_text("seed: 1")
    (root / ".hidden").mkdir()
    (root / ".hidden" / "report.html").write_text("hidden")
    return KeptRuns(root)


@pytest.fixture(scope="module")
def client(kept: KeptRuns) -> Any:
    """Return Flask's test client, which has opened the address with the key."""
    from lsmlab.reports.lab.server import application

    own = application(JobQueue(no_process, 1), kept, PORT, KEY).server.test_client()
    assert 302 == own.get(f"/?key={KEY}", headers=HOST).status_code
    return own


@pytest.fixture
def stranger(client: Any) -> Any:
    """Return a client without the key."""
    return client.application.test_client(use_cookies=False)


def test_the_page_opens(client: Any) -> None:
    """With the cookie, the page and Dash's own addresses answer, and all their resources are on this server."""
    text = client.get("/", headers=HOST).text

    assert "LSMLab laboratory" in text
    assert not re.findall(r"""(?:src|href|url\()=?["']?(?:https?:)?//""", text)
    assert '"disable_version_check":true' in text
    for path in ("/_dash-layout", "/_dash-dependencies", "/assets/lab.js"):
        assert 200 == client.get(path, headers=OWN).status_code


@pytest.mark.parametrize("path", ["/", "/_dash-layout", "/_dash-dependencies", "/assets/lab.js", "/pages/a%20run/report.html"])
def test_nothing_without_the_key(stranger: Any, path: str) -> None:
    """Without the key every address is refused, also with a wrong key."""
    for wrong in ("", "?key=wrong"):
        assert 403 == stranger.get(path + wrong, headers=HOST).status_code
    assert 403 == stranger.get(path, headers={**HOST, "Cookie": f"{cookie_name(PORT)}=wrong"}).status_code


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": f"evil.example:{PORT}"},  # DNS rebinding
        {"Host": f"evil.example:{PORT}", "Origin": f"http://evil.example:{PORT}"},
        {**HOST, "Origin": "http://evil.example"},
        {**HOST, "Origin": "null"},
        {**HOST, "Sec-Fetch-Site": "cross-site"},
    ],
)  # fmt: skip
def test_other_sites_are_refused(client: Any, headers: dict[str, str]) -> None:
    """Requests under another name or from another site are refused even with the key."""
    body = {"output": "x.y", "inputs": []}

    assert 403 == client.post(UPDATE, headers=headers, json=body).status_code
    assert 403 == client.get("/_dash-layout", headers=headers).status_code or "Host" not in headers


def test_headers_keep_everything_on_this_machine(client: Any) -> None:
    """The browser may load from this server only; pages of results may not send requests to it."""
    page = client.get("/", headers=HOST).headers["Content-Security-Policy"]
    results = client.get("/pages/a%20run/report.html", headers=OWN).headers["Content-Security-Policy"]

    assert "default-src 'none'" in page
    assert "connect-src 'self'" in page
    assert "frame-ancestors 'self'" in page
    assert "script-src 'self' 'sha256-" in page
    assert "connect-src" not in results
    assert "default-src 'none'" in results


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/pages/a%20run/report.html", 200), ("/pages/a%20run/config.yaml", 404), ("/pages/.hidden/report.html", 404),
        ("/pages/../../etc/passwd", 404), ("/pages/%2e%2e/%2e%2e/etc/passwd.html", 404),
    ],
)  # fmt: skip
def test_only_pages_of_the_shelf_are_sent(client: Any, path: str, status: int) -> None:
    """Only pages below the kept's folder are sent."""
    assert status == client.get(path, headers=OWN, follow_redirects=True).status_code


def test_large_requests_are_refused(client: Any) -> None:
    """A request above the limit is refused before its content is read."""
    answer = client.post(UPDATE, headers=OWN, data=b" " * (MOST_REQUEST_BYTES + 1), content_type="application/json")

    assert 413 == answer.status_code


def test_controls_for_the_chosen_entries(kept: KeptRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    """The form has the settings of the chosen entries, keeps changed values, and says in one line what is wrong."""
    from lsmlab.reports.lab import form_callbacks as callbacks
    from lsmlab.reports.lab.layout import START

    context = type("Context", (), {"triggered_prop_ids": {"applied.data": "applied"}})
    monkeypatch.setattr(callbacks, "ctx", context)
    draw = callbacks.Form(JobQueue(no_process, 1), kept).controls
    entries = tuple(START.entries.values())
    first = draw(*entries, START.as_json(), [], {}, None, [], [])

    assert '"value":"60s"' in to_json(first[2])
    assert "kingston_dc600m" in to_json(first[5])
    assert "" == first[-1]

    context.triggered_prop_ids = {"entry-workload.value": "entry-workload"}
    identifiers = [{"part": "text", "key": "workload.duration"}, {"part": "text", "key": "workload.num"}]
    other = draw("rocksdb", "sata", "overwrite", None, ["host.cores"], {}, first[-2], ["90s", "1M"], identifiers)

    assert '"value":"90s"' in to_json(other[2])
    assert "host.cores" in to_json(other[3])
    assert "no such entry" in draw("nonsense", "sata", "overwrite", None, [], {}, None, [], [])[-1]
    gone = draw(*entries, None, [], {"options_file": "/etc/passwd"}, None, [], [])
    assert "passwd: this file is not there any more; load it again" == gone[-1]


def to_json(components: Any) -> str:
    """Return components as the server sends them."""
    import json

    from plotly.utils import PlotlyJSONEncoder

    return json.dumps(components, cls=PlotlyJSONEncoder, separators=(",", ":"))
