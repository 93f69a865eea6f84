"""Executor whose workers run on a cluster. The workers stay for all tasks of a command."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from lsmlab.models.errors import InputError
from lsmlab.sim.results.leftovers import declare_ended
from lsmlab.sim.runs.cluster.hub import Hub, Member
from lsmlab.sim.runs.cluster.invitation import Terms
from lsmlab.sim.runs.executor import R, T, TaskResult, Watch, Work
from lsmlab.sim.runs.store import RunStore
from lsmlab.sim.runs.waiting import WaitingTasks
from lsmlab.sim.runs.worker import ENDED, PERIOD_S

ADDRESS_ENV: Final = "LSMLAB_ADDRESS"
"""Environment variable with the host, or HOST:PORT, at which workers reach this command."""
_LOOK_S: Final = 2.0
"""Seconds between two looks at the cluster: whether lost workers need others, and whether any worker is still to come."""
_PATIENCE_S: Final = 20.0
"""Seconds without a worker after which a line tells the user what the command waits for."""
_MESSAGES_PER_S: Final = 400.0
"""Largest number of messages about progress per second, of all workers together."""


class Place(Protocol):
    """A cluster on which workers can be started."""

    name: str
    host: str
    """Name or address of this machine, as the nodes of the cluster see it."""

    def start(self, count: int, invitation: str, folder: Path) -> None:
        """Ask the cluster for `count` workers; `folder` may take their output. Raises InputError if it refuses."""

    def coming(self) -> int:
        """Return the number of workers that run or wait for a place in the cluster."""

    def trouble(self) -> str:
        """Return what the last worker that ended said, or an empty text."""

    def stop(self) -> None:
        """End all workers that have not joined."""


class ClusterWorkers:
    """Executor with up to `count` workers on a cluster. `close` ends them."""

    def __init__(self, place: Place, count: int, store: RunStore) -> None:
        self.count = count
        self._place, self._store = place, store
        self._resources = contextlib.ExitStack()
        self._hub: Hub | None = None
        self._folder = Path()
        self._asked = 0
        """Workers asked for, without those that joined and were lost."""
        self._looked_s = 0.0
        self._named = 0
        """Number of refusals that the user has read."""
        self._waits_since_s: float | None = None

    def run_tasks(self, work: Work[T, R], tasks: Iterable[T], watch: Watch) -> Generator[TaskResult[T, R], None, None]:
        """Yield every task with its result as it ends. Closing the iterator ends the workers in the middle of a task."""
        waiting = WaitingTasks.of(tasks, self.count)
        if not waiting.prepare():
            return
        hub = self._open()
        self._ask(len(waiting.waiting))
        try:
            while waiting.prepare() or any(member.task is not None for member in hub.members):
                self._give(hub, work, waiting)
                waiting.prepare()
                for member, message in hub.wait(_LOOK_S):
                    yield from self._ended(member, message, waiting, watch, work)
                self._look(hub, len(waiting.waiting))
        finally:
            for member in [m for m in hub.members if m.task is not None]:
                self._lose(member)
                hub.dismiss(member)

    def close(self) -> None:
        """End all workers and remove the files that they shared with the command."""
        if self._hub is not None:
            self._hub.close()
            self._place.stop()
        self._resources.close()
        self._hub = None

    def _open(self) -> Hub:
        if self._hub is None:
            host, _, port = os.environ.get(ADDRESS_ENV, "").partition(":")
            self._folder = self._resources.enter_context(self._store.staging())
            terms = Terms.of_this_command((self._folder,), max(PERIOD_S, self.count / _MESSAGES_PER_S))
            self._hub = Hub(terms, host or self._place.host, int(port or 0))
        return self._hub

    def _ask(self, tasks: int) -> None:
        """Ask the cluster for workers until there is one per task, or the largest number of them."""
        missing = min(self.count, tasks) - self._asked
        if missing > 0 and self._hub is not None:
            self._place.start(missing, self._hub.invitation.text(), self._folder)
            self._asked += missing
            self._looked_s = time.monotonic()

    def _give(self, hub: Hub, work: Any, waiting: WaitingTasks) -> None:
        for member in hub.members:
            if member.task is None and (task := waiting.next()) is not None:
                self._send(member, work, task)

    def _send(self, member: Member, work: Any, task: tuple[int, Any]) -> None:
        member.task = task
        with contextlib.suppress(OSError):  # the worker is lost: `Hub.wait` says so
            member.connection.send((work, task[1]))

    def _ended(
        self, member: Member, message: Any, waiting: WaitingTasks, watch: Watch, work: Any
    ) -> Iterator[TaskResult[Any, Any]]:
        if member.task is None:  # an idle worker is lost
            self._lose(member)
            return
        index, task = member.task
        if message is None:
            self._lose(member)
            error = waiting.lost(index, task, f"its worker on {member.host} was lost")
            if error is not None:
                yield TaskResult(task, error)
            return
        kind, content = message
        if kind != ENDED:
            watch(index, content)
            return
        waiting.ended(index)
        member.task = None
        if (following := waiting.next()) is not None:
            self._send(member, work, following)  # before the caller sees this result, so that the worker does not wait
        yield TaskResult(task, content)

    def _lose(self, member: Member) -> None:
        self._asked -= 1
        declare_ended(member.host, member.pid)

    def _look(self, hub: Hub, tasks: int) -> None:
        """From time to time: replace lost workers, name refused ones, and raise InputError if no worker is to come."""
        if time.monotonic() - self._looked_s < _LOOK_S:
            return
        self._looked_s = time.monotonic()
        if hub.members:
            for reason in hub.refusals[self._named :]:
                sys.stderr.write(f"lsmlab: a worker was refused: {reason}\n")
            self._named = len(hub.refusals)
            self._ask(tasks + sum(member.task is not None for member in hub.members))
            return
        if hub.refusals:
            raise InputError(hub.refusals[0])
        self._ask(tasks)
        if not self._place.coming():
            raise InputError(f"{self._place.name}: all workers ended before they joined: {self._place.trouble()}")
        if self._waits_since_s is None:
            self._waits_since_s = self._looked_s
        elif self._looked_s - self._waits_since_s > _PATIENCE_S:
            sys.stderr.write(f"lsmlab: waiting for workers: {self._asked} asked of {self._place.name}, none has joined\n")
            self._waits_since_s = math.inf
