"""Growth of the data over a plan: the candidate with the keys of its end, in one window from a settled tree of this size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lsmlab.sim.studies.plan.candidates import PlanCandidate
from lsmlab.sim.studies.plan.forecast import years_until
from lsmlab.sim.studies.plan.plan_file import Plan
from lsmlab.sim.studies.plan.planned_store import PlannedStore
from lsmlab.sim.studies.plan.search import Evaluated, Evaluation


@dataclass(frozen=True)
class GrownStore:
    """Candidate with the data that it has after some years, simulated from a settled tree of this size."""

    years: float
    keys: float
    sustainable_per_s: float
    headroom: float
    """Sustainable rate over the rate of the busiest hour then."""


def space_ratio(plan: Plan, result: Evaluated) -> float | None:
    """Return the usable bytes of the drive over the stored bytes; None if the capacity is unknown."""
    stored_bytes = result.planned.values.get("live_bytes", 0.0) if result.planned is not None else 0.0
    capacity = result.limits.get("capacity_bytes")
    return None if capacity is None or stored_bytes <= 0.0 else capacity * (1.0 - plan.costs.free_space) / stored_bytes


def grown_evaluation(plan: Plan, candidate: PlanCandidate, known: Evaluated, evaluation: Evaluation) -> dict[str, Evaluation]:
    """Return the evaluation of the grown store by its name; nothing if the data do not grow."""
    years = _years(plan, known)
    if not plan.load.keys_growth_per_year or years <= 0.0:
        return {}
    load = {**candidate.store.load, "num": plan.load.grown(years).on_one_of(candidate.carrying)["num"]}
    return {_name(candidate): replace(evaluation, store=PlannedStore(candidate.store.config, load), near=known)}


def grown_store(
    plan: Plan, candidate: PlanCandidate, known: Evaluated, results: Mapping[str, Evaluated | str]
) -> GrownStore | None:
    """Return the grown store; None if it was not simulated, or the budget ended first."""
    found = results.get(_name(candidate))
    if not isinstance(found, Evaluated) or found.ended:
        return None
    years = _years(plan, known)
    later, rate = plan.load.grown(years), found.found.rate_per_s * candidate.carrying
    return GrownStore(years, plan.load.keys_after(years), rate, rate / later.peak_per_s)


def rate_growth(growth_per_year: float, headroom: float, grown: GrownStore | None) -> float:
    """Return the yearly growth of the load over what the store sustains, whose tree grows too."""
    if grown is None or grown.headroom <= 0.0 or headroom <= 0.0:
        return growth_per_year
    return float((headroom / grown.headroom) ** (1.0 / grown.years) - 1.0)


def _years(plan: Plan, known: Evaluated) -> float:
    """Return the years until the end of the plan, or until the drive is full."""
    space = space_ratio(plan, known)
    return plan.horizon_years if space is None else min(plan.horizon_years, years_until(space, plan.load.keys_growth_per_year))


def _name(candidate: PlanCandidate) -> str:
    return f"{candidate.name}: grown"
