"""Job queue of the laboratory: the tasks of all tabs, at most one per tab and a limit in all; the latest request wins."""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.lab.process import EndedError, LabProcess
from lsmlab.reports.lab.work import LabTask, Preview, limit_s
from lsmlab.sim.runs.estimate import duration_text

MOST_TABS: Final = 50
"""Tabs whose state is remembered; the state of the oldest idle tab is dropped."""
PREVIEW_LIMIT_S: Final = 15.0
"""Wall time after which a preview is ended; its CPU time is limited too (`preview.LONGEST_S`)."""
_GRACE_S: Final = 30.0
"""Time after its limit in which a task may end by itself."""
_ESTIMATED_FROM: Final = 0.03
"""Finished share from which the time left is estimated."""
_TAB: Final = re.compile(r"[0-9a-f-]{8,40}")


@dataclass(frozen=True, slots=True)
class Status:
    """State of a tab's latest task."""

    phase: str = "idle"
    """idle, waiting, running, done, failed or cancelled."""
    title: str = ""
    share: float = 0.0
    """Finished share, 0 to 1."""
    left: str = ""
    """Estimated time left, in words."""
    error: str = ""
    page: Path | None = None
    """Page that the task has drawn."""

    @property
    def active(self) -> bool:
        """Whether the task waits or runs."""
        return self.phase in ("waiting", "running")


@dataclass(slots=True)
class _Job:
    title: str
    task: LabTask
    status: Status
    finish: Callable[[Path], None]
    process: LabProcess | None = None
    began_s: float = 0.0


class JobQueue:
    """Tasks of all tabs, one per tab, and the worker processes that do them."""

    def __init__(self, start_process: Callable[[], LabProcess], most: int, tidy: Callable[[], None] = lambda: None) -> None:
        """`most`: largest number of tasks that run at a time, previews not counted; `tidy` removes files of ended tasks."""
        self.changes = 0
        """Number of tasks that have ended: other tabs see from it that there are new results."""
        self._start_process, self._tidy = start_process, tidy
        self._threads = ThreadPoolExecutor(most, "job")
        self._lock, self._previewing = threading.Lock(), threading.Lock()
        self._latest: OrderedDict[str, int] = OrderedDict()
        self._jobs: OrderedDict[str, _Job] = OrderedDict()
        self._previewer: LabProcess | None = None
        self._spare: LabProcess | None = None
        self._closed = False

    def warm_up(self) -> None:
        """Start the processes of the first preview and of the first simulation."""
        self._previewer, self._spare = self._start_process(), self._start_process()

    def preview(self, tab: str, number: int, config: Mapping[str, Any]) -> Any:
        """Return the preview of a configuration; None if the tab has sent a request with a higher number in the meantime.

        The browser numbers its requests, because they may arrive in another order.

        Raises InputError for a configuration that cannot run, or whose preview takes too long.
        """
        with self._lock:
            self._latest[_checked(tab)] = max(number, self._latest.get(tab, number))
            self._latest.move_to_end(tab)
            while len(self._latest) > MOST_TABS:
                self._latest.popitem(last=False)
        with self._previewing:
            if self._latest.get(tab, number) != number or self._closed:
                return None
            if self._previewer is None or not self._previewer.alive:
                self._previewer = self._start_process()
            try:
                return self._previewer.do(Preview(config), timeout_s=PREVIEW_LIMIT_S)
            except (EndedError, TimeoutError):
                self._previewer = None if self._closed else self._start_process()
                raise InputError("no quick preview: it takes too long; press Simulate for the whole run") from None

    def start(self, tab: str, title: str, task: LabTask, finish: Callable[[Path], None] = lambda _page: None) -> None:
        """Start a task for a tab; `finish` gets its page. It replaces another task of the tab; the same task goes on."""
        with self._lock:
            current = self._jobs.get(_checked(tab))
            if current is not None and current.status.active and current.task == task:
                return
            if current is not None:
                self._stop(current)
            if sum(job.status.active for job in self._jobs.values()) >= MOST_TABS:
                raise InputError(f"{MOST_TABS} tasks of other tabs are waiting; try again when some have ended")
            job = _Job(title, task, Status("waiting", title), finish)
            self._jobs[tab] = job
            self._jobs.move_to_end(tab)
            self._forget()
            self._threads.submit(self._run, job)

    def cancel(self, tab: str) -> None:
        """End the tab's task, if it has one."""
        with self._lock:
            job = self._jobs.get(_checked(tab))
            if job is not None:
                self._stop(job)

    def status(self, tab: str) -> Status:
        """Return the state of the tab's latest task."""
        job = self._jobs.get(_checked(tab))
        return job.status if job is not None else Status()

    def close(self) -> None:
        """End all tasks and processes."""
        with self._lock:
            self._closed = True
            for job in self._jobs.values():
                self._stop(job)
            processes = [p for p in (self._previewer, self._spare) if p is not None]
        for process in processes:
            process.end()
        self._threads.shutdown(cancel_futures=True)
        self._tidy()

    def _stop(self, job: _Job) -> None:
        if not job.status.active:
            return
        job.status = replace(job.status, phase="cancelled")
        if job.process is not None:
            job.process.end()

    def _forget(self) -> None:
        for tab in list(self._jobs)[: max(0, len(self._jobs) - MOST_TABS)]:
            if not self._jobs[tab].status.active:
                del self._jobs[tab]

    def _run(self, job: _Job) -> None:
        with self._lock:
            if self._closed or not job.status.active:
                return
            process = self._spare if self._spare is not None and self._spare.alive else self._start_process()
            self._spare = None
            job.process, job.began_s = process, time.monotonic()
            job.status = replace(job.status, phase="running")
        status = self._result(job, process)
        with self._lock:
            self.changes += 1
            job.process = None
            cancelled = not job.status.active
            job.status = job.status if cancelled else status
            if self._closed or self._spare is not None or not process.alive:
                process.end()
            else:
                self._spare = process
        if cancelled and not self._closed:
            self._tidy()

    def _result(self, job: _Job, process: LabProcess) -> Status:
        def share(value: float) -> None:
            with self._lock:
                if job.status.active:
                    job.status = replace(job.status, share=value, left=left_text(value, time.monotonic() - job.began_s))

        try:
            page = process.do(job.task, share, limit_s(job.task) + _GRACE_S)
            job.finish(page)
        except TimeoutError:
            return Status("failed", job.title, error=f"takes longer than {duration_text(limit_s(job.task))}: use the command")
        except (InputError, EndedError) as error:
            return Status("failed", job.title, error=str(error))
        except Exception as error:
            return Status("failed", job.title, error=f"{type(error).__name__}: {error} (a bug in lsmlab: please report it)")
        return Status("done", job.title, 1.0, page=page)


def left_text(share: float, spent_s: float) -> str:
    """Return the estimated time left of a task of which a share is done after `spent_s` seconds.

    >>> left_text(0.25, 10.0), left_text(0.01, 10.0)
    ('about 30 s left', '')
    """
    if share < _ESTIMATED_FROM:
        return ""
    return f"about {duration_text(spent_s * (1.0 - share) / share)} left"


def _checked(tab: str) -> str:
    if not isinstance(tab, str) or not _TAB.fullmatch(tab):
        raise InputError("this tab has no number; reload the page")
    return tab
