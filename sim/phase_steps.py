"""Phases of a workload with phases: clients, and actions on the store, one after the other on the same databases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import simpy
from lsmlab.models.workloads.base import Clients, WorkloadPhase
from lsmlab.sim.clients.clients import ClientLoad
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.results.phase_records import PhaseRecord
from lsmlab.sim.store_actions import StoreActions

LONGEST_RUN_S: Final = 1e8
"""Simulated time at which a run without `workload.duration` ends: about three years."""


class PhaseSteps:
    """Goes through the phases and records each."""

    def __init__(
        self, env: simpy.Environment, phases: Sequence[WorkloadPhase], actions: StoreActions, clients: ClientLoad,
        begin_fill: Callable[[Sequence[Clients]], None],
    ) -> None:  # fmt: skip
        """`begin_fill`: to call with the client groups that write from now on."""
        self._env = env
        self._phases = phases
        self._actions = actions
        self._clients = clients
        self._begin_fill = begin_fill
        self.ended: list[PhaseRecord] = []
        """Phases that have ended."""
        self._phase_done: Callable[[], object] | None = None
        """To call when the clients of the present phase have finished."""
        clients.finished.add(self._clients_done)

    def run(self, finished: simpy.Event) -> Events:
        """Go through the phases of the workload, one after the other on the same databases."""
        for step in self._phases:
            start_s, groups = self._env.now, []
            if step.clients:
                groups = self._clients.begin(step.clients, LONGEST_RUN_S if step.duration_s is None else step.duration_s)
                self._begin_fill(step.clients)
                self._actions.start(step.actions)
                yield from self._until_done(step)
                self._clients.stop()
            else:
                yield from self._actions.run(step)
            self.ended.append(PhaseRecord(step.name, start_s, self._env.now, groups, self._actions.tree_state()))
        finished.succeed()

    def _clients_done(self) -> None:
        if self._phase_done is not None:
            self._phase_done()
            self._phase_done = None

    def _until_done(self, step: WorkloadPhase) -> Events:
        """Wait until all operations of a phase are done, or for its length."""
        done = self._env.event()
        self._phase_done = done.succeed
        if not all(group.finished or group.spec.background for group in self._clients.present):
            yield done if step.duration_s is None else self._env.any_of([done, self._env.timeout(step.duration_s)])
        self._phase_done = None
