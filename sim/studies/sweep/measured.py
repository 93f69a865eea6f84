"""Results of a sweep as arrays: one row per configuration, one column per seed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.sim.studies.differences import Repeats
from lsmlab.sim.studies.lengths import StoreState, state_of
from lsmlab.sim.studies.metrics import METRICS, OPEN_LOOP, WITHOUT_STALLS
from lsmlab.sim.studies.sweep.query import find_column, read_index
from numpy.typing import NDArray

Values = NDArray[np.float64]
CONFIGURATION: Final = "configuration"
"""Column with the name of a run's configuration, the same for all its seeds."""
SWEEP: Final = "sweep.json"
"""File that describes a sweep: its space, design and seeds."""
_RISING = {metric.name for metric in METRICS if metric.higher_is_better}
_KNOWN = {metric.name for metric in (*METRICS, *OPEN_LOOP)}
_LATENCIES: Final = ("write_latency_s.p99", "read_latency_s.p99")
"""Latencies of the analysis, unless clients wait for a store that stalls."""
_STATE: Final = (
    "duration_s", "settled.settled", "settled.reason", "bottleneck.text", "overload.asked_ops_per_s", "overload.takes_ops_per_s",
)  # fmt: skip
"""Columns with the state of a run's store."""


@dataclass(frozen=True, slots=True)
class Objective:
    """Number of summary.json to maximize or minimize."""

    name: str
    largest: bool

    @property
    def sign(self) -> float:
        """1 if large values are good, else -1."""
        return 1.0 if self.largest else -1.0


@dataclass(frozen=True)
class Measured:
    """Finished runs of a sweep."""

    about: Mapping[str, Any]
    """Content of sweep.json."""
    names: list[str]
    """Configurations, in the order of the design."""
    levels: dict[str, list[Any]]
    """Typed value of each varied key, by configuration."""
    metrics: dict[str, Values]
    """Each number, by configuration and seed; NaN where a run failed or does not have it."""

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len(self.about["seeds"])

    def is_complete(self, metric: str) -> bool:
        """Return whether every configuration of the design has this number with every seed."""
        expected = int(self.about["configurations"])
        return len(self.names) == expected and bool(np.isfinite(self.metrics[metric]).all())


def read_sweep(directory: Path) -> tuple[dict[str, Any], Any]:
    """Return sweep.json and the index of a sweep. Raises InputError if the folder has no sweep."""
    path = directory / SWEEP
    if not path.is_file():
        raise InputError(f"{directory}: no {SWEEP} here; name the folder of an 'lsmlab sweep'")
    return json.loads(path.read_text(encoding="utf-8")), read_index(directory)


def read_measured(directory: Path, wanted: list[str]) -> Measured:
    """Return the numbers `wanted` of a sweep."""
    about, table = read_sweep(directory)
    columns = {name: table[name].to_pylist() for name in (CONFIGURATION, "seed", *about["space"], *wanted)}
    for name in WITHOUT_STALLS.keys() & columns.keys():
        calm = table[WITHOUT_STALLS[name]].to_pylist()
        columns[name] = [own if stalled is None else stalled for stalled, own in zip(columns[name], calm, strict=True)]
    rows = {name: number for number, name in enumerate(dict.fromkeys(columns[CONFIGURATION]))}
    places = {seed: column for column, seed in enumerate(about["seeds"])}
    levels: dict[str, list[Any]] = {key: [None] * len(rows) for key in about["space"]}
    metrics = {name: np.full((len(rows), len(places)), np.nan) for name in wanted}
    for number, (name, seed) in enumerate(zip(columns[CONFIGURATION], columns["seed"], strict=True)):
        for key, values in levels.items():
            values[rows[name]] = columns[key][number]
        for metric, array in metrics.items():
            value = columns[metric][number]
            array[rows[name], places[seed]] = np.nan if value is None else value
    return Measured(about, list(rows), levels, metrics)


def objectives(given: Sequence[str], directory: Path) -> list[Objective]:
    """Return the objectives of a command line: KEY, max:KEY or min:KEY; without any, throughput, P99, write amplification.

    Where clients wait for a store that stalls, P99 is that of an open loop of the same mean rate (`metrics.OPEN_LOOP`). The
    direction of common metrics is known. Raises InputError for an unknown key, or one that needs a direction.
    """
    table = read_sweep(directory)[1]
    found = []
    latencies = (OPEN_LOOP[0].name,) if OPEN_LOOP[0].name in table.column_names else _LATENCIES
    for text in given or ("ops_per_s", *latencies, "write_amplification"):
        direction, colon, rest = text.partition(":")
        name = rest if colon else text
        if not given and (name not in table.column_names or table[name].null_count == len(table)):
            continue
        column = find_column(name, table.column_names)
        if colon and direction not in ("max", "min"):
            raise InputError(f"--objective {text}: the direction must be max or min, as in max:{name}")
        if str(table.schema.field(column).type) not in ("int64", "double"):
            raise InputError(f"--objective {text}: {column} is not a number; choose a numeric key of summary.json")
        if not colon and column not in _KNOWN:
            raise InputError(f"--objective {text}: write max:{name} or min:{name}; LSMLab does not know which of them is better")
        found.append(Objective(column, direction == "max" if colon else column in _RISING))
    return found


def states(directory: Path) -> dict[str, StoreState]:
    """Return the state of each configuration's store; empty for a sweep whose runs do not tell."""
    table = read_sweep(directory)[1]
    if "settled.reason" not in table.column_names:
        return {}
    wanted = [name for name in (CONFIGURATION, *_STATE) if name in table.column_names]
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in table.select(wanted).to_pylist():
        runs.setdefault(row.pop(CONFIGURATION), []).append(_nested(row))
    return {name: state_of(Repeats(own)) for name, own in runs.items()}


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a run as its summary has them, without those that are empty."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        group, dot, key = name.partition(".")
        if value is not None:
            found.update({group: {**found.get(group, {}), key: value}} if dot else {name: value})
    return found
