"""Estimates of the cost of runs, and the budget of a command."""

from __future__ import annotations

import io

import pytest
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import RunOptions
from lsmlab.reports.cli.running import keep_budget, read_budget
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.runs import estimate as estimates
from lsmlab.sim.runs.estimate import CostEstimate, estimate, expected, total
from lsmlab.sim.setting import Setting
from running import run

UPDATES = ("workload=constant", "workload.read=0", "workload.update=1", "workload.num=2M", "workload.duration=120s")


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which a job takes a millisecond, and which has two cores."""
    monkeypatch.setattr(estimates, "job_seconds", lambda: 1e-3)


@pytest.mark.parametrize(
    "overrides",
    [
        UPDATES,
        (*UPDATES, "workload.num=20M", "workload.rate=40k"),
        (*UPDATES, "workload.shards=4", "workload.num=8M"),
        (*UPDATES, "engine=universal"),
        ("workload=fillrandom", "workload.num=20M", "workload.value_size=400", "device=sata", "workload.duration=60s"),
        ("workload=ycsb_a", "workload.operationcount=2M"),
    ],
    ids=lambda overrides: " ".join(overrides[-2:]),
)
def test_expected_jobs_are_near_those_of_the_run(overrides: tuple[str, ...]) -> None:
    """Flushes, compactions and moves, from the configuration alone, are within a factor of 2.5 of the run's, plus 20."""
    config = compose(overrides)
    summary = run(config).summary
    jobs = summary["flush_count"] + summary["compaction_count"] + summary["trivial_move_count"]
    guess = expected(Setting.of(config)).jobs

    assert jobs / 2.5 - 20 <= guess <= 2.5 * jobs + 20


def test_costs_grow_with_duration_reads_caps_and_keys() -> None:
    """Twice the duration, reads, and a cap that binds cost more; more sampled keys take more memory."""
    plain = estimate(compose(UPDATES))

    assert plain.work < estimate(compose([*UPDATES, "workload.duration=240s"])).work
    assert plain.work < estimate(compose([*UPDATES, "workload.read=1", "workload.rate=40000"])).work
    assert plain.work < estimate(compose([*UPDATES, "limits.write_cap=100MB/s"])).work
    assert plain.memory_bytes < estimate(compose([*UPDATES, "workload.num=200M"])).memory_bytes


def test_prefill_counts() -> None:
    """The workload before the run is part of its cost."""
    config = compose([*UPDATES, "prefill=fillrandom", "prefill.num=20M", "prefill.value_size=1000"])

    assert 2.0 * estimate(compose(UPDATES)).work < estimate(config).work


def test_several_runs_add_their_time_and_share_their_memory() -> None:
    """The total of runs has the sum of their work and the largest memory; processes divide the time."""
    both = total([CostEstimate(10_000.0, 2e8), CostEstimate(30_000.0, 3e8)])

    assert CostEstimate(40_000.0, 3e8, runs=2) == both
    assert "about 40 s and 300 MB" == both.text()
    assert "about 20 s and 300 MB per process" == both.text(2)


def test_a_run_without_end_is_refused() -> None:
    """An estimate of a configuration that cannot run names the faulty key."""
    with pytest.raises(InputError, match="workload"):
        estimate({**compose(UPDATES), "workload": {"_target_": "lsmlab.models.workloads.generic.Constant", "rate": "x"}})


class Terminal(io.StringIO):
    """Standard input of a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


HOUR = CostEstimate(7.2e6, 1e8)
"""Two hours of work on one core: an hour on two."""


def test_work_above_the_budget_is_refused_with_its_estimate() -> None:
    """Without a terminal, one line gives estimate, budget and remedy; within the budget nothing happens."""
    keep_budget(lambda: HOUR, RunOptions(budget="61min"), 2, "fewer candidates", terminal=io.StringIO())
    keep_budget(lambda: HOUR, RunOptions(), 2, "fewer candidates", terminal=io.StringIO())

    with pytest.raises(InputError, match=r"about 60 min and 100 MB per process, more than the budget of 10 min; raise"):
        keep_budget(lambda: HOUR, RunOptions(budget="10min"), 2, "fewer candidates", terminal=io.StringIO())


def test_a_terminal_is_asked() -> None:
    """On a terminal the user decides; only y or yes continues."""
    asked: list[str] = []
    options = RunOptions(budget="10min")
    keep_budget(lambda: HOUR, options, 2, "fewer runs", ask=lambda text: asked.append(text) or "y", terminal=Terminal())

    assert 1 == len(asked)
    with pytest.raises(InputError, match="not started"):
        keep_budget(lambda: HOUR, options, 2, "fewer runs", ask=lambda _: "", terminal=Terminal())


@pytest.mark.parametrize("text", ["10", "soon", "-1min", "0", "10 parsecs"])
def test_budgets_are_times(text: str) -> None:
    """A budget is a positive time; a bare number counts seconds."""
    if text == "10":
        assert 10.0 == read_budget(text)
        return
    with pytest.raises(InputError, match="--budget"):
        read_budget(text)
