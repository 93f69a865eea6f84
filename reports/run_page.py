"""Page of a run: its five answers, headline numbers, explorer, figures and configuration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from lsmlab.reports import numbers
from lsmlab.reports.answers.page import answers
from lsmlab.reports.charts import RUN_OVER_TIME, RUN_WHOLE, of_run
from lsmlab.reports.explorer.section import explorer_parts
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.headline import headline
from lsmlab.reports.page import Page
from lsmlab.reports.parts import Html, Part, Section, Story, Tile, Tiles, escaped
from lsmlab.reports.run_data import PAGE, RunData, is_run, load_run
from lsmlab.reports.run_sentences import lead_sentences, summary_sentences
from lsmlab.reports.tables import column_families, configuration, databases, devices, phases
from lsmlab.reports.timeline import Timeline


def draw_runs(directories: Iterable[Path]) -> None:
    """Write the page of each of these folders that has a finished run."""
    for directory in directories:
        if is_run(directory):
            run_page(load_run(directory)).write(directory / PAGE)


def run_page(run: RunData) -> Page:
    """Return the page of a finished run."""
    timeline = Timeline.of(run.times_s)
    over_time, whole = of_run(RUN_OVER_TIME, run, timeline), of_run(RUN_WHOLE, run, timeline)
    parts, end = run_parts(run, over_time, whole, summary_sentences(run), "simulated time (s)")
    return Page(_title(run), _subtitle(run), parts, versions([run]), end)


def run_parts(
    run: RunData, over_time: Sequence[Figure], whole: Sequence[Figure], sentences: Sequence[str], time_label: str,
    more: Sequence[Section] = (),
) -> tuple[list[Part], str]:  # fmt: skip
    """Return the parts of a run's page, and the HTML at its end.

    What was simulated, five answers, headline numbers with `sentences`, the explorer with the figures `over_time` (none: no
    explorer, and a page too short for contents), the figures of the `whole` run, `more` sections, and the configuration.
    """
    lead = lead_sentences(run)
    tiles = Tiles([Tile(fact.label, fact.text, fact.note, f"fact-{fact.key}") for fact in headline(run)])
    explorer, end = explorer_parts(run, Timeline.of(run.times_s), over_time, time_label) if over_time else ([], "")
    return [
        *([_contents([*over_time, *whole], more)] if over_time else []), *([Story(lead)] if lead else []), answers(run),
        Html('<div id="numbers"><h2 class="hidden">Numbers</h2>'), tiles, Story(sentences), Html("</div>"),
        *phases(run), *devices(run), *explorer, *whole, *databases(run), *column_families(run), *more, configuration(run),
    ], end  # fmt: skip


def _contents(figures: Iterable[Figure], more: Iterable[Section]) -> Html:
    """Return the table of contents of a run's page, which stays at the top."""
    links = [("answers", "Answers"), ("numbers", "Numbers"), ("explorer", "Explorer"), ("tree", "Tree"), ("jobs", "Jobs")]
    links += [(f"section-{figure.id}", figure.short or figure.title) for figure in figures]
    links += [*((section.place, section.place.capitalize()) for section in more), ("configuration", "Configuration")]
    items = "".join(f'<li><a href="#{place}">{escaped(name)}</a></li>' for place, name in links)
    return Html(f'<nav id="contents" aria-label="Contents"><ul>{items}</ul></nav>')


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
    rate = run.number("keys.rate")
    sample = f", keys sampled at {numbers.percent(rate)}" if sampled and rate else ""
    return f"LSMLab run {run.name}: {numbers.duration(run.duration_s)} simulated{sample}"


def versions(runs: Sequence[RunData]) -> str:
    """Return the versions of LSMLab and the seeds of the runs, for the footer of a page."""
    found = sorted({str(run.summary.get("version", "unknown")) for run in runs})
    seeds = sorted({str(run.summary.get("seed", "unknown")) for run in runs})
    return f"LSMLab {', '.join(found)}, seed {', '.join(seeds)}"
