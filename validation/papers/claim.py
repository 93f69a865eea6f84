"""What a paper claims: a figure, the settings that it comes from, and how to read it off simulated runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Setting:
    """One configuration to simulate."""

    name: str
    """Unique within the paper: "rocksdb_load_a"."""
    overrides: tuple[str, ...]
    """As on the command line of `lsmlab run`: ("experiment=vlsm_load_a", "engine=rocksdb_overflow")."""
    seeds: int | None = None
    """Most seeds to simulate, for a setting that takes long; a claim has the seeds that all of its settings have."""


@dataclass(frozen=True)
class Outcome:
    """What one simulated run left. docs/reference/summary.md defines the numbers and columns."""

    summary: Mapping[str, Any]
    """summary.json."""
    series: Mapping[str, Any]
    """Columns of series.parquet, one row per simulated second."""
    jobs: Mapping[str, Any]
    """Columns of jobs.parquet, one row per background job."""
    stalls: Mapping[str, Any]
    """Columns of stalls.parquet, one row per stall."""
    latency: Mapping[str, Any]
    """Columns of latency.parquet, one row per kind of operation and bucket."""


Measure = Callable[[Mapping[str, Outcome]], float]
"""The claim's figure, from the runs of one seed by `Setting.name`."""


@dataclass(frozen=True)
class Claim:
    """One public reference outcome of a paper."""

    id: str
    """Paper, setting and figure: "vlsm.load_a.p99_write"."""
    setting: str
    """One line, for people."""
    published: float | str
    """The figure, or the statement where the paper gives none."""
    accepted: tuple[float, float]
    """Simulated values inside are "reproduced": the paper's own range, or the figure with its stated spread, else with 25 %
    of the effect either way. Written before looking at a simulation."""
    neutral: float
    """Value of "no effect" (1 for a ratio, 0 for a difference): on the same side of it as `accepted` is "direction only"."""
    runs: tuple[Setting, ...]
    measure: Measure
    mechanism: str
    """One line: why, in terms of the model."""
    note: str = ""
    """Arithmetic where the published rules cannot give the figure."""
    tolerance_from: str = ""
    """Where `accepted` comes from."""
