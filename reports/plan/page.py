"""Page of a capacity plan: what is feasible, until when, at which cost, and what limits each candidate."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lsmlab.reports import numbers
from lsmlab.reports.page import assemble, paragraphs, section, write_page
from lsmlab.reports.parts import Html, html_section, html_table
from lsmlab.reports.plan.figures import headroom_over_time, level_text, pareto, rates, sensitivities
from lsmlab.reports.run_data import PAGE
from lsmlab.reports.study_kind import StudyKind
from lsmlab.reports.text.plan import headroom_text, machines_text, plan_text, runs_out_text
from lsmlab.sim.studies.plan.answer import CandidateAnswer, PlanAnswer
from lsmlab.sim.studies.plan.plan import PlanRequest, cost, plan
from lsmlab.sim.studies.plan.service_levels import LEVELS

_HEADS: Final = (
    "sustainable/s", "headroom", "runs out", "chance", "drive life", "USD/month", "USD/million", "machines",
)  # fmt: skip


def draw_plan(answer: PlanAnswer, directory: Path) -> Path:
    """Write DIR/report.html of a plan; return its path."""
    return write_page(directory / PAGE, plan_page(answer))


def plan_page(answer: PlanAnswer) -> str:
    """Return the whole HTML page of a plan."""
    rows = [row for row in answer.candidates if row.error is None]
    load = answer.load
    figures = [headroom_over_time(rows, answer), pareto(rows), rates(rows, load.peak_per_s)]
    tornado = [sensitivities(row, number) for number, row in enumerate(rows) if row.sensitivity]
    body = (
        f"{_headline(answer, rows)}{paragraphs(_story(answer, rows))}{_table(rows)}"
        f"{''.join(section(figure) for figure in figures)}{_constraints(answer)}"
        f"{''.join(section(figure) for figure in tornado)}{_levels(answer, rows)}{_prices(rows)}"
    )
    growth = f"{load.growth_per_year:+.0%} per year from {answer.start}"
    subtitle = f"{load.rate_per_s:,.0f} operations/s on average, {load.peak_per_s:,.0f} in the busiest hour, {growth}"
    footer = f"lsmlab plan {answer.plan}. This file needs no network."
    title = f"Plan: {answer.description or answer.plan}"
    return assemble(title, subtitle, body, [*figures, *tornado], footer)


def _headline(answer: PlanAnswer, rows: Sequence[CandidateAnswer]) -> str:
    feasible = [row for row in rows if row.feasible]
    facts = [("feasible", str(len(feasible)), f"of {len(answer.candidates)} candidates")]
    if feasible:
        first = feasible[0]
        which = "cheapest" if first.cost_usd_per_month is not None else "most headroom"
        facts.append((f"{which}: runs out", runs_out_text(first), first.name))
        facts.append(("its headroom", headroom_text(first.headroom), f"{first.sustainable_per_s:,.0f} operations/s"))
        cost = first.cost_usd_per_month
        facts.append(("its cost", "unknown" if cost is None else f"{cost:,.2f} USD", "per month; see prices below"))
    cards = "".join(
        f'<div class="fact"><span class="label">{html.escape(label)}</span><b>{html.escape(value)}</b>'
        f'<span class="note">{html.escape(note)}</span></div>'
        for label, value, note in facts
    )
    return f'<div class="headline">{cards}</div>'


def _story(answer: PlanAnswer, rows: Sequence[CandidateAnswer]) -> list[str]:
    limits = answer.service_levels
    kept = ", ".join(f"{LEVELS[name].label} at most {LEVELS[name].form(limit)}" for name, limit in limits.items())
    sentences = [f"Service levels: {kept}." if kept else "No service levels: a store only has to keep up with the load."]
    feasible = [row for row in rows if row.feasible]
    for row in feasible[:2]:
        sentences.append(
            f"{row.name} carries the busiest hour with {headroom_text(row.headroom)} headroom until "
            f"{runs_out_text(row)}, in {row.feasible_share:.0%} of the draws of the model's own error. "
            f"Its limit: {row.constraint}."
        )
    if not feasible and rows:
        best = max(rows, key=lambda row: float(row.headroom))
        sentences.append(
            f"No candidate carries the busiest hour. {best.name} comes closest ({headroom_text(best.headroom)}): "
            f"{best.constraint}."
        )
    return [*sentences, *answer.notes]


def _table(rows: Sequence[CandidateAnswer]) -> str:
    body = [(f"{'★ ' if row.pareto else ''}{row.name}", *_cells(row)) for row in rows]
    caption = (
        "Feasible candidates first, cheapest first. ★: on the Pareto front of cost, write P99.9 at the planned rate and drive "
        "life. Chance: share of random draws of the model's own error in which the candidate is feasible. Machines: needed now "
        "and at the end of the plan."
    )
    return html_section("candidates", "Candidates", html_table(["", *_HEADS], body), caption)


def _cells(row: CandidateAnswer) -> list[str]:
    life, cost, per_million = row.drive_life_years, row.cost_usd_per_month, row.cost_usd_per_million_ops
    return [
        f"{row.sustainable_per_s:,.0f}", headroom_text(row.headroom), runs_out_text(row), f"{row.feasible_share:.0%}",
        "unknown" if life is None else numbers.years(life), "unknown" if cost is None else f"{cost:,.2f}",
        "unknown" if per_million is None else f"{per_million:.3g}",
        "none" if row.machines_needed is None else machines_text(row),
    ]  # fmt: skip


def _constraints(answer: PlanAnswer) -> str:
    rows = [(row.name, row.constraint or row.error or "") for row in answer.candidates]
    caption = "What fails just above the largest sustainable rate, and the resource that is used up then."
    return html_section("constraints", "What limits each candidate", html_table([], rows, texts=[1]), caption)


def _levels(answer: PlanAnswer, rows: Sequence[CandidateAnswer]) -> str:
    """Return the table of service levels at the planned rate."""
    names = [name for name in LEVELS if any(name in row.planned.levels for row in rows)]
    limits = answer.service_levels
    limit_texts = {name: f"<br>limit {LEVELS[name].form(limit)}" for name, limit in limits.items()}
    head = ["", *(Html(f"{LEVELS[n].label}{limit_texts.get(n, '')}") for n in names)]
    body = [(row.name, *(level_text(n, row.planned.levels.get(n)) for n in names)) for row in rows]
    caption = "At the rate of the busiest hour today. Latencies of a candidate that does not keep up grow with the run's length."
    return html_section("levels", "Service levels at the planned rate", html_table(head, body), caption)


def _prices(rows: Sequence[CandidateAnswer]) -> str:
    by_device = {row.choices["device"]: row for row in rows}
    lines = []
    for device, row in by_device.items():
        price = row.price
        text = (
            "no price known" if row.cost_usd_per_month is None
            else f"{price.covers or 'price'}; source: {price.source}{', ' + price.date if price.date else ''}"
        )  # fmt: skip
        lines.append(f"<li>{html.escape(str(device))}: {html.escape(text)}</li>")
    return html_section("prices", "Prices", f"<ul>{''.join(lines)}</ul>")


PLAN = StudyKind(
    "plan", "plan.json", PlanRequest, plan, cost, plan_text, draw_plan, "fewer candidates, or a smaller search.turnovers",
    "lsmlab plan plan.yaml --budget 10min   (keys of a plan: docs/reference/plan.md)",
    is_empty=lambda found: all(row.error is not None for row in found.candidates),
)  # fmt: skip
