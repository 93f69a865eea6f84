"""Control loop: observations for schedulers and tuners at the end of their windows, and their answers applied."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import simpy
from lsmlab.models.policies.scheduling import ClientWindow
from lsmlab.models.policies.tuning import FlushDone, Interval, Tuner
from lsmlab.models.workloads.base import Workload
from lsmlab.sim.clients.clients import ClientLoad
from lsmlab.sim.clients.group import ClientTraffic
from lsmlab.sim.clients.seeks import Seeks
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.machine.queues import TICK_S, Alarm
from lsmlab.sim.store.database import Database
from lsmlab.sim.store.records import JobRecord

if TYPE_CHECKING:
    from lsmlab.sim.clients.family_reads import FamilyReads


class LoadObservation:
    """Pass the client load to the schedulers, window by window.

    A window without a change of the clients' rates would give the same answer as the last window and is skipped, unless
    a scheduler asks for every window.
    """

    def __init__(
        self, env: simpy.Environment, databases: Sequence[Database], clients: ClientLoad, machine: Machine, workload: Workload
    ) -> None:
        self._env = env
        self._databases = databases
        self._clients = clients
        self._machine = machine
        self._workload = workload
        self._window_s = databases[0].scheduler.window_s
        self._every = databases[0].scheduler.every_window
        self._alarm = Alarm(env, self._end_window)
        self._window = -1
        """Number of the window that is measured now; -1: none."""
        self._start = ClientTraffic()
        """Totals at the start of this window."""
        self._changed = False
        clients.rates_changed.add(self._rates_changed)

    def _rates_changed(self, before: ClientTraffic) -> None:
        self._changed = True
        if self._window < 0:
            now_s, length_s = self._env.now, self._window_s
            self._window = int(now_s / length_s + TICK_S)
            since_s = max(0.0, now_s - self._window * length_s)
            totals = self._clients.totals()
            self._start = ClientTraffic(*(total - rate * since_s for total, rate in zip(totals, before, strict=True)))
            self._alarm.set(max(0.0, (self._window + 1) * length_s - now_s))

    def _end_window(self) -> None:
        """Pass the window to the schedulers; measure the next window too if rates changed within this window."""
        totals, length_s = self._clients.totals(), self._window_s
        writes, reads, device = ((b - a) / length_s for a, b in zip(self._start, totals, strict=True))
        value = self._workload.value_bytes
        window = ClientWindow(
            start_s=self._window * length_s,
            end_s=self._env.now,
            write_ops_per_s=writes,
            read_ops_per_s=reads,
            user_bytes_per_s=writes * self._clients.shape.user_bytes + reads * (self._workload.key_size + value),
            value_bytes=value,
            device_bytes_per_s=device,
        )
        if self._changed or self._every:
            self._changed = False
            self._window += 1
            self._start = totals
            self._alarm.set(max(0.0, (self._window + 1) * length_s - self._env.now))
        else:
            self._window = -1
        self._tell(window)

    def _tell(self, window: ClientWindow) -> None:
        for database in self._databases:
            rate = database.observe(window)
            if rate is not None and self._machine.limiter is not None:
                self._machine.limiter.set_rate(rate)
        for database in self._databases:
            database.schedule()


class TunerLoop:
    """Ask the tuner of one database once per interval and apply its answer."""

    def __init__(self, env: simpy.Environment, database: Database, tuner: Tuner, clients: ClientLoad, shards: int) -> None:
        self._env = env
        self._database = database
        self._tuner = tuner
        self._clients = clients
        self._shards = shards
        self._start_s = env.now
        self._totals, self._scans = clients.totals(), clients.scans()
        self._flushes: list[FlushDone] = []
        """Flushes of the present interval."""
        database.families[0].events.job_ended.add(self._note_flush)
        self._full_seen = 0
        self._alarm = Alarm(env, self._ask)
        self._alarm.set(tuner.interval_s)

    def _note_flush(self, job: JobRecord) -> None:
        if job.kind == "flush":
            self._flushes.append(FlushDone(job.write_bytes + job.blob_write_bytes, job.merged_s - job.start_s))

    def _ask(self) -> None:
        changes = self._tuner.observe(self._interval())
        self._alarm.set(self._tuner.interval_s)
        if changes:
            self._database.retune(changes)

    def _interval(self) -> Interval:
        database, family, now_s = self._database, self._database.families[0], self._env.now
        totals = self._clients.totals()
        interval = Interval(
            start_s=self._start_s,
            end_s=now_s,
            flushes=tuple(self._flushes),
            memtables_full=family.memtables_full - self._full_seen,
            immutables=len(family.immutables),
            l0_files=database.view.l0_files,
            files_per_level=tuple(family.tree.files_per_level()),
            pending_bytes=database.view.pending_bytes,
            write_ops=(totals.writes - self._totals.writes) / self._shards,
            read_ops=(totals.reads - self._totals.reads) / self._shards,
            scan_ops=(self._clients.scans() - self._scans) / self._shards,
            applying=database.options_file.unfinished > 0,
        )
        self._start_s, self._totals, self._scans = now_s, totals, self._clients.scans()
        self._full_seen = family.memtables_full
        self._flushes.clear()
        return interval


def start_control(
    env: simpy.Environment, databases: Sequence[Database], clients: ClientLoad, machine: Machine, workload: Workload,
    reads: FamilyReads | None,
) -> None:  # fmt: skip
    """Start the observation, tuning and seek charges that the engine uses."""
    if databases[0].scheduler.window_s > 0.0:
        LoadObservation(env, databases, clients, machine, workload)
    for database in databases:
        if (tuner := database.families[0].latest_options.tuner()) is not None:
            TunerLoop(env, database, tuner, clients, len(databases))
    picker = databases[0].families[0].latest_options.picker
    if reads is not None and picker.allowed_seeks(0) < math.inf:
        Seeks(env, databases, clients, reads, workload.entry_bytes)
