"""Runs of a comparison page: data, short names, and differences from the first run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.reports.figures.base import without_shared
from lsmlab.reports.run_data import RunData, configuration, load_run
from lsmlab.sim.configuration.names import configuration_name
from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.runs.store import ABOUT
from lsmlab.sim.studies.compare import FILE, Comparison, Member, side_by_side
from lsmlab.sim.studies.differences import Difference, Repeats
from lsmlab.sim.studies.lengths import StoreState


@dataclass(frozen=True)
class ShownRun:
    """A run of the page."""

    run: RunData
    name: str
    """Short name: the choices of the command that made the runs, or the name of the folder."""
    choices: Mapping[str, str]
    """Values that the command varied, by key; empty for runs of different commands."""
    seeds: int
    """Number of seeds behind `values` and `differences`."""
    differences: Sequence[Difference]
    """Differences from the first run; empty for the first run itself."""
    state: StoreState


def members(runs: Sequence[RunData], directory: Path) -> list[ShownRun]:
    """Return the runs of a page with their names; differences are those of DIR/comparison.json, or of the runs alone."""
    choices = [_choices(run.directory) for run in runs]
    if len({frozenset(c) for c in choices}) > 1 or not all(choices):
        choices = [{} for _ in runs]
    full = [configuration_name(c) or run.name for run, c in zip(runs, choices, strict=True)]
    names = _distinct(without_shared(full))
    rows = {row.folder: row for row in _answer(runs, choices, directory).runs}
    return [
        ShownRun(run, name, chosen, len(rows[run.name].seeds), rows[run.name].differences, rows[run.name].state)
        for run, name, chosen in zip(runs, names, choices, strict=True)
    ]


def command_of(directory: Path) -> str:
    """Return the command that repeats the comparison of a folder; "" if the folder has none."""
    try:
        return Comparison.read(directory / FILE).command
    except InputError:
        return ""


def of_configurations(seeds_of: Mapping[str, Sequence[Path]]) -> list[ShownRun]:
    """Return configurations with the folders of all their seeds, compared with the first one; the first seed is drawn."""
    if not seeds_of:
        return []
    runs = [load_run(folders[0]) for folders in seeds_of.values()]
    choices = [{key: value for key, value in _choices(run.directory).items() if key != "seed"} for run in runs]
    repeats = [
        Repeats([read_summary(folder) for folder in folders], config=configuration(run))
        for run, folders in zip(runs, seeds_of.values(), strict=True)
    ]
    names = without_shared(list(seeds_of))
    parts = zip(runs, choices, repeats, strict=True)
    answer = side_by_side([Member(run.name, chosen, own) for run, chosen, own in parts])
    return [
        ShownRun(run, name, chosen, len(row.seeds), row.differences, row.state)
        for run, name, chosen, row in zip(runs, names, choices, answer.runs, strict=True)
    ]


def shared_name(shown: Sequence[ShownRun]) -> str:
    """Return the choices that all runs of a page share, which their names leave out; "" without any."""
    first = shown[0].choices
    same = {key: value for key, value in first.items() if all(one.choices.get(key) == value for one in shown)}
    return configuration_name(same) if len(shown) > 1 else ""


def _answer(runs: Sequence[RunData], choices: Sequence[Mapping[str, str]], directory: Path) -> Comparison:
    """Return comparison.json if it is about these runs, else the comparison of their summaries, one seed each."""
    try:
        known = Comparison.read(directory / FILE)
        if [row.folder for row in known.runs][: len(runs)] == [run.name for run in runs]:
            return known
    except InputError:  # no comparison, or a damaged one
        pass
    repeats = [Repeats([run.summary], config=configuration(run)) for run in runs]
    alone = [Member(run.name, c, own) for run, c, own in zip(runs, choices, repeats, strict=True)]
    return side_by_side(alone)


def _choices(folder: Path) -> dict[str, str]:
    """Return the values by which the command that made a run distinguished it; empty for a single run."""
    try:
        found = json.loads((folder / ABOUT).read_text(encoding="utf-8")).get("choices") or {}
        return {str(key): str(value) for key, value in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with a number behind those that occur a second time."""
    found: list[str] = []
    for name in names:
        found.append(name if name not in found else f"{name} ({len(found) + 1})")
    return found
