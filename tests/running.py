"""Short runs for tests: configurations from command-line overrides."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.phase import SEEDS, Phase
from lsmlab.sim.results.results import Result
from lsmlab.sim.setup import Setup
from lsmlab.sim.simulation import run


def configuration(*overrides: str) -> dict[str, Any]:
    """Return the resolved configuration of `lsmlab run OVERRIDES` with `checks=true`."""
    return compose([*overrides, "checks=true"])


@lru_cache(maxsize=64)
def simulate(*overrides: str) -> Result:
    """Simulate each configuration once per process; tests must not change the result."""
    return run(configuration(*overrides))


def set_up(*overrides: str) -> Setup:
    """Set up a run without running it."""
    return Phase(configuration(*overrides), np.random.SeedSequence(1).spawn(SEEDS), ()).setup


SMALL = (
    "engine.version=7.8",
    "engine.options.write_buffer_size=1MiB",
    "engine.options.target_file_size_base=1MiB",
    "engine.options.max_bytes_for_level_base=4MiB",
    "engine.options.max_background_jobs=4",
    "device=samsung_970_pro",
    "workload.value_size=100",
    "workload.num=200000",
)
"""A store so small that four levels fill within seconds."""
