"""Answer to a plan: what each candidate sustains, until when, at which cost, and what limits it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any, Final

import numpy as np
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.plan.candidates import PlanCandidate
from lsmlab.sim.studies.plan.forecast import (
    date_after,
    drive_life_years,
    factor_range,
    feasible_share,
    machines_for,
    rate_error,
    written_error,
    years_until,
)
from lsmlab.sim.studies.plan.plan_file import Plan
from lsmlab.sim.studies.plan.prices import cost_per_month
from lsmlab.sim.studies.plan.search import Evaluated
from lsmlab.sim.studies.plan.sensitivity import SensitivityRow
from lsmlab.sim.studies.plan.trial import Trial, constraint
from lsmlab.sim.studies.statistics import undominated

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
    """Largest sustainable rate, all machines together."""
    fails_per_s: float | None = None
    """Lowest rate that fails; None if none does."""
    closed_loop_per_s: float = 0.0
    headroom: float = 0.0
    """Sustainable rate over the rate of the busiest hour."""
    years_left: float | None = None
    """Years until rate or space run out; None for never."""
    runs_out: str | None = None
    runs_out_by: str | None = None
    """space or rate."""
    feasible_share: float = 0.0
    """Share of draws of the model's own error in which the candidate is feasible."""
    constraint: str = ""
    planned: AtPlannedRate = field(default_factory=lambda: AtPlannedRate({}, {}, False))
    at_limit: dict[str, float | None] = field(default_factory=dict)
    drive_life_years: float | None = None
    drive_life_range: list[float] | None = None
    stored_bytes: float = 0.0
    cost_usd_per_month: float | None = None
    cost_usd_per_million_ops: float | None = None
    price: Price = field(default_factory=lambda: Price("", "", ""))
    machines_needed: int | None = None
    machines_at_horizon: int | None = None
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
    model_errors: dict[str, float]
    candidates: list[CandidateAnswer]
    """Feasible candidates first, the cheapest first."""
    notes: list[str]


def plan_answer(
    plan: Plan, results: Mapping[str, Evaluated | str], errors: Mapping[str, float],
    sensitivities: Mapping[str, list[SensitivityRow]],
) -> PlanAnswer:  # fmt: skip
    """Return the answer. `results`: evaluation of each candidate by name, or the reason why it cannot run."""
    rows = [_row(plan, c, results[c.name], errors, sensitivities.get(c.name, [])) for c in plan.candidates]
    return PlanAnswer(
        plan.path.name, plan.description, plan.start, plan.horizon_years, _load(plan), plan.levels.limits(),
        {
            "precision": plan.search.precision, "turnovers": plan.search.turnovers, "seeds": plan.search.seeds,
            "years_of_service": plan.costs.years_of_service, "free_space": plan.costs.free_space,
            "change": plan.sensitivity.change,
        },
        {"ops_per_s": rate_error(errors), "device_bytes_written": written_error(errors)},
        sorted(_with_front(rows), key=_order), list(plan.notes),
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
    plan: Plan, candidate: PlanCandidate, result: Evaluated | str, errors: Mapping[str, float],
    sensitivity: list[SensitivityRow],
) -> CandidateAnswer:  # fmt: skip
    if isinstance(result, str):
        return CandidateAnswer(candidate.name, dict(candidate.choices), result)
    assert result.planned is not None
    load, machines, found, planned = plan.load, candidate.machines, result.found, result.planned
    headroom = found.rate_per_s * machines / load.peak_per_s
    stored_bytes = planned.values.get("live_bytes", 0.0)
    space = _space_ratio(plan, result, stored_bytes)
    fits = space is None or space >= 1.0
    life = _life(plan, planned)
    cost = cost_per_month(candidate.price, stored_bytes, life, plan.costs)
    until = years_until(headroom, load.growth_per_year)
    until_full = math.inf if space is None else years_until(space, load.keys_growth_per_year)
    horizon_peak = load.peak_per_s * (1.0 + load.growth_per_year) ** plan.horizon_years
    runs_out = date_after(plan.start, min(until, until_full))
    feasible = headroom >= 1.0 and planned.holds and fits
    price = candidate.price
    return CandidateAnswer(
        candidate.name, dict(candidate.choices),
        feasible=feasible,
        sustainable_per_s=found.rate_per_s * machines,
        fails_per_s=found.fails_per_s * machines,
        closed_loop_per_s=found.closed_per_s * machines,
        headroom=headroom,
        years_left=min(until, until_full),
        runs_out=runs_out.isoformat() if runs_out is not None and feasible else None,
        runs_out_by=None if not feasible or runs_out is None else "space" if until_full < until else "rate",
        feasible_share=feasible_share(headroom, planned.levels, plan.levels, errors) if fits else 0.0,
        constraint=_constraint(plan, result, fits),
        planned=AtPlannedRate(dict(planned.levels), dict(planned.values), planned.holds),
        at_limit=dict(found.at_limit.levels) if found.at_limit is not None else {},
        drive_life_years=life,
        drive_life_range=None if life is None else [life * f for f in factor_range(written_error(errors))],
        stored_bytes=stored_bytes * machines,
        cost_usd_per_month=None if cost is None else cost * machines,
        cost_usd_per_million_ops=None if cost is None else cost * machines / (load.rate_per_s * _MONTH_S / 1e6),
        price=Price(price.covers, price.source, str(price.date or "")),
        machines_needed=machines_for(load.peak_per_s, found.rate_per_s),
        machines_at_horizon=machines_for(horizon_peak, found.rate_per_s),
        trials=[_trial(t) for t in found.trials],
        runs=result.runs,
        simulated=result.simulated,
        sensitivity=sensitivity,
    )  # fmt: skip


def _trial(trial: Trial) -> dict[str, Any]:
    return {**asdict(trial), "growths": [{**asdict(g), "verdict": g.verdict.value} for g in trial.growths]}


def _space_ratio(plan: Plan, result: Evaluated, stored_bytes: float) -> float | None:
    """Return the usable bytes of the drive over the stored bytes; None if the capacity is unknown."""
    capacity = result.limits.get("capacity_bytes")
    return None if capacity is None or stored_bytes <= 0.0 else capacity * (1.0 - plan.costs.free_space) / stored_bytes


def _life(plan: Plan, planned: Trial) -> float | None:
    """Return the drive's life in years; writes follow the mean rate and grow with it."""
    written = planned.values.get("device.write_bytes_per_s", 0.0) * plan.load.rate_per_s / plan.load.peak_per_s
    return drive_life_years(planned.values.get("device.endurance_bytes"), written, plan.load.growth_per_year)


def _constraint(plan: Plan, result: Evaluated, fits: bool) -> str:
    if not fits:
        return "the data do not fit on the drive with the free space of the plan"
    if result.found.failed is None:
        return "none found: no tried rate failed"
    return constraint(result.found.failed, result.limits, plan.levels)


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
