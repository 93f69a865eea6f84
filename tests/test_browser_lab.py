"""Laboratory in a real browser: it previews, simulates, cancels, compares, loads files, and sends nothing elsewhere.

Needs Chromium and the packages of the group `browser`; `make test-browser` installs them.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from browser_pages import serious

pytest.importorskip("dash", reason="needs the package dash: pip install '.[lab]'")
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
ROOT = Path(__file__).parents[1]
LONG = 60_000
"""Longest wait in ms; a test fails earlier only by what it sees, because the machine may be busy."""


@dataclass
class Laboratory:
    """A running server."""

    process: subprocess.Popen[str]
    address: str
    folder: Path


@dataclass
class Tab:
    """A tab of the browser, with what went wrong in it."""

    page: Any
    faults: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def watch(self) -> None:
        """Collect errors, refused requests and the hosts of all requests."""
        self.page.on("console", lambda m: self.faults.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.faults.append(str(e)))
        self.page.on("request", lambda r: self.hosts.add(r.url.partition("://")[2].partition("/")[0]))

    def drawn(self) -> int:
        """Return how many times the curves were drawn."""
        return int(self.page.get_attribute("html", "data-drawn") or 0)

    def after(self, before: int) -> None:
        """Wait until the curves are drawn anew."""
        self.page.wait_for_selector(f"html:not([data-drawn='{before}'])", state="attached", timeout=LONG)

    def field(self, key: str) -> Any:
        """Return the control of a setting."""
        return self.page.locator(f".field[data-key='{key}']")

    def type(self, key: str, text: str) -> None:
        """Type a value into a setting's field."""
        control = self.field(key).locator("input:not([type=range])")
        control.fill(text)
        control.press("Enter")

    def says(self, element: str, pattern: str) -> str:
        """Wait until an element's text matches a pattern; return the text."""
        from playwright.sync_api import expect

        expect(self.page.locator(element)).to_have_text(re.compile(pattern), timeout=LONG)
        return str(self.page.locator(element).inner_text())

    def simulate(self) -> None:
        """Simulate the whole run and wait for its end."""
        self.page.click("#simulate")
        self.says("#progress", "done$")

    def frame(self) -> Any:
        """Return the frame with the page of results."""
        return self.page.frame_locator("#frame")


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """Start the laboratory; end it with SIGTERM, after which no process is left."""
    folder = tmp_path_factory.mktemp("laboratory")
    command = [sys.executable, "-m", "lsmlab", "lab", "--no-open", "--out", str(folder / "kept")]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    yield Laboratory(process, address, folder)
    children = descendants(process.pid)
    process.send_signal(signal.SIGTERM)
    assert 0 == process.wait(20)
    assert children
    end_s = time.monotonic() + 10
    while any(runs(child) for child in children):  # Python's tracker of resources ends after its parent
        assert time.monotonic() < end_s
        time.sleep(0.05)
    assert not list((folder / "kept").glob("*.partial-*"))


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(text) for text in listed.stdout.split() if int(text) != pid]


def runs(pid: int) -> bool:
    """Return whether a process runs."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def context(browser: Any, laboratory: Laboratory) -> Iterator[Any]:
    """Return a new profile of the browser, which may use the clipboard."""
    own = browser.new_context(viewport={"width": 1280, "height": 900})
    own.grant_permissions(["clipboard-read", "clipboard-write"])
    yield own
    own.close()


@pytest.fixture
def tab(context: Any, laboratory: Laboratory) -> Iterator[Tab]:
    """Open the laboratory and wait for its first curves; at the end there are no errors and no requests elsewhere."""
    opened = opened_tab(context, laboratory)
    yield opened
    assert [] == opened.faults
    assert {laboratory.address.split("/")[2]} == opened.hosts


def opened_tab(context: Any, laboratory: Laboratory) -> Tab:
    """Open a tab and wait for its first curves."""
    opened = Tab(context.new_page())
    opened.watch()
    opened.page.goto(laboratory.address)
    opened.page.wait_for_selector("html[data-drawn]", state="attached", timeout=LONG)
    return opened


def test_curves_follow_a_slider(tab: Tab) -> None:
    """A slider moved by the keyboard changes its value, the curves and the command; twenty quick moves end at the last."""
    slider = tab.field("engine.options.max_background_jobs").locator("input[type=range]")
    slider.focus()
    before = tab.drawn()
    tab.page.keyboard.press("ArrowRight")
    tab.after(before)

    assert "3" == tab.field("engine.options.max_background_jobs").locator("input:not([type=range])").input_value()
    for _ in range(10):
        tab.page.keyboard.press("ArrowRight")
    for _ in range(10):
        tab.page.keyboard.press("ArrowLeft")
    tab.page.keyboard.press("ArrowRight")
    tab.page.click("#exact summary")
    tab.says("#command", "max_background_jobs=4 ")
    tab.says("#name", "4 jobs")

    tab.page.click("#copy-command")
    tab.says("#copied", "command is in the clipboard")
    command = tab.page.evaluate("navigator.clipboard.readText()")
    assert command == tab.page.inner_text("#command")
    assert command.startswith("lsmlab run engine=rocksdb device=sata workload=fillrandom ")


def test_errors_name_the_setting(tab: Tab) -> None:
    """A bad value shows the command line's error, marks its field, and goes away with a good one."""
    tab.type("workload.threads", "0")

    assert tab.says("#message", "threads").endswith("workload.threads: 0 is out of range; it must be at least 1")
    tab.page.wait_for_selector(".field.bad[data-key='workload.threads'] [aria-invalid=true]")
    before = tab.drawn()
    tab.type("workload.threads", "2")
    tab.after(before)
    tab.says("#message", "^$")
    assert 0 == tab.page.locator(".field.bad").count()


def test_entries_change_the_form(tab: Tab) -> None:
    """Another workload has other settings; values that both have stay; the search field finds any other setting."""
    choose(tab, "entry-workload", "ycsb_a")
    tab.page.wait_for_selector(".field[data-key='workload.recordcount']")
    assert "60s" == tab.field("workload.duration").locator("input:not([type=range])").input_value()
    assert 0 == tab.field("workload.num").count()

    choose(tab, "other", "host.cores")
    tab.page.wait_for_selector(".field[data-key='host.cores']")
    before = tab.drawn()
    tab.type("host.cores", "2")
    tab.after(before)
    tab.page.click("#exact summary")
    tab.says("#command", "host.cores=2")


def choose(tab: Tab, identifier: str, entry: str) -> None:
    """Choose an entry of a list by typing its name."""
    tab.page.click(f"#{identifier}")
    search = tab.page.locator(".dash-dropdown-content input[type=search], .dash-dropdown-search").first
    search.fill(entry)
    tab.page.locator(".dash-dropdown-option", has_text=re.compile(rf"^\s*{entry}(\s|$)")).first.click()
    tab.page.keyboard.press("Escape")


def test_simulates_keeps_and_compares(tab: Tab, laboratory: Laboratory) -> None:
    """A whole run appears as page, and in the list, with its numbers; two of them are compared."""
    tab.type("workload.duration", "5s")
    tab.says("#name", "duration=5s")
    tab.simulate()
    name = "rocksdb on sata, fillrandom, duration=5s"
    summary = json.loads((laboratory.folder / "kept" / name / "summary.json").read_text())

    assert f"{summary['ops_per_s']:,.0f} /s" in tab.frame().locator("#fact-ops_per_s").inner_text(timeout=LONG)
    assert name in tab.page.inner_text("#marked")

    tab.type("engine.options.max_background_jobs", "6")
    tab.says("#name", "6 jobs")
    tab.simulate()
    tab.says("#marked", "6 jobs")  # the new run comes first in the list, so the rows move
    for folder in (name, "rocksdb on sata, fillrandom, 6 jobs, duration=5s"):
        tab.page.locator("#marked label", has_text=folder).locator("input").check()
    assert 2 == tab.page.locator("#marked input:checked").count()
    tab.page.click("#compare")
    tab.says("#progress", "comparison of 2 runs: done")
    assert "6 jobs" in tab.frame().locator("h1").inner_text(timeout=LONG)
    assert "comparisons/" in tab.page.get_attribute("#frame-link", "href")
    links = tab.frame().locator("a[href*='report.html']")
    if links.count():  # a link of the comparison leads to the page of its run
        links.first.click()
        assert tab.frame().locator("#fact-ops_per_s").inner_text(timeout=LONG)


def test_the_kept_settings_return(tab: Tab) -> None:
    """A kept run's settings return to the form, and the run opens again and is removed."""
    tab.type("workload.duration", "4s")
    tab.says("#name", "duration=4s")
    tab.simulate()
    before = tab.drawn()
    tab.type("workload.duration", "3s")
    tab.after(before)
    row = tab.page.locator("#marked label", has_text="duration=4s")
    row.locator("input").check()
    tab.page.click("#use")
    tab.says("#name", "duration=4s")
    assert "4s" == tab.field("workload.duration").locator("input:not([type=range])").input_value()
    tab.page.click("#open")
    assert "4 s simulated" in tab.frame().locator(".subtitle").inner_text(timeout=LONG)
    tab.page.click("#toggle")  # the page of results follows
    tab.frame().locator(f"html[data-theme='{tab.page.get_attribute('html', 'data-theme')}']").wait_for(timeout=LONG)
    tab.page.click("#remove")
    row.wait_for(state="detached", timeout=LONG)


def test_cancel_and_reload_in_mid_run(tab: Tab, laboratory: Laboratory) -> None:
    """Twenty clicks start one simulation; a reload finds it running, with the same settings; Cancel ends it, without remains."""
    tab.type("workload.duration", "2000h")
    tab.says("#name", "duration=2000h")
    before = set(descendants(laboratory.process.pid))
    for _ in range(20):
        tab.page.click("#simulate", no_wait_after=True)
    tab.says("#progress", r"\d+ %")
    assert len(set(descendants(laboratory.process.pid)) - before) <= 1

    tab.page.reload()
    tab.says("#progress", r"duration=2000h: \d+ %")
    tab.says("#name", "duration=2000h")
    tab.page.click("#cancel")
    tab.says("#progress", "cancelled")
    assert tab.page.is_disabled("#cancel")
    assert not list((laboratory.folder / "kept").glob("*2000h*"))


def test_two_tabs(context: Any, tab: Tab, laboratory: Laboratory) -> None:
    """Each tab has its own settings and simulation; a run that one keeps appears in the other."""
    other = opened_tab(context, laboratory)
    tab.type("workload.duration", "6s")
    other.type("workload.duration", "7s")
    tab.says("#name", "duration=6s")
    other.says("#name", "duration=7s")
    tab.page.click("#simulate")
    other.simulate()
    tab.says("#progress", "duration=6s: done")
    assert "duration=6s" in other.says("#marked", "duration=6s.*|.*duration=6s")
    assert [] == other.faults


def test_loads_an_options_file(tab: Tab) -> None:
    """An OPTIONS file gives the store's options; a file that is none gives one line."""
    tab.page.locator("#upload-options input[type=file]").set_input_files(ROOT / "validation" / "demo" / "OPTIONS")
    tab.says("#source-text", "Options of OPTIONS")
    tab.page.click("#exact summary")
    tab.says("#command", "--options .*/uploads/[0-9a-f]{8}/OPTIONS")
    tab.page.locator("#upload-options input[type=file]").set_input_files(
        {"name": "evil.txt", "mimeType": "text/plain", "buffer": b"<script>alert(1)</script>"}
    )
    assert tab.says("#message", r"evil\.txt:1: ")
    tab.page.click("#restart")
    tab.says("#source-text", "^$")


def test_loads_a_log(tab: Tab) -> None:
    """A LOG is imported in the background; its page opens, and its store, machine and load are the form's."""
    log = ROOT / "validation" / "cases" / "test" / "bw80_v100" / "1" / "LOG.xz"
    tab.page.locator("#upload-log input[type=file]").set_input_files(log)
    tab.says("#progress", "import of LOG.xz: done")
    tab.says("#source-text", "the LOG")
    tab.says("#name", "^imported on imported, imported")
    assert tab.frame().locator("h1").inner_text(timeout=LONG)


def test_other_sites_reach_nothing(browser: Any, laboratory: Laboratory, tmp_path: Path) -> None:
    """A page of another origin can neither send a request, nor frame the laboratory, even in the same browser."""
    context = browser.new_context()
    tab = opened_tab(context, laboratory)
    other = context.new_page()
    other.goto("about:blank")
    results = other.evaluate(
        """async (address) => {
            const answers = [];
            for (const [path, method] of [["/_dash-update-component", "POST"], ["/_dash-layout", "GET"]]) {
                try {
                    const body = method === "POST" ? "{}" : undefined;
                    const answer = await fetch(address + path, { method, mode: "no-cors", credentials: "include", body });
                    answers.push(answer.type + answer.status);
                } catch { answers.push("failed"); }
            }
            return answers;
        }""",
        laboratory.address.partition("/?")[0],
    )
    statuses: list[int] = []
    other.on("response", lambda answer: statuses.append(answer.status))
    other.set_content(f"<iframe src='{laboratory.address.partition('?')[0]}'></iframe>")
    other.wait_for_timeout(500)

    assert all(result in ("failed", "opaque0") for result in results)
    assert 200 not in statuses
    assert [] == tab.faults
    context.close()


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_small_screens_and_dark_mode(browser: Any, laboratory: Laboratory, width: int, scheme: str) -> None:
    """Nothing is wider than the screen, each control has a name, and axe finds nothing serious (contrast, roles, labels)."""
    context = browser.new_context(viewport={"width": width, "height": 850}, color_scheme=scheme)
    tab = opened_tab(context, laboratory)

    assert scheme == tab.page.get_attribute("html", "data-theme")
    assert width >= tab.page.evaluate("document.documentElement.scrollWidth")
    unnamed = tab.page.evaluate(
        """() => [...document.querySelectorAll("input:not([type=file]):not([aria-hidden=true]), button")]
            .filter((e) => e.offsetParent && !e.labels?.length && !e.getAttribute("aria-label") && !e.textContent.trim())
            .map((e) => e.outerHTML.slice(0, 100))"""
    )
    assert [] == unnamed
    tab.page.click("#exact summary")
    tab.page.locator("#fields-workload summary").click()
    assert [] == serious(tab.page)
    tab.page.click("#toggle")
    assert scheme != tab.page.get_attribute("html", "data-theme")
    assert [] == tab.faults
    context.close()
