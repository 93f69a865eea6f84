"""Clusters on this machine for tests: Dask with a scheduler and workers, Slurm with one node, Ray with two."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ONE_NODE = Path(__file__).parent / "cluster" / "one_node_slurm.sh"
PYTHONPATH = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
"""Search path of workers that do the tasks of `run_work`."""
START_S = 60.0
"""Longest time in s that a cluster takes to start."""


@contextmanager
def dask(workers: int = 2, threads: int = 1) -> Iterator[str]:
    """Start a Dask scheduler and workers as processes; yield the address of the scheduler."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    common = {"env": {**os.environ, "PYTHONPATH": PYTHONPATH}, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    lines = [
        ["dask_scheduler", "--host", address, "--no-dashboard"],
        ["dask_worker", address, "--nworkers", str(workers), "--nthreads", str(threads), "--no-dashboard"],
    ]
    processes = [subprocess.Popen([sys.executable, "-m", f"distributed.cli.{line[0]}", *line[1:]], **common) for line in lines]  # type: ignore[call-overload]
    try:
        _wait_for_workers(address, workers)
        yield address
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()


def _wait_for_workers(address: str, workers: int) -> None:
    from distributed import Client

    end = time.monotonic() + START_S
    while True:
        try:
            with Client(address, timeout=START_S, set_as_default=False) as client:
                return client.wait_for_workers(workers, timeout=START_S)
        except OSError:
            assert time.monotonic() < end, "the scheduler did not start"


@contextmanager
def slurm(folder: Path) -> Iterator[None]:
    """Start a Slurm cluster of one node with its files in `folder`; SLURM_CONF names its configuration."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name, path=path) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"Slurm tests need root and {', '.join(missing) or 'nothing else'}: apt-get install slurm-wlm munge")
    pytest.importorskip("dask_jobqueue", reason="Slurm tests need the package dask-jobqueue: pip install '.[dask]'")
    subprocess.run([ONE_NODE, "start", folder, "4"], check=True)
    yield
    subprocess.run([ONE_NODE, "stop", folder], check=True)


@contextmanager
def ray() -> Iterator[str]:
    """Start a Ray cluster of a head and a second node, two cores each; yield its address."""
    pytest.importorskip("ray", reason="Ray tests need the package ray: pip install '.[ray]'")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", PYTHONPATH)
        several = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        several.add_node(num_cpus=2)
    yield several.address
    several.shutdown()
