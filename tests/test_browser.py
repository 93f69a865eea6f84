"""Pages in a real browser: every kind opens in silence, the explorer shows what the tables say, and axe finds nothing serious.

Needs Chromium and the dependency group `browser`; `make test-browser` installs the group and runs these tests.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from browser_pages import opened, serious
from lsmlab.reports.cli.main import main
from lsmlab.reports.folder_page import draw_run
from lsmlab.reports.run_data import RunData, load_run
from lsmlab.sim.results.tree_replay import tree_at
from report_fixture import write_run
from test_growth import GROWING
from test_papers import FAST, PLAIN, claim, papers
from test_plan import plan_file
from test_variants import FILE as VARIANTS

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

ROOT = Path(__file__).parents[1]
STORE = (
    "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=1MiB", "device=sata",
    "engine.options.max_bytes_for_level_base=4MiB", "workload.value_size=100", "workload.num=200000",
)  # fmt: skip
COMMANDS = (
    ("run", *STORE, "workload.duration=20s", "--out", "slow"),
    ("run", *STORE, "engine=ldc", "workload.duration=4s", "--out", "slices"),
    ("run", *STORE, "engine=pebblesdb", "workload.duration=4s", "--out", "guards"),
    ("run", *STORE, "engine=vlsm", "workload.duration=4s", "--out", "vssts"),
    ("run", "workload.num=1000", "workload.duration=1s", "--out", "empty"),
    ("run", *STORE, "workload=constant", "workload.rate=20000", "workload.shards=2", "workload.duration=4s", "--out", "shards"),
    ("compare", "device=nvme,sata", "workload.num=200000", "workload.duration=5s", "--out", "compared"),
    ("sweep", "device=nvme,sata", "workload.num=200000", "workload.duration=3s", "--out", "swept"),
    ("results", "swept", "--plot", "device", "ops_per_s"),
    ("whatif", "slow", "device=nvme", "--replications", "2", "--out", "whatif"),
    ("advise", "slow", "--replications", "2", "--set", "workload.duration=2s", "--out", "advice"),
    ("tune", "slow", "engine.options.max_background_jobs=2..8", "--goal", "throughput", "--trials", "3", "--replications", "2",
     "--set", "workload.duration=2s", "--out", "tuned"),
    ("import", str(ROOT / "validation/recordings/static/LOG.xz"), "--out", "imported"),
    ("validate", "--cases", str(ROOT / "validation/demo/own-run"), "--seeds", "3", "--out", "scored"),
    ("sweep", "device=nvme,sata", "engine.options.max_background_jobs=2,4", "workload.num=200000", "workload.duration=3s",
     "--replications", "2", "--objective", "ops_per_s", "--objective", "write_latency_s.p999", "--out", "explored"),
    ("plan", "plan.yaml", "--out", "planned"),
    ("grow", "seed=1", *(text for one in GROWING for text in ("--set", one)), "--horizon", "10min", "--windows", "2",
     "--window", "40s", "--out", "grown"),
    ("compare", "--variants", "variants.yaml", "--replications", "2", "--out", "variants"),
    ("report", "slow"),  # again, now with the advice
)  # fmt: skip
PAGES = (
    "slow/report.html", "slices/report.html", "guards/report.html", "vssts/report.html", "empty/report.html",
    "shards/report.html", "compared/report.html", "compared/nvme/report.html", "swept/report.html", "swept/plot.html",
    "whatif/report.html", "advice/report.html", "tuned/report.html", "imported/report.html", "scored/report.html",
    "explored/report.html", "planned/report.html", "grown/report.html", "variants/report.html", "papers/report.html",
)  # fmt: skip
WIDTHS = (1280, 400)
CHARTS = "document.querySelectorAll('.js-plotly-plot').length"
AT_READY = f"""new MutationObserver(() => {{
  if (document.documentElement.dataset.ready) window.chartsAtReady ??= {CHARTS};
}}).observe(document, {{ attributes: true, subtree: true, attributeFilter: ["data-ready"] }});"""
"""Script that counts the charts at the moment at which the page is ready."""
STOP = "document.activeElement.closest('.figure, canvas')?.id || document.activeElement.tagName"
"""Chart that has the focus, else the name of its element."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which each kind of page was drawn."""
    home = tmp_path_factory.mktemp("pages")
    plan_file(home, candidates={"device": ["sata", "kingston_dc600m"]}, sensitivity__candidates=1)
    (home / "variants.yaml").write_text(yaml.safe_dump(VARIANTS))
    program = str(Path(sys.executable).parent / "lsmlab")
    for command in COMMANDS:
        done = subprocess.run([program, *command], cwd=home, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), f"{command}: {done.stderr}"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        suite = papers(claim("ldc.a_rather_long_name", PLAIN, FAST), claim("ldc.b", FAST, PLAIN, accepted=(0.9, 1.1)))
        patch.setattr("lsmlab.validation.papers.reproduce.read_papers", lambda *_: suite)
        assert 0 == main(["papers", "--only", "ldc.*", "--seeds", "2", "-j", "1", "--out", "papers"])
    return home


def drawn(browser: Any, path: Path, *, scheme: str = "light", address: str = "") -> tuple[Any, list[str]]:
    """Open a page and wait for its charts; return it with the list of its errors and requests, which goes on growing."""
    page, troubles = opened(browser, path, scheme=scheme, address=address, script=AT_READY)
    page.wait_for_selector("html[data-drawn=true]", state="attached")
    return page, troubles


def files_by_level(page: Any) -> dict[int, int]:
    """Return the files per level that the page tells below the tree."""
    words = page.locator("#tree-words").inner_text()
    return {int(level): int(files.replace(",", "")) for level, files in re.findall(r"L(\d+) ([\d,]+) file", words)}


def instant_of(page: Any) -> float:
    """Return the instant that a page shows, in s."""
    return float(page.locator("#instant").get_attribute("data-exact"))


def replayed(run: RunData, time_s: float) -> dict[int, int]:
    """Return the files per level at an instant, by events.parquet."""
    assert run.events is not None
    return {level: len(files) for level, files in tree_at(run.events, time_s).levels.items() if files}


@pytest.mark.parametrize("name", PAGES)
def test_page_of_each_kind(browser: Any, folder: Path, name: str) -> None:
    """A page opens without console messages, errors and requests, fits its width, and axe-core finds nothing serious.

    Both in a wide window with the light theme and in a narrow one with the dark theme. Tables and code scroll in themselves.
    """
    page, troubles = drawn(browser, folder / name)
    found = []
    for width, scheme in zip(WIDTHS, ("light", "dark"), strict=True):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(300)
        found += [f"{scheme}: {text}" for text in serious(page)]

        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert ([], []) == (found, troubles)
    assert page.evaluate("document.documentElement.dataset.error") is None
    page.close()


def test_the_first_screen_does_not_wait_for_charts_below(browser: Any, folder: Path) -> None:
    """A page is ready before the charts far below are drawn; they follow unasked, and printing shows all, on light ground."""
    page, troubles = drawn(browser, folder / "slow/report.html", scheme="dark")
    page.evaluate("window.addEventListener('beforeprint', () => { window.printed = document.documentElement.dataset.theme; })")
    charts = page.locator(".figure").count()

    assert page.evaluate("window.chartsAtReady") < charts == page.evaluate(CHARTS)
    page.pdf()
    assert ("light", "dark") == (page.evaluate("window.printed"), page.locator("html").get_attribute("data-theme"))
    assert [] == troubles
    page.close()


def test_a_page_without_scripts_says_so(browser: Any, folder: Path) -> None:
    """Without JavaScript, or in a browser without what the charts need, a sentence says so; otherwise neither is shown."""
    path = folder / "compared/report.html"
    shown = {}
    for name, options, before in (
        ("off", {"java_script_enabled": False}, ""), ("old", {}, "delete window.DecompressionStream"),
        ("older", {}, "Object.assign = null"), ("new", {}, ""),
    ):  # fmt: skip
        page = browser.new_page(**options)
        page.add_init_script(before)
        page.goto(path.as_uri())
        page.wait_for_timeout(500)
        shown[name] = [page.locator(place).is_visible() for place in ("noscript p", "#too-old")]
        page.close()

    assert {"off": [True, False], "old": [False, True], "older": [False, True], "new": [False, False]} == shown


def test_each_chart_is_one_tab_stop(browser: Any, folder: Path) -> None:
    """With the tab key, each chart of a run's page is reached once, and has a name that is read aloud."""
    page, _ = drawn(browser, folder / "slow/report.html")
    stops: list[str] = []
    while "BODY" not in stops and len(stops) < 200:  # behind the last stop is the page itself
        page.keyboard.press("Tab")
        stops.append(page.evaluate(STOP))

    charts = page.evaluate("[...document.querySelectorAll('.figure, canvas')].map((chart) => chart.id)")
    names = page.evaluate("[...document.querySelectorAll('.figure, canvas')].map((chart) => chart.ariaLabel)")
    assert sorted(charts) == sorted(stop for stop in stops if stop in charts)
    assert len(charts) == len([name for name in names if name])
    page.close()


@pytest.mark.parametrize("name", ["slow", "slices", "guards", "vssts"])
def test_steps_change_the_tree_as_the_events_say(browser: Any, folder: Path, name: str) -> None:
    """Stepping from event to event shows at each instant as many files per level as the replayed events give."""
    run = load_run(folder / name)
    page, _ = drawn(browser, folder / name / "report.html", address=f"#t={run.duration_s / 2}")
    shown = []
    for _ in range(25):
        before = instant_of(page)
        page.locator("#step-on").click()
        page.wait_for_timeout(40)
        shown.append(files_by_level(page))

        assert instant_of(page) > before
        assert replayed(run, instant_of(page)) == {level: files for level, files in shown[-1].items() if files}
    page.locator("#step-back").click()

    assert instant_of(page) == before
    assert len({tuple(files.items()) for files in shown}) > 3
    page.close()


def test_time_plays(browser: Any, folder: Path) -> None:
    """Play moves the instant on at its speed until it is paused, and the tree follows."""
    run = load_run(folder / "slow")
    page, _ = drawn(browser, folder / "slow/report.html", address="#t=2&speed=10")
    page.locator("#play").click()
    for _ in range(100):
        page.wait_for_timeout(50)
        if instant_of(page) > 5.0:
            break
    page.locator("#play").click()
    page.wait_for_timeout(100)
    paused = instant_of(page)
    page.wait_for_timeout(200)

    assert paused == instant_of(page)
    assert replayed(run, paused) == {level: files for level, files in files_by_level(page).items() if files}
    page.close()


def chain_on(page: Any) -> list[int]:
    """Return the jobs (rows of the run's jobs) in the table of the chosen chain."""
    return [int(row.get_attribute("data-job")) for row in page.locator("#chain tbody tr").all()]


def test_the_chain_of_a_stall_is_that_of_the_tables(browser: Any, folder: Path) -> None:
    """For each of the costliest stalls the page lists the jobs of its chain in stalls.parquet."""
    run = load_run(folder / "slow")
    page, _ = drawn(browser, folder / "slow/report.html")
    for row in run.ranked_stalls()[:6].tolist():
        page.locator("#stall").select_option(str(row))
        page.wait_for_timeout(40)

        assert run.chain(row)[:40] == run.jobs["key"][chain_on(page)].tolist()
    page.close()


def test_the_costliest_group_of_stalls_is_that_of_the_summary(browser: Any, folder: Path) -> None:
    """The button of the first screen chooses the costliest group: its jobs are those that summary.json blames."""
    run, summary = load_run(folder / "slow"), json.loads((folder / "slow/summary.json").read_text())
    group = summary["episodes"][0]
    page, _ = drawn(browser, folder / "slow/report.html")
    page.locator("[data-stall-group='0']").click()
    page.wait_for_timeout(60)
    jobs = chain_on(page)

    held = [j for j in jobs if run.jobs["end_s"][j] > group["start_s"] and run.jobs["start_s"][j] < group["end_s"]]
    assert group["chain"]["jobs"] == len(held)
    assert {job["job"] for job in group["culprits"]} <= set(run.jobs["job"][jobs].tolist())
    page.close()


def test_a_click_on_a_job_tells_why(browser: Any, folder: Path) -> None:
    """The name of a job in a chain opens its details: reason, files and cost of jobs.parquet."""
    run = load_run(folder / "slow")
    page, _ = drawn(browser, folder / "slow/report.html")
    job = chain_on(page)[0]
    page.locator("#chain button").first.click()
    text = page.locator("#details").inner_text()

    assert f"job {run.jobs['job'][job]}" in text
    assert str(run.jobs["reason"][job]) in text
    assert all(title in text for title in ("Why it was picked", "Inputs and outputs", "What it cost"))
    assert run.events is not None
    mine = (run.events["kind"] == "pick") & (run.events["job"] == run.jobs["job"][job])
    candidates = [f"L{level}" for level in run.events["from_level"][mine & (run.events["score"] >= 1)].tolist()]
    assert candidates == re.findall(r"(L\d+) \(candidate\)", text)
    page.close()


def test_a_link_restores_the_view(browser: Any, folder: Path) -> None:
    """The address of a page that was changed by hand shows the same instant, range, stall and speed in another window."""
    path = folder / "slow/report.html"
    page, _ = drawn(browser, path)
    page.locator("#jobs-canvas").focus()
    for key in ("+", "+", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    page.locator("#speed").select_option("0.1")
    page.wait_for_timeout(400)
    address = page.evaluate("location.hash")
    other, _ = drawn(browser, path, address=address)

    ids = ["instant", "shown", "stall", "speed", "tree-words"]
    facts = f"{ids}.map((id) => document.getElementById(id)).map((node) => node.value || node.textContent)"
    assert "x=" in address
    assert page.evaluate(facts) == other.evaluate(facts)
    page.close()
    other.close()


def test_a_band_names_the_job(browser: Any, folder: Path) -> None:
    """Pointing at a stall in the throughput chart shows its cause and the job that it waited for."""
    page, _ = drawn(browser, folder / "slow/report.html")
    page.evaluate("document.getElementById('section-throughput').scrollIntoView()")
    page.wait_for_timeout(300)
    box = page.locator("#throughput .nsewdrag").first.bounding_box()
    texts = []
    for share in np.linspace(0.2, 0.8, 7).tolist():
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        page.wait_for_timeout(80)
        texts.append(page.locator("#tooltip").text_content())

    assert any(re.search(r"waited for .*\(job \d+\)", text) for text in texts)
    page.close()


def test_panels_share_one_time_axis(browser: Any, folder: Path) -> None:
    """After a zoom all charts over time show the same range, and their plot areas begin and end at the same pixels."""
    page, _ = drawn(browser, folder / "slow/report.html", address="#t=5&x=4~8")
    for section in page.locator("#explorer section").all():
        section.scroll_into_view_if_needed()
        page.wait_for_timeout(250)
    found = page.evaluate("""[...document.querySelectorAll('#explorer .js-plotly-plot')].map((plot) => {
      const { _offset, _length, range } = plot._fullLayout.xaxis;
      return [range.map((s) => Math.round(1000 * s)), _offset + plot.getBoundingClientRect().left, _length].flat();
    })""")

    assert len(found) >= 5
    assert all(one == pytest.approx(found[0], abs=0.6) for one in found)
    assert [4000, 8000] == found[0][:2]
    page.close()


@pytest.mark.parametrize(
    "parts", [{"stalls": 0}, {"stalls": 0, "jobs": 0, "reads": False}, {"seconds": 1, "stalls": 1, "jobs": 1}]
)
def test_pages_without_some_data(browser: Any, tmp_path: Path, parts: dict[str, int]) -> None:
    """Runs without stalls, jobs or version edits open in silence, and the keys of the explorer do no harm."""
    path = draw_run(write_run(tmp_path / "run", **parts))  # type: ignore[arg-type]
    assert path is not None
    page, troubles = drawn(browser, path)
    page.locator("#overview").focus()
    for key in ("ArrowRight", " ", "+", "]", "[", "0", "Escape", "End", "ArrowLeft"):
        page.keyboard.press(key)
    page.wait_for_timeout(200)

    assert [] == troubles
    page.close()
