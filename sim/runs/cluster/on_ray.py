"""Workers as tasks of a Ray cluster, one core each."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.runs.cluster.member import join


class Ray:
    """Ray cluster of RAY_ADDRESS, or the one that runs on this machine."""

    name = "Ray"

    def __init__(self) -> None:
        if importlib.util.find_spec("ray") is None:
            raise InputError("--on ray: needs the package ray; install it with 'pip install lsmlab[ray]'")
        import ray

        handler = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(os.environ.get("RAY_ADDRESS", "auto"), log_to_driver=False, logging_level=logging.ERROR)
        except ConnectionError as error:
            raise InputError(
                "--on ray: no Ray cluster found; start one with 'ray start --head', or set RAY_ADDRESS "
                f"({str(error).partition('. ')[0]})"
            ) from None
        signal.signal(signal.SIGTERM, handler)  # Ray sets one that ends this process at once
        self._workers: list[Any] = []
        self._join = ray.remote(num_cpus=1, max_retries=0)(join)
        self.host = ray.util.get_node_ip_address()

    def cores(self) -> int:
        """Return the number of cores of the cluster."""
        import ray

        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    def start(self, count: int, invitation: str, _folder: Path) -> None:
        """Submit `count` tasks that join the command."""
        self._workers += [self._join.remote(invitation) for _ in range(count)]

    def coming(self) -> int:
        """Return the number of tasks that have not ended."""
        import ray

        return len(ray.wait(self._workers, num_returns=len(self._workers), timeout=0.0)[1])

    def trouble(self) -> str:
        """Return the answer or the exception of the last task that ended."""
        import ray

        for worker in reversed(ray.wait(self._workers, num_returns=len(self._workers), timeout=0.0)[0]):
            try:
                return str(ray.get(worker))
            except Exception as error:
                return str(error).strip().splitlines()[-1]
        return ""

    def stop(self) -> None:
        """Leave the cluster; Ray ends the tasks of this command."""
        import ray

        ray.shutdown()
