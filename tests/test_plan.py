"""`lsmlab plan`: the sustainable rate against a fine grid, keys of a plan, the command and its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.executor import InProcess
from lsmlab.sim.runs.store import default_store
from lsmlab.sim.studies.plan.fewer_levels import levels_to_leave_out
from lsmlab.sim.studies.plan.plan_file import read_plan, write_starting_plan
from lsmlab.sim.studies.plan.planned_store import PlannedStore
from lsmlab.sim.studies.plan.rounds import PlanRuns, Steps, carry_out
from lsmlab.sim.studies.plan.search import Search, simulated
from lsmlab.sim.studies.plan.service_levels import ServiceLevels
from lsmlab.sim.studies.plan.trial import LoadBursts, SearchSettings, Trial, try_rate

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
SMALL = (
    "engine.options.write_buffer_size=8MiB", "engine.options.target_file_size_base=8MiB",
    "engine.options.max_bytes_for_level_base=32MiB",
)  # fmt: skip
LOAD = {"num": 50_000, "value_size": 4000, "read": 0.0, "update": 1.0, "threads": 8}
QUICK = SearchSettings(turnovers=1.0, seeds=1)
PLAN: dict[str, Any] = {
    "description": "test", "start": date(2026, 11, 1),
    "workload": {"rate": 2000, "growth_per_year": "50%", "daily": 1.5, **LOAD, "set": list(SMALL)},
    "service_levels": {"write_p999": "50ms"},
    "candidates": {"device": ["sata"]},
    "search": {"turnovers": 0.5, "precision": "40%", "seeds": 1},
    "sensitivity": {"candidates": 0},
}  # fmt: skip


def plan_file(folder: Path, **changes: Any) -> Path:
    """Write the plan with changed keys; a key of a part is written with two underscores."""
    content: dict[str, Any] = {key: dict(v) if isinstance(v, dict) else v for key, v in PLAN.items()}
    for key, value in changes.items():
        part, _, inner = key.partition("__")
        if inner:
            content.setdefault(part, {})[inner] = value
        else:
            content[part] = value
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


# --- sustainable rate ----------------------------------------------------------------------------------------------


def found_by(steps: Steps[T]) -> T:
    """Return the result of a search that runs in this process."""
    found = carry_out({"store": steps}, Settings(default_store(), InProcess(), quiet=True))["store"]
    assert not isinstance(found, str), found
    return found


def trial_of(store: PlannedStore, rate: float, levels: ServiceLevels, bursts: LoadBursts | None = None) -> Trial:
    """Return the trial of a rate."""
    return found_by(try_rate(store, PlanRuns(), rate, levels, bursts, QUICK))


def grid_limit(store: PlannedStore, levels: ServiceLevels, around: float) -> float:
    """Return the highest rate of a grid of 1 % below the first rate that fails, near `around`."""
    held = 0.0
    for step in range(-4, 5):  # the ends are more than 3 % away
        rate = float(f"{around * 1.01**step:.4g}")
        if not trial_of(store, rate, levels).holds:
            return held
        held = rate
    return held


def near_a_fine_grid(device: str, load: dict[str, Any], *options: str, **limits: float) -> None:
    """Compare the search with a grid of 1 %."""
    store = PlannedStore(compose([f"device={device}", *SMALL, *options]), {**LOAD, **load})
    levels = ServiceLevels(**limits)
    found = found_by(Search(store, levels, settings=QUICK).find())

    assert found.failed is not None
    assert grid_limit(store, levels, found.rate_per_s) == pytest.approx(found.rate_per_s, rel=0.03)


def test_the_sustainable_rate_is_near_a_fine_grid() -> None:
    """On a drive whose bandwidth limits the store, the rate is within 3 % of a search on a grid of 1 %."""
    near_a_fine_grid("sata", {}, write_p999=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "load", "options", "limits"),
    [
        ("nvme", {"read": 0.5, "update": 0.5}, (), {}),
        ("aws_gp3", {"read": 0.3, "update": 0.7}, (), {"write_p999": 0.05}),
        ("sata", {}, ("engine.options.max_background_jobs=4",), {"write_p999": 0.05}),
    ],
)
def test_more_stores_are_near_a_fine_grid(
    device: str, load: dict[str, Any], options: tuple[str, ...], limits: dict[str, float]
) -> None:
    """The same holds with reads and no service level, under a cloud volume's limits, and with more jobs."""
    near_a_fine_grid(device, load, *options, **limits)


def test_a_burst_needs_time_to_recover() -> None:
    """A burst of twice the rate fills a queue; the trial reports the time until it is gone, and fails above its limit."""
    store = PlannedStore(compose(["device=sata", *SMALL]), LOAD)
    bursts = LoadBursts(factor=3.0, length=20.0)
    free = trial_of(store, 8000.0, ServiceLevels(), bursts)
    bound = trial_of(store, 8000.0, ServiceLevels(recovery=1.0), bursts)

    assert free.holds
    assert free.levels["recovery"] > 1.0
    assert (False, "recovery") == (bound.holds, bound.reason)


# --- keys ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workloads": {}}, "workloads: no such key; did you mean workload?"),
        ({"workload__rat": 1}, "workload.rat: no such key; did you mean workload.rate?"),
        ({"workload__rate": "fast"}, "workload.rate: 'fast' is not a quantity"),
        ({"workload__rate": None}, "workload.rate: a value is required"),
        ({"workload__daily": [1, 2]}, "workload.daily: must be 24 relative rates"),
        ({"workload__weekly": 0.5}, "workload.weekly: 0.5 must be the busiest rate"),
        ({"workload__bursts": 3}, "workload.bursts: 3 must be a mapping"),
        ({"workload__bursts": {"factor": 2}}, "workload.bursts.length: a value is required"),
        ({"workload__set": "host.cores=4"}, "workload.set: must be a list of overrides"),
        ({"workload__run": "no/such/folder"}, "no such folder"),
        ({"workload__read": 0, "workload__update": 0}, "one of them must be above 0"),
        ({"service_levels__p99": 1}, "service_levels.p99: no such key"),
        ({"service_levels__write_p99": -1}, "service_levels.write_p99: -1 is out of range"),
        ({"service_levels__recovery": "10s"}, "service_levels.recovery: the load has no bursts"),
        ({"candidates": ["sata"]}, "candidates: ['sata'] must be a mapping"),
        ({"candidates__devices": ["sata"]}, "candidates.devices: no such key; did you mean candidates.device?"),
        ({"candidates__device": ["floppy"]}, "floppy"),
        ({"candidates__device": []}, "candidates.device: the list is empty"),
        ({"candidates__machines": [0]}, "candidates.machines: [0] must be whole numbers"),
        ({"candidates__options": ["x"]}, "candidates.options: must be a list of mappings"),
        ({"candidates__options": [{"write_buffer": 1}]}, "write_buffer"),
        ({"catalogue": "prices.yaml"}, "prices.yaml: no such file"),
        ({"search__precision": 2}, "search.precision: 2 is out of range"),
        ({"costs__years_of_service": 0}, "costs.years_of_service: 0 is out of range"),
        ({"start": "soon"}, "start: 'soon' must be a day"),
        ({"horizon": -1}, "horizon: -1 must be a number of years"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_bad_keys_are_named(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Every bad key is one line with file, key and remedy."""
    path = plan_file(tmp_path, **changes)
    with pytest.raises(Exception, match=r"plan\.yaml|prices\.yaml|floppy|write_buffer") as error:
        read_plan(path)

    from lsmlab.sim.configuration.messages import one_line

    text = one_line(error.value)
    assert text is not None
    assert message in text


@pytest.mark.parametrize("text", ["", "- a\n", "a: [\n", "just text"])
def test_files_that_are_no_plans(text: str, tmp_path: Path) -> None:
    """A file that is empty, not YAML or not a mapping is refused by name."""
    path = tmp_path / "plan.yaml"
    path.write_text(text)

    with pytest.raises(InputError, match=r"plan\.yaml"):
        read_plan(path)


def test_candidates_are_all_combinations(tmp_path: Path) -> None:
    """Names contain what differs; machines divide keys; a catalogue entry brings its device, overrides and price."""
    (tmp_path / "prices.yaml").write_text(
        "small box: {device: nvme, set: [host.cores=4], price_usd_per_month: 99, source: my bill, date: 2026-10-01}\n"
    )
    plan = read_plan(
        plan_file(
            tmp_path, catalogue="prices.yaml", candidates__device=["sata", "small box"], candidates__machines=[1, 2],
            candidates__options=[{}, {"max_background_jobs": 4}], candidates__shards=[2],
        )
    )  # fmt: skip
    by_name = {c.name: c for c in plan.candidates}
    box = by_name["small box, max_background_jobs=4, 2 machines"]

    assert 8 == len(by_name)
    assert (4, 4, 2) == (
        box.store.config["host"]["cores"], box.store.config["engine"]["options"]["max_background_jobs"],
        box.store.load["shards"],
    )  # fmt: skip
    assert (25_000, 99.0) == (box.store.load["num"], box.price.price_usd_per_month)
    assert "sata, default options, 1 machine" in by_name


def test_a_run_gives_store_and_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`workload.run` takes options and load of a finished run; keys of the plan replace its load."""
    monkeypatch.chdir(tmp_path)
    assert 0 == main(
        ["run", *SMALL, "workload=constant", "workload.num=9k", "workload.rate=700", "workload.duration=2s", "--out", "mine",
         "--no-report"]
    )  # fmt: skip
    content = {"workload": {"run": "mine", "value_size": 123}, "candidates": {"machines": 1}}
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(content))
    plan = read_plan(tmp_path / "plan.yaml")
    (only,) = plan.candidates

    assert 700.0 == plan.load.rate_per_s
    assert "nvme" == only.name
    assert (9000, 123.0) == (only.store.load["num"], only.store.load["value_size"])
    assert "8MiB" == only.store.config["engine"]["options"]["write_buffer_size"]


def test_a_first_plan_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first plan has the throughput of a run, its own drive and two others; its `set` selects the load of a LOG."""
    monkeypatch.chdir(tmp_path)
    run = ["run", "device=hdd", *SMALL, "workload.num=9k", "workload.duration=2s", "--out", "mine", "--no-report"]
    assert 0 == main(run)
    rate = json.loads(Path("mine/summary.json").read_text())["ops_per_s"]
    Path("answer").mkdir()

    plan = read_plan(write_starting_plan(Path("mine"), Path("answer"), "40%"))

    assert rate == pytest.approx(plan.load.rate_per_s, rel=1e-3)
    assert 0.4 == plan.load.growth_per_year
    assert ["hdd", "sata", "nvme"] == [c.choices["device"] for c in plan.candidates]
    with pytest.raises(InputError, match="contains no experiment"):
        write_starting_plan(Path("answer"), Path("answer"), "0%")


def test_the_plan_of_the_demo_is_valid() -> None:
    """The example of the source tree names entries that exist."""
    assert ["kingston_dc600m", "aws_gp3"] == [c.name for c in read_plan(ROOT / "validation/demo/plan.yaml").candidates]


def test_the_large_example_runs_with_one_level_less() -> None:
    """The plan of 30 TB can run, has prices for all candidates, and leaves out the one level whose error was measured."""
    plan = read_plan(ROOT / "docs/how-to/plan-30tb/plan.yaml")
    stores = {c.name: c.store for c in plan.candidates}

    assert 4 == len(stores)
    assert all(c.price.priced for c in plan.candidates)
    assert {1} == {levels_to_leave_out(store, plan.search.most_memtables) for store in stores.values()}
    assert all(small.setup for store in stores.values() for small in simulated(store, 1))


# --- command -------------------------------------------------------------------------------------------------------


def test_the_command_writes_an_answer_and_repeats_it_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text, plan.json and page agree; the same plan again simulates nothing; --json prints one document alone."""
    monkeypatch.chdir(tmp_path)
    path = plan_file(tmp_path, sensitivity__candidates=1, workload__num=25_000)

    assert 0 == main(["plan", str(path), "--out", "out", "-j", "1"])
    text = capsys.readouterr().out
    answer = json.loads(Path("out/plan.json").read_text())
    (row,) = answer["candidates"]
    assert row["feasible"]
    assert row["sustainable_per_s"] >= 3000.0 == answer["load"]["peak_per_s"]
    assert f"{row['sustainable_per_s']:,.0f}" in text
    assert max(map(len, text.splitlines())) <= 120
    inputs = {s["input"] for s in row["sensitivity"]}
    assert {"rate today", "growth per year", "value size", "number of keys"} == inputs
    page = Path("out/report.html").read_text()
    assert all(f'id="{name}"' in page for name in ("headroom", "rates", "constraints", "sensitivity-0"))
    assert 'id="pareto"' not in page, "one candidate has nothing to be compared with"
    assert 0 == main(["plan", str(path), "--json", "--out", "again", "-j", "1"])
    again = json.loads(capsys.readouterr().out)
    assert 0 == again["candidates"][0]["simulated"] < again["candidates"][0]["runs"]
    assert [row["trials"], row["sensitivity"]] == [again["candidates"][0][k] for k in ("trials", "sensitivity")]


def test_a_budget_ends_the_search(tmp_path: Path) -> None:
    """A budget without time for any trial: exit code 2, and an answer that says so; stderr gives the estimate."""
    path = plan_file(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "lsmlab", "plan", str(path), "--budget", "10ms"],
        cwd=tmp_path, env={**os.environ, "LSMLAB_RUNS": str(tmp_path / "store")}, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip

    assert 2 == done.returncode
    assert "it ends with the best answer so far" in done.stderr
    assert "the budget ended before a trial of the busiest hour" in " ".join(done.stdout.split())
