"""Short runs for tests: configurations from command-line overrides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from lsmlab.sim import simulation
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.phase import SEEDS, Phase
from lsmlab.sim.progress import Progress
from lsmlab.sim.results.results import Result
from lsmlab.sim.setting import Setting
from lsmlab.sim.setup import Setup
from lsmlab.sim.setup import set_up as set_up_setting

SLOW_JOBS: Final = ("host.job_start=4ms", "host.file_overhead=2ms")
"""Jobs that start late and end each file late, so that small stores stall."""


def configuration(*overrides: str) -> dict[str, Any]:
    """Return the resolved configuration of `lsmlab run OVERRIDES` with `checks=true`."""
    return compose([*overrides, "checks=true"])


def run(config: Mapping[str, Any], progress: Progress | None = None, allowed: Sequence[str] = ()) -> Result:
    """Simulate a resolved configuration."""
    return simulation.simulate(Setting.of(config, allowed), progress)


@lru_cache(maxsize=64)
def simulate(*overrides: str) -> Result:
    """Simulate each configuration once per process; tests must not change the result."""
    return run(configuration(*overrides))


def phase_of(*overrides: str, seed: int = 5) -> Phase:
    """Return the phase of a run before it starts."""
    return Phase(Setting.of(configuration(*overrides)), np.random.SeedSequence(seed).spawn(SEEDS))


def set_up(*overrides: str) -> Setup:
    """Set up a run without running it."""
    return set_up_setting(Setting.of(configuration(*overrides)))


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
