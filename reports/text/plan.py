"""Answer to a plan as text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lsmlab.reports.text.words import wrapped
from lsmlab.sim.results.comparison_text import aligned
from lsmlab.sim.studies.plan.answer import CandidateAnswer, PlanAnswer
from lsmlab.sim.studies.plan.sensitivity import SensitivityRow
from lsmlab.sim.studies.plan.service_levels import LEVELS

_MOST_NAME: Final = 44
_LEGEND: Final = (
    "* = on the Pareto front of cost, write P99.9 and drive life; rate = largest sustainable rate; chance = share of random "
    "draws of the model's own error in which the candidate is feasible; P99.9 = write latency at the planned rate; machines = "
    "needed now -> at the end of the plan"
)
HEADS: Final = (
    "rate/s", "headroom", "runs out", "chance", "P99.9", "drive life", "USD/month", "machines",
)  # fmt: skip
"""Columns of the table of candidates, in the order of `row_cells`."""


def plan_text(answer: PlanAnswer) -> str:
    """Return the load, the table of candidates, and the constraint and sensitivity of the best ones."""
    rows = answer.candidates
    feasible = [row for row in rows if row.feasible]
    lines = [*_heading(answer), "", f"{len(feasible)} of {len(rows)} candidates carry the load of the busiest hour.", ""]
    lines += _table(rows)
    lines += wrapped("", _LEGEND)
    lines += ["", "What limits each candidate, just above its largest sustainable rate:"]
    lines += [line for row in rows for line in wrapped(f"  {row.name}: ", row.constraint or row.error or "")]
    lines += _sensitivities(answer)
    for note in [*answer.notes, *_about_prices(rows)]:
        lines += ["", *wrapped("Note: ", note)]
    return "\n".join(lines) + "\n"


def _heading(answer: PlanAnswer) -> list[str]:
    load, limits = answer.load, answer.service_levels
    text = (
        f"{load.rate_per_s:,.0f} operations/s on average, {load.peak_per_s:,.0f} in the busiest hour, "
        f"{load.growth_per_year:+.0%} per year from {answer.start}"
    )
    bursts = load.bursts
    text += f", bursts of {bursts['factor']:g} times that for {bursts['length_s']:g} s" if bursts else ""
    kept = ", ".join(f"{LEVELS[name].label} <= {LEVELS[name].form(limit)}" for name, limit in limits.items())
    title = f"Plan: {answer.description or answer.plan}"
    kept = kept or "none: the store only has to keep up with the load"
    return [title, *wrapped("  load            ", text), *wrapped("  service levels  ", kept)]


def _table(rows: Sequence[CandidateAnswer]) -> list[str]:
    shown = [row for row in rows if row.error is None]
    if not shown:
        return []
    cells = [["", *HEADS], *([_name(row), *row_cells(row)] for row in shown)]
    kept = [i for i in range(len(cells[0])) if i == 0 or any(line[i] not in ("-", "unknown") for line in cells[1:])]
    return aligned([[line[i] for i in kept] for line in cells])


def _name(row: CandidateAnswer) -> str:
    name = f"{'*' if row.pareto else ' '} {row.name}"
    return name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…"


def row_cells(row: CandidateAnswer) -> list[str]:
    """Return the cells of a candidate after its name: rate, headroom, date, chance, P99.9, drive life, cost, machines."""
    tail = row.planned.levels.get("write_p999")
    return [
        f"{row.sustainable_per_s:,.0f}", headroom_text(row.headroom), runs_out_text(row), f"{row.feasible_share:.0%}",
        LEVELS["write_p999"].form(tail) if tail is not None and row.planned.holds else "-",
        _life(row.drive_life_years),
        "unknown" if row.cost_usd_per_month is None else f"{row.cost_usd_per_month:,.2f}",
        "-" if row.machines_needed is None else machines_text(row),
    ]  # fmt: skip


def _life(life_years: float | None) -> str:
    """Return a drive life, such as 4.2 y or 9 d."""
    if life_years is None:
        return "unknown"
    return f"{life_years:.1f} y" if life_years >= 1.0 else f"{life_years * 365.25:.3g} d"


def machines_text(row: CandidateAnswer) -> str:
    """Return the machines needed now and at the horizon of the plan."""
    now, later = row.machines_needed, row.machines_at_horizon
    return str(now) if now == later else f"{now:,} -> {later:,}"


def headroom_text(headroom: float) -> str:
    """Format a headroom as a change of the load.

    >>> headroom_text(1.5), headroom_text(0.8), headroom_text(0.0), headroom_text(12.0)
    ('+50 %', '-20 %', 'none', 'x12')
    """
    if headroom <= 0.0:
        return "none"
    return f"x{headroom:.3g}" if headroom >= 3.0 else f"{100 * (headroom - 1):+.0f} %"


def runs_out_text(row: CandidateAnswer | SensitivityRow) -> str:
    """Return the month in which a candidate no longer carries the load."""
    if not row.feasible:
        return "now"
    return str(row.runs_out)[:7] if row.runs_out else "never"


def _sensitivities(answer: PlanAnswer) -> list[str]:
    lines: list[str] = []
    for row in answer.candidates:
        if row.sensitivity:
            now = f"{headroom_text(row.headroom)}, runs out {runs_out_text(row)}"
            lines += ["", f"If an input is different, {row.name} has this headroom and date (now {now}):"]
            texts = [
                f"{s.input} {100 * s.change:+.0f} %: {headroom_text(s.headroom)}, {runs_out_text(s)}"
                for s in row.sensitivity
            ]
            lines += wrapped("  ", "; ".join(texts))
    return lines


def _about_prices(rows: Sequence[CandidateAnswer]) -> list[str]:
    priced = {row.choices["device"]: row.price for row in rows if row.cost_usd_per_month is not None}
    texts = [
        f"{device}: {price.covers or 'price'} ({price.source}{', ' + price.date if price.date else ''})"
        for device, price in priced.items()
    ]
    unknown = sorted({row.choices["device"] for row in rows if row.error is None} - set(priced))
    texts += [f"no price known: {', '.join(unknown)}; name one in a catalogue (docs/reference/plan.md)"] if unknown else []
    return [f"prices. {'; '.join(texts)}"] if texts else []
