"""Page of a what-if: the present state against the LOG, and the differences of each alternative."""

from __future__ import annotations

import html
from pathlib import Path
from urllib.parse import quote

from lsmlab.reports import numbers
from lsmlab.reports.charts import OPERATIONS
from lsmlab.reports.decisions.change_tables import differences_table
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.changes import SHOWN, change_figure
from lsmlab.reports.figures.curves import overlaid
from lsmlab.reports.page import assemble, paragraphs, run_page, section, write_page
from lsmlab.reports.parts import html_section, html_table
from lsmlab.reports.run_data import PAGE, load_run
from lsmlab.reports.study_kind import StudyKind
from lsmlab.reports.text.whatif import answer_text, check_error
from lsmlab.reports.text.words import change_text, interval_text
from lsmlab.sim.studies.metrics import BY_NAME
from lsmlab.sim.studies.whatif import WhatIfAnswer, WhatIfRequest, cost, whatif

_MOST_PAGES = 8
"""Number of alternatives whose first run gets a page of its own."""


def draw_whatif(answer: WhatIfAnswer, directory: Path) -> Path:
    """Write DIR/report.html of an answer, and the pages of its runs; return its path."""
    for folder in [answer.present.folder, *(a.folder for a in answer.alternatives)][: _MOST_PAGES + 1]:
        place = directory / folder
        if (place / "series.parquet").is_file():
            write_page(place / PAGE, run_page(load_run(place)))
    return write_page(directory / PAGE, whatif_page(answer, directory))


def whatif_page(answer: WhatIfAnswer, directory: Path) -> str:
    """Return the whole HTML page of an answer."""
    alternatives = answer.alternatives
    figures = []
    for metric in SHOWN:
        rows = [(a.name, d) for a in alternatives for d in a.differences if d.metric == metric.name]
        if rows:
            figures.append(change_figure(metric, rows))
    overlay = _overlay(answer, directory)
    figures += overlay
    body = (
        f"{paragraphs(_story(answer))}{''.join(section(f) for f in figures[: len(figures) - len(overlay)])}"
        f"{_details(answer, directory)}{_reproduction(answer)}{''.join(section(f) for f in overlay)}"
    )
    seeds = answer.seeds
    how = f"{numbers.plural(len(seeds), 'seed')} each, 90 % intervals"
    subtitle = f"{numbers.plural(len(alternatives), 'alternative')} to the present state, {how}"
    footer = f"lsmlab whatif {answer.store}, seeds {', '.join(map(str, seeds))}. This file needs no network."
    return assemble(f"What if: {Path(answer.store).name}", subtitle, body, figures, footer)


def _story(answer: WhatIfAnswer) -> list[str]:
    sentences = []
    reproduction = answer.reproduction
    if reproduction and reproduction.warning:
        sentences.append(f"Warning: {reproduction.warning}.")
    elif reproduction:
        sentences.append("The simulation of the present state reproduces the LOG within its intervals.")
    for alternative in answer.alternatives:
        certain = [d for d in alternative.differences if d.certain and d.metric in {m.name for m in SHOWN}]
        if certain:
            texts = [
                f"{BY_NAME[d.metric].label} {change_text(d)} ({interval_text(d)})"
                for d in certain
            ]
            sentences.append(f"{alternative.name}: {', '.join(texts)}.")
        elif all(d.tie for d in alternative.differences):
            sentences.append(f"{alternative.name}: exactly the same results as the present state.")
        else:
            sentences.append(f"{alternative.name}: no difference in throughput, P99.9, stalls or write amp beyond the error.")
    return sentences


def _details(answer: WhatIfAnswer, directory: Path) -> str:
    parts = []
    for alternative in answer.alternatives:
        changes = "".join(f"<li>{html.escape(text)}</li>" for text in alternative.changes)
        kept = f'<p class="caption">{html.escape("; ".join(alternative.kept))}.</p>' if alternative.kept else ""
        page = Path(alternative.folder) / PAGE
        link = ""
        if (directory / page).is_file():
            link = f' <a href="{html.escape(quote(page.as_posix()))}">page of its first run</a>'
        parts.append(
            f"<h3>{html.escape(alternative.name)}{link}</h3><ul>{changes}</ul>{kept}"
            f"{differences_table(alternative.differences)}"
        )
    present = Path(answer.present.folder) / PAGE
    first = ""
    if (directory / present).is_file():
        first = f'<p class="caption"><a href="{html.escape(quote(present.as_posix()))}">Page of the present state</a></p>'
    return html_section("alternatives", "Alternatives", f"{first}{''.join(parts)}")


def _reproduction(answer: WhatIfAnswer) -> str:
    found = answer.reproduction
    if not found:
        return ""
    rows = []
    for check in found.checks:
        metric = BY_NAME[check.metric]
        inside = {True: "inside", False: "outside", None: "unknown"}[check.inside]
        rows.append((metric.label, metric.form(check.recorded), metric.form(check.simulated), check_error(check), inside))
    table = html_table(["", "in the LOG", "simulated", "error", "90 % interval"], rows)
    caption = "The present state is simulated from the LOG alone; its numbers should be those of the LOG."
    return html_section("reproduction", "Is the present state reproduced?", table, caption)


def _overlay(answer: WhatIfAnswer, directory: Path) -> list[Figure]:
    """Return the throughput of the LOG and of the present state in one figure; nothing without both tables."""
    places = [Path(answer.store), directory / answer.present.folder]
    if not answer.reproduction or not all((place / "series.parquet").is_file() for place in places):
        return []
    return [overlaid(OPERATIONS, [load_run(place) for place in places], ["LOG", "simulated present state"])]


WHATIF = StudyKind(
    "whatif", "whatif.json", WhatIfRequest, whatif, cost, answer_text, draw_whatif, "fewer or shorter runs",
    "lsmlab whatif mystore device=sata 'engine=vlsm workload.scale=2' host.cores=4,8",
)  # fmt: skip
