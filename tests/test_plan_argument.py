"""Argument of a plan: machines and cost of all of them, wear as a date, risk, growth of the data, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from known_errors import known_errors
from lsmlab.models.errors import InputError
from lsmlab.reports.decisions.plan import PLAN
from lsmlab.reports.decisions.plan_argument import conclude, small_cost_text
from lsmlab.reports.decisions.plan_figures import headroom_over_time, pareto
from lsmlab.sim.studies.plan.answer import CandidateAnswer, PlanAnswer, plan_answer
from lsmlab.sim.studies.plan.fewer_levels import FewerLevels
from lsmlab.sim.studies.plan.growing import GrownStore
from lsmlab.sim.studies.plan.plan_file import Plan, read_plan
from lsmlab.sim.studies.plan.search import Evaluated, Sustainable
from lsmlab.sim.studies.plan.sensitivity import sensitivity
from lsmlab.sim.studies.plan.trial import Trial

HALF_WIDTHS = {"ops_per_s": 0.115, "device_bytes_written": 0.066, "stall_fraction": 0.066, "write_latency_s.p999": 1.0}
ERRORS = known_errors(HALF_WIDTHS)
YEAR_S = 365.25 * 86400.0


def plan_of(folder: Path, **parts: Any) -> Plan:
    """Return a plan of one kind of drive, with prices; `parts` replace parts of the file."""
    (folder / "prices.yaml").write_text(
        "box: {device: nvme, price_usd: 480, price_usd_per_month: 90, source: my bill, date: 2026-10-01}\n"
    )
    content = {
        "start": date(2026, 11, 1), "catalogue": "prices.yaml",
        "workload": {"rate": 8000, "growth_per_year": "50%", "num": 100_000, "value_size": 1000, "read": 0, "update": 1},
        "service_levels": {"stalled": "5%"}, "candidates": {"device": "box"}, **parts,
    }  # fmt: skip
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(content))
    return read_plan(path)


def trial(rate: float, *, holds: bool, per_operation: float = 1e4, endurance: float = 1e18) -> Trial:
    """Return a trial of a machine that writes `per_operation` bytes for each operation to a drive with rated writes."""
    values = {
        "ops_per_s": rate, "device.write_bytes_per_s": rate * per_operation, "device.endurance_bytes": endurance,
        "device.utilisation": 0.4 if holds else 0.97, "live_bytes": 1e8,
    }  # fmt: skip
    return Trial(rate, holds, "holds" if holds else "backlog", 3.0, (), {"stalled": 0.0, "write_p999": 1e-3}, values)


def answered(plan: Plan, sustainable: float, grown: GrownStore | None = None, **changes: Any) -> PlanAnswer:
    """Return the answer if each machine sustains a rate."""
    (candidate,) = plan.candidates
    peak = plan.load.peak_per_s / candidate.carrying
    planned, held = trial(peak, holds=sustainable >= peak), trial(sustainable, holds=True)
    failed = trial(1.05 * sustainable, holds=False)
    found = Sustainable(sustainable, failed.rate_per_s, sustainable, held, failed, (held, failed))
    result = replace(Evaluated(planned, found, {"slots": 4.0, "cores": 4.0}, 5, 5), **changes)
    sizes = {} if grown is None else {candidate.name: grown}
    return plan_answer(plan, {candidate.name: result}, ERRORS, {}, sizes, "lsmlab plan plan.yaml")


def row_of(plan: Plan, sustainable: float, **changes: Any) -> CandidateAnswer:
    """Return the only row of the answer."""
    (row,) = answered(plan, sustainable, **changes).candidates
    return row


def test_a_candidate_that_needs_more_machines_shows_their_price(tmp_path: Path) -> None:
    """One machine that sustains a twentieth of the load costs as much as the 21 that carry it; one that carries it, as one."""
    plan = plan_of(tmp_path)
    weak, strong = row_of(plan, 390.0), row_of(plan, 20_000.0)

    assert (21, 21) == (weak.machines_needed, weak.machines_paid)
    assert 1 == strong.machines_paid
    assert weak.cost_usd_per_month == pytest.approx(21 * 100.0, rel=0.01)
    assert "21 machines, 2,100 USD per month for all" in conclude(answered(plan, 390.0)).answer
    assert "2,100.00" in PLAN.text(answered(plan, 390.0))


def test_replicas_and_spare_machines_count(tmp_path: Path) -> None:
    """Four machines of which one may fail: three carry keys and load of each of two copies, eight are paid."""
    parts = {"availability": {"replicas": 2, "spare": 1}, "candidates": {"device": "box", "machines": 4}}
    plan = plan_of(tmp_path, **parts)
    (candidate,) = plan.candidates
    row = row_of(plan, 4000.0)

    assert (3, 33_333) == (candidate.carrying, candidate.store.load["num"])
    assert 1.5 == pytest.approx(row.headroom)
    assert (8, 6) == (row.machines_paid, row.machines_needed)
    assert row.cost_usd_per_month == pytest.approx(800.0, rel=0.01)
    assert "2 copies of the data" in " ".join(conclude(answered(plan, 4000.0)).how_sure)
    with pytest.raises(InputError, match="none is left to carry the load"):
        plan_of(tmp_path, **{**parts, "candidates": {"device": "box", "machines": 1}})


def test_wear_is_a_date_and_stands_in_the_verdict(tmp_path: Path) -> None:
    """A drive whose rated writes last 317 days at the mean rate says so in the first sentence, with the day of its end."""
    plan = plan_of(tmp_path, workload={"rate": 8000, "num": 1000, "value_size": 1000, "read": 0, "update": 1})
    (candidate,) = plan.candidates
    per_s = 8000.0 * 1e4
    planned = trial(8000.0, holds=True, endurance=317 * 86400.0 * per_s)
    found = answered(plan, 20_000.0, planned=planned)
    (row,) = found.candidates

    assert ("2027-09-14", True) == (row.worn_out, row.feasible)
    assert row.worn_out_range is not None
    assert row.worn_out_range[0] < "2027-09-14" < row.worn_out_range[1]
    assert "wear out before, on 2027-09-14" in conclude(found).answer
    assert "2027-09" in PLAN.text(found)
    assert candidate.machines == 1


def test_the_data_of_the_end_of_the_plan_shorten_it(tmp_path: Path) -> None:
    """A store that sustains half as much with the data of the end reaches its limit earlier; machines then follow from it."""
    plan = plan_of(tmp_path)
    same = row_of(plan, 32_000.0)
    later = plan.load.grown(3.0).peak_per_s
    grown = GrownStore(3.0, 4e5, 16_000.0, 16_000.0 / later)
    found = answered(plan, 32_000.0, grown)
    (row,) = found.candidates

    assert same.years_left is not None
    assert row.years_left is not None
    assert row.years_left < same.years_left
    assert row.machines_at_horizon == 2 * (same.machines_at_horizon or 0)
    assert "0.4 M keys of 3.0 years later it sustains 16,000/s" in " ".join(conclude(found).more)


def test_the_conclusion_has_all_parts_and_every_doubt(tmp_path: Path) -> None:
    """Cost, end and risk, the limiting resource, the seeds, an ended search, left-out levels: all are said."""
    found = answered(plan_of(tmp_path), 20_000.0, ended=True, line=FewerLevels(2, 100.0, 0.8, 1.25))
    told = conclude(found)

    assert "box carries the busiest hour within its service levels for 100 USD per month until" in told.answer
    assert "the risk that it does not do so today is below 0.1 %" in told.answer
    assert "drive busy 97%" in " ".join(told.why)
    assert "a faster drive, or more machines" in " ".join(told.would_help)
    sure = " ".join(told.how_sure)
    doubts = ("hold with 1 seed", "The budget ended the search", "with 2 and one more level less", "No replica")
    assert all(text in sure for text in doubts)
    assert "lsmlab plan plan.yaml" == told.command
    (row,) = found.candidates
    assert row.feasible_share is not None
    assert row.feasible_share > 0.999
    assert row.rate_range is not None
    assert f"in rates, 90 %: {row.rate_range[0] - 1.0:+.0%} to {row.rate_range[1] - 1.0:+.0%}." in sure


def test_an_unknown_error_is_said(tmp_path: Path) -> None:
    """A kind of machine without recorded runs has no risk and no range: both are unknown, not 0."""
    plan = plan_of(tmp_path)
    (candidate,) = plan.candidates
    held = trial(20_000.0, holds=True)
    found = Sustainable(20_000.0, 21_000.0, 20_000.0, held, trial(21_000.0, holds=False), (held,))
    planned = trial(plan.load.peak_per_s, holds=True)
    answer = plan_answer(plan, {candidate.name: Evaluated(planned, found, {}, 2, 2)}, known_errors({}), {})
    told = conclude(answer)

    assert (None, None, None) == (
        answer.candidates[0].feasible_share, answer.candidates[0].rate_range, answer.candidates[0].drive_life_range
    )  # fmt: skip
    assert "risk that it does not do so today is unknown" in told.answer
    assert "the model's error is not known" in " ".join(told.more)


@pytest.mark.parametrize(("ended", "asked"), [(True, 3), (False, 1)])
def test_only_seeds_that_ran_are_counted(tmp_path: Path, ended: bool, asked: int) -> None:
    """A search that ends before its further seeds says that its rate holds with one."""
    plan = plan_of(tmp_path, search={"seeds": asked})
    told = " ".join(conclude(answered(plan, 20_000.0, ended=ended)).how_sure)

    assert "hold with 1 seed." in told


@pytest.mark.parametrize(("count", "drawn"), [(1, False), (2, True)])
def test_a_front_needs_two_candidates(tmp_path: Path, count: int, drawn: bool) -> None:
    """The figure of cost and tail is drawn only where candidates can be compared."""
    (row,) = answered(plan_of(tmp_path), 20_000.0).candidates

    assert drawn == bool(pareto([replace(row, name=str(i)) for i in range(count)]))


@pytest.mark.parametrize("usd", [4.02e-6, 3e-3, 0.7, 12.0, 123_456.0])
def test_no_cost_has_a_power_of_ten(usd: float) -> None:
    """Costs from tiny to large are plain numbers."""
    assert "e" not in small_cost_text(usd)


def test_the_lines_of_the_headroom_know_the_grown_store(tmp_path: Path) -> None:
    """The line of a store that is simulated with the data of the end passes through this point; errors of levels widen it."""
    plan = plan_of(tmp_path)
    later = plan.load.grown(3.0).peak_per_s
    found = answered(plan, 32_000.0, GrownStore(3.0, 4e5, 16_000.0, 16_000.0 / later))
    line = headroom_over_time(found.candidates, found).traces[1]

    assert 100.0 * (16_000.0 / later - 1.0) == pytest.approx(line["y"][-1])
    wide = answered(plan, 32_000.0, line=FewerLevels(1, 10.0, 1.0, 1.0))
    bands = [max(headroom_over_time(one.candidates, one).traces[0]["y"]) for one in (answered(plan, 32_000.0), wide)]
    assert bands[0] < bands[1]


def test_a_planned_rate_that_holds_is_carried(tmp_path: Path) -> None:
    """A trial rounds its rate to four digits: a budget that ends after the planned rate held leaves a headroom of 1."""
    plan = plan_of(tmp_path, workload={"rate": 27_272.7, "num": 1000, "value_size": 1000, "read": 0, "update": 1})
    held = trial(27_270.0, holds=True)
    found = Sustainable(27_270.0, float("inf"), 0.0, held, None, (held,))
    (row,) = plan_answer(plan, {"box": Evaluated(held, found, {}, 2, 2, ended=True)}, ERRORS, {}).candidates

    assert (1.0, True) == (row.headroom, row.feasible)


def test_the_end_by_space_is_the_end_for_all_inputs(tmp_path: Path) -> None:
    """A drive that is full before the rate runs out ends the plan: more rate changes nothing, larger data end it earlier."""
    growing = {"rate": 8000, "growth_per_year": "1%", "keys_growth_per_year": "50%"}
    load = {**growing, "num": 1000, "value_size": 1000, "read": 0, "update": 1}
    plan = plan_of(tmp_path, workload=load, costs={"free_space": 0})
    (candidate,) = plan.candidates
    held = trial(80_000.0, holds=True)
    found = Sustainable(80_000.0, 90_000.0, 80_000.0, held, trial(90_000.0, holds=False), (held,))
    known = Evaluated(trial(8000.0, holds=True), found, {"capacity_bytes": 2.25e8}, 2, 2)
    rows = {(r.input, r.change): r for r in sensitivity(plan, candidate, known, {})}

    assert {2.0} == {round(rows["rate today", change].years_left or 0.0, 6) for change in (-0.2, 0.2)}
    assert (rows["growth of the data", 0.2].years_left or 9.0) < 2.0 < (rows["growth of the data", -0.2].years_left or 0.0)
    answer = plan_answer(plan, {candidate.name: known}, ERRORS, {})
    assert ("space", 2) == (answer.candidates[0].runs_out_by, answer.candidates[0].machines_at_horizon)
    assert "when the space runs out, take a larger drive" in " ".join(conclude(answer).would_help)
