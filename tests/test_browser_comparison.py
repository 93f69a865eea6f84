"""Comparison page in a real browser: the figures over time share cursor and zoom, and the page asks for nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lsmlab.reports.comparison.page import draw_comparison
from report_fixture import write_run

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
_LONGEST_MS = 60_000
_TIMELINES = ("throughput", "throughput-difference", "operations-ahead", "latency-over-time", "stalled", "l0-files", "device")


def test_figures_share_cursor_and_zoom(tmp_path: Path) -> None:
    """Pointing at the throughput shows the values of all figures over time; zooming one zooms all; no error, no request."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright: make test-browser")
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium on the PATH")
    runs = [write_run(tmp_path / name, seconds=60, stalls=5, jobs=30, seed=i) for i, name in enumerate(("a", "b"))]
    page_file = draw_comparison(tmp_path, runs)
    faults: list[str] = []
    hosts: set[str] = set()
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1280, "height": 1000})
        page.on("console", lambda m: faults.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: faults.append(str(e)))
        page.on("request", lambda r: hosts.add(r.url.partition("://")[0]))
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-cursor='true']", state="attached", timeout=_LONGEST_MS)
        page.locator("#throughput").scroll_into_view_if_needed()
        page.hover("#throughput .nsewdrag", position={"x": 400, "y": 100})
        for name in _TIMELINES:
            page.wait_for_selector(f"#{name} .hoverlayer .legend", state="attached", timeout=_LONGEST_MS)
        page.evaluate("Plotly.relayout(document.getElementById('throughput'), {'xaxis.range': [10, 20]})")
        page.wait_for_function(
            "names => names.every(n => { const r = document.getElementById(n).layout.xaxis.range; "
            "return Math.abs(r[0] - 10) < 1e-6 && Math.abs(r[1] - 20) < 1e-6; })",
            arg=list(_TIMELINES), timeout=_LONGEST_MS,
        )  # fmt: skip
        chromium.close()

    assert [] == faults
    assert hosts <= {"file", "data", "blob"}
