"""Commands on real clusters, all on this machine: Slurm with one node, Ray with two. `make test-cluster` runs them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("clusters")]

ONE_NODE = Path(__file__).parent / "cluster" / "one_node_slurm.sh"
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
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start a Slurm cluster of one node; return the environment of commands that use it."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name, path=path) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"Slurm tests need root and {', '.join(missing) or 'nothing else'}: apt-get install slurm-wlm munge")
    folder = tmp_path_factory.mktemp("slurm")
    subprocess.run([ONE_NODE, "start", folder, "4"], check=True)
    yield {"SLURM_CONF": str(folder / "slurm.conf")}
    subprocess.run([ONE_NODE, "stop", folder], check=True)


@pytest.fixture(scope="module")
def ray() -> Iterator[dict[str, str]]:
    """Start a Ray cluster of a head and a second node, two cores each; return the environment of commands that use it."""
    pytest.importorskip("ray", reason="Ray tests need the package ray: pip install '.[ray]'")
    from ray.cluster_utils import Cluster

    several = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    several.add_node(num_cpus=2)
    yield {"RAY_ADDRESS": several.address}
    several.shutdown()


@pytest.fixture(params=["slurm", "ray"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the options that make a command use a cluster."""
    monkeypatch.chdir(tmp_path)
    for name, value in request.getfixturevalue(request.param).items():
        monkeypatch.setenv(name, value)
    return ["--on", request.param, "-j", "3"]


def start(*line: str) -> subprocess.Popen[str]:
    """Start a command of LSMLab."""
    return subprocess.Popen(
        [sys.executable, "-m", "lsmlab.sim", *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def lsmlab(*line: str) -> str:
    """Run a command of LSMLab to its end and return what it printed."""
    command = start(*line)
    out, err = command.communicate(timeout=WAIT_S)
    assert 0 == command.returncode, err
    return out


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


def test_hydras_launchers_give_the_same(place: list[str]) -> None:
    """The presets hydra/launcher=slurm and ray_cluster give the results of Hydra's serial launcher."""
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
