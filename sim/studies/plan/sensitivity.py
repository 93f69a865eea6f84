"""Sensitivity of a plan: headroom and date of a candidate if one input is larger or smaller."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lsmlab.sim.studies.plan.candidates import PlanCandidate
from lsmlab.sim.studies.plan.forecast import date_after, years_until
from lsmlab.sim.studies.plan.growing import GrownStore, rate_growth, space_ratio
from lsmlab.sim.studies.plan.plan_file import Plan
from lsmlab.sim.studies.plan.planned_store import PlannedStore
from lsmlab.sim.studies.plan.search import Evaluated, Evaluation

_SIMULATED: Final = {"value_size": "value size", "read": "read share", "num": "number of keys"}
"""Inputs that change the simulated load, by key of the workload."""


@dataclass(frozen=True)
class SensitivityRow:
    """Candidate with one input changed."""

    input: str
    change: float
    headroom: float
    feasible: bool
    years_left: float | None
    """None for never."""
    runs_out: str | None


def changed_evaluations(
    plan: Plan, candidate: PlanCandidate, known: Evaluated, evaluation: Evaluation
) -> dict[str, Evaluation]:
    """Return the evaluations with a changed input that needs simulations, by `changed_name`."""
    changed = {}
    for key in _SIMULATED:
        for factor in _factors(plan):
            load = changed_load(candidate.store.load, key, factor)
            if load is None:
                continue
            store = PlannedStore(candidate.store.config, load)
            name = changed_name(candidate.name, key, factor)
            changed[name] = replace(evaluation, store=store, near=known)
    return changed


def changed_name(candidate: str, key: str, factor: float) -> str:
    """Return the name of a candidate with a changed input.

    >>> changed_name("nvme", "value_size", 1.2)
    'nvme: value size +20 %'
    """
    return f"{candidate}: {_SIMULATED[key]} {100 * (factor - 1):+.0f} %"


def changed_load(load: Mapping[str, Any], key: str, factor: float) -> dict[str, Any] | None:
    """Return the load with one input changed by a factor; None if that changes nothing."""
    if key != "read":
        value = load.get(key)
        scaled = None if value is None else value * factor
        return None if scaled is None else {**load, key: max(1, round(scaled)) if key == "num" else scaled}
    operations = ("read", "update", "insert", "delete", "scan", "read_modify_write")
    defaults = {"read": 0.5, "update": 0.5}
    parts = {name: float(load.get(name, defaults.get(name, 0.0))) for name in operations}
    total = math.fsum(parts.values())
    share = parts["read"] / total
    if not 0.0 < share < 1.0:
        return None
    others = (1.0 - min(0.999, share * factor)) / (1.0 - share)
    return {**load, **{name: part / total * others for name, part in parts.items()}, "read": min(0.999, share * factor)}


def sensitivity(
    plan: Plan, candidate: PlanCandidate, known: Evaluated, results: Mapping[str, Evaluated | str],
    grown: GrownStore | None = None,
) -> list[SensitivityRow]:  # fmt: skip
    """Return a row per input and direction: headroom, years and date, ordered by the effect on the headroom.

    The date is the earlier one of rate and space. Stored bytes follow from the simulated store with the changed input.
    """
    peak, data_growth = plan.load.peak_per_s, plan.load.keys_growth_per_year
    total = known.found.rate_per_s * candidate.carrying
    nominal, space = total / peak, space_ratio(plan, known)
    growth = rate_growth(plan.load.growth_per_year, nominal, grown)
    rows = []
    for factor in _factors(plan):
        rows.append(_row(plan, "rate today", factor, nominal / factor, growth, _space_years(space, data_growth)))
        if growth:
            rows.append(_row(plan, "growth per year", factor, nominal, growth * factor, _space_years(space, data_growth)))
        if data_growth and space is not None:
            rows.append(_row(plan, "growth of the data", factor, nominal, growth, _space_years(space, data_growth * factor)))
        for key, label in _SIMULATED.items():
            result = results.get(changed_name(candidate.name, key, factor))
            if isinstance(result, Evaluated) and not result.ended:
                headroom = result.found.rate_per_s * candidate.carrying / peak
                changed = _changed_space(space, known, result)
                rows.append(_row(plan, label, factor, headroom, growth, _space_years(changed, data_growth)))
    return sorted(rows, key=lambda row: (-_effect(rows, row.input, nominal), row.input, row.change))


def _effect(rows: Sequence[SensitivityRow], name: str, nominal: float) -> float:
    return max(abs(math.log(max(r.headroom, 1e-9) / max(nominal, 1e-9))) for r in rows if r.input == name)


def _changed_space(space: float | None, known: Evaluated, changed: Evaluated) -> float | None:
    """Return the usable bytes of the drive over the stored bytes with a changed input."""
    before, after = _live_bytes(known), _live_bytes(changed)
    return space * before / after if space is not None and before > 0.0 and after > 0.0 else space


def _live_bytes(result: Evaluated) -> float:
    trial = result.found.at_limit
    return 0.0 if trial is None else trial.values.get("live_bytes", 0.0)


def _space_years(space: float | None, growth: float) -> float:
    """Return the years until the drive is full; infinity if its capacity is unknown."""
    return math.inf if space is None else years_until(space, growth)


def _row(plan: Plan, name: str, factor: float, headroom: float, growth: float, space_years: float) -> SensitivityRow:
    years = min(years_until(headroom, growth), space_years)
    runs_out = date_after(plan.start, years)
    feasible = headroom >= 1.0 and space_years > 0.0
    until = runs_out.isoformat() if runs_out is not None and feasible else None
    return SensitivityRow(name, round(factor - 1.0, 6), headroom, feasible, years, until)


def _factors(plan: Plan) -> tuple[float, float]:
    return 1.0 - plan.sensitivity.change, 1.0 + plan.sensitivity.change
