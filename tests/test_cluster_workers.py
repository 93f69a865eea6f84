"""Workers that connect to a command: tasks, lost and refused workers. The workers are processes of this machine."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cluster_place import Processes
from lsmlab import sim
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.sim.results.leftovers import has_ended
from lsmlab.sim.runs.choice import cluster
from lsmlab.sim.runs.cluster import invitation, workers
from lsmlab.sim.runs.cluster.connection import connected
from lsmlab.sim.runs.cluster.invitation import Terms, refusal
from lsmlab.sim.runs.cluster.workers import ClusterWorkers
from lsmlab.sim.runs.executor import WorkerDiedError
from lsmlab.sim.runs.store import RunStore, default_store
from run_work import doubled, killed


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workers, "_LOOK_S", 0.1)


def test_workers_do_tasks_stay_for_the_next_ones_and_end() -> None:
    """Workers return results and exceptions, do the tasks of a second iterator too, and end with the executor."""
    place = Processes()
    with closing(ClusterWorkers(place, 2, default_store())) as several:
        shares: list[float] = []
        first = {e.task: e.result for e in several.run_tasks(doubled, [1, 13, 2], lambda _i, share: shares.append(share))}
        second = [e.result for e in several.run_tasks(doubled, [21], lambda _i, _s: None)]
        for worker in place.workers:
            assert worker.poll() is None

    assert {1: 2, 2: 4} == {task: result for task, result in first.items() if task != 13}
    assert "thirteen" == str(first[13])
    assert [42] == second
    assert 2 == len(place.workers)
    assert [] == list((default_store().root / "staging").iterdir())


def test_a_lost_worker_costs_one_task() -> None:
    """The task of a lost worker is tried once more; other tasks have their results; another worker replaces the lost one."""
    place = Processes()
    with closing(ClusterWorkers(place, 2, default_store())) as several:
        found = {e.task: e.result for e in several.run_tasks(killed, [0, 1, 2, 3], lambda _i, _s: None)}

    assert [0, 2, 3] == [found[task] for task in (0, 2, 3)]
    assert isinstance(found[1], WorkerDiedError)
    assert f"its worker on {socket.gethostname()} was lost, 2 times" == str(found[1])
    assert len(place.workers) > 2


def test_closing_the_iterator_ends_the_workers() -> None:
    """A worker ends when nobody wants the result of its task any more: it does not do the 10,000 tasks."""
    place = Processes()
    with closing(ClusterWorkers(place, 1, default_store())) as several:
        ends = several.run_tasks(killed, [0, *range(2, 10_000)], lambda _i, _s: None)
        next(ends)
        ends.close()
        assert place.workers[0].wait(30) in (0, 130)


def test_workers_take_few_tasks_ahead() -> None:
    """The executor takes tasks from an iterator as it needs them."""
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(100, 140):
            taken.append(number)
            yield number

    with closing(ClusterWorkers(Processes(), 2, default_store())) as several:
        ahead = [len(taken) - n for n, _ in enumerate(several.run_tasks(doubled, tasks(), lambda _i, _s: None))]

    assert max(ahead) <= 6


def test_workers_that_never_join_end_the_command() -> None:
    """If all workers end before they join, the error contains the last line of one."""
    place = Processes(program=("-c", "import sys; sys.exit('no such interpreter')"))
    with (
        closing(ClusterWorkers(place, 2, default_store())) as several,
        pytest.raises(InputError, match="this machine: all workers ended before they joined: no such interpreter"),
    ):
        list(several.run_tasks(doubled, [1, 2], lambda _i, _s: None))


def test_a_worker_with_other_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose code differs from the command's is refused with one line that names the remedy."""
    monkeypatch.setattr(invitation, "own_code", lambda: "other")
    with (
        closing(ClusterWorkers(Processes(), 1, default_store())) as several,
        pytest.raises(InputError, match=r"has other code than this command .*; install the same versions on all nodes"),
    ):
        list(several.run_tasks(doubled, [1], lambda _i, _s: None))


def test_a_worker_must_have_the_same_version_and_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another release and a folder that the worker does not see are refused; the line names what differs."""
    own = Terms.of_this_command((), 1.0)

    assert refusal(own, "n1") is None
    other = Terms("9.9", own.code, own.directory, (), {}, 1.0)
    assert "n1 has LSMLab 0.1.0, this command 9.9; install the same version" in str(refusal(other, "n1"))
    blind = Terms(own.version, own.code, own.directory, (Path("/no/such/store"),), {}, 1.0)
    assert "n1 does not see /no/such/store; start the command in a folder that all nodes share" in str(refusal(blind, "n1"))


def test_a_peer_without_the_key_gets_nothing() -> None:
    """A peer that connects without the key is dropped, and a silent one delays no worker."""
    place = Processes()
    with closing(ClusterWorkers(place, 1, default_store())) as several:
        hub = several._open()
        with socket.create_connection(("127.0.0.1", hub.invitation.port)):
            with pytest.raises(Exception, match=r"digest|EOF|reset|closed"):
                connected("127.0.0.1", hub.invitation.port, b"wrong").recv()
            assert [2] == [e.result for e in several.run_tasks(doubled, [1], lambda _i, _s: None)]


def test_files_of_lost_workers_on_other_machines_are_removed() -> None:
    """A worker that the command lost counts as ended: its staging folder goes, that of another worker stays."""
    from lsmlab.sim.results.leftovers import declare_ended

    store = RunStore(Path("store").absolute())
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
        (["compare", "--on", "slurm", "-j", "2"], "this machine has no sbatch"),
        (["compare", "--on", "ray"], "pip install lsmlab[ray]"),
        (["run", "--on", "slurm", "-j", "2"], "one run needs no cluster"),
        (["run", "-m", "--on", "slurm", "-j", "2", "hydra/launcher=basic"], "does not go with Hydra's launchers"),
        (["sweep", "--on", "nonsense"], "invalid choice: 'nonsense'"),
    ],
)
def test_a_missing_cluster_gives_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: list[str], text: str
) -> None:
    """A missing program or package ends the command with one line that says what to install."""
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "ray" else found(name, *more))
    if line[0] == "compare":
        monkeypatch.setenv("PATH", "/nowhere")
    else:
        monkeypatch.setattr("shutil.which", lambda _name: "/bin/true")

    assert 2 == main([*line, "device=nvme,sata" if line[0] != "run" or "-m" in line else "device=nvme"])
    err = capsys.readouterr().err
    assert text in err
    assert 1 == len(err.splitlines())


def test_every_command_with_the_option_uses_the_cluster() -> None:
    """A command that accepts --on enters `cluster`; otherwise it would run on this machine without a word."""
    sources = {path: path.read_text(encoding="utf-8") for path in Path(sim.__file__).parent.rglob("*.py")}
    adding = ("add_place(parser)", "add_answer_options(parser)", "add_subject_arguments(parser)")
    helpers = {"arguments.py", "answers.py"}
    accepting = [p for p, text in sources.items() if any(call in text for call in adding) and p.name not in helpers]

    for path in accepting:
        assert re.search(r"with cluster\(\w+\.on, \w+\.jobs\)", sources[path]), path
    entering = {path.name for path, text in sources.items() if re.search(r"cluster\(\w+\.on, \w+\.jobs\)", text)}
    commands = {"whatif.py", "advise.py", "tune.py", "sweep_verb.py", "compare.py", "verbs.py"}
    assert {path.name for path in accepting} | commands <= entering


def test_slurm_needs_the_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm has no default number of workers."""
    monkeypatch.setattr("shutil.which", lambda _name: "/bin/true")
    with pytest.raises(InputError, match="say with -j N how many workers"), cluster("slurm", None):
        pass


def test_an_interrupted_worker_keeps_no_files() -> None:
    """A worker that its command leaves in the middle of a run removes its unfinished files."""
    from lsmlab.sim.configuration.compose import compose
    from lsmlab.sim.runs.key import run_key
    from lsmlab.sim.runs.task import Task, attempt

    config = compose(["workload.num=50M", "workload.duration=100000s"])
    task = Task(run_key(config), config, default_store().root)
    place, staging = Processes(), default_store().root / "staging"
    with closing(ClusterWorkers(place, 1, default_store())) as several:

        def interrupted(_index: int, _share: float) -> None:
            raise KeyboardInterrupt

        ends = several.run_tasks(attempt, [task], interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(ends)
        assert place.workers[0].wait(30) == 130
        left = [path for path in staging.iterdir() if f"-{os.getpid()}-" not in path.name]

    assert [] == left
