"""Pages of runs and comparisons: complete, offline, with the run's numbers, and without errors in a browser."""

from __future__ import annotations

import base64
import html
import json
import math
import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from explorer_pack import explorer_of
from lsmlab.models.errors import InputError
from lsmlab.reports import numbers
from lsmlab.reports.cli.report import report
from lsmlab.reports.comparison.page import draw_comparison
from lsmlab.reports.figures.base import line
from lsmlab.reports.folder_page import draw_run
from lsmlab.reports.headline import headline
from lsmlab.reports.parts import escaped
from lsmlab.reports.run_data import load_run
from lsmlab.reports.timeline import MOST_POINTS, Timeline
from report_fixture import figures_of, write_run

pytestmark = pytest.mark.xdist_group("report")  # one process computes the runs that these tests share

FIGURES = (
    "throughput", "queue", "device-bandwidth", "l0-files", "level-sizes", "latency-over-time", "latency-distribution",
    "amplification",
)  # fmt: skip
COMPARED = (
    "throughput", "throughput-difference", "operations-ahead", "latency-over-time", "stalled", "l0-files", "device",
    "pending", "latency-distribution", "stalls", "amplification",
)  # fmt: skip
MOST_BYTES = 8_000_000
"""Limit in bytes for a page, including Plotly (1.9 MB)."""


def page_of(directory: Path) -> str:
    """Draw a run's page; return its text."""
    path = draw_run(directory)
    assert path is not None
    return path.read_text(encoding="utf-8")


def own_part(page: str) -> str:
    """Return the page without the Plotly library."""
    return "".join(part for part in re.split(r"(?=<script)", page) if 'id="plotly"' not in part[:80])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a run with reads, stalls and jobs."""
    return write_run(tmp_path_factory.mktemp("runs") / "whole")


def test_page_is_one_file(run: Path) -> None:
    """The page loads nothing from elsewhere, and forbids the browser to do so."""
    page = page_of(run)

    own = own_part(page)
    assert re.findall(r"""(?:src|href)\s*=(?!["']#)|url\(|@import|https?://""", own) == []
    assert "default-src 'none'" in own
    assert [p.name for p in run.iterdir() if p.suffix in (".js", ".css")] == []


def test_page_has_every_figure(run: Path) -> None:
    """Each figure has data and a place on the page, and the page has the configuration."""
    page = page_of(run)

    figures = figures_of(page)
    assert list(FIGURES) == list(figures)
    assert [name for name in FIGURES if not figures[name]["traces"] or f'id="{name}"' not in page] == []
    assert 'id="configuration"' in page
    assert "write_buffer_size: 64MiB" in page


def test_page_states_the_headline_numbers(run: Path) -> None:
    """Throughput, latencies, stalls, amplification, device use and endurance on the page are those of the summary."""
    page, summary = page_of(run), json.loads((run / "summary.json").read_text())

    write = summary["write_latency_s"]
    expected = [
        numbers.per_second(summary["ops_per_s"]), *(numbers.seconds(write[key]) for key in ("p99", "p999", "max")),
        numbers.seconds(summary["read_latency_s"]["p99"]), numbers.percent(summary["stall_fraction"]),
        numbers.percent(summary["lost_operations"]["share"]),
        numbers.ratio(summary["write_amplification"]), numbers.ratio(summary["space_amplification"]),
        numbers.percent(summary["device"]["utilisation"]), numbers.years(summary["device"]["years_left"]),
    ]  # fmt: skip
    assert expected == re.findall(r'<div class="fact"[^>]*><span[^>]*>[^<]*</span><b>(.*?)</b>', page)


def test_answers_name_the_dominant_stall(run: Path) -> None:
    """The answers give the share of stalls and the dominant cause."""
    data, page = load_run(run), page_of(run)

    assert f"{numbers.percent(data.summary['stall_fraction'])} of the time" in page
    assert "level 0 had reached 20 files" in page


def test_stall_selector_lists_costliest_first(run: Path) -> None:
    """The selector lists the costliest stalls first, and the page has the chain of each."""
    data, page = load_run(run), page_of(run)

    explorer = explorer_of(page)
    expected = sorted(range(len(data.stalls["lost_ops"])), key=lambda row: -data.stalls["lost_ops"][row])
    offered = [one["row"] for one in explorer["stalls"]["listed"]]
    assert expected == offered
    assert [str(row) for row in offered] == re.findall(r'<option value="(\d+)">\d+\. ', page)
    ends, chain = (explorer["stalls"]["columns"][name] for name in ("chain_ends", "chain"))
    assert [data.chain(row) for row in offered] == [
        data.jobs["key"][chain[ends[row] : ends[row + 1]]].tolist() for row in offered
    ]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"reads": False}, "% of the time"),
        ({"stalls": 0}, "Nothing: no write stalls"),
        ({"stalls": 0, "jobs": 0}, "No background job ran."),
        ({"stalls": 0, "jobs": 0, "reads": False}, "No level ever had a file."),
        ({"seconds": 1, "stalls": 1, "jobs": 1}, "% of the time"),
    ],
    ids=["no reads", "no stalls", "no jobs", "writes only", "one second"],
)  # fmt: skip
def test_page_of_a_run_without_some_data(tmp_path: Path, parts: dict[str, int], text: str) -> None:
    """The page of a run without reads, stalls or jobs has all sections, and says what is missing."""
    page = page_of(write_run(tmp_path / "run", **parts))

    assert text in page
    assert [name for name in FIGURES if f'id="{name}"' not in page] == []
    if not parts.get("reads", True):
        assert "read P99" not in page
    if parts.get("stalls", 1) == 0:
        assert '<select id="stall">' not in page


def test_page_of_a_day_stays_small(tmp_path: Path) -> None:
    """For 24 hours with 100,000 jobs and 20,000 stalls lines are thinned, and the longest stalls keep their chains."""
    page = page_of(write_run(tmp_path / "day", seconds=86_400, stalls=20_000, jobs=100_000))

    explorer = explorer_of(page)
    ends, chain = (explorer["stalls"]["columns"][name] for name in ("chain_ends", "chain"))
    listed = [one["row"] for one in explorer["stalls"]["listed"]]
    assert len(page.encode()) < MOST_BYTES
    assert [] == [row for row in listed if (chain[ends[row] : ends[row + 1]] < 0).any()]
    assert 100_000 == explorer["jobs"]["count"]


def test_thinned_lines_keep_extremes() -> None:
    """Thinning keeps the lowest and highest value, and the mean weighs every row."""
    values = np.zeros(86_400)
    values[40_000] = 7.0

    timeline = Timeline.of(np.arange(1.0, 86_401.0))

    assert len(timeline.starts) <= MOST_POINTS
    assert (timeline.low(values).min(), timeline.high(values).max()) == (0.0, 7.0)
    assert pytest.approx(7.0 / timeline.rows_per_point) == timeline.mean(values).max()


def test_an_isolated_second_is_drawn_as_a_dot() -> None:
    """A point without neighbours is drawn as a dot, as lines do not show it; stores with stops have many of them."""
    gap = math.nan
    drawn = line([1, 2, 3, 4, 5], [gap, 1.0, gap, 2.0, 3.0], "P99", "#000000")
    sizes = np.frombuffer(base64.b64decode(drawn["marker"]["size"]["bdata"]), dtype="<f4")
    assert ("lines+markers", [False, True, False, False, False]) == (drawn["mode"], (sizes > 0).tolist())
    assert "lines" == line([1, 2], [1.0, 2.0], "P99", "#000000")["mode"]


def test_jobs_of_shards_are_kept_apart(tmp_path: Path) -> None:
    """Job numbers are unique per shard: a stall's chain refers to jobs of its own shard only."""
    directory = write_run(tmp_path / "run", stalls=1, jobs=20)
    for name in ("jobs", "stalls"):
        table = pq.read_table(directory / f"{name}.parquet")
        second = table.set_column(table.column_names.index("shard"), "shard", pa.array([1] * table.num_rows))
        pq.write_table(pa.concat_tables([table, second]), directory / f"{name}.parquet")

    data = load_run(directory)

    first, second = set(data.chain(0)), set(data.chain(1))
    assert first
    assert first & second == set()
    assert first | second <= set(data.jobs["key"].tolist())


@pytest.mark.parametrize(("covered_s", "rate"), [(0.5, 200.0), (1.0, 100.0)])
def test_last_partial_second_is_a_rate(tmp_path: Path, covered_s: float, rate: float) -> None:
    """The rate of a partial last second is relative to its length."""
    directory = write_run(tmp_path / "run", seconds=10, stalls=0, jobs=0)
    summary = json.loads((directory / "summary.json").read_text())
    summary["duration_s"] = 9.0 + covered_s
    (directory / "summary.json").write_text(json.dumps(summary))
    table = pq.read_table(directory / "series.parquet")
    table = table.set_column(table.column_names.index("write_ops"), "write_ops", pa.array([100.0] * 10))
    pq.write_table(table, directory / "series.parquet")

    assert [100.0] * 9 + [rate] == load_run(directory).rate("write_ops").tolist()


def test_names_are_escaped(tmp_path: Path) -> None:
    """Text of a run cannot become markup or end the page's data."""
    directory = write_run(tmp_path / "run")
    summary = json.loads((directory / "summary.json").read_text())
    summary["workload"] = "</script><img src=x>"
    (directory / "summary.json").write_text(json.dumps(summary))

    assert "<img" not in page_of(directory)


def test_report_into_another_file(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`lsmlab report DIR --out FILE` writes the page to FILE and prints its path."""
    out = tmp_path / "page.html"

    assert report([str(run), "--out", str(out)]) == 0
    assert f"{out}\n" == capsys.readouterr().out
    assert page_of(run) == out.read_text(encoding="utf-8")


def test_report_of_several_runs(tmp_path: Path) -> None:
    """A directory with several runs gives one comparison page with a column per run."""
    for name, speed in (("fast", 1.0), ("slow", 0.5)):
        write_run(tmp_path / name, speed=speed, jobs=40)

    assert report([str(tmp_path)]) == 0

    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    found = list(figures_of(page))
    assert list(COMPARED) == [name for name in found if not name.startswith("change-")]
    assert "change-ops_per_s" in found
    assert escaped("slow against fast: throughput -44.2%") in page
    assert "device.write_cap" in page


def test_comparison_marks_the_best(tmp_path: Path) -> None:
    """The higher throughput is marked and the lower one is not; a metric that is neither good nor bad has no mark."""
    runs = [write_run(tmp_path / name, speed=speed) for name, speed in (("fast", 1.0), ("slow", 0.5))]

    page = draw_comparison(tmp_path, runs).read_text(encoding="utf-8")

    facts = [{fact.key: fact for fact in headline(load_run(run))} for run in runs]
    fast, slow = (mine["ops_per_s"].text for mine in facts)
    assert f'<td class="number best">{fast}</td>' in page
    assert f'<td class="number">{slow}</td>' in page
    assert f'best">{facts[0]["device.utilisation"].text}' not in page


def local_links(page: Path) -> list[str]:
    """Return the targets of a page's links to files, without scripts."""
    text = re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"""href=["']([^"'#]+)""", text)
    return [target for target in found if "://" not in target]


def test_links_of_a_comparison_lead_to_its_runs(tmp_path: Path) -> None:
    """`compare` draws the pages of the shown runs, and every link on every page leads to a file."""
    names = [f"run {i} & more, 100 % #" for i in range(10)]
    runs = [write_run(tmp_path / name, seconds=5, stalls=1, jobs=2, seed=i) for i, name in enumerate(names)]

    page = draw_comparison(tmp_path, runs)

    pages = sorted(tmp_path.rglob("*.html"))
    links = {one: [one.parent / unquote(html.unescape(target)) for target in local_links(one)] for one in pages}
    assert [tmp_path / name / "report.html" for name in names[:8]] == links[page]
    assert [] == [target for targets in links.values() for target in targets if not target.is_file()]


def test_a_comparison_without_the_runs_pages_has_no_links(tmp_path: Path) -> None:
    """`lsmlab report` writes one page, which links only to run pages that exist."""
    for name in ("a", "b"):
        write_run(tmp_path / name, seconds=5, stalls=1, jobs=2)

    assert report([str(tmp_path)]) == 0

    assert [] == local_links(tmp_path / "report.html")
    assert "own page" not in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: None, "no such directory; give the directory"),
        (lambda d: d.mkdir(), "no finished run here"),
        (lambda d: write_run(d / "only"), "it contains one run: lsmlab report"),
        (
            lambda d: (write_run(d) / "jobs.parquet").unlink(),
            "jobs.parquet: missing from the run directory; repeat the run",
        ),
        (lambda d: (write_run(d) / "stalls.parquet").write_bytes(b"PAR1"), "stalls.parquet: cannot be read as Parquet"),
        (lambda d: (write_run(d) / "summary.json").write_text("{"), "summary.json: cannot be read as JSON"),
    ],
    ids=["nothing", "empty", "one run inside", "no jobs file", "broken table", "broken summary"],
)
def test_directory_without_a_run(tmp_path: Path, make: object, message: str) -> None:
    """A directory that cannot be drawn gives one line with the place and the remedy."""
    directory = tmp_path / "place"
    make(directory)  # type: ignore[operator]

    with pytest.raises(InputError, match=re.escape(message)) as error:
        report([str(directory)])

    assert "\n" not in str(error.value)
