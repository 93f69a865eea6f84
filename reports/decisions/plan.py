"""Capacity plan: what is feasible, until when, at which cost, and what limits each candidate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lsmlab.reports.decisions.plan_argument import (
    conclude,
    cost_text,
    headroom_text,
    risk_text,
    small_cost_text,
    wear_text,
)
from lsmlab.reports.decisions.plan_figures import headroom_over_time, pareto, rates, sensitivities
from lsmlab.reports.numbers import plural
from lsmlab.reports.page import Page
from lsmlab.reports.parts import Html, Part, Section, Table, Tile, Tiles, bullets, wrapped
from lsmlab.reports.study_kind import StudyKind
from lsmlab.sim.studies.plan.answer import CandidateAnswer, PlanAnswer
from lsmlab.sim.studies.plan.plan import PlanRequest, cost, plan
from lsmlab.sim.studies.plan.sensitivity import SensitivityRow
from lsmlab.sim.studies.plan.service_levels import LEVELS

_MOST_NAME: Final = 44
_HEADS: Final = ("rate/s", "headroom", "runs out", "chance", "P99.9", "worn out", "machines", "USD/month")
"""Columns of the table of candidates, in the order of `_cells`."""
_LEGEND: Final = (
    "on the Pareto front of cost, write P99.9 and drive life; rate = largest sustainable rate; chance = share of random "
    "draws of the model's own error in which the candidate is feasible; P99.9 = write latency at the planned rate; worn out = "
    "month in which the rated writes are used up; machines = paid for now -> needed at the end of the plan, with replicas and "
    "spare ones; USD/month = of all machines paid for"
)


def plan_page(answer: PlanAnswer, _folder: Path) -> Page:
    """Return the page of a plan."""
    rows = [row for row in answer.candidates if row.error is None]
    load = answer.load
    tornado = [sensitivities(row, number) for number, row in enumerate(rows) if row.sensitivity]
    parts: list[Part] = [
        _headline(answer, rows), _candidates(rows), headroom_over_time(rows, answer), *pareto(rows),
        rates(rows, load.peak_per_s), _constraints(answer), *tornado, _levels(answer, rows), _price_section(rows),
    ]  # fmt: skip
    return Page(_title(answer), _load_text(answer), parts, answer.command)


def plan_text(answer: PlanAnswer) -> str:
    """Return the load, the table of candidates, and the constraint and sensitivity of the best ones."""
    rows = answer.candidates
    bursts = answer.load.bursts
    text = f", bursts of {bursts['factor']:g} times that for {bursts['length_s']:g} s" if bursts else ""
    lines = [_title(answer), *wrapped("  load            ", f"{_load_text(answer)}{text}")]
    kept = _service_levels(answer, "<=") or "none: the store only has to keep up with the load"
    lines += wrapped("  service levels  ", kept)
    feasible = sum(row.feasible for row in rows)
    lines += ["", f"{feasible} of {len(rows)} candidates carry the load of the busiest hour.", "", *_candidate_lines(rows)]
    lines += [*wrapped("", f"* = {_LEGEND}"), "", "What limits each candidate, just above its largest sustainable rate:"]
    lines += [line for row in rows for line in wrapped(f"  {row.name}: ", row.constraint or row.error or "")]
    lines += _sensitivity_lines(answer)
    for note in [*answer.notes, *_price_note(rows)]:
        lines += ["", *wrapped("Note: ", note)]
    return "\n".join(lines) + "\n"


def _title(answer: PlanAnswer) -> str:
    return f"Plan: {answer.description or answer.plan}"


def _load_text(answer: PlanAnswer) -> str:
    load = answer.load
    growth = f"{load.growth_per_year:+.0%} per year from {answer.start}"
    return f"{load.rate_per_s:,.0f} operations/s on average, {load.peak_per_s:,.0f} in the busiest hour, {growth}"


def _service_levels(answer: PlanAnswer, at_most: str) -> str:
    limits = answer.service_levels
    return ", ".join(f"{LEVELS[name].label} {at_most} {LEVELS[name].form(limit)}" for name, limit in limits.items())


def _headline(answer: PlanAnswer, rows: Sequence[CandidateAnswer]) -> Tiles:
    feasible = [row for row in rows if row.feasible]
    tiles = [Tile("feasible", str(len(feasible)), f"of {len(answer.candidates)} candidates")]
    if feasible:
        first = feasible[0]
        which = "cheapest: " if first.cost_usd_per_month is not None else ""
        machines = plural(first.machines_paid or 1, "machine")
        tiles.append(Tile(f"{which}cost per month", cost_text(first.cost_usd_per_month), f"{first.name}, {machines}"))
        tiles.append(Tile("carries the load until", _runs_out(first), f"by {first.runs_out_by}" if first.runs_out_by else ""))
        tiles.append(Tile("drives worn out", first.worn_out[:7] if first.worn_out else wear_text(first), "rated writes used up"))
        risk = risk_text(first.feasible_share).replace("below", "<")
        tiles.append(Tile("risk", risk, "draws of the model's error in which it fails today"))
    return Tiles(tiles)


def _candidates(rows: Sequence[CandidateAnswer]) -> Section:
    body = [
        (f"{'★ ' if row.pareto else ''}{row.name}", *_cells(row), small_cost_text(row.cost_usd_per_million_ops)) for row in rows
    ]
    caption = f"Feasible candidates first, cheapest first. ★ = {_LEGEND}."
    return Section("candidates", "Candidates", [Table(["", *_HEADS, "USD/million"], body)], caption)


def _candidate_lines(rows: Sequence[CandidateAnswer]) -> list[str]:
    """Return the table of candidates as lines of text, without columns that nothing is known of."""
    cells = [[_short_name(row), *_cells(row)] for row in rows if row.error is None]
    if not cells:
        return []
    kept = [i for i in range(len(cells[0])) if i == 0 or any(line[i] not in ("-", "unknown") for line in cells)]
    return Table([("", *_HEADS)[i] for i in kept], [[line[i] for i in kept] for line in cells]).lines()


def _short_name(row: CandidateAnswer) -> str:
    name = f"{'*' if row.pareto else ' '} {row.name}"
    return name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…"


def _cells(row: CandidateAnswer) -> list[str]:
    tail, cost = row.planned.levels.get("write_p999"), row.cost_usd_per_month
    now, later = row.machines_paid, row.machines_at_horizon
    return [
        f"{row.sustainable_per_s:,.0f}", headroom_text(row.headroom), _runs_out(row),
        "unknown" if row.feasible_share is None else f"{row.feasible_share:.0%}",
        LEVELS["write_p999"].form(tail) if tail is not None and row.planned.holds else "-",
        "unknown" if row.drive_life_years is None else str(row.worn_out)[:7] if row.worn_out else "never",
        "-" if now is None else f"{now:,}" if later is None or later <= now else f"{now:,} -> {later:,}",
        "unknown" if cost is None else f"{cost:,.2f}",
    ]  # fmt: skip


def _runs_out(row: CandidateAnswer | SensitivityRow) -> str:
    """Return the month in which a candidate no longer carries the load."""
    if not row.feasible:
        return "now"
    return str(row.runs_out)[:7] if row.runs_out else "never"


def _constraints(answer: PlanAnswer) -> Section:
    rows = [(row.name, row.constraint or row.error or "") for row in answer.candidates]
    caption = "What fails just above the largest sustainable rate, and the resource that is used up then."
    return Section("constraints", "What limits each candidate", [Table([], rows, texts=[1])], caption)


def _sensitivity_lines(answer: PlanAnswer) -> list[str]:
    lines: list[str] = []
    for row in answer.candidates:
        if row.sensitivity:
            now = f"{headroom_text(row.headroom)}, runs out {_runs_out(row)}"
            lines += ["", f"If an input is different, {row.name} has this headroom and date (now {now}):"]
            texts = [f"{s.input} {100 * s.change:+.0f} %: {headroom_text(s.headroom)}, {_runs_out(s)}" for s in row.sensitivity]
            lines += wrapped("  ", "; ".join(texts))
    return lines


def _levels(answer: PlanAnswer, rows: Sequence[CandidateAnswer]) -> Section:
    """Return the table of service levels at the planned rate."""
    levels = {name: level for name, level in LEVELS.items() if any(name in row.planned.levels for row in rows)}
    limits = {name: f"<br>limit {LEVELS[name].form(limit)}" for name, limit in answer.service_levels.items()}
    head = ["", *(Html(f"{level.label}{limits.get(name, '')}") for name, level in levels.items())]
    body = []
    for row in rows:
        values = {name: row.planned.levels.get(name) for name in levels}
        body.append((row.name, *("unknown" if value is None else LEVELS[name].form(value) for name, value in values.items())))
    caption = "At the rate of the busiest hour today. Latencies of a candidate that does not keep up grow with the run's length."
    return Section("levels", "Service levels at the planned rate", [Table(head, body)], caption)


def _prices(rows: Sequence[CandidateAnswer]) -> tuple[dict[str, str], list[str]]:
    """Return the source of the price of each device, and the devices without a price."""
    known = {row.choices["device"]: row.price for row in rows if row.cost_usd_per_month is not None}
    sources = {
        device: f"{price.covers or 'price'} ({price.source}{', ' + price.date if price.date else ''})"
        for device, price in known.items()
    }
    return sources, sorted({row.choices["device"] for row in rows if row.error is None} - set(known))


def _price_section(rows: Sequence[CandidateAnswer]) -> Section:
    sources, unknown = _prices(rows)
    lines = [f"{device}: {source}" for device, source in sources.items()]
    return Section("prices", "Prices", [bullets([*lines, *(f"{device}: no price known" for device in unknown)])])


def _price_note(rows: Sequence[CandidateAnswer]) -> list[str]:
    sources, unknown = _prices(rows)
    texts = [f"{device}: {source}" for device, source in sources.items()]
    texts += [f"no price known: {', '.join(unknown)}; name one in a catalogue (docs/reference/plan.md)"] if unknown else []
    return [f"prices. {'; '.join(texts)}"] if texts else []


PLAN = StudyKind(
    "plan", "plan.json", PlanRequest, plan, cost, conclude, plan_text, plan_page,
    "fewer candidates, or a smaller search.turnovers",
    "lsmlab plan plan.yaml --budget 10min   (keys of a plan: docs/reference/plan.md)",
    ends_at_budget=True,
    is_empty=lambda found: all(row.error is not None for row in found.candidates),
)  # fmt: skip
