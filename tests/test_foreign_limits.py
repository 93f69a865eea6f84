"""Limits of time and memory of an import, a page and a task of the laboratory."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pytest
from lsmlab.models.errors import InputError
from lsmlab.reports import limits
from lsmlab.reports.cli.running import draw
from lsmlab.reports.lab.process import _result
from lsmlab.reports.lab.work import LONGEST_S, DrawComparison, Import, LabTask, Preview, WholeRun, limit_s
from lsmlab.reports.limits import PAGE_S, limited


def endless() -> Path:
    """Compute without end."""
    while True:
        pass


def test_work_without_end_is_one_line() -> None:
    """The message says what takes too long, the limit and the remedy; no handler of errors on the way keeps it."""

    def patient() -> None:
        with contextlib.suppress(Exception):
            endless()

    with pytest.raises(InputError, match=r"LOG: takes longer than .*; give a smaller part of it"), limited("LOG", 0.05):
        patient()


def test_a_limit_ends_with_its_block() -> None:
    """After the block there is no alarm, and the limit of memory is the old one."""
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limited("LOG", 60.0):
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] > 0

    assert before == resource.getrlimit(resource.RLIMIT_DATA)
    assert 0.0 == signal.getitimer(signal.ITIMER_REAL)[0]


def test_memory_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An allocation beyond the share of the memory is refused in one line with the limit."""
    pytest.importorskip("resource")
    monkeypatch.setattr(limits, "memory_bytes", lambda: 2e9)

    with pytest.raises(InputError, match=r"page: needs more than 1\.6 GB of memory, 80% of all"), limited("page", 60.0):
        bytearray(4 << 30)


def test_threads_have_no_alarm() -> None:
    """Only the main thread gets signals; others do their work without a limit of time."""
    found: list[int] = []

    def work() -> None:
        with limited("LOG", 0.01):
            found.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)

    assert [1] == found


def test_a_page_without_end_fails_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The results are saved before; the line says that their page took too long."""
    monkeypatch.setattr("lsmlab.reports.cli.running.PAGE_S", 0.05)

    assert 1 == draw(endless)
    assert "the results are saved, but their page failed: the page: takes longer than" in capsys.readouterr().err


class EndlessImport(Import):
    """A task that does not end."""

    def do(self, _progress: object) -> Path:
        """Compute without end."""
        return endless()


def test_a_task_without_end_leaves_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker process ends the task by itself and can do the next one."""
    monkeypatch.setattr("lsmlab.reports.lab.process.limit_s", lambda _task: 0.05)
    error = _result(None, EndlessImport(Path("LOG"), Path("out")))  # type: ignore[arg-type]

    assert isinstance(error, InputError)
    assert "this task: takes longer than" in str(error)


@pytest.mark.parametrize(
    ("task", "limit"),
    [
        (Preview({}), PAGE_S), (WholeRun("a", {}, Path()), LONGEST_S), (Import(Path(), Path()), PAGE_S),
        (DrawComparison((), Path()), PAGE_S),
    ],
)  # fmt: skip
def test_every_task_has_a_limit(task: LabTask, limit: float) -> None:
    """No task may keep a worker process for ever."""
    assert limit == limit_s(task)
