"""The run store and the executors: keys, atomic folders, resumed commands, killed drivers and workers."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.results.stopping import stoppable
from lsmlab.sim.runs import key as keys
from lsmlab.sim.runs import store as runstore
from lsmlab.sim.runs.batch import RunJob, Settings, outcomes
from lsmlab.sim.runs.executor import Executor, InProcess, WorkerDiedError
from lsmlab.sim.runs.key import run_key
from lsmlab.sim.runs.places import LocalProcesses
from lsmlab.sim.runs.run_progress import RunProgress
from lsmlab.sim.runs.store import ABOUT, RunStore, copy_run, default_store
from lsmlab.sim.runs.task import Task, simulate_task
from run_work import doubled, killed, killed_at_first

QUICK = ["workload.num=20k", "workload.duration=2s"]
WAIT_S = 120.0
"""Longest time in s that a test waits for a process."""
linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for processes in /proc")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# --- keys --------------------------------------------------------------------------------------------------------


def test_a_key_depends_on_all_inputs_of_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed, settings, the content of a named file and the code change the key; output options do not."""
    path = tmp_path / "trace.csv"
    path.write_text("a")
    config = {**compose(QUICK), "initial_tree": str(path)}
    first = run_key(config)

    assert first == run_key({**config, "json": True, "report": False, "replications": 3})
    assert first != run_key({**config, "seed": 2})
    path.write_text("another")
    second = run_key(config)
    assert first != second
    monkeypatch.setattr(keys, "code_digest", lambda _packages: "other code")
    assert second != run_key(config)


def test_code_of_a_trusted_package_is_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source code of a user's engine package is part of the key."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mine_own").mkdir()
    source = tmp_path / "mine_own" / "__init__.py"
    found = []
    for text in ("a = 1\n", "a = 2\n"):
        source.write_text(text)
        keys.code_digest.cache_clear()
        found.append(run_key({"engine": {"_target_": "mine_own.Engine"}}))

    assert found[0] != found[1]


# --- store -------------------------------------------------------------------------------------------------------


def stored(seed: int = 1) -> tuple[RunStore, Task]:
    """Return a store with one run, and its task."""
    config = {**compose(QUICK), "seed": seed}
    task = Task(run_key(config), config, default_store().root)
    simulate_task(task)
    return default_store(), task


def test_two_processes_may_finish_the_same_run() -> None:
    """The second process that finishes a run finds it in the store: no error, one run, no staging files."""
    store, task = stored()
    simulate_task(task)

    assert [task.key] == list(store.finished())
    assert [] == list((store.root / "staging").iterdir())


def test_a_run_that_is_replaced_is_never_missing() -> None:
    """Two commands with --fresh: the second replaces the files of the run one by one, so that the first can read it meanwhile."""
    store, task = stored()
    folder, before = store.root / task.key, mtimes(store)
    place = folder.stat().st_ino
    simulate_task(replace(task, replace=True))

    assert place == folder.stat().st_ino
    assert before.keys() == mtimes(store).keys()
    assert before != mtimes(store)
    assert [] == list((store.root / "staging").iterdir())


def test_a_damaged_run_is_repeated() -> None:
    """A run with a missing file or a file of another size is not found, and is complete after the next simulation."""
    store, task = stored()
    place = store.root / task.key
    (place / "series.parquet").unlink()
    assert store.find(task.key) is None
    simulate_task(task)
    (place / "summary.json").unlink()
    (place / "summary.json").write_text("{}")
    assert store.find(task.key) is None

    simulate_task(task)

    assert place == store.find(task.key)


def test_results_are_complete_without_the_store(tmp_path: Path) -> None:
    """A results folder has all files of its run, also after the store is removed."""
    import shutil

    store, task = stored()
    names = {path.name for path in (store.root / task.key).iterdir()}
    copy_run(store.root / task.key, tmp_path / "mine", {"name": "mine"})
    shutil.rmtree(store.root)

    assert names == {path.name for path in (tmp_path / "mine").iterdir()}
    assert "ops_per_s" in json.loads((tmp_path / "mine/summary.json").read_text())


def test_leftovers_of_dead_processes_are_removed() -> None:
    """Staging folders of a dead process are removed; those of a living one stay."""
    import socket

    store = default_store()
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    dead, alive = (store.root / "staging" / f"{socket.gethostname()}-{pid}-x" for pid in (done.pid, os.getpid()))
    for folder in (dead, alive):
        folder.mkdir(parents=True)

    assert 1 == store.clean()
    assert [alive] == list((store.root / "staging").iterdir())


def test_failed_runs_are_kept_apart_and_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed run leaves error.txt beside the results, in store and folder; the next command runs it again."""
    config = compose(["device.write_cap=-5", *QUICK])
    job = RunJob("bad", config, Path("out/bad"))
    for _ in range(2):
        (found,) = outcomes([job], Settings(default_store(), InProcess(), quiet=True), 1)
        assert found.bad_input
    store, key = default_store(), run_key(config)

    assert store.find(key) is None
    assert "device.write_cap: -5 is out of range" in (store.root / "failed" / key / "error.txt").read_text()
    assert Path("out/failed/bad/error.txt").is_file()
    assert not Path("out/bad").exists()

    def succeed(task: Task, _progress: object) -> None:
        simulate_task(Task(task.key, compose(QUICK), task.root))

    monkeypatch.setattr("lsmlab.sim.runs.task.simulate_task", succeed)
    (found,) = outcomes([job], Settings(default_store(), InProcess(), quiet=True), 1)
    assert found.error is None
    assert not list(Path("out").rglob("error.txt"))
    assert not list(store.root.rglob("error.txt"))


# --- commands ----------------------------------------------------------------------------------------------------


def mtimes(store: RunStore) -> dict[str, int]:
    """Return the modification time of each run of a store."""
    return {k: (store.root / k / "summary.json").stat().st_mtime_ns for k in store.finished()}


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "device=nvme,sata"], ["run", "--replications", "2"], ["run", "-m", "device=nvme,sata"],
        ["run", "-m", "hydra/launcher=basic", "device=nvme,sata"],
    ],
)  # fmt: skip
def test_a_repeated_command_simulates_only_missing_runs(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    """A repeated command takes all runs from the store and prints the same; --fresh simulates them again."""
    line = [*command, *QUICK, "-j", "1", "--json", "--out"]
    printed = []
    for out in ("a", "a", "b"):
        assert 0 == main([*line, out])
        printed.append(capsys.readouterr().out)
    before = mtimes(default_store())
    assert 2 == len(before)
    assert 1 == len(set(printed))

    assert 0 == main([*line, "a", "--fresh"])

    after = mtimes(default_store())
    assert before.keys() == after.keys()
    assert all(before[k] != after[k] for k in before)
    assert printed[0] == capsys.readouterr().out


def test_one_more_value_simulates_one_more_run() -> None:
    """Commands share the store: a sweep takes the runs of `compare`."""
    main(["compare", "device=nvme,sata", *QUICK, "-j", "1", "--json"])
    before = mtimes(default_store())
    main(["run", "-m", "device=nvme,sata,hdd", *QUICK, "-j", "1", "--json", "--out", "sweep"])
    after = mtimes(default_store())

    assert 3 == len(after)
    assert before.items() <= after.items()


def test_parameters_have_types(capsys: pytest.CaptureFixture[str]) -> None:
    """Columns of the index are numbers in base units, booleans and text; `lsmlab runs rebuild` writes the same rows."""
    line = ["workload.value_size=100,1KB", "checks=true,false", "engine.version='7.8','8.2'", "device=nvme"]
    assert 0 == main(["run", "-m", *line, *QUICK, "-j", "1", "--json", "--out", "sweep"])
    table = pq.read_table("sweep/runs.parquet")
    Path("sweep/runs.parquet").unlink()
    main(["runs", "rebuild", "sweep"])
    rows = table.to_pydict()

    assert [100.0, 1000.0] == sorted(set(rows["workload.value_size"]))
    assert {True, False} == set(rows["checks"])
    assert {"7.8", "8.2"} == set(rows["engine.version"])
    assert table.sort_by("run").equals(pq.read_table("sweep/runs.parquet").sort_by("run"))


def test_a_store_lists_and_indexes_all_values(capsys: pytest.CaptureFixture[str]) -> None:
    """The store's index has every setting of the configurations with its type."""
    store, task = stored()
    main(["runs", "list", "--json"])
    listed = json.loads(capsys.readouterr().out)
    main(["runs", "rebuild"])
    rows = pq.read_table(store.root / "runs.parquet").to_pydict()

    assert [task.key] == [run["name"] for run in listed["runs"]]
    assert [task.key] == rows["run"]
    assert [20_000.0] == rows["workload.num"]
    assert [2.0] == rows["workload.duration"]


def test_joblib_runs_the_same() -> None:
    """Hydra's joblib launcher, the default, gives the same runs as its basic launcher."""
    for name, more in (("basic", ["hydra/launcher=basic"]), ("joblib", [])):
        assert 0 == main(["run", "-m", *more, "device=nvme,sata", *QUICK, "--json", "--fresh", "--out", name])
    basic, joblib = (json.loads(Path(name, "runs.json").read_text()) for name in ("basic", "joblib"))

    assert ["0", "1"] == [run["name"] for run in joblib["runs"]]
    assert basic == joblib


@pytest.mark.parametrize(
    ("choice", "package"),
    [
        ("hydra/launcher=ray_cluster", "hydra-ray-launcher"), ("hydra/launcher=slurm", "hydra-submitit-launcher"),
        ("hydra/sweeper=ax", "hydra-ax-sweeper"), ("hydra/launcher=nonsense", "known: basic"),
    ],
)  # fmt: skip
def test_a_missing_launcher_names_its_package(capsys: pytest.CaptureFixture[str], choice: str, package: str) -> None:
    """A launcher or sweeper that is not installed ends the command with one line, which says what to install."""
    assert 2 == main(["run", "-m", choice, "device=nvme,sata", *QUICK])
    err = capsys.readouterr().err

    assert package in err
    assert 1 == len(err.splitlines())


def test_a_sweeper_gets_the_objectives() -> None:
    """Objectives are numbers of the summary by their keys; a failed run and an unknown key raise InputError."""
    from lsmlab.reports.cli.launched import objective_values

    store, task = stored()
    folder = store.root / task.key
    summary = json.loads((folder / "summary.json").read_text())

    assert [summary["ops_per_s"], summary["device"]["utilisation"]] == objective_values(
        folder, ["ops_per_s", "device.utilisation"]
    )
    with pytest.raises(InputError, match="ops_per_second: no such number"):
        objective_values(folder, ["ops_per_second"])
    Path("failed").mkdir()
    Path("failed/error.txt").write_text("host.cores: -1 is out of range\n")
    with pytest.raises(InputError, match="out of range"):
        objective_values(Path("failed"), ["ops_per_s"])


def test_optuna_searches_for_the_best() -> None:
    """Hydra's Optuna sweeper gets the objective of each run and writes the best value."""
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    sweeper = ["hydra/sweeper=optuna", "hydra.sweeper.n_trials=3", "hydra.sweeper.direction=maximize"]
    assert 0 == main(["run", "-m", *sweeper, "engine.options.max_background_jobs=range(2,9)", *QUICK, "--json", "--out", "o"])
    found = {run["summary"]["ops_per_s"] for run in json.loads(Path("o/runs.json").read_text())["runs"]}

    assert f"best_value: {max(found)}" in Path("o/optimization_results.yaml").read_text()


def test_progress_estimates_the_remaining_time(capsys: pytest.CaptureFixture[str]) -> None:
    """The first line is immediate; an estimate comes a second after the first report, then a line every 10 s.

    The time before the first report, in which processes start, does not count.
    """
    now = [0.0]
    progress = RunProgress(4, 1, quiet=False, clock=lambda: now[0])
    for seconds, share in ((1.0, 0.001), (2.0, 0.1), (5.0, 0.3), (13.0, 0.6)):
        now[0] = seconds
        progress.share(0, share)

    assert [
        "lsmlab: 1/4 runs (1 kept)",
        "lsmlab: 1/4 runs (1 kept), about 29 s left",
        "lsmlab: 1/4 runs (1 kept), about 48 s left",
    ] == capsys.readouterr().err.splitlines()


# --- executors ---------------------------------------------------------------------------------------------------


def test_a_program_is_not_imported_by_its_workers(tmp_path: Path) -> None:
    """A program that starts workers outside `if __name__ == "__main__":` runs once."""
    lines = [
        "from lsmlab.sim.runs.places import LocalProcesses", "from lsmlab.sim.runs.store import default_store",
        "from run_work import doubled", "print('started')",
        "print(sorted(e.result for e in LocalProcesses(default_store(), 2).run_tasks(doubled, [1, 2], lambda *_: None)))",
    ]  # fmt: skip
    (tmp_path / "program.py").write_text("\n".join(lines), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "program.py"], env=environment, capture_output=True, text=True, check=True)

    assert ["started", "[2, 4]"] == done.stdout.splitlines()


@pytest.mark.parametrize("executor", [InProcess(), LocalProcesses(RunStore(Path("store")), 2)])
def test_executors_run_every_task(executor: Executor) -> None:
    """Each executor returns the results and exceptions of all tasks, and their progress."""
    shares: list[tuple[int, float]] = []
    found = {e.task: e.result for e in executor.run_tasks(doubled, [1, 13, 2], lambda i, s: shares.append((i, s)))}

    assert {1: 2, 2: 4} == {task: result for task, result in found.items() if task != 13}
    assert "thirteen" == str(found[13])


@pytest.mark.parametrize("executor", [InProcess(), LocalProcesses(RunStore(Path("store")), 2)])
def test_executors_take_few_tasks_ahead(executor: Executor) -> None:
    """An executor takes tasks from an iterator as it needs them, so that many tasks need little memory."""
    taken = []

    def tasks() -> Iterator[int]:
        for number in range(100, 160):
            taken.append(number)
            yield number

    ahead = []
    for done, _ in enumerate(executor.run_tasks(doubled, tasks(), lambda _i, _s: None), 1):
        ahead.append(len(taken) - done)

    assert 60 == len(taken)
    assert max(ahead) <= 4


def test_a_dead_worker_affects_only_its_own_task(tmp_path: Path) -> None:
    """A task whose worker died is tried once more; if that worker dies too, only this task fails."""
    executor = LocalProcesses(default_store(), 2)
    again = list(executor.run_tasks(killed_at_first, [tmp_path / "a", tmp_path / "b"], lambda _i, _s: None))
    found = {e.task: e.result for e in executor.run_tasks(killed, [0, 1, 2, 3], lambda _i, _s: None)}

    assert all(is_running(pid) for pid in children(os.getpid())), "a zombie is left"
    assert ["done", "done"] == [e.result for e in again]
    assert [0, 2, 3] == [found[task] for task in (0, 2, 3)]
    assert isinstance(found[1], WorkerDiedError)
    assert "SIGKILL" in str(found[1])


# --- kills -------------------------------------------------------------------------------------------------------

SLOW = ["workload.num=1M", "workload.duration=40s", "workload.value_size=400", "-j", "2", "--json", "--out"]
COMMANDS = {
    "compare": ["compare", "--no-report", "seed=1,2,3,4,5,6", *SLOW],
    "sweep": ["sweep", "engine.options.max_background_jobs=2,4,8", "--replications", "2", *SLOW],
}
"""Commands with six runs of about a second each."""


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.01)


def start_command(command: str) -> subprocess.Popen[str]:
    """Start a command in another process; return when one run is finished and others are running."""
    driver = subprocess.Popen(
        [sys.executable, "-m", "lsmlab", *COMMANDS[command], "interrupted"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: len(list(default_store().finished())) >= 1 and len(children(driver.pid)) >= 2)
    return driver


def children(pid: int) -> list[int]:
    """Return the ids of a process's descendants."""
    try:
        direct = [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
    return direct + [p for child in direct for p in children(child)]


def is_running(pid: int) -> bool:
    """Return whether a process is running and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def resumed_equals_uninterrupted(command: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Resume the command, repeat it with an empty store, and return whether both tables are equal."""
    kept = mtimes(default_store())
    assert 0 == main([*COMMANDS[command], "interrupted"])
    assert kept.items() <= mtimes(default_store()).items(), "finished runs are not simulated again"
    assert not list((default_store().root / "staging").iterdir())
    monkeypatch.setenv("LSMLAB_RUNS", "another")
    assert 0 == main([*COMMANDS[command], "uninterrupted"])
    tables = [pq.read_table(f"{name}/runs.parquet") for name in ("interrupted", "uninterrupted")]
    return bool(tables[0].equals(tables[1]))


@linux
def test_a_process_that_nobody_waited_for_keeps_no_staging_folder() -> None:
    """A killed worker may stay a zombie for seconds; its staging folder is removed at once."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    wait_for(lambda: not is_running(process.pid))
    folder = default_store().root / "staging" / f"{socket.gethostname()}-{process.pid}-0123abcd"
    folder.mkdir(parents=True)

    assert 1 == default_store().clean()
    assert not folder.exists()
    assert 0 == process.wait()


@linux
@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_driver_leaves_no_workers_and_keeps_runs(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After kill -9 of the driver, its workers end; the resumed command gives the table of an uninterrupted one."""
    driver = start_command(command)
    workers = children(driver.pid)
    driver.kill()
    driver.wait()

    wait_for(lambda: not any(is_running(pid) for pid in workers))
    assert 1 <= len(list(default_store().finished())) < 6, "killed while runs were left"
    assert resumed_equals_uninterrupted(command, monkeypatch)


@linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_keeps_finished_runs(command: str, number: signal.Signals) -> None:
    """SIGTERM and Ctrl-C end with code 130 and one line on resuming; no workers and no partial runs are left."""
    driver = start_command(command)
    workers = children(driver.pid)
    driver.send_signal(number)
    out, err = driver.communicate(timeout=WAIT_S)

    assert (130, "") == (driver.returncode, out)
    assert "the same command computes only the rest" in err
    assert 1 == len(err.strip().splitlines())
    wait_for(lambda: not any(is_running(pid) for pid in workers))
    assert not list((default_store().root / "staging").iterdir())
    assert not list(Path("interrupted").glob(".*"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_a_copy_takes_effect_after_it(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal while a run is put into a folder of results leaves the whole run there and no temporary folder."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("run.json", "summary.json"):
        (source / name).write_text("{}")
    link = runstore._link
    monkeypatch.setattr(runstore, "_link", lambda *paths: (signal.raise_signal(number), link(*paths)))
    with stoppable(), pytest.raises(KeyboardInterrupt):
        copy_run(source, tmp_path / "results" / "1 job", {})

    assert ["1 job"] == [path.name for path in (tmp_path / "results").iterdir()]
    assert {"run.json", "summary.json"} == {path.name for path in (tmp_path / "results" / "1 job").iterdir()}


@linux
@pytest.mark.parametrize("command", ["sweep", pytest.param("compare", marks=pytest.mark.slow)])
def test_a_killed_worker_changes_nothing(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After kill -9 of a worker, another one repeats its run, and the table is that of an uninterrupted command."""
    driver = start_command(command)
    busy = max(children(driver.pid))
    os.kill(busy, signal.SIGKILL)
    _, err = driver.communicate(timeout=WAIT_S)

    assert (0, "") == (driver.returncode, err)
    assert resumed_equals_uninterrupted(command, monkeypatch)


MANY = [
    "sweep", "device=nvme,sata", "engine.options.max_background_jobs=2,3,4", "--replications", "4", "workload.num=1M",
    "workload.duration=20s", "workload.value_size=400", "-j", "2", "--json", "--out",
]  # fmt: skip
"""A sweep of 24 runs of about half a second each."""


@linux
@pytest.mark.slow
def test_fifty_kills_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill -9 of the driver or of a worker at 50 random moments: each completed sweep has the undisturbed table."""
    assert 0 == main([*MANY, "undisturbed"])
    draw = random.Random(16)
    killed_drivers = killed_workers = completed = failed = 0
    driver: subprocess.Popen[str] | None = None
    while killed_drivers + killed_workers < 50 or driver is not None:
        if driver is None:
            monkeypatch.setenv("LSMLAB_RUNS", f"store-{completed}")
            driver = subprocess.Popen([sys.executable, "-m", "lsmlab", *MANY, f"out-{completed}"], stdout=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            last = killed_drivers + killed_workers >= 50
            code, driver = driver.wait(WAIT_S if last else draw.uniform(0.2, 3.0)), None
            if code == 0:
                assert_as_undisturbed(f"out-{completed}")
                completed += 1
            else:  # both workers that tried a run were killed; the same command tries it again
                failed += 1
                assert failed <= killed_workers // 2
            continue
        victims = children(driver.pid)
        if victims and draw.random() < 0.5:
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(victims), signal.SIGKILL)
                killed_workers += 1
        else:
            driver.kill()
            driver.wait()
            driver, killed_drivers = None, killed_drivers + 1

    assert completed >= 1
    assert min(killed_drivers, killed_workers) >= 10


def assert_as_undisturbed(folder: str) -> None:
    """Compare all files of the runs of a sweep with those of the undisturbed one; no leftovers, no run twice."""
    tables = [pq.read_table(f"{name}/runs.parquet") for name in ("undisturbed", folder)]
    assert tables[0].equals(tables[1])
    for path in Path("undisturbed").glob("*/*"):
        if path.name != ABOUT:
            assert path.read_bytes() == (Path(folder) / path.parent.name / path.name).read_bytes(), path
    assert len(tables[0]) == len(list(default_store().finished()))
    assert not list((default_store().root / "staging").iterdir())
    assert not list(Path(folder).rglob(".*"))


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_of_a_launcher_end_with_their_driver(number: signal.Signals) -> None:
    """The workers of Hydra's joblib launcher end after kill -9 and after SIGTERM of their driver."""
    line = ["run", "-m", "hydra/launcher=joblib", "seed=1,2", "workload.num=50M", "workload.duration=100000s", "--out", "x"]
    driver = subprocess.Popen(
        [sys.executable, "-m", "lsmlab", *line], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: len(list((default_store().root / "staging").glob("*"))) == 2)
    workers = children(driver.pid)
    driver.send_signal(number)

    assert (-9 if number == signal.SIGKILL else 130) == driver.wait(WAIT_S)
    wait_for(lambda: not any(is_running(pid) for pid in workers))
    assert 2 == default_store().clean()


def test_leftovers_beside_results_are_removed() -> None:
    """The next command removes temporary files of dead processes in and beside its folder, and keeps those of live ones."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    Path("out").mkdir()
    host = socket.gethostname()
    gone = f"partial-{host}-{done.pid}"
    dead = [Path(f".out.{gone}"), Path(f".out.partial-{done.pid}"), Path(f"out/.a.{gone}")]
    kept = [Path(f".out.partial-{host}-{os.getppid()}"), Path(f".out.partial-other-{done.pid}"), Path(f".b.{gone}")]
    for path in (*dead, *kept):
        path.mkdir()
    (dead[0] / "series.parquet").write_text("x")
    assert 0 == main(["run", *QUICK, "--out", "out", "--json", "--no-report"])

    assert not any(path.exists() for path in dead)
    assert all(path.exists() for path in kept)


def test_two_processes_on_one_folder() -> None:
    """Commands that write to one folder at the same time all succeed, and every folder has the files of one of them."""
    commands = [["run"], ["run"], ["compare", "device=nvme,sata", "-j", "1"], ["compare", "device=nvme,sata", "-j", "1"]]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "lsmlab", *command, f"seed={seed}", *QUICK, "--out", command[0], "--json", "--no-report"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed, command in enumerate(commands, 1)
    ]  # fmt: skip
    for process in processes:
        assert ("", 0) == (process.communicate(timeout=WAIT_S)[1], process.returncode)
    for folder in (Path("run"), Path("compare/nvme"), Path("compare/sata")):
        seeds = {json.loads((folder / "summary.json").read_text())["seed"]}
        seeds |= {json.loads(pq.read_schema(p).metadata[b"lsmlab"])["seed"] for p in folder.glob("*.parquet")}
        assert 1 == len(seeds)
    assert not [path for path in Path().rglob("*") if ".partial-" in path.name]
