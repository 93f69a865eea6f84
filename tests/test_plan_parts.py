"""Parts of a capacity plan: growth, recovery, forecasts, costs, Pareto front, the model's error, the search."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import pytest
from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.explain.settled import GrowthVerdict, QuantityGrowth, growth, main_family
from lsmlab.sim.runs.executor import InProcess
from lsmlab.sim.studies.intervals import ErrorRange
from lsmlab.sim.studies.plan import search as searching
from lsmlab.sim.studies.plan.budget import BudgetEndedError, TimedExecutor
from lsmlab.sim.studies.plan.fewer_levels import levels_to_leave_out, line_of, without_levels
from lsmlab.sim.studies.plan.forecast import (
    Curve,
    date_after,
    drive_life_years,
    feasible_share,
    machines_for,
    years_until,
)
from lsmlab.sim.studies.plan.load import LoadSettings, make_load
from lsmlab.sim.studies.plan.plan import usual_trials
from lsmlab.sim.studies.plan.planned_store import PlannedStore
from lsmlab.sim.studies.plan.prices import (
    CostSettings,
    PriceEntry,
    cost_per_month,
    read_catalogue,
    with_device_price,
)
from lsmlab.sim.studies.plan.search import Evaluated, Evaluation, Search
from lsmlab.sim.studies.plan.sensitivity import changed_load
from lsmlab.sim.studies.plan.service_levels import ServiceLevels, broken
from lsmlab.sim.studies.plan.trial import SearchSettings, Trial, constraint, counted, recovery_s
from lsmlab.sim.studies.statistics import undominated

T = TypeVar("T")
SECONDS = np.arange(1.0, 601.0)


def noise(size: float, seed: int = 1) -> np.ndarray[Any, Any]:
    """Return correlated noise: a sawtooth of 20 s with a random part."""
    return size * ((SECONDS % 20.0) / 20.0 + np.random.default_rng(seed).normal(0.0, 0.2, len(SECONDS)))


# --- growth ------------------------------------------------------------------------------------------------------


def test_a_rising_quantity_grows() -> None:
    """A quantity that takes 3 % of its flow grows, although it also rises and falls every 20 s."""
    found = growth("debt", SECONDS, 0.03 * 1000.0 * SECONDS + noise(2000.0), 1000.0, step=1000.0)

    assert GrowthVerdict.GROWS is found.verdict
    assert found.low < 0.03 < found.high
    assert 0.03 == pytest.approx(found.share, rel=0.1)


def test_a_quantity_around_a_mean_is_steady() -> None:
    """Rise and fall without a trend is no growth, with any seed of the noise."""
    found = [growth("l0", SECONDS, noise(100.0, seed), 1000.0, step=100.0) for seed in range(20)]

    assert {GrowthVerdict.STEADY} == {g.verdict for g in found}


@pytest.mark.parametrize(
    ("times", "values", "flow", "step", "verdict"),
    [
        (SECONDS[:60], 10.0 * SECONDS[:60] + noise(3000.0)[:60], 1000.0, 100.0, GrowthVerdict.UNCLEAR),
        (SECONDS, 20.0 * SECONDS, 1000.0, 1e6, GrowthVerdict.UNCLEAR),
        (SECONDS, 20.0 * SECONDS, 1000.0, 1e3, GrowthVerdict.GROWS),
        (SECONDS[:3], SECONDS[:3], 100.0, 0.0, GrowthVerdict.UNCLEAR), (SECONDS, np.zeros(600), 0.0, 0.0, GrowthVerdict.STEADY),
    ],
    ids=["noise hides growth", "within one step", "beyond one step", "fewer than four seconds", "debt without writes"],
)  # fmt: skip
def test_what_counts_as_growth(times: Any, values: Any, flow: float, step: float, verdict: GrowthVerdict) -> None:
    """A rise counts if it is significant and larger than the step in which the quantity changes anyhow."""
    assert verdict is growth("tree", times, values, flow, step=step).verdict


# --- recovery ----------------------------------------------------------------------------------------------------


def test_recovery_ends_when_all_quantities_are_back() -> None:
    """The time counts to the slowest of backlog, L0 files and debt; without a rise it is 0, without an end infinite."""
    flat = np.full(600, 4.0)
    backlog = np.where((SECONDS > 300) & (SECONDS < 342), 5000.0, 0.0)
    debt = np.where((SECONDS > 300) & (SECONDS < 390), 9e9, 1e9)
    series = {"t_s": SECONDS, "backlog_ops": backlog, "l0_files": flat, "pending_bytes": debt}

    assert 60.0 == recovery_s(series, 300.0, 330.0)
    assert 0.0 == recovery_s({**series, "backlog_ops": flat, "pending_bytes": flat}, 300.0, 330.0)
    assert math.inf is recovery_s({**series, "pending_bytes": np.where(SECONDS > 300, 9e9, 1e9)}, 300.0, 330.0)


# --- forecasts and costs -------------------------------------------------------------------------------------------


def test_dates_follow_compound_growth() -> None:
    """A load that doubles every year reaches a headroom of 4 after two years; without growth it never does.

    Machines needed round up; a machine that sustains nothing gives no number.
    """
    assert 2.0 == pytest.approx(years_until(4.0, 1.0))
    assert date(2028, 11, 1) == date_after(date(2026, 11, 1), 2.003)
    assert None is date_after(date(2026, 11, 1), years_until(2.0, 0.0))
    assert 0.0 == years_until(0.5, 1.0)
    assert [1, 2, 2, None] == [machines_for(r, s) for r, s in ((5, 10), (11, 10), (20, 10), (5, 0))]


def test_growth_shortens_the_life_of_a_drive() -> None:
    """A drive that lasts ten years at a constant rate lasts about five if writes grow by 30 % per year."""
    per_s = 1e15 / (10 * 365.25 * 86400)

    assert 10.0 == pytest.approx(drive_life_years(1e15, per_s, 0.0))
    assert math.log1p(10 * math.log(1.3)) / math.log(1.3) == pytest.approx(drive_life_years(1e15, per_s, 0.3))
    assert None is drive_life_years(None, per_s, 0.3)


def test_costs_add_purchase_rent_and_volume() -> None:
    """A purchase is spread over the service life, or the drive's own if shorter; a volume has free space."""
    settings = CostSettings(years_of_service=4.0, free_space=0.5)

    assert 10.0 == pytest.approx(cost_per_month(PriceEntry(price_usd=480.0), 0.0, None, settings))
    assert 20.0 == pytest.approx(cost_per_month(PriceEntry(price_usd=480.0), 0.0, 2.0, settings))
    assert 108.0 == pytest.approx(
        cost_per_month(PriceEntry(price_usd_per_month=100.0, price_usd_per_gb_month=0.08), 50e9, None, settings)
    )
    assert None is cost_per_month(PriceEntry(), 1e12, 1.0, settings)


def test_shipped_prices_have_sources_and_dates() -> None:
    """Every shipped price names source and date; configs/device gives a price that the catalogue lacks."""
    entries = read_catalogue(None)

    assert all(e.source and date.fromisoformat(e.date) for e in entries.values() if e.priced)
    assert 47.5 == with_device_price(PriceEntry(), {"assumptions": {"price": "2026"}}, 47.5).price_usd
    assert 0.08 == with_device_price(entries["aws_gp3"], {}, 47.5).price_usd_per_gb_month


def test_a_price_without_source_is_refused(tmp_path: Path) -> None:
    """A user's price needs a source and a date; the message names file and entry."""
    path = tmp_path / "prices.yaml"
    path.write_text("mine: {price_usd: 100}\n")

    with pytest.raises(InputError, match=r"prices.yaml: mine: a price needs its source and its date"):
        read_catalogue(path)


def test_the_front_keeps_what_nothing_beats() -> None:
    """A row that is worse everywhere is dominated; unknown values make rows incomparable; equal rows are ties."""
    rows = [(-1.0, -5.0), (-2.0, -1.0), (-2.0, -6.0), (math.nan, -9.0), (-1.0, -5.0)]

    assert [True, True, False, True, True] == undominated(rows).tolist()


# --- levels, load, error -------------------------------------------------------------------------------------------


def test_the_worst_broken_level_is_named() -> None:
    """Of several broken levels, the one exceeded by the largest factor is named; limits hold at their value."""
    levels = ServiceLevels(write_p99=1e-3, stalled=0.1, longest_stall=2.0)

    assert "write_p99" == broken({"write_p99": 5e-3, "stalled": 0.2, "longest_stall": 2.0}, levels)
    assert None is broken({"write_p99": 1e-3, "stalled": 0.1}, levels)


def test_draws_of_the_error() -> None:
    """A headroom of one standard deviation is feasible in 84 % of the draws; a tail at its limit in half of them."""
    errors = {"ops_per_s": ErrorRange(-0.1645, 0.3), "write_latency_s.p999": ErrorRange(-0.5, 0.5)}
    limit = ServiceLevels(write_p999=0.01)

    assert 0.841 == pytest.approx(feasible_share(math.exp(0.1), {}, ServiceLevels(), errors), abs=0.01)
    assert 0.5 == pytest.approx(feasible_share(9.0, {"write_p999": 0.01}, limit, errors), abs=0.02)
    assert 1.0 == feasible_share(9.0, {"write_p999": 0.001}, limit, {"ops_per_s": ErrorRange(0.0, 0.0)} | errors)
    assert feasible_share(9.0, {}, ServiceLevels(), {}) is None, "an unknown error is no error of 0"
    assert feasible_share(9.0, {"write_p999": 0.001}, limit, {"ops_per_s": errors["ops_per_s"]}) is None


@pytest.mark.parametrize("headroom", [1.6, 5.0, 15.0, 31.0])
@pytest.mark.parametrize("name", ["stalled", "longest_stall"])
def test_idle_drives_do_not_stall(headroom: float, name: str) -> None:
    """Where no rate in reach stalls, the chance is that of the rate alone, whatever the limit on stalls is, 0 included."""
    ends = {"ops_per_s": 0.115, "stall_fraction": 0.066, "write_latency_s.max": 2.96}
    errors = {name: ErrorRange(-end, end) for name, end in ends.items()}
    curves = {name: Curve([1.0, 0.95 * headroom, headroom], [0.0, 0.0, 0.3])}
    shares = {
        feasible_share(headroom, {name: 0.0}, ServiceLevels(**{name: limit}), errors, curves) for limit in (0.0, 0.02, 0.1, 0.9)
    }  # fmt: skip

    assert {feasible_share(headroom, {}, ServiceLevels(), errors)} == shares
    assert min(shares) > 0.999


def test_stalls_follow_from_the_use() -> None:
    """Near its limit a store is as likely to stall as the rate is uncertain; a tighter limit lowers the chance."""
    errors = {"ops_per_s": ErrorRange(-0.115, 0.115), "stall_fraction": ErrorRange(-0.066, 0.066)}
    curves = {"stalled": Curve([1.0, 1.05, 1.1], [0.0, 0.1, 0.5])}
    loose, tight = (feasible_share(1.1, {"stalled": 0.0}, ServiceLevels(stalled=s), errors, curves) for s in (0.4, 0.01))

    assert 0.3 < tight < loose < 0.95


def trial_at(rate: float, written: float) -> Trial:
    """Return a trial that holds, with bytes written per operation."""
    values = {"ops_per_s": rate, "device.write_bytes_per_s": rate * written, "write_amplification": written, "live_bytes": 1e9}
    return Trial(rate, True, "holds", 1.0, (), {"stalled": 0.01}, values)


def test_each_level_costs_the_same() -> None:
    """The bytes of a write are a line over the levels: 10 and 12 give 16 for two levels more, and a rate of 12 / 16."""
    line = line_of(SimpleNamespace(multiplier=10.0), 2, trial_at(8000.0, 12.0), trial_at(8000.0, 10.0))  # type: ignore[arg-type]
    whole = line.whole(trial_at(8000.0, 12.0))

    assert 6000.0 == pytest.approx(whole.rate_per_s)
    assert (16.0, 100e9) == pytest.approx((whole.values["write_amplification"], whole.values["live_bytes"]))
    assert 16.0 * whole.rate_per_s == pytest.approx(whole.values["device.write_bytes_per_s"])
    assert {"stalled": 0.01} == whole.levels
    flat = line_of(SimpleNamespace(multiplier=10.0), 2, trial_at(9000.0, 10.0), trial_at(9000.0, 10.1))  # type: ignore[arg-type]
    assert (1.0, 1.0) == (flat.share, flat.written)


@pytest.mark.parametrize(("num", "left_out"), [(300_000, 0), (300_000_000, 1), (30_000_000_000, 3)])
def test_large_trees_lose_levels_and_their_drive_shrinks(num: int, left_out: int) -> None:
    """The simulated tree has at most as many memtables as the plan allows, the same last level, and an equally full drive."""
    store = PlannedStore(compose(["device=samsung_pm9a3"]), {"num": num, "value_size": 1000, "read": 0.0, "update": 1.0})
    small = without_levels(store, levels_to_leave_out(store, 3000.0))

    assert left_out == levels_to_leave_out(store, 3000.0)
    assert small.tree_memtables <= 3000.0
    assert num == pytest.approx(small.load["num"] * 10.0**left_out)
    assert store.capacity_bytes == pytest.approx((small.capacity_bytes or 0.0) * 10.0**left_out)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_only_the_debt_above_that_of_a_tree_in_balance_shrinks(count: int) -> None:
    """A limit leaves room for a round of L0 on its way through all levels, and its share of the rest; 0 stays no limit."""
    load = {"num": 3_000_000_000, "value_size": 1000, "read": 0.0, "update": 1.0}
    store = PlannedStore(compose(["device=samsung_pm9a3", "engine.options.hard_pending_compaction_bytes_limit=0"]), load)
    small = without_levels(store, count)
    whole, less = (main_family(s.setup).engine.options for s in (store, small))

    soft, smaller_soft = (o.soft_pending_compaction_bytes_limit for o in (whole, less))
    rest = soft - store.balanced_debt_bytes
    assert rest == pytest.approx((smaller_soft - small.balanced_debt_bytes) * 10.0**count, rel=1e-6)
    assert small.balanced_debt_bytes < smaller_soft < soft
    assert 0 == less.hard_pending_compaction_bytes_limit


def test_the_line_is_taken_at_a_rate_that_both_trees_hold() -> None:
    """Trees that fail at the planned rate are tried at a half and so on; the larger one only where the smaller holds."""
    tried: list[tuple[str, float]] = []

    def tree(name: str, most: float, written: float) -> SimpleNamespace:
        def try_rate(rate: float) -> Iterator[None]:
            tried.append((name, rate))
            yield from ()
            return replace(trial_at(rate, written), holds=rate <= most)

        return SimpleNamespace(try_rate=try_rate)

    store = SimpleNamespace(multiplier=10.0)
    evaluation = Evaluation(store, 8000.0, ServiceLevels(), None, SearchSettings())  # type: ignore[arg-type]
    steps = evaluation._line(tree("larger", 1500.0, 12.0), tree("smaller", 4000.0, 10.0), 1)  # type: ignore[arg-type]
    with pytest.raises(StopIteration) as ended:
        next(steps)

    larger = [("larger", 4000.0), ("smaller", 2000.0), ("larger", 2000.0), ("smaller", 1000.0), ("larger", 1000.0)]
    assert [("smaller", 8000.0), ("smaller", 4000.0), *larger] == tried
    assert 14.0 / 12.0 == pytest.approx(ended.value.value.written)


def test_a_rate_without_end_has_no_burst_credit() -> None:
    """Closed and open loops of a plan begin without credit; a burst begins with it."""
    store = PlannedStore(compose(["device=aws_gp2"]), {"num": 10_000, "value_size": 1000})

    assert store.has_credit
    assert [0, 0] == [c["device"]["burst_ios"] for c in (store.open_loop(1.0, 40.0, 1), store.closed_loop(1e3, 40.0, 1))]
    assert "5.4M" == store.burst(1.0, 2.0, 10.0, 40.0, 1)["device"]["burst_ios"]


def test_the_shape_of_the_load_gives_the_busiest_hour() -> None:
    """Daily and weekly shape are numbers or relative rates; their product with the mean is the rate to sustain."""
    hours = [1.0] * 23 + [3.0]
    load, _ = make_load(LoadSettings(rate=1000.0, daily=hours, weekly=1.2), {"read": 0, "update": 1}, {})

    assert 3.0 / (26.0 / 24.0) == pytest.approx(load.daily)
    assert 1000.0 * load.daily * 1.2 == pytest.approx(load.peak_per_s)
    assert {"num": 25_000, "threads": 2} == {k: load.on_one_of(400)[k] for k in ("num", "threads")} | {"threads": 2}


def test_a_changed_read_share_keeps_the_other_proportions() -> None:
    """Twenty percent more reads leave fewer of all other operations, in proportion; a load without reads has no change."""
    changed = changed_load({"read": 0.5, "update": 0.3, "insert": 0.2}, "read", 1.2)

    assert changed is not None
    assert (0.6, 0.24, 0.16) == pytest.approx((changed["read"], changed["update"], changed["insert"]))
    assert None is changed_load({"read": 0, "update": 1}, "read", 1.2)
    assert {"num": 12, "read": 1} == changed_load({"num": 10, "read": 1}, "num", 1.2)


def trial(rate: float, holds: bool, reason: str = "backlog", **values: float) -> Trial:
    """Return a trial with the growth of a backlog."""
    grown = (QuantityGrowth("backlog", 0.1, 0.1, 0.1, 0.1 * rate),)
    return Trial(rate, holds, "holds" if holds else reason, 3.0, grown, {"write_p999": 0.07}, values)


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        (trial(1e4, False, **{"device.utilisation": 0.98}), "backlog grows by 1,000 operations/s; drive busy 98%"),
        (
            trial(1e4, False, "write_p999", **{"device.utilisation": 0.4, "compactions": 1.0}),
            "write P99.9 70 ms, limit 50 ms; the only compaction slot is busy (drive 40%)",
        ),
        (
            trial(1e4, False, **{"device.utilisation": 0.4, "cpu.background_busy_cores": 3.9}),
            "backlog grows by 1,000 operations/s; all 4 cores busy with compactions",
        ),
        (trial(1e4, False, **{"device.utilisation": 0.4}), "the 8 client threads are busy (drive 40%)"),
    ],
)
def test_constraints_name_symptom_and_cause(failed: Trial, expected: str) -> None:
    """The binding constraint names what fails and the resource that is used up."""
    limits = {"slots": 1.0, "cores": 4.0, "threads": 8.0}

    assert constraint(failed, limits, ServiceLevels(write_p999=0.05)).endswith(expected)


# --- search --------------------------------------------------------------------------------------------------------


def search_with(limit: float, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Search:
    """Return a search over a store that sustains rates up to `limit` with seed 1, and 3 % less with others."""

    def tried(_store: object, _runs: object, rate: float, *others: Any) -> Generator[Any, Any, Trial]:
        yield from ()  # no run is needed
        return trial(rate, rate <= (limit if others[-1] == 1 else 0.97 * limit))

    monkeypatch.setattr(searching, "try_rate", tried)
    store: Any = SimpleNamespace()
    return Search(store, ServiceLevels(), settings=SearchSettings(**settings))


def result(steps: Generator[Any, Any, T]) -> T:
    """Return the result of steps that need no run."""
    with pytest.raises(StopIteration) as end:
        next(steps)
    found: T = end.value.value
    return found


@pytest.mark.parametrize("closed", [9_000.0, 10_300.0, 14_000.0, 90_000.0])
def test_the_search_finds_the_limit_from_any_start(closed: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Highest rate that holds and lowest that fails bracket the limit within the precision, in few trials."""
    search = search_with(10_000.0, monkeypatch, precision=0.02, seeds=1)
    found = result(search.find(closed))

    assert found.rate_per_s <= 10_000.0 < found.fails_per_s <= 1.02 * found.rate_per_s
    assert len(found.trials) <= 15


def test_further_seeds_lower_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rate that fails with another seed is not sustainable; the next lower one must hold with all seeds."""
    found = result(search_with(10_000.0, monkeypatch, precision=0.02, seeds=3).find(10_500.0))

    assert 9_300.0 < found.rate_per_s <= 9_700.0


def test_a_store_that_sustains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search ends without a rate if even a thousandth of the closed loop fails."""
    found = result(search_with(0.0, monkeypatch).find(10_000.0))

    assert (0.0, None) == (found.rate_per_s, found.at_limit)
    assert found.failed is not None


def ended_after(runs: int, limit: float, monkeypatch: pytest.MonkeyPatch) -> Evaluated:
    """Return the evaluation of a store that sustains rates up to `limit`, if the budget ends after some runs."""

    def tried(_store: object, _runs: object, rate: float, *_others: Any) -> Generator[Any, Any, Trial]:
        yield {}
        return trial(rate, rate <= limit, **{"device.utilisation": 0.5})

    def closed(_search: object) -> Generator[Any, Any, float]:
        yield {}
        return 10_000.0

    monkeypatch.setattr(searching, "try_rate", tried)
    monkeypatch.setattr(Search, "closed_loop_per_s", closed)
    store = PlannedStore(compose(["device=sata"]), {"num": 10_000, "value_size": 1000})
    steps = Evaluation(store, 4_000.0, ServiceLevels(), None, SearchSettings()).steps()
    next(steps)
    for _ in range(runs):
        steps.send(None)  # type: ignore[arg-type]
    with pytest.raises(StopIteration) as end:
        steps.throw(BudgetEndedError())
    found: Evaluated = end.value.value
    return found


def test_the_end_of_the_budget_leaves_the_best_answer_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """After any number of runs the limit is inside the bracket, which only becomes narrower."""
    found = [ended_after(runs, 8_000.0, monkeypatch) for runs in range(6)]

    assert all(f.ended for f in found)
    assert all(f.found.rate_per_s <= 8_000.0 < f.found.fails_per_s for f in found)
    assert [None, 4_000.0] == [None if f.planned is None else f.planned.rate_per_s for f in found[:2]]
    widths = [f.found.fails_per_s / max(f.found.rate_per_s, 1e-9) for f in found]
    assert widths == sorted(widths, reverse=True)


def test_an_executor_ends_its_tasks_with_the_budget() -> None:
    """A run is ended in its middle, as soon as it reports progress after the end of the budget."""
    ended = TimedExecutor(InProcess(), time.monotonic() - 1.0)

    def work(_task: int, watch: Any) -> None:
        watch(1.0, 2.0)
        pytest.fail("goes on after the end of the budget")

    with pytest.raises(BudgetEndedError):
        list(ended.run_tasks(work, [1], lambda *_: None))


def test_the_estimate_knows_the_trials_and_seeds() -> None:
    """A finer search and more seeds take more runs."""
    runs = [usual_trials(SearchSettings(precision=p, seeds=n)) for p, n in ((0.1, 1), (0.02, 1), (0.02, 3))]

    assert runs == sorted(runs)
    assert len(set(runs)) == 3


def test_known_trials_narrow_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planned rate that was tried before is a bound of the search."""
    search = search_with(10_000.0, monkeypatch, seeds=1)
    result(search.try_rate(9_950.0))
    found = result(search.find(11_000.0))

    assert 9_950.0 <= found.rate_per_s <= 10_000.0


@pytest.mark.parametrize(
    ("per_s", "pending", "counts"), [(0.0, 1e9, False), (1e7, 1e9, True), (0.0, 0.0, True)],
    ids=["steady debt", "growing debt", "no debt stated"],
)  # fmt: skip
def test_levels_that_fill_up_at_a_steady_debt_do_not_count(per_s: float, pending: float, counts: bool) -> None:
    """Levels above their targets would be debt; those that grow without it are below, and fill up."""
    times = np.arange(1.0, 481.0)
    found = [growth("debt", times, per_s * times, 1e8), growth("tree", times, 5e6 * times, 1e8)]

    assert counts == ("tree" in {g.quantity for g in counted(found, {"pending_bytes": np.full(480, pending)})})
