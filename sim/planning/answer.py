"""Answer to a plan as data for plan.json, the terminal and the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.sim.planning.candidates import Candidate
from lsmlab.sim.planning.catalogue import cost_per_month
from lsmlab.sim.planning.constraint import constraint
from lsmlab.sim.planning.evaluate import Evaluated
from lsmlab.sim.planning.forecast import date_after, drive_life_years, machines_for, years_until
from lsmlab.sim.planning.pareto import front
from lsmlab.sim.planning.plan_file import Plan
from lsmlab.sim.planning.trial import Trial
from lsmlab.sim.planning.uncertainty import factor_range, feasible_share, rate_error, written_error

FILE: Final = "plan.json"
_MONTH_S: Final = 365.25 * 86400.0 / 12.0


def plan_answer(
    plan: Plan, results: Mapping[str, Evaluated | str], errors: Mapping[str, float], sensitivities: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the answer. `results`: evaluation of each candidate by name, or the reason why it cannot run."""
    rows = [_row(plan, c, results[c.name], errors) for c in plan.candidates]
    feasible = [row for row in rows if row.get("feasible")]
    for number in front([_objectives(row) for row in feasible]):
        feasible[number]["pareto"] = True
    rows.sort(key=_order)
    for row in rows:
        row["sensitivity"] = sensitivities.get(row["name"], [])
    return {
        "plan": plan.path.name, "description": plan.description, "start": plan.start.isoformat(),
        "horizon_years": plan.horizon_years, "load": _load(plan), "service_levels": plan.levels.limits(),
        "settings": {
            "precision": plan.search.precision, "turnovers": plan.search.turnovers, "seeds": plan.search.seeds,
            "years_of_service": plan.costs.years_of_service, "free_space": plan.costs.free_space,
            "change": plan.sensitivity.change,
        },
        "model_errors": {"ops_per_s": rate_error(errors), "device_bytes_written": written_error(errors)},
        "candidates": rows, "notes": list(plan.notes),
    }  # fmt: skip


def _load(plan: Plan) -> dict[str, Any]:
    load = plan.load
    bursts = None if load.bursts is None else {"factor": load.bursts.factor, "length_s": load.bursts.length}
    return {
        "rate_per_s": load.rate_per_s, "peak_per_s": load.peak_per_s, "daily": load.daily, "weekly": load.weekly,
        "growth_per_year": load.growth_per_year, "keys_growth_per_year": load.keys_growth_per_year, "bursts": bursts,
        "workload": dict(load.keys),
    }  # fmt: skip


def _row(plan: Plan, candidate: Candidate, result: Evaluated | str, errors: Mapping[str, float]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": candidate.name, "choices": dict(candidate.choices), "feasible": False, "pareto": False}
    if isinstance(result, str):
        return {**row, "error": result}
    assert result.planned is not None
    load, machines, found, planned = plan.load, candidate.machines, result.found, result.planned
    headroom = found.rate_per_s * machines / load.peak_per_s
    stored_bytes = planned.values.get("live_bytes", 0.0)
    space = _space_ratio(plan, result, stored_bytes)
    fits = space is None or space >= 1.0
    life = _life(plan, planned)
    cost = cost_per_month(candidate.price, stored_bytes, life, plan.costs)
    at_limit = found.at_limit.levels if found.at_limit is not None else {}
    until = years_until(headroom, load.growth_per_year)
    until_full = math.inf if space is None else years_until(space, load.keys_growth_per_year)
    horizon_peak = load.peak_per_s * (1.0 + load.growth_per_year) ** plan.horizon_years
    runs_out = date_after(plan.start, min(until, until_full))
    feasible = headroom >= 1.0 and planned.holds and fits
    return {
        **row,
        "feasible": feasible,
        "sustainable_per_s": found.rate_per_s * machines,
        "fails_per_s": found.fails_per_s * machines,
        "closed_loop_per_s": found.closed_per_s * machines,
        "headroom": headroom,
        "years_left": min(until, until_full),
        "runs_out": runs_out.isoformat() if runs_out is not None and feasible else None,
        "runs_out_by": None if not feasible or runs_out is None else "space" if until_full < until else "rate",
        "feasible_share": feasible_share(headroom, planned.levels, plan.levels, errors) if fits else 0.0,
        "constraint": _constraint(plan, result, fits),
        "planned": {"levels": dict(planned.levels), "values": dict(planned.values), "holds": planned.holds},
        "at_limit": dict(at_limit),
        "drive_life_years": life,
        "drive_life_range": None if life is None else [life * f for f in factor_range(written_error(errors))],
        "stored_bytes": stored_bytes * machines,
        "cost_usd_per_month": None if cost is None else cost * machines,
        "cost_usd_per_million_ops": None if cost is None else cost * machines / (load.rate_per_s * _MONTH_S / 1e6),
        "price": {"covers": candidate.price.covers, "source": candidate.price.source, "date": str(candidate.price.date or "")},
        "machines_needed": machines_for(load.peak_per_s, found.rate_per_s),
        "machines_at_horizon": machines_for(horizon_peak, found.rate_per_s),
        "trials": [t.as_json() for t in found.trials],
        "runs": result.runs,
        "simulated": result.simulated,
    }


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


def _objectives(row: Mapping[str, Any]) -> dict[str, float | None]:
    life = row.get("drive_life_years")
    return {
        "cost_usd_per_month": row.get("cost_usd_per_month"),
        "tail_s": row["planned"]["levels"].get("write_p999"),
        "wear_per_year": 1.0 / life if life else None,
    }


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Order of the table: feasible first, known cost first, cheapest first, then by headroom."""
    cost = row.get("cost_usd_per_month")
    return (not row["feasible"], "error" in row, cost is None, cost or 0.0, -(row.get("headroom") or 0.0), row["name"])


def best(rows: Sequence[Mapping[str, Any]], count: int) -> list[str]:
    """Return the names of the first feasible candidates, those on the front first; without any, those with most headroom."""
    feasible = [r for r in rows if r["feasible"]]
    if feasible:
        return [r["name"] for r in sorted(feasible, key=lambda r: not r["pareto"])][:count]
    others = [r for r in rows if "error" not in r and r["headroom"] > 0.0]
    return [r["name"] for r in sorted(others, key=lambda r: -r["headroom"])][:count]
