"""Workers as the tasks of a Slurm job array: each starts as soon as Slurm has a core for it.

Partition, account, time limit and so on are those of Slurm's own variables, such as SBATCH_PARTITION and SBATCH_TIMELIMIT.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.runs.cluster.invitation import INVITATION_ENV

_LARGEST_ARRAY: Final = 1000
"""Tasks of one job array; Slurm's default limit is 1,001 (MaxArraySize)."""


class Slurm:
    """Slurm cluster to which this machine submits jobs."""

    name = "Slurm"
    host = socket.gethostname()

    def __init__(self) -> None:
        if shutil.which("sbatch") is None:
            raise InputError(
                "--on slurm: this machine has no sbatch; start the command on a node that submits jobs to Slurm "
                "(Debian: apt-get install slurm-client)"
            )
        self._jobs: list[str] = []
        self._folder = Path()

    def start(self, count: int, invitation: str, folder: Path) -> None:
        """Submit job arrays with `count` tasks. Raises InputError if Slurm refuses them."""
        self._folder = folder
        for first in range(0, count, _LARGEST_ARRAY):
            tasks = min(_LARGEST_ARRAY, count - first)
            line = [
                "sbatch", "--parsable", f"--array=1-{tasks}", "--ntasks=1", "--job-name=lsmlab", f"--output={folder}/%A_%a.log",
                f"--wrap=exec {sys.executable} -m lsmlab.sim.runs.cluster.member",
            ]  # fmt: skip
            done = subprocess.run(
                line, env={**os.environ, INVITATION_ENV: invitation}, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise InputError(f"--on slurm: sbatch refused the workers: {' '.join(done.stderr.split())}")
            self._jobs.append(done.stdout.strip().partition(";")[0])

    def coming(self) -> int:
        """Return the number of tasks that run or are pending."""
        line = ["squeue", "--noheader", "--array", "--format=%T", f"--jobs={','.join(self._jobs)}"]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode and "Invalid job id" not in done.stderr:
            return 1  # the controller is busy or restarts: look again later
        return len(done.stdout.split())

    def trouble(self) -> str:
        """Return the last line that a worker printed, or a hint on its folder."""
        logs = sorted(self._folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
        lines = [line for log in logs[-1:] for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
        return lines[-1] if lines else f"nothing in {self._folder}/*.log; do the nodes share this folder?"

    def stop(self) -> None:
        """Cancel all tasks."""
        subprocess.run(["scancel", *self._jobs], capture_output=True, check=False)
