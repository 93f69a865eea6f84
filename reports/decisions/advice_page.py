"""Page of an advice: what would help, by how much, and everything that was tried."""

from __future__ import annotations

import html
from pathlib import Path

from lsmlab.models.units import format_bytes
from lsmlab.reports.answers.stopped import bottleneck_parts
from lsmlab.reports.decisions.change_tables import differences_table, options_section
from lsmlab.reports.figures.changes import change_figure
from lsmlab.reports.page import assemble, paragraphs, run_page, section, write_page
from lsmlab.reports.parts import html_section, html_table
from lsmlab.reports.run_data import PAGE, load_run
from lsmlab.reports.study_kind import StudyKind
from lsmlab.reports.text.advice import advice_text
from lsmlab.reports.text.words import change_text, interval_text
from lsmlab.reports.what_helps import KINDS
from lsmlab.sim.studies.advise import SHORT, Advice, AdviceRequest, Tried, advise, cost
from lsmlab.sim.studies.goals import GOALS


def draw_advice(advice: Advice, directory: Path) -> Path:
    """Write DIR/report.html of an advice, and draw the page of its run anew; return the path of the first."""
    run = Path(advice.store)
    if (run / SHORT).is_file() and (run / "series.parquet").is_file():
        write_page(run / PAGE, run_page(load_run(run)))
    return write_page(directory / PAGE, advice_page(advice))


def advice_page(advice: Advice) -> str:
    """Return the whole HTML page of an advice."""
    goal = GOALS[advice.goal]
    rows = [(e.name, d) for e in advice.best for d in e.differences if d.metric == goal.name]
    figures = [change_figure(goal, rows)] if rows else []
    body = (
        f"{paragraphs(_story(advice))}{''.join(section(f) for f in figures)}"
        f"{options_section('First advice as an OPTIONS file', advice.options)}{_best(advice)}{_tried(advice)}"
    )
    better = "higher" if goal.higher_is_better else "lower"
    subtitle = f"Goal: {better} {goal.label}; {advice.limits}; {len(advice.seeds)} seeds, 90 % intervals"
    footer = f"lsmlab advise {advice.store}, seeds {', '.join(map(str, advice.seeds))}. This file needs no network."
    return assemble(f"What would help: {Path(advice.store).name}", subtitle, body, figures, footer)


def _story(advice: Advice) -> list[str]:
    goal = GOALS[advice.goal]
    value = advice.present.values.get(goal.name)
    sentences = [f"Now, {goal.label} is {goal.form(value)}."] if value is not None else []
    if advice.bottleneck:
        sentences.append(f"{'; '.join(bottleneck_parts(advice.bottleneck))}.")
    for kind, title in KINDS.items():
        entry = next((e for e in advice.best if e.kind == kind), None)
        if entry is None:
            sentences.append(f"{title}: none of those tried helps within the limits.")
            continue
        found = next(d for d in entry.differences if d.metric == goal.name)
        between = f" ({interval_text(found)})" if found.low is not None else ""
        sure = "" if found.certain else ", within the error"
        sentences.append(f"{title}: {entry.name} changes {goal.label} by {change_text(found)}{between}{sure}.")
    return sentences


def _best(advice: Advice) -> str:
    parts = [
        f"<h3>{html.escape(entry.name)}</h3><p class='caption'>{html.escape(entry.why)}; memtables and block cache: "
        f"{format_bytes(entry.memory_bytes)}</p>{differences_table(entry.differences)}"
        for entry in advice.best
    ]
    return html_section("best", "The best changes in detail", "".join(parts)) if parts else ""


def _tried(advice: Advice) -> str:
    goal = GOALS[advice.goal]
    rows = [_row(entry, goal.name) for entry in advice.tried]
    rows += [(name, "-", reason) for name, reason in advice.refused.items()]
    table = html_table(["change", "effect", ""], rows, texts=[2])
    return html_section("tried", "Everything that was tried", table, f"Change of {goal.label} with two seeds.")


def _row(entry: Tried, goal: str) -> tuple[str, str, str]:
    found = entry.of(goal)
    effect = "-" if found is None else "none" if found.tie else change_text(found)
    return entry.name, effect, f"breaks the limit on {entry.breaks}" if entry.breaks else entry.why


ADVISE = StudyKind(
    "advise", "advice.json", AdviceRequest, advise, cost, advice_text, draw_advice,
    "a shorter load (--set workload.duration=...)", "lsmlab advise mystore --goal p999 --memory 2GiB --at-most space_amp=1.5",
)  # fmt: skip
