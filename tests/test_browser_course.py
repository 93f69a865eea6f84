"""A lesson's page in a real browser: silent, accessible, and the guess opens the answer.

Needs Chromium and the dependency group `browser`; `make test-browser` installs the group and runs these tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_pages import opened, serious
from lsmlab.reports.course.notebooks import read_lessons
from lsmlab.reports.course.site import write_site

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

LESSON = '''# ---
# title: A small lesson
# aim: You learn nothing new.
# invariants:
#   - A flush writes one file.
# ---
# %%
from lsmlab import course
# %%
course.predict("n", "How much?", unit="bytes", guess=None)
# %%
course.reveal("n", 8.0)
# %%
course.predict("c", "Which?", choices=["red", "green"], unit="bytes", guess=None)
# %%
course.reveal("c", "b", values=[1, 2])
# %%
course.predict("p", "How many?", points=[1, 2], axis="size", unit="bytes", guess=None)
# %%
course.reveal("p", [3, 4])
# %%
course.slider(
    {name: course.bars({"a": size}, title="", caption="", unit="s") for name, size in (("one", 1), ("two", 2))},
    title="Sizes", caption="Two sizes.", label="size",
)
'''


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a small lesson."""
    home = tmp_path_factory.mktemp("course")
    (home / "1-small.py").write_text(LESSON, encoding="utf-8")
    write_site(read_lessons(home), home / "site", lambda title: None)
    return home / "site" / "1-small.html"


def test_guesses_open_the_answers(lesson: Path, browser: Any) -> None:
    """Each kind of guess is drawn in its place beside the answer; nothing is shown before; no errors, nothing serious."""
    tab, troubles = opened(browser, lesson, width=400, files=lesson.parent)
    assert 0 == tab.locator(".verdict").count()
    tab.fill('form[data-key="n"] input', "5")
    tab.click('form[data-key="n"] button')
    tab.wait_for_selector('.verdict[data-key="n"]')
    assert "Your guess: 5. Simulated: 8 bytes" == tab.locator('.verdict[data-key="n"]').inner_text()
    assert 1 == tab.locator(".verdict").count()
    tab.check('form[data-key="c"] input[value="a"]')
    tab.click('form[data-key="c"] button')
    for field, value in zip(tab.locator('form[data-key="p"] input').all(), ("6", "7"), strict=True):
        field.fill(value)
    tab.click('form[data-key="p"] button')
    tab.wait_for_selector('.verdict[data-key="p"]')

    guesses = tab.evaluate("[...document.querySelectorAll('.figure')].slice(0, 3).map((f) => [f.data[1].x, f.data[1].y])")
    assert [[[5], ["your guess"]], [[1], ["a)"]], [[1, 2], [6, 7]]] == guesses
    assert ([], []) == (serious(tab), troubles)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400


def test_paper_has_all_answers(lesson: Path, browser: Any) -> None:
    """Printing opens answers and folds, draws figures in the width of the paper, and closes what was closed afterwards."""
    tab, troubles = opened(browser, lesson, width=1200, files=lesson.parent)
    tab.wait_for_selector("html[data-answers]", state="attached")
    for event in ("beforeprint", "afterprint", "beforeprint"):
        tab.evaluate("(name) => window.dispatchEvent(new Event(name))", event)
    printed = tab.evaluate("[...document.querySelectorAll('.figure')].map((f) => f.querySelector('.main-svg')?.clientWidth)")
    shown = tab.locator(".verdict").count()
    tab.evaluate("window.dispatchEvent(new Event('afterprint'))")

    assert 3 == shown
    assert [640] * 4 == printed
    assert 0 == tab.locator(".verdict").count()
    tab.fill('form[data-key="n"] input', "5")
    tab.click('form[data-key="n"] button')
    tab.wait_for_selector('.verdict[data-key="n"]')
    tab.wait_for_function("document.querySelector('.main-svg')?.clientWidth > 700")
    assert [] == troubles


def test_sliders_need_no_server(lesson: Path, browser: Any) -> None:
    """A step of a slider shows its own traces, and the table below has the values of all steps."""
    tab, troubles = opened(browser, lesson, width=1200, files=lesson.parent)
    tab.wait_for_selector("html[data-answers]", state="attached")
    tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    tab.evaluate("Plotly.restyle('figure-3', document.getElementById('figure-3').layout.sliders[0].steps[1].args[0])")

    assert [False, True] == tab.evaluate("document.getElementById('figure-3').data.map((trace) => trace.visible)")
    assert "two\t2 s" in tab.locator(".values").inner_text()
    assert [] == troubles
