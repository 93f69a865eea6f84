"""The executor on Dask workers of this machine: tasks, lost and refused workers; messages of missing clusters."""

from __future__ import annotations

import importlib.util
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import clusters
import pytest
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.sim.results.leftovers import declare_ended, has_ended
from lsmlab.sim.runs import worker
from lsmlab.sim.runs.executor import Executor, WorkerDiedError
from lsmlab.sim.runs.places import open_executor
from lsmlab.sim.runs.store import RunStore
from lsmlab.sim.runs.worker import TaskFile, Terms, refusal
from run_work import doubled, endless, killed

pytest.importorskip("distributed")
pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start two Dask workers; return the address of their scheduler."""
    with clusters.dask() as found:
        yield found


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    """Return an empty run store in a new current directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "store").mkdir()
    return RunStore(tmp_path / "store")


@pytest.fixture
def executor(address: str, store: RunStore) -> Iterator[Executor]:
    """Return an executor on the workers."""
    with open_executor(address, None, store) as found:
        yield found
    assert [] == list((store.root / "staging").iterdir())


def test_workers_do_all_tasks(executor: Executor) -> None:
    """Workers return results and exceptions; they do the tasks of a second iterator too, and few of them ahead."""
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(100, 130):
            taken.append(number)
            yield number

    first = {e.task: e.result for e in executor.run_tasks(doubled, [1, 13, 2], lambda _i, _s: None)}
    ahead = [len(taken) - n for n, _ in enumerate(executor.run_tasks(doubled, tasks(), lambda _i, _s: None), 1)]

    assert 2 == executor.count
    assert {1: 2, 2: 4} == {task: result for task, result in first.items() if task != 13}
    assert "thirteen" == str(first[13])
    assert 30 == len(taken)
    assert max(ahead) <= 4


def test_a_lost_worker_costs_one_task(executor: Executor) -> None:
    """The task of a lost worker is tried once more; other tasks have their results."""
    found = {e.task: e.result for e in executor.run_tasks(killed, [0, 1, 2, 3], lambda _i, _s: None)}

    assert [0, 2, 3] == [found[task] for task in (0, 2, 3)]
    assert isinstance(found[1], WorkerDiedError)
    assert "worker died, 2 times" in str(found[1])


def test_progress_and_the_end_of_unwanted_tasks(executor: Executor, tmp_path: Path) -> None:
    """The command sees the shares of running tasks; when it closes the iterator, the workers end them and are free."""
    shares: dict[int, float] = {}

    def watch(index: int, share: float) -> None:
        shares[index] = share
        if len(shares) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(executor.run_tasks(endless, [tmp_path / "a", tmp_path / "b"], watch))
    end = time.monotonic() + clusters.START_S
    while not all((tmp_path / name).read_text() == "ended" for name in "ab"):
        assert time.monotonic() < end
        time.sleep(0.05)

    assert all(0.0 < share <= 1.0 for share in shares.values())
    assert [2] == [e.result for e in executor.run_tasks(doubled, [1], lambda _i, _s: None)]


def test_workers_with_other_code_are_refused(address: str, store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose code differs from the command's ends it with one line that names the host and the remedy."""
    monkeypatch.setattr(worker, "_own_code", lambda: "other")
    message = rf"{socket.gethostname()} has other code than this command .*; install the same versions on all nodes"
    with open_executor(address, None, store) as executor, pytest.raises(InputError, match=message):
        list(executor.run_tasks(doubled, [1], lambda _i, _s: None))


def test_workers_with_threads_are_refused(store: RunStore) -> None:
    """A worker does one run at a time."""
    with (
        clusters.dask(1, threads=2) as address,
        open_executor(address, None, store) as executor,
        pytest.raises(InputError, match="start workers with --nthreads 1"),
    ):
        list(executor.run_tasks(doubled, [1], lambda _i, _s: None))


def test_a_worker_must_have_the_same_version_and_folders(store: RunStore) -> None:
    """Another release and a folder that the worker does not see are refused; the line names what differs."""
    own = Terms.of_this_command(store)

    assert refusal(own, "n1") is None
    other = Terms("9.9", own.code, own.directory, own.store, ())
    assert "n1 has LSMLab 0.1.0, this command 9.9; install the same version" in str(refusal(other, "n1"))
    blind = Terms(own.version, own.code, own.directory, Path("/no/such/store"), ())
    assert "n1 does not see /no/such/store; start the command in a folder that all nodes share" in str(refusal(blind, "n1"))


def test_a_task_that_two_workers_did_not_survive_is_not_begun_again(tmp_path: Path) -> None:
    """The file of a task counts the workers that began it: a cluster with retries of its own does not try it further."""
    file = TaskFile(tmp_path / "0")
    file.create()

    assert [0, 1] == [file.begin(), file.begin()]
    assert isinstance(worker.do(b"", file.path, 0.1), WorkerDiedError)


def test_files_of_lost_workers_on_other_machines_are_removed(store: RunStore) -> None:
    """A worker that the command lost counts as ended: its staging folder goes, that of another worker stays."""
    lost, other = (store.root / "staging" / f"node-7-{pid}-0123abcd" for pid in (4321, 4322))
    for folder in (lost, other):
        folder.mkdir(parents=True)
    declare_ended("node-7", 4321)

    assert has_ended("node-7", 4321)
    assert 1 == store.clean()
    assert [other] == list(other.parent.iterdir())


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (["compare", "--on", "slurm", "-j", "2"], "sbatch"),
        (["compare", "--on", "ray"], "pip install lsmlab[ray]"),
        (["compare", "--on", "dask"], "set DASK_SCHEDULER_ADDRESS"),
        (["compare", "--on", "pbs", "-j", "2"], "pip install lsmlab[dask]"),
        (["compare", "--on", "slurm"], "say with -j N how many workers"),
        (["run", "--on", "dask"], "set DASK_SCHEDULER_ADDRESS"),
        (["sweep", "--on", "nonsense"], "--on nonsense: choose slurm, pbs, lsf, sge, ray, dask"),
    ],
)
def test_a_missing_cluster_gives_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, store: RunStore, line: list[str], text: str
) -> None:
    """A missing program or package ends the command with one line that says what to install."""
    hidden = {"ray", "dask_jobqueue" if "pbs" in line else ""}
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name in hidden else found(name, *more))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    if text == "sbatch":
        pytest.importorskip("dask_jobqueue")

    settings = ["device=nvme,sata" if line[0] != "run" else "device=nvme", "workload.num=20k"]
    assert 2 == main([*line, *settings])
    err = capsys.readouterr().err
    assert text in err
    assert 1 == len(err.splitlines())
