"""Simulation of one run: a pure function of its configuration and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.units import build
from lsmlab.sim.freed_memory import LARGE_RUN_JOBS, return_freed_memory
from lsmlab.sim.initial_tree import place_files
from lsmlab.sim.phase import SEEDS, Phase
from lsmlab.sim.prefill import prefill
from lsmlab.sim.progress import Progress
from lsmlab.sim.results.results import Result, collect


@dataclass(frozen=True, slots=True)
class SaveSettings:
    """Settings of the `save` group: optional tables of a run."""

    events: bool = True
    """Whether to save version edits and memtable switches (events.parquet)."""


def run(config: Mapping[str, Any], progress: Progress | None = None, allowed: Sequence[str] = ()) -> Result:
    """Simulate one resolved configuration.

    Args:
        config: mapping with the groups engine, device, host, workload and keys, and with `seed`, `save` and `checks`;
            optionally with `prefill` (a workload that runs before) or `initial_tree` (files at the start).
        progress: callback with the simulated time and the end of the run, in seconds; results do not depend on it.
        allowed: packages besides lsmlab whose classes the `_target_` entries of the configuration may name.

    Returns:
        Tables and summary of the run.

    Raises:
        InputError: the configuration cannot be simulated; the message names the key.

    """
    result = _simulate(config, progress, allowed)
    if len(result.jobs["job"]) >= LARGE_RUN_JOBS:
        return_freed_memory()  # that of the simulation, before the files are written
    return result


def _simulate(config: Mapping[str, Any], progress: Progress | None, allowed: Sequence[str]) -> Result:
    seed = config.get("seed", 1)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed: {seed!r} must be a whole number, 0 or more")
    save = build(SaveSettings, config.get("save") or {}, "save")
    root = np.random.SeedSequence(seed)
    phase = Phase(config, root.spawn(SEEDS), allowed)
    logs = phase.log_events() if save.events else None
    (before,) = root.spawn(1)
    facts = None
    if config.get("prefill") is not None:
        if config.get("initial_tree") is not None:
            raise InputError("prefill: a run has either prefill or initial_tree, not both; set one of them to null")
        facts = prefill(phase, config, before, allowed, progress)
    elif config.get("initial_tree") is not None:
        place_files(phase, config["initial_tree"], before)
    else:
        phase.preload()
    phase.run(progress)
    phase.settle()
    result = collect(config, phase.setup, phase.families, phase.clients, phase.reads, phase.env.now, phase.usage, logs)
    if facts is not None:
        result.summary["prefill"] = facts
    return result
