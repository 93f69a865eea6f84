"""Pages on paper and on narrow screens: charts and tables fit, colours stay, no buttons, nothing is torn or folded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_pages import opened, serious
from lsmlab.reports.comparison.page import draw_comparison
from lsmlab.reports.folder_page import draw_run
from report_fixture import write_run

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

PAPER_PX = 703
"""Width of the text on A4: 210 mm without 12 mm at either side."""
WIDTHS = """[...document.querySelectorAll(".figure")].map(
  (figure) => [figure.clientWidth, figure.querySelector(".main-svg").getBoundingClientRect().width])"""
"""Width of the place and of the drawing of each chart."""
TOO_WIDE = f"""[...document.querySelectorAll("main *")].filter((node) => node.getBoundingClientRect().right > {PAPER_PX} + 1
  && !node.closest("svg, canvas")).map((node) => node.tagName + "#" + node.id + "." + node.className)"""
BUTTONS = """[...document.querySelectorAll("button:not(.link), select, nav, .modebar")]
  .filter((node) => node.getBoundingClientRect().height > 0).map((node) => node.outerHTML.slice(0, 80))"""
WORDS = """window.said = []; const own = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (words, ...more) {
  window.said.push(words);
  own.call(this, words, ...more);
};"""
"""Script that notes all texts of canvases."""
STYLES = """(names) => names.map((name) => getComputedStyle(document.querySelector(name)).breakInside)"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the page of a run whose points stand for several seconds, and that of a comparison of long names."""
    home = tmp_path_factory.mktemp("paper")
    names = ("a_store_with_a_rather_long_name_of_its_own", "another_store_with_a_rather_long_name")
    runs = [write_run(home / name, seconds=60, stalls=5, jobs=30, seed=i) for i, name in enumerate(names)]
    run = draw_run(write_run(home / "run", seconds=3001, stalls=60, jobs=90))
    assert run is not None
    return {"run": run, "comparison": draw_comparison(home, runs)}


def ready(browser: Any, path: Path, **how: Any) -> Any:
    """Open a page with all its charts."""
    page, troubles = opened(browser, path, **how)
    page.wait_for_selector("html[data-drawn=true]", state="attached")
    assert [] == troubles
    return page


@pytest.mark.parametrize("name", ["run", "comparison"])
def test_charts_are_drawn_for_the_paper(browser: Any, pages: dict[str, Path], name: str) -> None:
    """Before printing, each chart gets the width of the paper, and folded parts open; both are undone afterwards."""
    page = ready(browser, pages[name], scheme="dark")
    before = page.evaluate("document.querySelectorAll('details[open]').length")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    widths = page.evaluate(WIDTHS)

    assert widths
    assert all(0.9 * PAPER_PX < width <= PAPER_PX for _, width in widths), widths
    assert 0 == page.evaluate("document.querySelectorAll('details:not([open])').length")
    assert "light" == page.get_attribute("html", "data-theme")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert before == page.evaluate("document.querySelectorAll('details[open]').length")
    assert all(width > PAPER_PX for _, width in page.evaluate(WIDTHS))
    assert "dark" == page.get_attribute("html", "data-theme")
    page.close()


@pytest.mark.parametrize("name", ["run", "comparison"])
def test_a_page_fits_the_paper(browser: Any, pages: dict[str, Path], name: str) -> None:
    """On paper nothing is wider than the text, no button is seen, colours stay, and tiles, rows and charts are not torn."""
    page = ready(browser, pages[name], width=PAPER_PX)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    whole = ["section:has(.figure)", "tr", ".figure", *([".fact", ".answer"] if name == "run" else [".story"])]

    assert [] == page.evaluate(TOO_WIDE)
    assert [] == page.evaluate(BUTTONS)
    assert "exact" == page.evaluate("getComputedStyle(document.body).printColorAdjust")
    assert ["avoid"] * len(whole) == page.evaluate(STYLES, whole)
    page.close()


@pytest.mark.parametrize("name", ["run", "comparison"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_each_screen(browser: Any, pages: dict[str, Path], name: str, scheme: str) -> None:
    """At the widths of a phone, a tablet and a desk nothing is wider than the screen, and axe finds nothing serious."""
    page = ready(browser, pages[name], scheme=scheme)
    for width in (1280, 800, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(300)

        assert width >= page.evaluate("document.documentElement.scrollWidth")
        assert all(abs(room - chart) <= 1 for room, chart in page.evaluate(WIDTHS))
    assert [] == serious(page)
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_rows_of_jobs_keep_their_number(browser: Any, pages: dict[str, Path], width: int) -> None:
    """Names of rows that are too wide for their place stay different."""
    page = ready(browser, pages["run"], width=width, script=WORDS)
    names = [words for words in page.evaluate("window.said") if words.startswith("comp")]
    rows = len(set(names))

    assert 2 < rows == len({words.rpartition(" ")[2] for words in names})
    assert all(words[-1].isdecimal() for words in names), names
    page.close()
