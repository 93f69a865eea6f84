"""Whether a run shows its store as it stays, and the lengths of runs that follow from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.explain.settled import _t_quantile, _unsettled, overload_facts
from lsmlab.sim.runs.batch import RunJob, Settings
from lsmlab.sim.runs.executor import InProcess
from lsmlab.sim.runs.store import default_store
from lsmlab.sim.setting import Setting
from lsmlab.sim.simulation import simulate
from lsmlab.sim.studies.baseline import Baseline
from lsmlab.sim.studies.lengths import settled_baseline
from lsmlab.sim.studies.study import Outcome, RunRow, Study
from scipy.special import stdtrit

SECONDS = np.arange(1.0, 401.0)
FLAT = {
    "t_s": SECONDS, "write_ops": np.full(400, 1000.0), "backlog_ops": np.zeros(400), "pending_bytes": np.full(400, 1e8),
    "l0_files": 2.0 + SECONDS % 3.0, "level_bytes_0": np.full(400, 1e8), "level_bytes_1": np.full(400, 2e8),
    "level_bytes_2": 1e9 + 5e5 * SECONDS,
}  # fmt: skip
"""A steady store: only the last level grows."""
SUMMARY = {
    "duration_s": 400.0, "ops_per_s": 1000.0, "flush_bytes": 4e8, "flush_count": 40, "compaction_write_bytes": 2e9,
}  # fmt: skip


def unsettled(**changed: np.ndarray) -> str | None:
    """Return the reason why a run with these columns is not settled."""
    return _unsettled({**FLAT, **changed}, SUMMARY, 1e7, leveled=True)


def test_a_steady_store_is_settled() -> None:
    """A last level that grows is no sign of an unsettled store; nor is a load without writes."""
    assert unsettled() is None
    assert unsettled(write_ops=np.zeros(400)) is None


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("backlog_ops", 100.0 * SECONDS, "the queue of operations grows by 9.1% of the load"),
        ("backlog_ops", 3000.0 * SECONDS, "the queue of operations grows by 75.0% of the load"),
        ("pending_bytes", 1e6 * SECONDS, "compaction debt grows by 20.0% of the bytes that compactions write"),
        ("level_bytes_1", 3e5 * SECONDS, "the size of the levels above the last grows by 30.0% of the flushed bytes"),
        ("level_bytes_3", np.where(SECONDS > 300, 1.0, 0.0), "L3 got its first file only at 301 s of 400 s"),
        ("write_ops", np.where(SECONDS > 280, 500.0, 1000.0), "writes in the last third of the run were"),
    ],
)
def test_what_grows_is_named(column: str, values: np.ndarray, reason: str) -> None:
    """Each quantity that piles up, a late level and a change of speed make a run unsettled, with the reason."""
    found = unsettled(**{column: values})
    assert found is not None
    assert found.startswith(reason)


def test_a_short_run_is_not_settled() -> None:
    """A run with few compactions of L0 cannot show a trend."""
    found = _unsettled(FLAT, SUMMARY, 1e9, leveled=True)
    assert found is not None
    assert found.startswith("the run is short: 0.2 times")
    seconds = {name: column[:7] for name, column in FLAT.items()}
    assert "the run is short: a trend needs 8 s" == _unsettled(seconds, {**SUMMARY, "duration_s": 7.0}, 1e6, leveled=True)


def test_every_run_says_whether_it_is_settled() -> None:
    """The summary has the verdict and its reason: here the reason of a run of two seconds."""
    result = simulate(Setting.of(compose(["workload.num=1M", "workload.duration=2s"])))
    assert result.summary["settled"]["settled"] is False
    assert result.summary["settled"]["reason"].startswith("the run is short")


@pytest.mark.parametrize("freedom", [2.0, 3.0, 7.5, 22.0])
def test_the_quantile_is_that_of_students_distribution(freedom: float) -> None:
    """The expansion of the quantile is that of SciPy within 0.4 %."""
    assert _t_quantile(freedom) == pytest.approx(float(stdtrit(freedom, 0.95)), rel=0.004)


@pytest.mark.parametrize(
    ("needed_s", "longest", "given_s"), [(10.0, 8.0, 10.0), (30.0, 8.0, 40.0), (900.0, 8.0, 80.0), (900.0, 2.0, 20.0)]
)
def test_a_search_runs_until_its_store_has_settled(
    monkeypatch: pytest.MonkeyPatch, needed_s: float, longest: float, given_s: float
) -> None:
    """All runs of a search double until the store has settled, at most up to a limit, whatever their other overrides."""

    def run(study: Study, *_: Any) -> Outcome:
        (variant,) = study.variants.values()
        settled = {"settled": float(variant.config["workload"]["duration"].removesuffix("s")) >= needed_s, "reason": "L0 grows"}
        return Outcome((RunRow("", 0, 1, 0, RunJob("", {}), summary={"settled": settled}),))

    monkeypatch.setattr(Study, "run", run)
    runs = Settings(default_store(), InProcess(), quiet=True)
    found = settled_baseline(Baseline("", ("device=sata", "workload.duration=10s")), runs, ("host.cores=2",), longest)

    assert f"{given_s:g}s" == found.compose()["workload"]["duration"]
    assert "device=sata" == found.overrides[0]


PEAKS = 800.0 * (SECONDS % 40.0)
"""Queue of a load with peaks, which empties every 40 s."""


@pytest.mark.parametrize(
    ("backlog", "asked"),
    [(np.zeros(400), None), (PEAKS, None), (50.0 * SECONDS, 1050.0), (PEAKS + 100.0 * SECONDS, 1100.0)],
    ids=["no queue", "peaks that it can bear", "constant overload", "peaks that it cannot bear"],
)  # fmt: skip
def test_a_queue_that_never_empties_is_an_overload(backlog: np.ndarray, asked: float | None) -> None:
    """The queue of a peak is no overload if it empties; one whose low points rise is, with what is asked and taken."""
    found = overload_facts({**FLAT, "read_ops": np.zeros(400), "backlog_ops": backlog}, SUMMARY)
    assert (found is None) == (asked is None)
    if found is not None:
        assert found["takes_ops_per_s"] == pytest.approx(1000.0)
        assert found["asked_ops_per_s"] == pytest.approx(asked, rel=0.15)


def test_a_store_that_cannot_keep_up_asks_for_no_longer_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue of an overload grows in a longer run too; one run tells that."""
    lengths: list[str] = []

    def run(study: Study, *_: Any) -> Outcome:
        (variant,) = study.variants.values()
        lengths.append(variant.config["workload"]["duration"])
        over = {"asked_ops_per_s": 2.0, "takes_ops_per_s": 1.0}
        summary = {"settled": {"settled": False, "reason": "the queue grows"}, "overload": over}
        return Outcome((RunRow("", 0, 1, 0, RunJob("", {}), summary=summary),))

    monkeypatch.setattr(Study, "run", run)
    runs = Settings(default_store(), InProcess(), quiet=True)
    settled_baseline(Baseline("", ("workload=constant", "workload.duration=10s")), runs)

    assert ["10s"] == lengths
