"""A background job while it runs: what the store, its scheduler and the machine each need to know of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from lsmlab.models.engines.engine import Engine
from lsmlab.models.policies.decisions import Compaction, Drop, Link, Move, RunningJob
from lsmlab.models.policies.scheduling import JobView
from lsmlab.sim.machine.gate import Gate
from lsmlab.sim.machine.steps import Progress
from lsmlab.sim.store.jobs.work import CompactionWork

Work = Compaction | Move | Drop | Link
"""A pick that is a job."""


@dataclass(slots=True, eq=False)
class Job:
    """A compaction in progress."""

    view: JobView
    pick: Work
    running: RunningJob
    gate: Gate | None
    parent: int
    start_s: float
    engine: Engine
    """As it was when the job started."""
    halted_s: float = 0.0
    """Time that it spent halted, until it was last resumed."""
    halted_since_s: float = 0.0
    work: CompactionWork | None = None
    """Of a compaction: outputs and steps."""
    progress: Progress = field(default_factory=Progress)
    merged_s: float | None = None
    """When a compaction had written its outputs; None before."""

    @property
    def number(self) -> int:
        """The job's id within its store."""
        return self.view.job

    def shares_input(self, other: Work) -> bool:
        """Whether another pick takes a file that this job reads."""
        own = {id(f) for _, files in self.pick.inputs for f in files}
        return any(id(f) in own for _, files in other.inputs for f in files)


def running_job(pick: Work) -> RunningJob:
    """What a picker must know of a job to avoid a conflict."""
    lo, hi = math.inf, -math.inf
    incoming = 0
    output = 0 if isinstance(pick, Drop) else pick.output_level
    for level, group in pick.inputs:
        for file in group:
            lo, hi = min(lo, file.lo), max(hi, file.hi)
            if level != output:
                incoming += file.size_bytes
    if isinstance(pick, Drop):
        return RunningJob(0, 0, int(lo), int(hi))
    start = pick.start_level
    return RunningJob(start, output, int(lo), int(hi), intra_l0=start == 0 and output == 0, incoming_bytes=incoming)
