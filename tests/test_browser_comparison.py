"""Comparison page in a real browser: the figures over time share cursor and zoom, and the page asks for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_pages import opened
from lsmlab.reports.comparison.page import draw_comparison
from report_fixture import write_run

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
_LONGEST_MS = 60_000
_TIMELINES = ("throughput", "throughput-difference", "operations-ahead", "latency-over-time", "stalled", "l0-files", "device")


def test_figures_share_cursor_and_zoom(browser: Any, tmp_path: Path) -> None:
    """Pointing at the throughput shows the values of all figures over time; zooming one zooms all; no error, no request."""
    runs = [write_run(tmp_path / name, seconds=60, stalls=5, jobs=30, seed=i) for i, name in enumerate(("a", "b"))]
    page_file = draw_comparison(tmp_path, runs)
    page, troubles = opened(browser, page_file)
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

    assert [] == troubles
    page.close()
