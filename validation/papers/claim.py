"""A claim of a paper: its figure, the settings to simulate, and the measure that computes it from simulated runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

KINDS: Final = ("number", "direction", "word")
"""What a paper says of a figure: its number, which way it goes, or something else in words."""


@dataclass(frozen=True)
class PaperSetting:
    """One configuration to simulate."""

    name: str
    """Name, unique within the paper, such as "rocksdb_load_a"."""
    overrides: tuple[str, ...]
    """Overrides for `lsmlab run`, such as ("experiment=vlsm_load_a", "engine=rocksdb_overflow"). They may have places
    `{expression:format}` for numbers of `profiles`."""
    seeds: int | None = None
    """Largest number of seeds, for a slow setting; a claim uses the seeds that all of its settings have."""
    profiles: tuple[PaperSetting, ...] = ()
    """Settings to simulate first, whose numbers fill the places."""


@dataclass(frozen=True)
class PaperRun:
    """Results of one simulated run. docs/reference/summary.md defines the numbers and columns."""

    summary: Mapping[str, Any]
    """Content of summary.json."""
    series: Mapping[str, Any]
    """Columns of series.parquet, one row per simulated second."""
    jobs: Mapping[str, Any]
    """Columns of jobs.parquet, one row per background job."""
    stalls: Mapping[str, Any]
    """Columns of stalls.parquet, one row per stall."""
    latency: Mapping[str, Any]
    """Columns of latency.parquet, one row per kind of operation and bucket."""


PaperMeasure = Callable[[Mapping[str, PaperRun]], float]
"""Function that computes the claim's figure from the runs of one seed, by `PaperSetting.name`."""


@dataclass(frozen=True)
class Claim:
    """One published result of a paper."""

    id: str
    """Paper, setting and figure, such as "vlsm.load_a.p99_write"."""
    setting: str
    """Description of the setting, one line."""
    published: float | str
    """Published figure; a statement if the paper gives no figure."""
    accepted: tuple[float, float]
    """Range of simulated values that count as reproduced: the paper's range, or the figure with its stated spread, else
    the figure with 25 % of the effect either way. Written before the first simulation."""
    neutral: float
    """Value of "no effect": 1 for a ratio, 0 for a difference. A simulated value outside of `accepted`, but on the same
    side of `neutral`, is "direction only"."""
    runs: tuple[PaperSetting, ...]
    measure: PaperMeasure
    mechanism: str
    """Cause of the effect in terms of the model, one line."""
    note: str = ""
    """Explanation of a difference, with the arithmetic if the published rules cannot give the figure."""
    tolerance_from: str = ""
    """Origin of `accepted`."""
    kind: str = "word"
    """One of KINDS, from the published figure."""
    source: str = ""
    """Section, figure or table of the paper."""
