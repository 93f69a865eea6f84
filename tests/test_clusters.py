"""Commands on clusters of this machine (`make test-cluster`): Dask with two workers, Slurm with one node, Ray with two."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import clusters
import pytest
from lsmlab.models.errors import InputError
from lsmlab.sim.runs import worker
from lsmlab.sim.runs.executor import Executor, WorkerDiedError
from lsmlab.sim.runs.places import open_executor
from lsmlab.sim.runs.store import RunStore
from run_work import doubled, killed

dask_config = pytest.importorskip("dask.config")
pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("clusters")]

WAIT_S = 180.0
"""Longest time in s that a test waits."""
SWEEP = [
    "sweep", "device=nvme,sata", "workload.num=1M", "workload.duration=40s", "workload.value_size=400", "--replications", "3",
    "--no-report",
]  # fmt: skip
"""Six runs of about a second each."""
SETTINGS = ["workload.num=100k", "workload.duration=5s"]
COMMANDS = {
    "compare": ["compare", "device=nvme,sata", *SETTINGS],
    "replications": ["run", "device=sata", *SETTINGS, "--replications", "2"],
    "whatif": ["whatif", "device=nvme", "device=sata", "--replications", "2", *(f"--set={text}" for text in SETTINGS)],
}


@pytest.fixture(scope="module")
def dask() -> Iterator[dict[str, str]]:
    """Start a Dask scheduler and two workers; return the environment of commands that use them."""
    pytest.importorskip("distributed", reason="Dask tests need the package distributed: pip install '.[dask]'")
    with clusters.dask() as address:
        yield {"DASK_SCHEDULER_ADDRESS": address}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start a Slurm cluster of one node; return the environment of commands that use it."""
    folder = tmp_path_factory.mktemp("slurm")
    with clusters.slurm(folder):
        yield {"SLURM_CONF": str(folder / "slurm.conf"), "DASK_JOBQUEUE__SLURM__MEMORY": "300 MB"}


@pytest.fixture(scope="module")
def ray() -> Iterator[dict[str, str]]:
    """Start a Ray cluster of two nodes; return the environment of commands that use it."""
    with clusters.ray() as address:
        yield {"RAY_ADDRESS": address}


@pytest.fixture(params=["dask", "slurm", "ray"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the options that make a command use a cluster."""
    monkeypatch.chdir(tmp_path)
    for name, value in request.getfixturevalue(request.param).items():
        monkeypatch.setenv(name, value)
    dask_config.refresh()  # of this process
    return ["--on", request.param, *(["-j", "3"] if request.param != "dask" else [])]


@pytest.fixture
def executor(place: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    """Return an executor on a cluster."""
    monkeypatch.setenv("PYTHONPATH", clusters.PYTHONPATH)
    store().mkdir(exist_ok=True)
    with open_executor(place[1], 3, RunStore(store())) as found:
        yield found


def start(*line: str) -> subprocess.Popen[str]:
    """Start a command of LSMLab."""
    return subprocess.Popen(
        [sys.executable, "-m", "lsmlab", *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def lsmlab(*line: str) -> None:
    """Run a command of LSMLab to its end."""
    command = start(*line)
    _, err = command.communicate(timeout=WAIT_S)
    assert 0 == command.returncode, err


def files(folder: str) -> dict[str, bytes]:
    """Return the content of the files in a folder of results; run.json has wall times, pages and logs have names."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and path.name != "run.json"
    }


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.01)


def store() -> Path:
    """Return the run store of the test."""
    return Path(os.environ["LSMLAB_RUNS"])


def finished() -> set[str]:
    """Return the runs in the store."""
    return {path.parent.name for path in store().glob("*/run.json")}


def workers(command: subprocess.Popen[str]) -> list[int]:
    """Return the process ids of the workers in the middle of a run."""
    found = (int(path.name.rsplit("-", 2)[1]) for path in store().glob("staging/*"))
    return [pid for pid in found if pid != command.pid]


def serial(line: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Return the results of a command in one process, with a store of its own."""
    with monkeypatch.context() as patch:
        patch.setenv("LSMLAB_RUNS", f"{store()}-serial")
        lsmlab(*line, "-j", "1", "--out", "serial")
    return files("serial")


def in_the_middle(place: list[str]) -> subprocess.Popen[str]:
    """Start the sweep; return when one of its runs is finished and another one is in a worker."""
    command = start(*SWEEP, *place, "--out", "on")
    wait_for(lambda: (finished() and workers(command)) or command.poll() is not None)
    return command


@pytest.mark.parametrize("line", [SWEEP, *COMMANDS.values()], ids=["sweep", *COMMANDS])
def test_results_are_those_of_one_process(place: list[str], line: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file of a command on a cluster is that of the same command in one process, to the last bit."""
    line = line if "--no-report" in line else [*line, "--no-report"]
    lsmlab(*line, *place, "--out", "on")

    assert serial(line, monkeypatch) == files("on")
    assert not list(store().glob("staging/*"))


def test_progress_and_time_left(place: list[str]) -> None:
    """The time left is there before the first run ends, from the shares of the running ones."""
    command = start(*SWEEP, *place, "--out", "on", "workload.num=1G", "workload.duration=1h")
    assert command.stderr is not None
    found = next((line for line in command.stderr if re.search(r"0/6 runs, about .* left", line)), None)
    command.terminate()

    assert found is not None
    assert 130 == command.wait(WAIT_S)


def test_a_worker_that_dies_twice_fails_one_run(executor: Executor) -> None:
    """The task that two workers did not survive fails alone."""
    found = {e.task: e.result for e in executor.run_tasks(killed, [0, 1, 2, 3], lambda _i, _s: None)}

    assert [0, 2, 3] == [found[task] for task in (0, 2, 3)]
    assert isinstance(found[1], WorkerDiedError)


def test_other_code_is_refused(place: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers whose code differs from the command's are refused."""
    monkeypatch.setattr(worker, "_own_code", lambda: "other")
    store().mkdir(exist_ok=True)
    with (
        open_executor(place[1], 3, RunStore(store())) as executor,
        pytest.raises(InputError, match=r"has other code than this command .*; install the same versions on all nodes"),
    ):
        list(executor.run_tasks(doubled, [1], lambda _i, _s: None))


@pytest.mark.parametrize("place", ["slurm"], indirect=True)
def test_a_refused_job_ends_the_command(place: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """If the queue refuses a job, the command ends with its message."""
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__QUEUE", "nowhere")
    command = start(*SWEEP, *place, "--out", "on")
    _, err = command.communicate(timeout=WAIT_S)

    assert 2 == command.returncode
    assert "sbatch refused a job" in err
    assert "invalid partition" in err.lower()


def test_hydras_launchers_give_the_same(place: list[str]) -> None:
    """The presets hydra/launcher=slurm and ray_cluster give the results of Hydra's serial launcher."""
    if place[1] == "dask":
        pytest.skip("Hydra has no launcher for Dask")
    package, preset = {"slurm": ("submitit", "slurm"), "ray": ("ray", "ray_cluster")}[place[1]]
    pytest.importorskip(
        f"hydra_plugins.hydra_{package}_launcher", reason=f"the test of Hydra's preset needs hydra-{package}-launcher"
    )
    line = ["run", "-m", "device=nvme,sata", *SETTINGS, "--fresh", "--no-report"]
    lsmlab(*line, "hydra/launcher=basic", "--out", "serial")
    lsmlab(*line, f"hydra/launcher={preset}", "--out", "on")

    assert Path("serial/runs.json").read_bytes() == Path("on/runs.json").read_bytes()


def test_a_killed_worker_changes_nothing(place: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """After kill -9 of a worker in the middle of a run, another worker repeats the run: nothing is lost or twice."""
    command = in_the_middle(place)
    os.kill(workers(command)[0], signal.SIGKILL)
    _, err = command.communicate(timeout=WAIT_S)

    assert 0 == command.returncode, err
    assert serial(SWEEP, monkeypatch) == files("on")
    assert 6 == len(finished())
    assert not list(store().glob("staging/*"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_command(
    place: list[str], number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the end of the command, its workers end without files; the repeated command gives the same table."""
    command = in_the_middle(place)
    left = workers(command)
    command.send_signal(number)
    command.communicate(timeout=WAIT_S)
    wait_for(lambda: not any(Path(f"/proc/{pid}/task").exists() and pid in workers(command) for pid in left))
    kept = {key: (store() / key / "summary.json").stat().st_mtime_ns for key in finished()}
    lsmlab(*SWEEP, *place, "--out", "on")

    assert (-9 if number == signal.SIGKILL else 130) == command.returncode
    assert 1 <= len(kept) < 6, "interrupted while runs were left"
    assert all((store() / key / "summary.json").stat().st_mtime_ns == time_ns for key, time_ns in kept.items())
    assert serial(SWEEP, monkeypatch) == files("on")
    assert not list(store().glob("staging/*"))
