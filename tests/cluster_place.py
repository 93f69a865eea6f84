"""A place for workers of `lsmlab.sim.runs.cluster` that needs no cluster: processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from lsmlab.sim.runs.cluster.invitation import INVITATION_ENV


@dataclass
class Processes:
    """Starts workers as processes. `program` replaces the program of a worker."""

    program: tuple[str, ...] = ("-m", "lsmlab.sim.runs.cluster.member")
    name: str = "this machine"
    host: str = "127.0.0.1"
    workers: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, count: int, invitation: str, _folder: Path) -> None:
        """Start `count` processes."""
        path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, INVITATION_ENV: invitation, "PYTHONPATH": path}
        for _ in range(count):
            self.workers.append(
                subprocess.Popen([sys.executable, *self.program], env=environment, stderr=subprocess.PIPE, text=True)
            )

    def coming(self) -> int:
        """Return the number of processes that run."""
        return sum(worker.poll() is None for worker in self.workers)

    def trouble(self) -> str:
        """Return what the last process printed."""
        return self.workers[-1].communicate()[1].strip()

    def stop(self) -> None:
        """Kill the processes that are left, as a cluster does."""
        for worker in self.workers:
            worker.kill()
            worker.wait()
            assert worker.stderr is not None
            worker.stderr.close()
