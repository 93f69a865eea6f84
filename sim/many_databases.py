"""Run of several databases on one machine, each with clients of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import simpy
from lsmlab.models.errors import InputError
from lsmlab.sim.databases import processes_of
from lsmlab.sim.machine.client_shares import ClientSets
from lsmlab.sim.machine.limiter import LimiterStation
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.machine.make import make_machine, most_threads
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.machine.space import Faults
from lsmlab.sim.machine.usage_log import UsageLog
from lsmlab.sim.phase import SEEDS, Beside, Phase, Process, advance, change_device
from lsmlab.sim.progress import Progress
from lsmlab.sim.setting import AlikeDatabases, Setting
from lsmlab.sim.setup import set_up
from lsmlab.sim.start_trees import start_trees


@dataclass(frozen=True, slots=True)
class Member:
    """One database of the run: its name, its entry of `databases`, and its phase."""

    name: str
    alike: AlikeDatabases
    phase: Phase


class ManyDatabases:
    """Databases of a run on their machine."""

    def __init__(self, setting: Setting, root: np.random.SeedSequence) -> None:
        """Open the databases of `setting.databases`."""
        self.setting = setting
        self.env = simpy.Environment()
        alike = setting.databases
        each = [(one, name) for one in alike for name in one.names]
        processes = list(processes_of({one.name: one.entry for one in alike}))
        if len(each) > 1:
            _refuse_own_threads(alike)
        seeds = root.spawn(SEEDS)
        rng = np.random.default_rng(seeds[2])
        threads = sum(most_threads(one.setting.engine, one.setting.workload) * one.entry.count for one in alike)
        self.machine = make_machine(self.env, setting.engine, threads, setting.host, setting.devices, rng)
        self.machine.faults = Faults(setting.conditions.compaction_errors)
        opened: dict[str, Process] = {}
        for process in dict.fromkeys(processes):
            settings = [one.setting for (one, _), own in zip(each, processes, strict=True) if own == process]
            machine = _with_limiter(self.machine, setting, rng) if opened else self.machine
            opened[process] = Process.of(machine, settings, rng)
        sets = ClientSets(self.machine, len(each))
        together = Counter(processes)
        of_entry = {one.name: together[process] for (one, _), process in zip(each, processes, strict=True)}
        setups = {one.name: set_up(one.setting, databases=of_entry[one.name]) for one in alike}
        own_seeds = zip(*(seed.spawn(len(each)) for seed in seeds), strict=True) if len(each) > 1 else [seeds]
        self.members: list[Member] = []
        for number, ((one, name), process, own) in enumerate(zip(each, processes, own_seeds, strict=True)):
            opener = opened[process]
            if not setting.sharing.rate_limiter:
                opener = replace(opener, machine=_with_limiter(self.machine, one.setting, rng))
            beside = Beside(setups[one.name], opener, sets, number)
            self.members.append(Member(name, one, Phase(one.setting, own, beside=beside)))
        self.usage = UsageLog(self.machine)
        (self._trees_seed,) = root.spawn(1)
        self.prefills: dict[str, dict[str, Any]] = {}
        """What filled the databases of each entry; set by `run`."""

    @property
    def phases(self) -> list[Phase]:
        """Phase of each database."""
        return [member.phase for member in self.members]

    def run(self, progress: Progress | None) -> None:
        """Simulate until the last database has done its workload."""
        self._start_trees(progress)
        for phase in self.phases:
            for database in phase.databases:
                database.stall_changed.add(self.usage.sample)
        ends = [self.env.process(self._run_one(member)) for member in self.members]
        if self.setting.device_changes:
            self.env.process(change_device(self.machine, self.setting.device_changes))
        until_s = max(phase.until_s for phase in self.phases)
        advance(self.env, until_s, self.env.all_of(ends), progress)
        for phase in self.phases:
            phase.settle()
        self.usage.sample()

    def _start_trees(self, progress: Progress | None) -> None:
        alike = self.setting.databases
        seeds = self._trees_seed.spawn(len(alike)) if len(alike) > 1 else [self._trees_seed]
        for one, seed in zip(alike, seeds, strict=True):
            phases = [member.phase for member in self.members if member.alike is one]
            facts = start_trees(phases, one.setting, seed, progress, alone=len(self.members) == 1)
            if facts is not None:
                self.prefills[one.name] = facts

    def _run_one(self, member: Member) -> Events:
        if member.alike.entry.start_s > 0.0:
            yield self.env.timeout(member.alike.entry.start_s)
        yield member.phase.start()


def _with_limiter(machine: Machine, setting: Setting, rng: np.random.Generator) -> Machine:
    """Return the machine behind a rate limiter of its own."""
    limiter = setting.engine.scheduler().limiter()
    return machine.with_limiter(None if limiter is None else LimiterStation(machine.env, limiter, rng.spawn(1)[0]))


def _refuse_own_threads(alike: Sequence[AlikeDatabases]) -> None:
    for one in alike:
        scheduler = one.setting.engine.scheduler()
        if scheduler.preemptive or scheduler.splits_l0 or scheduler.window_s > 0.0 or one.setting.engine.tuner() is not None:
            raise InputError(
                f"databases.{one.name}: {one.setting.engine.name} has policies that are made for the only database of a process; "
                "choose RocksDB's scheduler and no tuner"
            )
