"""Analysis of sweeps: effects, Sobol indices, best configurations and Pareto front of results with known answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.reports.decisions.sweep import analysis_text, conclude
from lsmlab.sim.results.jsontext import write_json
from lsmlab.sim.runs.index import arrow_table, write_parquet
from lsmlab.sim.studies.baseline import Baseline
from lsmlab.sim.studies.sweep.analysis import analyse
from lsmlab.sim.studies.sweep.measured import Objective, objectives
from lsmlab.sim.studies.sweep.space import parse_space
from lsmlab.sim.studies.sweep.sweep import SWEEP, Sweep, SweepAnswer

GRID = ["host.cores=1,2,4", "device=nvme,sata"]


def write_sweep(
    folder: Path, space: list[str], value: Callable[[list[str], int], dict[str, float]],
    design: str = "grid", count: int | None = None, seeds: int = 3,
) -> Path:  # fmt: skip
    """Write the files of a sweep whose numbers are a function of a point's values and the seed."""
    sweep = Sweep(Baseline(""), parse_space(space), design, count, tuple(range(1, seeds + 1)))
    keys = [d.key for d in sweep.space.dimensions]
    rows = [
        {
            "run": name, "configuration": name, "seed": seed, **dict(zip(keys, map(number, point), strict=True)),
            **value(list(point), seed),
        }
        for point, name in zip(sweep.points, sweep.names(), strict=True) for seed in sweep.seeds
    ]  # fmt: skip
    folder.mkdir(exist_ok=True)
    write_json(folder / SWEEP, sweep.as_json())
    write_parquet(folder / "runs.parquet", arrow_table(rows))
    return folder


def number(text: str) -> float | str:
    """Return a value as a number if it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def analysis(folder: Path, *given: str) -> dict[str, Any]:
    """Return the analysis of a sweep for objectives of the command line."""
    return analyse(folder, objectives(list(given), folder)).as_dict()


def test_effects_of_an_additive_grid(tmp_path: Path) -> None:
    """In a grid, effects of the levels and shares of variance are exact; an additive number has no interactions."""

    def value(point: list[str], seed: int) -> dict[str, float]:
        return {"ops_per_s": 10.0 * float(point[0]) + (100.0 if point[1] == "nvme" else 0.0) + seed}

    found = analysis(write_sweep(tmp_path / "s", GRID, value), "ops_per_s")["effects"]["ops_per_s"]
    cores, device = found["main"]

    assert "seeds" == found["intervals"]
    assert [62.0, 72.0, 92.0] == pytest.approx([level["mean"] for level in cores["levels"]])
    assert ["nvme", "sata"] == [level["value"] for level in device["levels"]]
    between = np.var([10.0, 20.0, 40.0]), np.var([100.0, 0.0])
    assert between[0] / sum(between) == pytest.approx(cores["share"]["mean"])
    assert between[1] / sum(between) == pytest.approx(device["share"]["high"])
    assert 0.0 == pytest.approx(found["interactions"][0]["share"]["mean"])
    assert cores["levels"][0]["low"] < 62.0 < cores["levels"][0]["high"]


def test_an_interaction_is_found(tmp_path: Path) -> None:
    """A product of two keys without main effects is all interaction."""
    space = ["host.cores=1,3", "workload.threads=1,3"]
    folder = write_sweep(tmp_path / "s", space, lambda p, _s: {"ops_per_s": (float(p[0]) - 2.0) * (float(p[1]) - 2.0)})
    found = analysis(folder, "ops_per_s")["effects"]["ops_per_s"]

    assert [0.0, 0.0] == pytest.approx([row["share"]["mean"] for row in found["main"]])
    assert 1.0 == pytest.approx(found["interactions"][0]["share"]["mean"])


def test_effects_of_a_random_design(tmp_path: Path) -> None:
    """Without a grid, values are grouped; the key that matters has most of the variance, the other one none."""
    space = ["host.cores=0.0..1.0", "workload.threads=0.0..1.0"]
    folder = write_sweep(tmp_path / "s", space, lambda p, _s: {"ops_per_s": float(p[0])}, "lhs", 200, seeds=1)
    found = analysis(folder, "ops_per_s")["effects"]["ops_per_s"]
    cores, threads = found["main"]

    assert ("configurations", None) == (found["intervals"], found["interactions"])
    assert 4 == len(cores["levels"])
    assert cores["share"]["low"] > 0.85
    assert threads["share"]["mean"] < 0.05
    assert [0.125, 0.375, 0.625, 0.875] == pytest.approx([level["mean"] for level in cores["levels"]], abs=0.01)


def test_sobol_indices_of_a_known_function(tmp_path: Path) -> None:
    """Indices of x + 2y + 4xz have the values of theory within the intervals; they are only for complete designs."""
    space = [f"{key}=-1.00..1.00" for key in ("host.cores", "workload.threads", "workload.think")]

    def value(point: list[str], _seed: int) -> dict[str, float]:
        x, y, z = map(float, point)
        return {"ops_per_s": x + 2.0 * y + 4.0 * x * z}

    folder = write_sweep(tmp_path / "s", space, value, "saltelli", 3000, seeds=1)
    found = analysis(folder, "ops_per_s")["sobol"]["ops_per_s"]
    parts = np.array([1.0 / 3.0, 4.0 / 3.0, 16.0 / 9.0])  # variances of x, 2y, 4xz
    whole = parts.sum()

    for row, first, total in zip(
        found, [parts[0], parts[1], 0.0], [parts[0] + parts[2], parts[1], parts[2]], strict=True
    ):
        assert first / whole == pytest.approx(row["first"]["mean"], abs=0.06)
        assert total / whole == pytest.approx(row["total"]["mean"], abs=0.06)
        assert row["total"]["low"] <= row["total"]["mean"] <= row["total"]["high"]
    grid = write_sweep(tmp_path / "g", GRID, lambda p, s: {"ops_per_s": float(p[0]) + s})
    assert {} == analysis(grid, "ops_per_s")["sobol"]


def test_the_best_configuration_has_a_probability(tmp_path: Path) -> None:
    """Seeds decide how sure the best one is: noise that all configurations share does not count, exact ties are named."""
    noise = {1: 0.0, 2: 50.0, 3: -40.0, 4: 10.0}
    own = {("1", 1): 3.0, ("1", 2): -3.0, ("2", 3): 3.0, ("2", 4): -3.0}

    def value(point: list[str], seed: int) -> dict[str, float]:
        cores = point[0]
        return {
            "sure": float(cores) + noise[seed], "unsure": own.get((cores, seed), 0.0) + 0.01 * float(cores),
            "tied": min(float(cores), 2.0) + noise[seed],
        }  # fmt: skip

    folder = write_sweep(tmp_path / "s", ["host.cores=1,2,4"], value, seeds=4)
    sure, unsure, tied = analysis(folder, "max:sure", "max:unsure", "max:tied")["best"]

    assert ("4 cores", 1.0) == (sure["ranking"][0]["configuration"], sure["ranking"][0]["probability"])
    assert 0.2 < unsure["ranking"][0]["probability"] < 0.6
    assert ["2 cores", "4 cores"] == tied["ties"]
    assert [] == sure["ties"]
    assert 0.5 == tied["ranking"][0]["probability"]
    assert "an exact tie of 2 configurations" in analysis_text(analyse(folder, objectives(["max:tied"], folder)))


def test_the_pareto_front(tmp_path: Path) -> None:
    """The front contains what no other configuration reaches in all objectives; equal ones are a tie."""
    values = {"1": (5.0, 1.0), "2": (4.0, 2.0), "3": (3.0, 3.0), "4": (4.0, 2.0), "5": (4.0, 1.0)}
    folder = write_sweep(
        tmp_path / "s", ["host.cores=1,2,3,4,5"], lambda p, _s: {"good": values[p[0]][0], "bad": -values[p[0]][1]}
    )
    found = analysis(folder, "max:good", "min:bad")["pareto"]

    assert ["1 core", "2 cores", "4 cores", "3 cores"] == [row["configuration"] for row in found["front"]]
    assert [["2 cores", "4 cores"]] == found["ties"]
    assert 4 * [1.0] == [row["probability"] for row in found["front"]]
    assert analysis(folder, "max:good")["pareto"] is None


def test_missing_runs_and_equal_numbers(tmp_path: Path) -> None:
    """A configuration whose run failed has no rank; a number that never changes has no effects."""
    folder = write_sweep(tmp_path / "s", GRID, lambda p, s: {"ops_per_s": float(p[0]) + s, "same": 1.0})
    rows = [r for r in arrow_rows(folder) if not (r["configuration"] == "4 cores, nvme" and r["seed"] == 2)]
    write_parquet(folder / "runs.parquet", arrow_table(rows))
    analysed = analyse(folder, objectives(["ops_per_s", "max:same"], folder))
    found = analysed.as_dict()

    assert "4 cores, sata" == found["best"][0]["ranking"][0]["configuration"]
    assert "configurations" == found["effects"]["ops_per_s"]["intervals"]
    assert found["effects"]["same"] is None
    assert "same: the same in all configurations" in analysis_text(analysed)


def arrow_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of an index."""
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(folder / "runs.parquet").to_pylist()
    return rows


def test_objectives_say_what_is_wrong(tmp_path: Path) -> None:
    """The direction of common numbers is known; others need one; unknown keys and texts are refused."""
    folder = write_sweep(tmp_path / "s", GRID, lambda p, s: {"ops_per_s": 1.0, "stall_fraction": 0.0, "depth": 2.0})

    assert [Objective("ops_per_s", True), Objective("stall_fraction", False), Objective("depth", False)] == objectives(
        ["ops_per_s", "stall_fraction", "min:depth"], folder
    )
    assert [Objective("ops_per_s", True)] == objectives([], folder)
    for text, message in (
        ("depth", "write max:depth or min:depth"), ("ops_per", "did you mean"), ("up:depth", "the direction must be max or min"),
        ("max:device", "not a number"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            objectives([text], folder)


def test_a_sweep_prints_its_analysis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command prints the best configurations and what matters in 120 columns, and writes analysis.json."""
    monkeypatch.chdir(tmp_path)
    line = ["sweep", "device=nvme,sata", "engine.options.write_buffer_size=1MiB,2MiB", "workload.num=200k", "-j", "1"]
    line += ["workload.duration=1s", "workload.value_size=400", "--replications", "2", "--no-report", "--out", "o"]
    assert 0 == main(line)
    out = capsys.readouterr().out

    assert "Largest throughput:\n" in out
    assert "share of variance" in out
    assert max(map(len, out.splitlines())) <= 120
    assert 0 == main([*line, "--json"])
    assert json.loads(capsys.readouterr().out)["analysis"] == json.loads(Path("o/analysis.json").read_text())


def stalled_or_not(point: list[str], seed: int) -> dict[str, Any]:
    """Return the numbers of a closed loop: with one core the store stands still most of the time."""
    calm = point[0] != "1"
    latency = 2e-3 if calm else 8e-6
    state = {"settled.settled": calm, "settled.reason": "L0 grows by 2.0% of the flushed files", "duration_s": 60.0}
    open_loop = None if calm else 0.6
    return {"ops_per_s": 100.0, "write_latency_s.p99": latency, "open_loop_latency_s.p99": open_loop, **state, "seed": seed}


def test_a_store_that_stands_still_is_not_the_best(tmp_path: Path) -> None:
    """The smallest latency of a closed loop belongs to the calm store: by default, that of an open loop is the objective.

    The percentile of the clients, which a store that stands still improves, is analysed only if it is asked for.
    """
    folder = write_sweep(tmp_path / "s", ["host.cores=1,2"], stalled_or_not)
    default, asked = (analysis(folder, *given) for given in ((), ("write_latency_s.p99",)))

    assert ["ops_per_s", "open_loop_latency_s.p99"] == [o["name"] for o in default["objectives"]]
    assert ("2 cores", 2e-3) == tuple(default["best"][1]["ranking"][0][key] for key in ("configuration", "mean"))
    assert "1 core" == asked["best"][0]["ranking"][0]["configuration"]


def test_a_sweep_says_once_what_had_not_settled(tmp_path: Path) -> None:
    """With some unsettled runs the answer does not say that all had settled, and an overload is named."""
    folder = write_sweep(tmp_path / "s", ["host.cores=1,2"], stalled_or_not)
    about = json.loads((folder / SWEEP).read_text())
    for given, doubt in (("ops_per_s", True), ("max:write_latency_s.p99", False)):
        found = analyse(folder, objectives([given], folder))
        late = "cannot keep up: takes 1 of 2 operations/s"
        over = {name: replace(state, overload=late) for name, state in found.states.items()}
        answer = SweepAnswer(
            **about, finished=4, kept=0, failed=0, bad_input=0, failures=[], analysis=replace(found, states=over), command=""
        )  # fmt: skip
        said = conclude(answer)
        sure = " ".join(said.how_sure)

        assert "All stores had settled" not in sure
        assert "1 of 2 configurations had not settled" in sure
        assert doubt == ("L0 grows" in sure)
        assert any("cannot keep up: takes 1 of 2" in sentence for sentence in said.more)


def test_the_ranking_says_which_stores_had_not_settled(tmp_path: Path) -> None:
    """A number of an unsettled run carries the doubt, and the conclusion begins with it."""
    folder = write_sweep(tmp_path / "s", ["host.cores=1,2"], stalled_or_not)
    found = analyse(folder, objectives(["write_latency_s.p99"], folder))

    assert (1, "L0 grows by 2.0% of the flushed files") == (found.unsettled, found.states["1 core"].unsettled)
    assert "  1 core: 8 us, best with probability 100%, not settled\n" in analysis_text(found)
    assert "  2 cores: 2 ms, best with probability 0%\n" in analysis_text(found)
