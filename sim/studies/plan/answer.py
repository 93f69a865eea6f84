"""Answer to a plan: what each candidate sustains, until when, at which cost, and what limits it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any, Final

import numpy as np
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.intervals import ModelErrors
from lsmlab.sim.studies.plan.candidates import PlanCandidate
from lsmlab.sim.studies.plan.fewer_levels import FEWER_LEVELS_ERROR, FEWER_LEVELS_WRITTEN_ERROR
from lsmlab.sim.studies.plan.forecast import (
    RATE,
    WRITTEN,
    Curve,
    Errors,
    date_after,
    drive_life_years,
    errors_of,
    feasible_share,
    machines_for,
    widened,
    years_until,
)
from lsmlab.sim.studies.plan.growing import GrownStore, rate_growth, space_ratio
from lsmlab.sim.studies.plan.plan_file import Plan
from lsmlab.sim.studies.plan.prices import cost_per_month
from lsmlab.sim.studies.plan.search import Evaluated, Sustainable
from lsmlab.sim.studies.plan.sensitivity import SensitivityRow
from lsmlab.sim.studies.plan.trial import Trial, constraint, resource
from lsmlab.sim.studies.statistics import undominated

_STALLS: Final = ("stalled", "longest_stall")
"""Service levels that follow from how much of the store a rate uses."""
_MONTH_S: Final = 365.25 * 86400.0 / 12.0


@dataclass(frozen=True)
class PlannedLoad:
    """Load of a plan, of all machines together."""

    rate_per_s: float
    peak_per_s: float
    """Rate of the busiest hour."""
    daily: float
    weekly: float
    growth_per_year: float
    keys_growth_per_year: float
    bursts: dict[str, float] | None
    """Factor and `length_s` of bursts."""
    workload: dict[str, Any]
    """Keys of the simulated workload."""


@dataclass(frozen=True)
class Price:
    """Where a price comes from."""

    covers: str
    source: str
    date: str


@dataclass(frozen=True)
class AtPlannedRate:
    """Candidate at the rate of the busiest hour."""

    levels: dict[str, float | None]
    """Values of the service levels."""
    values: dict[str, float]
    """Numbers of summary.json."""
    holds: bool


@dataclass(frozen=True)
class CandidateAnswer:
    """One candidate. A candidate that cannot run has only its name, its choices and the error."""

    name: str
    choices: dict[str, Any]
    error: str | None = None
    feasible: bool = False
    pareto: bool = False
    """Whether no other feasible candidate is better in cost, write P99.9 and drive life."""
    sustainable_per_s: float = 0.0
    """Largest sustainable rate, all machines of a copy together, without the spare ones."""
    fails_per_s: float | None = None
    """Lowest rate that fails; None if none does."""
    seeds: int = 0
    """Seeds with which the largest sustainable rate was seen to hold; fewer than the plan's if the budget ended."""
    ended: bool = False
    """Whether the budget ended the search, so that the largest sustainable rate is anywhere between these two."""
    levels_left_out: int = 0
    """Levels that the simulated tree lacks; what they cost follows from two simulated trees."""
    burst_credit: bool = False
    """Whether the volume has burst credit, which the sustainable rate does not use."""
    closed_loop_per_s: float = 0.0
    headroom: float = 0.0
    """Sustainable rate over the rate of the busiest hour."""
    years_left: float | None = None
    """Years until rate or space run out; None for never."""
    runs_out: str | None = None
    runs_out_by: str | None = None
    """space or rate."""
    grown: GrownStore | None = None
    """Store with the data of the end of the plan; None: not simulated, the rate today counts for all sizes."""
    feasible_share: float | None = 0.0
    """Share of draws of the model's own error in which the candidate is feasible; None if that error is not known."""
    rate_range: list[float] | None = None
    """Factors of the rates between which the real store's are with 90 % probability; None if the error is not known."""
    constraint: str = ""
    """What fails just above the largest sustainable rate, in words."""
    resource: str = ""
    """What is used up then: drive, cores, slots, stalls, clients, or space; empty: nothing was."""
    planned: AtPlannedRate = field(default_factory=lambda: AtPlannedRate({}, {}, False))
    at_limit: dict[str, float | None] = field(default_factory=dict)
    drive_life_years: float | None = None
    drive_life_range: list[float] | None = None
    worn_out: str | None = None
    """Day on which the rated writes of a drive bought at the start are used up; None: unknown, or after a hundred years."""
    worn_out_range: list[str] | None = None
    """First and last day, by the 90 % interval of the model's error."""
    stored_bytes: float = 0.0
    cost_usd_per_month: float | None = None
    """Cost of all `machines_paid`."""
    cost_usd_per_million_ops: float | None = None
    price: Price = field(default_factory=lambda: Price("", "", ""))
    machines_needed: int | None = None
    """Machines that carry the busiest hour today, with spare ones and replicas."""
    machines_at_horizon: int | None = None
    machines_paid: int | None = None
    """Machines of the candidate, or those needed if these are more."""
    trials: list[dict[str, Any]] = field(default_factory=list)
    runs: int = 0
    simulated: int = 0
    sensitivity: list[SensitivityRow] = field(default_factory=list)


@dataclass(frozen=True)
class PlanAnswer(Document):
    """Answer to a plan; the content of plan.json."""

    plan: str
    description: str
    start: date
    horizon_years: float
    load: PlannedLoad
    service_levels: dict[str, float]
    settings: dict[str, float]
    candidates: list[CandidateAnswer]
    """Feasible candidates first, the cheapest first."""
    notes: list[str]
    replicas: int = 1
    spare: int = 0
    ended: bool = False
    """Whether the budget ended a search."""
    command: str = ""
    """Command that repeats the answer."""


def plan_answer(
    plan: Plan, results: Mapping[str, Evaluated | str], errors: ModelErrors,
    sensitivities: Mapping[str, list[SensitivityRow]], grown: Mapping[str, GrownStore] | None = None,
    command: str = "",
) -> PlanAnswer:  # fmt: skip
    """Return the answer. `results`: evaluation of each candidate by name, or the reason why it cannot run."""
    rows = [
        _row(plan, c, results[c.name], errors, sensitivities.get(c.name, []), (grown or {}).get(c.name))
        for c in plan.candidates
    ]
    ended = any(isinstance(found, Evaluated) and found.ended for found in results.values())
    return PlanAnswer(
        plan.path.name, plan.description, plan.start, plan.horizon_years, _load(plan), plan.levels.limits(),
        {
            "precision": plan.search.precision, "turnovers": plan.search.turnovers, "seeds": plan.search.seeds,
            "years_of_service": plan.costs.years_of_service, "free_space": plan.costs.free_space,
            "change": plan.sensitivity.change,
        },
        sorted(_with_front(rows), key=_order), list(plan.notes), plan.availability.replicas, plan.availability.spare,
        ended, command,
    )  # fmt: skip


def _with_front(rows: Sequence[CandidateAnswer]) -> list[CandidateAnswer]:
    """Mark the feasible candidates that no other one beats in cost, tail and drive life."""
    feasible = [row for row in rows if row.feasible]
    if not feasible:
        return list(rows)
    front = {row.name for row, stays in zip(feasible, undominated([_objectives(r) for r in feasible]), strict=True) if stays}
    return [replace(row, pareto=row.name in front) for row in rows]


def _objectives(row: CandidateAnswer) -> list[float]:
    life = row.drive_life_years
    values = [row.cost_usd_per_month, row.planned.levels.get("write_p999"), 1.0 / life if life else None]
    return [np.nan if value is None else -value for value in values]


def _load(plan: Plan) -> PlannedLoad:
    load = plan.load
    bursts = None if load.bursts is None else {"factor": load.bursts.factor, "length_s": load.bursts.length}
    return PlannedLoad(
        load.rate_per_s, load.peak_per_s, load.daily, load.weekly, load.growth_per_year, load.keys_growth_per_year, bursts,
        dict(load.keys),
    )  # fmt: skip


def _row(
    plan: Plan, candidate: PlanCandidate, result: Evaluated | str, errors: ModelErrors,
    sensitivity: list[SensitivityRow], grown: GrownStore | None,
) -> CandidateAnswer:  # fmt: skip
    if isinstance(result, str) or result.planned is None:
        reason = result if isinstance(result, str) else "the budget ended before a trial of the busiest hour"
        return CandidateAnswer(candidate.name, dict(candidate.choices), reason)
    load, carrying, found, planned = plan.load, candidate.carrying, result.found, result.planned
    headroom = _headroom(found.rate_per_s * carrying / load.peak_per_s, found, planned)
    space = space_ratio(plan, result)
    fits = space is None or space >= 1.0
    feasible = headroom >= 1.0 and planned.holds and fits
    paid = _machines_paid(plan, candidate, result)
    known = _errors_of(candidate, result, errors)
    wear = _wear(plan, planned, paid, known)
    cost = _cost(plan, candidate, planned, paid, wear.life_years)
    ends = _end(plan, result, headroom, grown)
    at_horizon = found.rate_per_s if grown is None else grown.sustainable_per_s / carrying
    price = candidate.price
    return CandidateAnswer(
        candidate.name, dict(candidate.choices),
        feasible=feasible,
        sustainable_per_s=found.rate_per_s * carrying,
        fails_per_s=found.fails_per_s * carrying,
        seeds=_seeds(result),
        ended=result.ended,
        levels_left_out=0 if result.line is None else result.line.left_out,
        burst_credit=candidate.store.has_credit,
        closed_loop_per_s=found.closed_per_s * carrying,
        headroom=headroom,
        years_left=ends.years,
        runs_out=ends.day if feasible else None,
        runs_out_by=ends.by if feasible and ends.day is not None else None,
        grown=grown,
        feasible_share=feasible_share(headroom, planned.levels, plan.levels, known, _curves(result)) if fits else 0.0,
        rate_range=list(known[RATE].factors()) if RATE in known else None,
        constraint=_constraint(plan, result, fits),
        resource=_resource(result, fits),
        planned=AtPlannedRate(dict(planned.levels), dict(planned.values), planned.holds),
        at_limit=dict(found.at_limit.levels) if found.at_limit is not None else {},
        drive_life_years=wear.life_years,
        drive_life_range=wear.range_years,
        worn_out=_day(plan, wear.life_years),
        worn_out_range=_days(plan, wear.range_years),
        stored_bytes=planned.values.get("live_bytes", 0.0) * carrying * plan.availability.replicas,
        cost_usd_per_month=cost,
        cost_usd_per_million_ops=None if cost is None else cost / (load.rate_per_s * _MONTH_S / 1e6),
        price=Price(price.covers, price.source, str(price.date or "")),
        machines_needed=_machines_needed(plan, load.peak_per_s, found.rate_per_s),
        machines_at_horizon=_machines_at_horizon(plan, candidate, result, at_horizon),
        machines_paid=paid,
        trials=[_trial(t) for t in found.trials],
        runs=result.runs,
        simulated=result.simulated,
        sensitivity=sensitivity,
    )  # fmt: skip


def _headroom(ratio: float, found: Sustainable, planned: Trial) -> float:
    """Return the headroom: at least 1 if the planned rate holds, which a trial rounds to four digits."""
    return max(1.0, ratio) if planned.holds and found.rate_per_s >= planned.rate_per_s > 0.0 else ratio


def _seeds(result: Evaluated) -> int:
    """Return the number of seeds with which the rate found holds: one trial each."""
    return sum(t.holds and t.rate_per_s == result.found.rate_per_s for t in result.found.trials)


def _errors_of(candidate: PlanCandidate, result: Evaluated, errors: ModelErrors) -> Errors:
    """Return the model's errors by quantity; those of rate and written bytes contain the error of a tree with fewer levels."""
    known = errors_of(candidate.store.config, errors)
    if result.line is None:
        return known
    more = {RATE: FEWER_LEVELS_ERROR, WRITTEN: FEWER_LEVELS_WRITTEN_ERROR}
    return {name: widened(of, more.get(name, 0.0)) for name, of in known.items()}


def _curves(result: Evaluated) -> dict[str, Curve]:
    """Return the stalls at all rates that were tried, over the planned rate."""
    assert result.planned is not None
    curves = {}
    for name in _STALLS:
        by_rate: dict[float, list[float]] = {}
        for trial in (result.planned, *result.found.trials):
            if name in trial.levels:
                by_rate.setdefault(trial.rate_per_s / result.planned.rate_per_s, []).append(trial.levels[name])
        rates = sorted(by_rate)
        curves[name] = Curve(rates, [float(np.mean(by_rate[rate])) for rate in rates])
    return {name: curve for name, curve in curves.items() if curve.rates}


def _machines_needed(plan: Plan, rate_per_s: float, sustainable_per_machine: float) -> int | None:
    """Return the machines that carry a rate, with spare ones and replicas; None if one machine sustains nothing."""
    needed = machines_for(rate_per_s, sustainable_per_machine)
    return None if needed is None else (needed + plan.availability.spare) * plan.availability.replicas


def _machines_paid(plan: Plan, candidate: PlanCandidate, result: Evaluated) -> int | None:
    """Return the machines of the candidate, or those that rate and data need if these are more; None if that is unknown."""
    needed = _machines_needed(plan, plan.load.peak_per_s, result.found.rate_per_s)
    if needed is None:
        return None
    own = candidate.machines * plan.availability.replicas
    for_data = _machines_for_data(plan, candidate, result, 1.0)
    return max(own, for_data, needed)


def _machines_for_data(plan: Plan, candidate: PlanCandidate, result: Evaluated, grown: float) -> int:
    """Return the machines that hold the data after these have grown by a factor, with spare ones and replicas."""
    space = space_ratio(plan, result)
    needed = math.ceil(candidate.carrying * grown / space - 1e-9) if space is not None else 1
    return (needed + plan.availability.spare) * plan.availability.replicas


def _machines_at_horizon(plan: Plan, candidate: PlanCandidate, result: Evaluated, sustainable_per_s: float) -> int | None:
    """Return the machines that rate and data need at the end of the plan; None if one machine sustains nothing."""
    peak = plan.load.peak_per_s * (1.0 + plan.load.growth_per_year) ** plan.horizon_years
    needed = _machines_needed(plan, peak, sustainable_per_s)
    grown = (1.0 + plan.load.keys_growth_per_year) ** plan.horizon_years
    return None if needed is None else max(needed, _machines_for_data(plan, candidate, result, grown))


@dataclass(frozen=True)
class _Wear:
    life_years: float | None
    range_years: list[float] | None
    """90 % interval by the model's error; None if that is not known."""


def _wear(plan: Plan, planned: Trial, paid: int | None, errors: Errors) -> _Wear:
    """Return the life of the drives; writes follow the mean rate, which all machines of a copy share, and grow with it."""
    if paid is None:
        return _Wear(None, None)
    values = planned.values
    rate = values.get("ops_per_s", 0.0)
    per_operation = values.get("device.write_bytes_per_s", 0.0) / rate if rate > 0.0 else 0.0
    per_s = per_operation * plan.load.rate_per_s * plan.availability.replicas / paid
    endurance, growth = values.get("device.endurance_bytes"), plan.load.growth_per_year
    life = drive_life_years(endurance, per_s, growth)
    if life is None:
        return _Wear(None, None)
    if WRITTEN not in errors:
        return _Wear(life, None)
    ends = [drive_life_years(endurance, per_s * factor, growth) for factor in reversed(errors[WRITTEN].factors())]
    return _Wear(life, [end for end in ends if end is not None])


def _cost(plan: Plan, candidate: PlanCandidate, planned: Trial, paid: int | None, life_years: float | None) -> float | None:
    """Return the US dollars per month of all machines; None without a price or a number of machines."""
    if paid is None:
        return None
    stored = planned.values.get("live_bytes", 0.0) * candidate.carrying * plan.availability.replicas / paid
    one = cost_per_month(candidate.price, stored, life_years, plan.costs)
    return None if one is None else one * paid


@dataclass(frozen=True)
class _End:
    years: float
    day: str | None
    by: str


def _end(plan: Plan, result: Evaluated, headroom: float, grown: GrownStore | None) -> _End:
    """Return when the rate or the space runs out. Between today and the grown store, the rate changes evenly."""
    load, space = plan.load, space_ratio(plan, result)
    by_rate = years_until(headroom, rate_growth(load.growth_per_year, headroom, grown))
    by_space = math.inf if space is None else years_until(space, load.keys_growth_per_year)
    years = min(by_rate, by_space)
    return _End(years, _day(plan, years), "space" if by_space < by_rate else "rate")


def _day(plan: Plan, years: float | None) -> str | None:
    found = None if years is None else date_after(plan.start, years)
    return None if found is None else found.isoformat()


def _days(plan: Plan, years: Sequence[float] | None) -> list[str] | None:
    days = [day for one in years or () if (day := _day(plan, one)) is not None]
    return days if len(days) == 2 else None


def _trial(trial: Trial) -> dict[str, Any]:
    return {**asdict(trial), "growths": [{**asdict(g), "verdict": g.verdict.value} for g in trial.growths]}


def _constraint(plan: Plan, result: Evaluated, fits: bool) -> str:
    if not fits:
        return "the data do not fit on the drive with the free space of the plan"
    if result.found.failed is None:
        return "none found: no tried rate failed"
    return constraint(result.found.failed, result.limits, plan.levels)


def _resource(result: Evaluated, fits: bool) -> str:
    if not fits:
        return "space"
    return "" if result.found.failed is None else resource(result.found.failed, result.limits).value


def _order(row: CandidateAnswer) -> tuple[Any, ...]:
    """Order of the table: feasible first, known cost first, cheapest first, then by headroom."""
    cost = row.cost_usd_per_month
    return (not row.feasible, row.error is not None, cost is None, cost or 0.0, -row.headroom, row.name)


def best(rows: Sequence[CandidateAnswer], count: int) -> list[str]:
    """Return the names of the first feasible candidates, those on the front first; without any, those with most headroom."""
    feasible = [r for r in rows if r.feasible]
    if feasible:
        return [r.name for r in sorted(feasible, key=lambda r: not r.pareto)][:count]
    others = [r for r in rows if r.error is None and r.headroom > 0.0]
    return [r.name for r in sorted(others, key=lambda r: -r.headroom)][:count]
