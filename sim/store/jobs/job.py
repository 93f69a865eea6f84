"""State of a running compaction, for the column family, the scheduler and the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from lsmlab.models.engines.engine import Engine
from lsmlab.models.policies.decisions import Compaction, Drop, Link, Move, RunningJob
from lsmlab.models.policies.scheduling import JobView
from lsmlab.sim.machine.gate import Gate
from lsmlab.sim.machine.steps import StepProgress
from lsmlab.sim.store.jobs.work import CompactionWork

PickedWork = Compaction | Move | Drop | Link
"""Result of a pick other than `DoNothing`."""


@dataclass(slots=True, eq=False)
class Job:
    """Compaction, trivial move, drop or link in progress."""

    view: JobView
    pick: PickedWork
    running: RunningJob
    gate: Gate | None
    parent: int
    start_s: float
    engine: Engine
    """Engine with the options at the start of the job."""
    halted_s: float = 0.0
    """Total time of the halts that are over."""
    halted_since_s: float = 0.0
    """Start of the last halt."""
    work: CompactionWork | None = None
    """Outputs and steps of a compaction; None for other jobs."""
    progress: StepProgress = field(default_factory=StepProgress)
    merged_s: float | None = None
    """Time at which the output files of a compaction were complete; None before."""

    @property
    def number(self) -> int:
        """Id of the job within its database."""
        return self.view.job

    def shares_input(self, other: PickedWork) -> bool:
        """Return whether this job and `other` have an input file in common."""
        own = {id(f) for _, files in self.pick.inputs for f in files}
        return any(id(f) in own for _, files in other.inputs for f in files)


def running_job(pick: PickedWork) -> RunningJob:
    """Return the levels and key range of a job, with which a picker avoids conflicts."""
    lo, hi = math.inf, -math.inf
    incoming = 0
    output = 0 if isinstance(pick, Drop) else pick.output_level
    for level, group in pick.inputs:
        for file in group:
            if file.lo < lo:
                lo = file.lo
            if file.hi > hi:
                hi = file.hi
            if level != output:
                incoming += file.size_bytes
    if isinstance(pick, Drop):
        return RunningJob(0, 0, int(lo), int(hi))
    start = pick.start_level
    return RunningJob(start, output, int(lo), int(hi), incoming_bytes=incoming)
