"""Builds cases from published runs of real RocksDB in ../shared/data/public_runs.

Other people made these runs (the README of that folder names the authors); this repository contains none of the data. A
file in tables/ describes each table; table.py reads both. Repeats of one configuration become one case with their mean
and range. The constants of the machines (configs/parameters) were fitted to the configurations in `CALIBRATION`. All
other rows are test rows: no constant was fitted to them.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from lsmlab.validation.casefiles.case import Case, case_from_mapping
from lsmlab.validation.casefiles.public.table import DATA, FIRST, SECOND, descriptions, runs_of, spread

CALIBRATION: Final = frozenset(name for about in descriptions().values() for name in about.get("calibration", ()))
"""Names of calibration runs: in each session, the run with the fewest jobs or the lowest rate, if it has a LOG.
Constants were fitted to the job records of these runs; all other runs are test runs."""
DRIVES: Final = frozenset(name for about in descriptions(SECOND).values() for name in about.get("drives", ()))
"""Names of the runs whose LOG gives the write bandwidth of a drive in its session, and no other constant."""


def public_cases(data: Path = DATA, sets: tuple[str, ...] = (), folder: str = FIRST) -> Iterator[Case]:
    """Yield the cases of all sets of a folder of descriptions, or of the named sets. Raises InputError without data."""
    for name in sets or descriptions(folder):
        for mapping in merged(runs_of(name, data)):
            yield case_from_mapping(mapping, data)


def calibration_cases(data: Path = DATA) -> Iterator[Case]:
    """Yield the calibration runs of both folders that LSMLab can simulate; none where the data are missing."""
    for place, folder in ((data, FIRST), (data.with_name("public_runs_2"), SECOND)):
        if place.is_dir():
            for case in public_cases(data, folder=folder):
                if case.part == "calibration" and case.logs and not case.not_expressed:
                    yield case


def merged(mappings: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Combine repeats of one configuration into one mapping with their means and range / mean."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for mapping in mappings:
        groups[mapping["name"]].append(mapping)
    for name, group in groups.items():
        first = dict(group[0])
        first["part"] = "calibration" if is_calibration(name) else "test"
        logs = [m["log"] for m in group if m.get("log")]
        first.pop("log", None)
        if logs:
            first["log"] = logs[0] if len(logs) == 1 else logs
        if len(group) > 1:
            first["measured"], first["noise"] = _mean_and_range([m["measured"] for m in group])
        yield first


def is_calibration(name: str) -> bool:
    """Whether constants were fitted to the job records of the case of this name."""
    return name in CALIBRATION or name in DRIVES


def _mean_and_range(runs: list[dict[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    mean, ranges = {}, {}
    for key in runs[0]:
        values = [run[key] for run in runs if key in run]
        mean[key] = statistics.mean(values)
        if len(values) > 1 and mean[key]:
            ranges[key] = spread(values)
    return mean, ranges
