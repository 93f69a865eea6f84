"""`lsmlab tune`: search of a space for a goal under limits, resumed from its journal, judged on fresh seeds."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.reports.cli.main import main
from lsmlab.reports.cli.studies import answer
from lsmlab.reports.decisions.tuning import TUNE
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.runs.batch import RunJob, Settings
from lsmlab.sim.runs.executor import InProcess
from lsmlab.sim.runs.store import default_store
from lsmlab.sim.studies.baseline import Baseline, read_baseline
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.goals import GOALS, GoalLimits
from lsmlab.sim.studies.optuna_search import (
    SearchProblem,
    best_points,
    distribution,
    failures,
    history,
    open_study,
    overrides,
    search,
    window_of,
)
from lsmlab.sim.studies.study import Outcome, RunRow, Study
from lsmlab.sim.studies.sweep.space import parse_space
from lsmlab.sim.studies.tune import PointCounts, Tuning, _Check, helps
from running import SLOW_JOBS

pytest.importorskip("optuna")

STALLED = [
    "device=sata", "limits.write_cap=60MiB/s", "workload.duration=2s", "workload.threads=1", "workload.value_size=400",
    "workload.num=100k", "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=1MiB",
    "engine.options.max_bytes_for_level_base=4MiB", *SLOW_JOBS,
]  # fmt: skip
SPACE = ["engine.options.write_buffer_size=512KiB..8MiB", "engine.options.max_background_jobs=2,4"]


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of a stalled store."""
    folder = tmp_path_factory.mktemp("tune") / "run"
    assert 0 == main(["run", *STALLED, "--out", str(folder), "--no-report", "--json"])
    return folder


def objective(slow: Path, *goals: str, limits: GoalLimits = GoalLimits()) -> SearchProblem:  # noqa: B008 - frozen
    """Return the objective of a search over that store, with one seed per point."""
    baseline = read_baseline(str(slow))
    run = lambda study: study.run(Settings(default_store(), InProcess(), quiet=True))  # noqa: E731
    return SearchProblem(baseline, goals, limits, 1, run, window_of(baseline.compose()))


def test_points_of_a_space() -> None:
    """Lists are choices, short ranges of whole numbers whole, and other ranges readable values of their scale."""
    space = parse_space(["device=nvme,sata", "engine.options.max_background_jobs=2..8", "workload.value_size=1KiB..64KiB"])
    kinds = [type(distribution(d)).__name__ for d in space.dimensions]
    drawn = {"device": "sata", "engine.options.max_background_jobs": 3, "workload.value_size": 0.5}

    assert ["CategoricalDistribution", "IntDistribution", "FloatDistribution"] == kinds
    assert ("device=sata", "engine.options.max_background_jobs=3", "workload.value_size=8KiB") == overrides(space, drawn)


def test_a_search_finds_a_better_store(slow: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The best point beats the present state on fresh seeds, within the limit on memory, and becomes an OPTIONS file."""
    arguments = ["--trials", "13", "--memory", "64MiB", "--replications", "2", "--json", "--no-report", "--out", str(tmp_path)]
    assert 0 == main(["tune", str(slow), *SPACE, *arguments])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    change = next(d for d in found["verdict"]["differences"] if d["metric"] == "ops_per_s")

    page = TUNE.draw(Tuning.read(tmp_path / "tuning.json"), tmp_path).read_text()

    assert 13 == sum(found["points"].values())
    assert found["points"]["complete"] == len(found["history"])
    assert all(f"<h2>{title}</h2>" in page for title in ("Best point on new seeds", "Search for throughput"))
    assert change["change"] > 0.2
    assert change["low"] > 0.0
    assert [1001, 1002] == found["verdict"]["seeds"]
    assert {part["override"] for part in found["verdict"]["parts"]} == set(found["best"].split())
    assert set(found["verdict"]["settings"]) | set(found["verdict"]["left_out"]) == set(found["best"].split())
    assert {key.removeprefix("engine.options.").partition("=")[0] for key in found["verdict"]["settings"]} >= {
        name for name, _, _ in found["options"]["changes"]
    }
    assert found["conclusion"]["answer"].startswith("Over these 2 s, not settled: ")
    assert found["conclusion"]["command"].startswith(f"lsmlab tune {slow} engine.options.write_buffer_size=512KiB..8MiB")
    assert (tmp_path / "OPTIONS").is_file()
    assert any(name == "write_buffer_size" for name, _, _ in found["options"]["changes"])


def test_a_search_resumes(slow: Path, tmp_path: Path) -> None:
    """A search in two parts tries the same points as one without an interruption; the sampler learns from the 13th on."""
    space, own = parse_space(SPACE), objective(slow, "throughput")
    names = []
    for folder, parts in ((tmp_path / "one", [15]), (tmp_path / "two", [12, 15])):
        folder.mkdir()
        for trials in parts:
            study = open_study(folder, own, 1)
            search(study, own, space, trials, 1, None)
        names.append([(t.params, t.state, t.values) for t in study.trials])

    assert 15 == len(names[0])
    assert names[0] == names[1]


def test_points_of_an_interrupted_batch_are_no_failures() -> None:
    """A resumed search does not report the points that the interruption dropped as impossible: they are drawn again."""
    import optuna

    study = optuna.create_study()
    dropped, impossible, running = study.ask(), study.ask(), study.ask()
    impossible.set_user_attr("error", "write_buffer_size: out of range")
    for trial in (dropped, impossible):
        study.tell(trial, state=optuna.trial.TrialState.FAIL)

    assert 1 == failures(study)
    assert running.number == 2


def test_several_goals_give_a_front(slow: Path, tmp_path: Path) -> None:
    """No point of the front is beaten by another; points beyond a limit are left out."""
    own = objective(slow, "throughput", "write_amp", limits=GoalLimits(memory_bytes=40 * 2**20))
    study = open_study(tmp_path, own, 1)
    search(study, own, parse_space(SPACE), 12, 1, None)
    front = best_points(study, own)

    assert front
    assert all(x[0] > y[0] and x[1] > y[1] for x, y in itertools.pairwise(front))
    for name, _ in front:
        size = compose([*STALLED, *name.split()])["engine"]["options"]["write_buffer_size"]
        assert float(size.removesuffix("MiB").removesuffix("KiB")) <= 4 or size.endswith("KiB")


def answers(
    monkeypatch: pytest.MonkeyPatch, value: Callable[[Mapping[str, Any]], float], overloaded_below: float = 0.0
) -> None:
    """Let each run of a study have a throughput that is a function of its configuration; below a limit, its queue grows."""

    def run(study: Study, *_: Any) -> Outcome:
        rows = []
        for name, variant in study.variants.items():
            for seed in range(study.seeds):
                summary = {"ops_per_s": value(variant.config), "options": variant.config["engine"]["options"], "seed": seed}
                summary["write_latency_s"] = {"p999": 1.0 / summary["ops_per_s"]}
                if summary["ops_per_s"] < overloaded_below:
                    summary["overload"] = {"asked_ops_per_s": overloaded_below, "takes_ops_per_s": summary["ops_per_s"]}
                rows.append(RunRow(name, len(rows), seed, 0, RunJob(name, {}), summary=summary))
        return Outcome(tuple(rows))

    monkeypatch.setattr(Study, "run", run)


def option(config: Mapping[str, Any], name: str) -> int:
    """Return a whole number among the options of a configuration; 0 if it is not set."""
    return int(config["engine"]["options"].get(name) or 0)


A, B, C = (f"engine.options.{text}" for text in ("max_background_jobs=8", "max_subcompactions=4", "num_levels=6"))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        pytest.param(lambda c: 100.0 + 50.0 * (option(c, "max_background_jobs") == 8), [A], id="two-useless"),
        pytest.param(lambda c: 100.0 + 50.0 * (option(c, "max_background_jobs") == 8) - 20.0 * (option(c, "num_levels") == 6),
                     [A], id="useless-and-harmful"),
        pytest.param(
            lambda c: 100.0 + 50.0 * (option(c, "max_background_jobs") == 8)
            + 30.0 * (option(c, "max_subcompactions") == 4 or option(c, "num_levels") == 6),
            [A, B, C], id="one-replaces-the-other",
        ),
    ],
)  # fmt: skip
def test_only_settings_that_help_are_recommended(
    monkeypatch: pytest.MonkeyPatch, value: Callable[[Mapping[str, Any]], float], kept: list[str]
) -> None:
    """Settings without effect, or with a bad one, are left out, and the numbers are those without them.

    Of two settings that do the same, neither makes a difference beside the other: then the whole point stays.
    """
    answers(monkeypatch, value)
    runs = Settings(default_store(), InProcess(), quiet=True)
    check = _Check(Baseline("", ("device=sata",)), [GOALS["throughput"]], GOALS["p999"], GoalLimits(), 1001, 2, runs)
    verdict, _ = check.verdict([A, B, C])

    assert kept == verdict.settings
    assert sorted({A, B, C} - set(kept)) == sorted(verdict.left_out)
    assert verdict.tuned["ops_per_s"] == value(compose(["device=sata", *kept]))
    found = verdict.of("ops_per_s")
    assert found is not None
    assert verdict.tuned["ops_per_s"] == found.alternative


def test_settings_that_end_an_overload_are_recommended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Latencies of a store that cannot keep up have no difference: the answer is that it keeps up, and with what."""
    answers(monkeypatch, lambda c: 200.0 if option(c, "max_background_jobs") == 8 else 100.0, overloaded_below=150.0)
    runs = Settings(default_store(), InProcess(), quiet=True)
    check = _Check(Baseline("", ("device=sata",)), [GOALS["p999"]], GOALS["p999"], GoalLimits(), 1001, 2, runs)
    verdict, _ = check.verdict([A])
    metrics, counts = [GOALS["p999"].name], PointCounts(1, 0, 0)
    found = Tuning("store", ["p999"], metrics, "", SPACE, counts, [], A, verdict, {}, [], "lsmlab tune store", None)

    assert verdict.mends_overload
    assert verdict.of("write_latency_s.p999") is None
    assert TUNE.conclude(found).answer.startswith("max_background_jobs=8 keeps up with the load; the present state cannot ")
    assert "keeps up with the load" in TUNE.draw(found, tmp_path).read_text()
    assert [A] == check.verdict([A, B])[0].settings


def test_only_certain_gains_become_a_file() -> None:
    """Neither a worse goal, nor a change within the error, nor an unknown one is worth an OPTIONS file."""
    better = Difference("ops_per_s", 1.0, 2.0, 1.0, 0.5, 1.5, relative=True, tie=False, certain=True)
    throughput = GOALS["throughput"]

    assert helps(throughput, better)
    assert not helps(throughput, replace(better, change=-0.5))
    assert not helps(throughput, replace(better, low=-0.5, certain=False))
    assert not helps(throughput, replace(better, low=None, high=None, certain=False))
    assert not helps(throughput, None)
    assert helps(GOALS["p99"], replace(better, metric="write_latency_s.p99", change=-0.5))


def test_no_number_comes_from_a_cut_run(slow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of half the time only find clear losers: their numbers are in no answer, however good they look."""

    def value(config: Mapping[str, Any]) -> float:
        whole = parse_quantity(config["engine"]["options"]["write_buffer_size"], "bytes") / 2**23
        return whole if config["workload"]["duration"] == "2s" else 1e6 * whole

    answers(monkeypatch, value)
    own = replace(objective(slow, "throughput"), run=lambda study: study.run(Settings(default_store(), InProcess(), quiet=True)))
    study = open_study(tmp_path, own, 1)
    search(study, own, parse_space(SPACE), 32, 1, None)
    states = {trial.state.name for trial in study.trials}

    assert ("workload.duration=1s",) == own.window
    assert {"COMPLETE", "PRUNED"} == states
    assert all(0.0 < value <= 1.0 for point in history(study, own) for value in point.values.values())
    assert all(0.0 < value <= 1.0 for _, values in best_points(study, own) for value in values)
    assert len(history(study, own)) == sum(trial.state.name == "COMPLETE" for trial in study.trials)


def test_bad_input_is_named(slow: Path, tmp_path: Path) -> None:
    """A space without a range, an unknown goal, and another search in the same folder are refused."""
    open_study(tmp_path, objective(slow, "p99"), 1)
    for arguments, message in (
        (["engine.options.max_background_jobs=4"], "a key with several values"),
        ([*SPACE, "--goal", "speed"], "no such goal"),
        ([*SPACE, "--goal", "throughput", "--out", str(tmp_path)], "has a search for p99 seed 1"),
        ([*SPACE, "--time", "1 apple"], "--time 1 apple"),
    ):
        with pytest.raises(InputError, match=message):
            answer(TUNE, [str(slow), *arguments])


def test_a_budget_refuses_a_long_search(slow: Path, tmp_path: Path) -> None:
    """A search that is estimated above the budget ends before its first run."""
    long = ["--set", "workload.duration=40h", "--budget", "1s", "--out", str(tmp_path / "out")]
    with pytest.raises(InputError, match="more than the budget of 1 s; raise --budget, or choose fewer --trials"):
        answer(TUNE, [str(slow), *SPACE, *long])
