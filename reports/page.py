"""Page of one run: headline numbers, story in sentences, figures, configuration."""

from __future__ import annotations

import html
import importlib.util
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.reports import numbers
from lsmlab.reports.answers.page import answers
from lsmlab.reports.charts import RUN_OVER_TIME, RUN_WHOLE, of_run
from lsmlab.reports.explorer.packing import compressed
from lsmlab.reports.explorer.section import explorer_parts
from lsmlab.reports.figures.base import Figure, figures_json
from lsmlab.reports.headline import headline, number
from lsmlab.reports.run_data import RunData
from lsmlab.reports.run_sentences import lead_sentences, summary_sentences
from lsmlab.reports.tables import column_families, configuration
from lsmlab.reports.timeline import Timeline
from lsmlab.sim.results.leftovers import replacing

_HERE = Path(__file__).parent


def run_page(run: RunData) -> str:
    """Return the whole HTML page of a run."""
    timeline = Timeline.of(run.times_s)
    over_time, others = of_run(RUN_OVER_TIME, run, timeline), of_run(RUN_WHOLE, run, timeline)
    explorer, end = explorer_parts(run, timeline, [section(figure) for figure in over_time], "simulated time (s)")
    body = (
        f"{contents([*over_time, *others])}{first_screen(run)}{in_numbers(run, summary_sentences(run))}{explorer}"
        f"{''.join(section(figure) for figure in others)}{column_families(run)}{configuration(run)}"
    )
    return assemble(_title(run), _subtitle(run), body, [*over_time, *others], footer([run]), end)


def first_screen(run: RunData) -> str:
    """Return the HTML of what was simulated and of the five answers."""
    lead = lead_sentences(run)
    return f"{paragraphs(lead) if lead else ''}{answers(run)}"


def in_numbers(run: RunData, sentences: Iterable[str]) -> str:
    """Return the HTML section with the headline numbers and sentences on them."""
    cards = "".join(
        f'<div class="fact" id="fact-{fact.key}"><span class="label">{html.escape(fact.label)}</span>'
        f'<b>{html.escape(fact.text)}</b><span class="note">{html.escape(fact.note)}</span></div>'
        for fact in headline(run)
    )
    return f'<div id="numbers"><h2 class="hidden">Numbers</h2><div class="headline">{cards}</div>{paragraphs(sentences)}</div>'


def section(figure: Figure) -> str:
    """Return the HTML section of a figure; the script of the page draws into it."""
    drawing = (
        f'<div class="figure" id="{figure.id}" style="min-height:{figure.height_px}px"></div>'
        if figure.traces else f'<p class="empty" id="{figure.id}">{html.escape(figure.empty)}</p>'
    )  # fmt: skip
    caption = f'<p class="caption">{html.escape(figure.caption)}</p>' if figure.traces else ""
    heading = f'<section id="section-{figure.id}"><h2>{html.escape(figure.title)}</h2>'
    return f"{heading}{caption}{figure.before}{drawing}{figure.after}</section>"


def contents(figures: Iterable[Figure], more: Iterable[tuple[str, str]] = ()) -> str:
    """Return the table of contents of a run's page, which stays at the top; `more`: id and name of further sections."""
    first = [("answers", "Answers"), ("numbers", "Numbers"), ("explorer", "Explorer"), ("tree", "Tree"), ("jobs", "Jobs")]
    shown = [(f"section-{figure.id}", figure.short or figure.title) for figure in figures]
    links = [*first, *shown, *more, ("configuration", "Configuration")]
    items = "".join(f'<li><a href="#{place}">{html.escape(name)}</a></li>' for place, name in links)
    return f'<nav id="contents" aria-label="Contents"><ul>{items}</ul></nav>'


def paragraphs(sentences: Iterable[str]) -> str:
    """Return an HTML box with one paragraph per sentence."""
    return f'<div class="story">{"".join(f"<p>{html.escape(numbers.micro(s))}</p>" for s in sentences)}</div>'


def assemble(title: str, subtitle: str, body: str, figures: Sequence[Figure], footer: str, end: str = "") -> str:
    """Return one self-contained HTML file with style, script, data and Plotly; `end`: HTML after the page's own script."""
    parts = {
        "title": html.escape(title),
        "heading": html.escape(title).replace("_", "_<wbr>"),
        "subtitle": html.escape(subtitle),
        "css": _asset("page.css"),
        "body": body,
        "footer": html.escape(footer),
        "figures": figures_json(figures),
        "plotly": _packed_plotly(),
        "script": _asset("page.js"),
        "end": end,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match.group(1)], _asset("page.html"))


def write_page(path: Path, text: str) -> Path:
    """Write a page in one atomic step. Raises InputError if `path` cannot be written."""
    try:
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: cannot write the report ({error.strerror}); choose another place with --out"
        ) from None
    return path


def plotly_script() -> str:
    """Return plotly.min.js from the package plotly, without importing the package."""
    spec = importlib.util.find_spec("plotly")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "package_data" / "plotly.min.js"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise InputError("report: plotly.min.js was not found; install the package plotly (6.0 or later)")


@cache
def _packed_plotly() -> str:
    """Return plotly.min.js as page.js reads it: compressed, 1.9 instead of 4.8 MB."""
    return compressed(plotly_script().encode())


def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _title(run: RunData) -> str:
    """Return a title such as "rocksdb 8.11 on nvme, fillrandom"; without these values, the directory's name."""
    device = run.summary.get("device")
    engine, workload = run.summary.get("engine"), run.summary.get("workload")
    if not isinstance(engine, str) or not isinstance(workload, str):
        return f"LSMLab run: {run.name}"
    name = device.get("name") if isinstance(device, dict) else None
    version = run.summary.get("engine_version")
    store = f"{engine} {version}" if version else engine
    return f"{store} on {name}, {workload}" if name else f"{store}, {workload}"


def _subtitle(run: RunData) -> str:
    keys = run.summary.get("keys")
    sampled = isinstance(keys, dict) and keys.get("mode") == "sampled"
    rate = number(keys, "rate")
    sample = f", keys sampled at {numbers.percent(rate)}" if sampled and rate else ""
    return f"LSMLab run {run.name}: {numbers.duration(run.duration_s)} simulated{sample}"


def footer(runs: Sequence[RunData]) -> str:
    """Return the text of the footer: versions of LSMLab and seeds of the runs."""
    versions = sorted({str(run.summary.get("version", "unknown")) for run in runs})
    seeds = sorted({str(run.summary.get("seed", "unknown")) for run in runs})
    return f"LSMLab {', '.join(versions)}, seed {', '.join(seeds)}. This file needs no network."
