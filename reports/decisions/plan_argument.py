"""Argument of a capacity plan: cost, end and risk of the best candidate, what limits each, what would change it, how sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from lsmlab.reports import numbers
from lsmlab.reports.conclusion import Conclusion
from lsmlab.sim.studies.plan.answer import CandidateAnswer, PlanAnswer
from lsmlab.sim.studies.plan.fewer_levels import FEWER_LEVELS_ERROR
from lsmlab.sim.studies.plan.service_levels import LEVELS

_MOST_OTHERS: Final = 5
"""Candidates beside the best one that get a sentence each."""
_SMALLEST_USD: Final = 1e-4
"""Smallest cost per million operations that is shown as a number."""
_REMEDIES: Final = {
    "drive": "a faster drive, or more machines", "cores": "more cores (`host.cores`)",
    "slots": "more compaction slots (`candidates.options: [{}, {max_background_jobs: 8}]`)",
    "stalls": "more compactions at a time, or larger limits of L0 (`candidates.options`)",
    "clients": "more client threads (`workload.threads`)", "space": "a larger drive, or more machines",
}  # fmt: skip
"""What relieves each resource."""


def conclude(answer: PlanAnswer) -> Conclusion:
    """Return the conclusion."""
    rows = [row for row in answer.candidates if row.error is None]
    if not rows:
        reasons = "; ".join(f"{row.name}: {row.error}" for row in answer.candidates)
        return Conclusion(f"No candidate has an answer: {reasons}.", command=answer.command)
    best = rows[0] if rows[0].feasible else max(rows, key=lambda row: float(row.headroom))
    others = [row for row in rows if row is not best][:_MOST_OTHERS]
    headline = _carries(best, answer) if best.feasible else _none_carries(best, answer)
    more = [_load_sentence(answer), *_details(best, answer)]
    more += [_other(row) for row in others]
    more += [f"{row.name}: {row.error}." for row in answer.candidates if row.error is not None]
    return Conclusion(
        headline, more, why=[_limit(row) for row in (best, *others)],
        would_help=_would_help(best), how_sure=_how_sure(rows, answer), command=answer.command,
    )  # fmt: skip


def headroom_text(headroom: float) -> str:
    """Format a headroom as a change of the load.

    >>> headroom_text(1.5), headroom_text(0.8), headroom_text(0.0), headroom_text(12.0)
    ('+50 %', '-20 %', 'none', 'x12')
    """
    if headroom <= 0.0:
        return "none"
    return f"x{headroom:.3g}" if headroom >= 3.0 else f"{100 * (headroom - 1):+.0f} %"


def cost_text(usd: float | None) -> str:
    """Format a cost per month.

    >>> cost_text(None), cost_text(1234.5), cost_text(0.041)
    ('unknown', '1,234 USD', '0.04 USD')
    """
    if usd is None:
        return "unknown"
    return f"{usd:,.0f} USD" if usd >= 100.0 else f"{usd:,.2f} USD"


def small_cost_text(usd: float | None) -> str:
    """Format a cost per million operations in US dollars: two digits, no power of ten.

    >>> small_cost_text(None), small_cost_text(4.02e-6), small_cost_text(0.0153), small_cost_text(12.3), small_cost_text(1234.5)
    ('unknown', '< 0.0001', '0.015', '12', '1,234')
    """
    if usd is None:
        return "unknown"
    if usd >= 100.0:
        return f"{usd:,.0f}"
    return f"{usd:.2g}" if usd >= _SMALLEST_USD else f"< {_SMALLEST_USD:.4f}"


def wear_text(row: CandidateAnswer) -> str:
    """Return the day on which the rated writes of the drives are used up, with its interval; "unknown" without a rating."""
    if row.drive_life_years is None:
        return "unknown"
    if row.worn_out is None:
        return "in more than a hundred years"
    between = f" ({row.worn_out_range[0]} to {row.worn_out_range[1]})" if row.worn_out_range else ""
    return f"{row.worn_out}{between}"


def _carries(row: CandidateAnswer, answer: PlanAnswer) -> str:
    price = "at an unknown cost" if row.cost_usd_per_month is None else f"for {cost_text(row.cost_usd_per_month)} per month"
    until = f"until {row.runs_out}" if row.runs_out else "without end in sight"
    levels = "within its service levels" if answer.service_levels else "without service levels"
    wear = f"; its drives wear out before, on {row.worn_out}" if _wears_out_first(row, answer) else ""
    return (
        f"{row.name}{_count(row)} carries the busiest hour {levels} {price} {until}{wear}; "
        f"the risk that it does not do so today is {risk_text(row.feasible_share)}."
    )


def _none_carries(best: CandidateAnswer, answer: PlanAnswer) -> str:
    levels = " within the service levels" if answer.service_levels else ""
    if answer.ended and best.headroom <= 0.0:
        return f"The budget ended before any candidate was seen to carry the busiest hour{levels}."
    needed = f"; {_needs(best)}" if best.machines_needed is not None else ""
    return f"No candidate carries the busiest hour{levels}. {best.name} comes closest: it {_falls_short(best)}{needed}."


def risk_text(feasible_share: float | None) -> str:
    """Format the share of draws in which a candidate fails, from that in which it is feasible.

    >>> risk_text(1.0), risk_text(0.969), risk_text(None)
    ('below 0.1 %', '3.1 %', 'unknown')
    """
    if feasible_share is None:
        return "unknown"
    share = 1.0 - feasible_share
    return "below 0.1 %" if share < 0.001 else numbers.percent(share)


def _limit(row: CandidateAnswer) -> str:
    """Return what limits a candidate, and at which rate unless it is the space."""
    no_rate = row.resource == "space" or row.fails_per_s is None or math.isinf(row.fails_per_s)
    at = "" if no_rate else f"at {row.fails_per_s:,.0f} operations/s, "
    first = f"the space runs out first, on {row.runs_out}; its rate ends " if _space_first(row) else ""
    return f"{row.name}: {first}{at}{row.constraint}."


def _space_first(row: CandidateAnswer) -> bool:
    """Return whether a candidate that carries the load today is full before its rate is too low."""
    return row.feasible and row.runs_out_by == "space"


def _count(row: CandidateAnswer) -> str:
    machines = row.machines_paid or 1
    return f" ({numbers.plural(machines, 'machine')})" if machines > 1 else ""


def _wears_out_first(row: CandidateAnswer, answer: PlanAnswer) -> bool:
    """Return whether the rated writes are used up before the rate or the space, within the plan."""
    if row.drive_life_years is None:
        return False
    end = min(answer.horizon_years, math.inf if row.years_left is None else row.years_left)
    return row.drive_life_years < end


def _load_sentence(answer: PlanAnswer) -> str:
    load = answer.load
    limits = ", ".join(f"{LEVELS[name].label} at most {LEVELS[name].form(v)}" for name, v in answer.service_levels.items())
    growth = f"growing by {load.growth_per_year:.0%} per year" if load.growth_per_year else "without growth"
    kept = f"Service levels: {limits}." if limits else "No service levels: a store only has to keep up."
    return f"The busiest hour has {load.peak_per_s:,.0f} operations/s, {growth}. {kept}"


def _details(row: CandidateAnswer, answer: PlanAnswer) -> list[str]:
    """Return rate with its bracket and the model's error, the end, and the wear of the best candidate."""
    error = f"; {_with_error(row)}" if row.sustainable_per_s > 0.0 else ""
    sentences = [f"{row.name} sustains {_bracket(row)}{error}."]
    if row.feasible and row.runs_out:
        sentences.append(f"On {row.runs_out} the {row.runs_out_by} runs out.")
    if row.grown is not None:
        sentences.append(
            f"With the {numbers.count(row.grown.keys / 1e6)} M keys of {row.grown.years:.1f} years later it sustains "
            f"{row.grown.sustainable_per_s:,.0f}/s, {headroom_text(row.grown.headroom)} against the load then."
        )
    if row.drive_life_years is not None:
        sentences.append(f"The rated writes of its drives are used up on {wear_text(row)}; the cost contains their replacement.")
    elif row.feasible:
        sentences.append("The life of its drives is unknown: no rating of their writes was found.")
    later = row.machines_at_horizon
    if row.feasible and later is not None and later > (row.machines_paid or 1):
        sentences.append(f"At the end of the plan, after {answer.horizon_years:g} years, the load needs {later:,} machines.")
    return sentences


def _bracket(row: CandidateAnswer) -> str:
    low, high = row.sustainable_per_s, row.fails_per_s
    if high is None or math.isinf(high):
        return f"at least {low:,.0f} operations/s (no rate that fails was tried)"
    return f"{low:,.0f} operations/s ({high:,.0f} fails)" if low > 0.0 else f"less than {high:,.0f} operations/s"


def _with_error(row: CandidateAnswer) -> str:
    if row.rate_range is None:
        return "the model's error is not known"
    low, high = row.rate_range
    whose = "the errors of the model and of fewer levels" if row.levels_left_out else "the model's own error"
    return f"{row.sustainable_per_s * low:,.0f} to {row.sustainable_per_s * high:,.0f} by {whose} (90 %)"


def _other(row: CandidateAnswer) -> str:
    if not row.feasible:
        return f"{row.name} {_falls_short(row)}; {_needs(row)}."
    until = f"until {row.runs_out}" if row.runs_out else "without end in sight"
    wear = "" if row.drive_life_years is None else f", drives worn out on {row.worn_out or 'no day within a hundred years'}"
    cost = f"cost {cost_text(row.cost_usd_per_month)}{' per month' if row.cost_usd_per_month is not None else ''}"
    return f"{row.name}{_count(row)}: {cost}, {until}{wear}, risk {risk_text(row.feasible_share)}."


def _falls_short(row: CandidateAnswer) -> str:
    """Return how far a candidate is from the busiest hour."""
    if row.headroom <= 0.0:
        return "was seen to hold no rate"
    if row.headroom < 1.0:
        return f"carries {row.headroom:.0%} of the busiest hour"
    return "does not hold the data" if row.resource == "space" else "carries the busiest hour, but not within the service levels"


def _needs(row: CandidateAnswer) -> str:
    """Return the machines that a candidate would need, and what all of them cost."""
    if row.machines_needed is None:
        return "no number of machines is known to carry it"
    cost = "" if row.cost_usd_per_month is None else f", {cost_text(row.cost_usd_per_month)} per month for all"
    return f"it would need {numbers.plural(row.machines_paid or row.machines_needed, 'machine')}{cost}"


def _would_help(row: CandidateAnswer) -> list[str]:
    sentences = []
    if _space_first(row):
        sentences.append(f"To go on after {row.runs_out}, when the space runs out, take {_REMEDIES['space']}.")
    elif row.resource in _REMEDIES:
        sentences.append(f"To raise the limit of {row.name}, try {_REMEDIES[row.resource]}.")
    if row.sensitivity and _space_first(row):
        sentences.append(_most_for_the_date(row))
    elif row.sensitivity:
        first = row.sensitivity[0]
        pair = [s for s in row.sensitivity if s.input == first.input]
        ends = " and ".join(f"{headroom_text(s.headroom)} if it is {abs(s.change):.0%} {_way(s.change)}" for s in pair)
        sentences.append(f"The headroom depends most on the {first.input}: {ends} (now {headroom_text(row.headroom)}).")
    return sentences


def _most_for_the_date(row: CandidateAnswer) -> str:
    """Return the input that moves the end of a candidate most."""
    now = row.years_left if row.years_left is not None else math.inf
    most = max(row.sensitivity, key=lambda s: abs((math.inf if s.years_left is None else s.years_left) - now))
    pair = [s for s in row.sensitivity if s.input == most.input]
    ends = " and ".join(f"{s.runs_out or 'no end in sight'} if it is {abs(s.change):.0%} {_way(s.change)}" for s in pair)
    return f"The date depends most on the {most.input}: {ends} (now {row.runs_out})."


def _way(change: float) -> str:
    return "larger" if change > 0 else "smaller"


def _seeds(rows: Sequence[CandidateAnswer]) -> str:
    """Return with how many seeds the found rates were seen to hold: fewer than the plan asks for if the budget ended."""
    counts = sorted({row.seeds for row in rows if row.seeds})
    if not counts:
        return ""
    span = numbers.plural(counts[-1], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    return f"; the rates found hold with {span}"


def _rate_errors(rows: Sequence[CandidateAnswer]) -> str:
    """Return the errors of the rates with the candidates that have them."""
    names: dict[str, list[str]] = {}
    for row in rows:
        low, high = row.rate_range or (None, None)
        text = "unknown" if low is None or high is None else f"{low - 1.0:+.0%} to {high - 1.0:+.0%}"
        names.setdefault(text, []).append(row.name)
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"{text} ({', '.join(own)})" for text, own in names.items())


def _how_sure(rows: Sequence[CandidateAnswer], answer: PlanAnswer) -> list[str]:
    sentences = [
        f"A rate holds if backlog, compaction debt, L0 and upper levels do not grow in the second half of a run{_seeds(rows)}. "
        f"The model's own error in rates, 90 %: {_rate_errors(rows)}."
    ]  # fmt: skip
    if answer.ended:
        sentences.append(
            "The budget ended the search: each rate is only known to lie between the highest that held and the lowest that "
            "failed. The same command goes on from here."
        )
    left_out = sorted({row.levels_left_out for row in rows} - {0})
    if left_out:
        count = " or ".join(map(str, left_out))
        sentences.append(
            f"The trees are too large to simulate within minutes: two trees of the same shape with {count} and one more level "
            "less give the bytes that a level adds. The limits of the compaction debt keep the debt of a tree in balance, and "
            f"its share of the rest. Against whole trees with one level more, the rates were up to {FEWER_LEVELS_ERROR:.0%} "
            "off, above and below (docs/how-to/plan-capacity.md); two levels more were not checked. Latencies and stalls are "
            "those of the larger simulated tree at the same use."
        )
    if answer.replicas > 1 or answer.spare:
        sentences.append(
            f"Counted: {numbers.plural(answer.replicas, 'copy') if answer.replicas == 1 else f'{answer.replicas} copies'} of "
            f"the data, of which each carries the load with {numbers.plural(answer.spare, 'machine')} out of service. "
            "The traffic that rebuilds a failed machine is not simulated."
        )
    else:
        sentences.append("No replica and no spare machine is counted (`availability`).")
    if any(row.burst_credit for row in rows):
        names = ", ".join(row.name for row in rows if row.burst_credit)
        sentences.append(f"{names}: the rate is the one without burst credit, which a rate without end has used up.")
    if answer.load.keys_growth_per_year and any(row.feasible and row.grown is None for row in rows):
        names = ", ".join(row.name for row in rows if row.feasible and row.grown is None)
        sentences.append(f"The growth of the data was not simulated for {names}: there it only fills the drive.")
    return [*sentences, *answer.notes]
