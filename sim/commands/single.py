"""Simulate one configuration into its own directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsmlab.sim.progress import Progress
from lsmlab.sim.results.rundir import RunDirectory
from lsmlab.sim.runs.loading import load_simulation


def simulate(config: Mapping[str, Any], directory: Path, progress: Progress | None = None) -> dict[str, Any]:
    """Simulate one configuration, publish its files in `directory`, and return its summary."""
    from lsmlab.sim.configuration.trust import trusted_packages

    load_simulation()
    from lsmlab.sim import simulation

    with RunDirectory(directory) as place:
        result = simulation.simulate(simulation.Setting.of(config, trusted_packages()), progress)
        result.save(place.staging)
        place.publish()
    return dict(result.summary)
