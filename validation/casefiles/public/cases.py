"""The public runs of real RocksDB as cases: everything that is scored of ../shared/data/public_runs.

The runs are others' (README of that folder names them); nothing of theirs is committed here. Each table is described by a
file in tables/, which table.py reads. Repeats of one configuration become one case with the mean and the noise between
them. Rows of configurations in `CALIBRATION` were used to fit the machines' constants (configs/parameters); the others
are test rows, which no constant has seen.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lsmlab.validation.casefiles.case import Case, case_from_mapping
from lsmlab.validation.casefiles.public.table import DATA, common, descriptions, runs_of
from lsmlab.validation.casefiles.public.template import NOTHING, value_of

CONDITIONS: Final = Path(__file__).with_name("sessions.yaml")
"""Write bandwidth of each device by session, fitted to the calibration runs by validation/calibrate/public.py."""
CALIBRATION: Final = tuple(start for about in descriptions().values() for start in about.get("calibration", ()))
"""Beginnings of names: of each session the run with the fewest jobs or the lowest rate. The constants were fitted to
their job records; all other runs are test runs."""


def public_cases(data: Path = DATA, sets: tuple[str, ...] = ()) -> Iterator[Case]:
    """All public runs below `data`, or those of some sets. Raises InputError if the data are not there."""
    for name in sets or descriptions():
        for mapping in merged(runs_of(name, data)):
            yield case_from_mapping(mapping, data)


def merged(mappings: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Repeats of one configuration as one mapping: means, and the range between repeats relative to the mean."""
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
    """Whether the constants were fitted to the job records of the case of this name."""
    return name.startswith(CALIBRATION)


def session_of(mapping: Mapping[str, Any]) -> str:
    """The session in which a run was made, by the path in its source; empty for runs of other machines."""
    path = str(mapping["source"]).split()[1].rstrip(":")
    session = value_of({"column": "path", "beginnings": common()["sessions"]}, {"path": path})
    return "" if session is NOTHING else str(session)


def _mean_and_range(runs: list[dict[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    mean, spread = {}, {}
    for key in runs[0]:
        values = [run[key] for run in runs if key in run]
        mean[key] = statistics.mean(values)
        if len(values) > 1 and mean[key]:
            spread[key] = (max(values) - min(values)) / mean[key]
    return mean, spread
