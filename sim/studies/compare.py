"""Comparison of configurations that ran with the same seeds: the combinations of comma lists, or variants of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.configuration.combinations import VariantsFile, combinations, read_variants, without_quotes
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.names import configuration_name, folder_names
from lsmlab.sim.configuration.options_input import with_options_file
from lsmlab.sim.results.jsontext import write_json
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.estimate import CostEstimate
from lsmlab.sim.studies.baseline import sets_duration
from lsmlab.sim.studies.differences import Difference, Repeats, differences
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.lengths import StoreState, state_of, until_settled
from lsmlab.sim.studies.request import SettledRequest, argument, command_of, option
from lsmlab.sim.studies.study import RunRow, Study, Variant

FILE: Final = "comparison.json"
VARIANTS: Final = "variants.json"
"""File with the variants that ran."""


@dataclass(frozen=True, kw_only=True)
class CompareRequest(SettledRequest):
    """Simulate all combinations of comma lists and print their results side by side."""

    overrides: tuple[str, ...] = argument("KEY=VALUE", "override; comma lists are combined", several=True, least=0)
    variants: str | None = option(
        None, "run each variant of configs/comparison/NAME.yaml (or of a file) in each of its settings", metavar="NAME"
    )
    options: Path | None = option(
        None, "take RocksDB's options from an OPTIONS file or a LOG (plain or .gz); overrides win", metavar="FILE"
    )
    replications: int = option(
        1, "seeds of each configuration (default: 1)", metavar="N", low=1
    )


@dataclass(frozen=True)
class ComparedRun:
    """A configuration of a comparison."""

    name: str
    """Short name for people, such as "sata, 4 jobs"."""
    folder: str
    """Folder of the first seed's files, in the folder of the comparison."""
    choices: dict[str, str]
    """Values in which it differs from the others, by key, without quotes."""
    seeds: list[int]
    values: dict[str, float]
    """Mean of each metric over the seeds."""
    differences: list[Difference]
    """Differences from the first configuration; empty for the first one itself."""
    state: StoreState


@dataclass(frozen=True)
class Comparison(Document):
    """Configurations side by side; the content of comparison.json."""

    runs: list[ComparedRun]
    command: str = ""
    """Command that repeats the comparison."""


@dataclass(frozen=True)
class Member:
    """A configuration with its results."""

    folder: str
    choices: Mapping[str, str]
    repeats: Repeats


@dataclass(frozen=True)
class Compared:
    """A comparison whose runs have ended."""

    finished: list[RunRow]
    """Finished runs of the first seeds, in the order of the configurations."""
    failures: list[RunRow]
    comparison: Comparison | None
    """None for variants, and if no configuration finished."""


@dataclass(frozen=True)
class Planned:
    """Configurations of a comparison, before they run."""

    request: CompareRequest
    overrides: Sequence[str]
    """Overrides of the first configuration."""
    configs: Sequence[Mapping[str, Any]]
    choices: Sequence[Mapping[str, str]]
    """Values in which each configuration differs from the others, by key, without quotes."""
    variants: VariantsFile | None
    notes: Sequence[str] = ()
    """What the file of options lacks, or what is not simulated of it."""


def planned(request: CompareRequest) -> Planned:
    """Compose all configurations of a comparison. Raises InputError for one that is not possible."""
    variants = read_variants(request.variants) if request.variants is not None else None
    overrides, notes = with_options_file(request.options, request.overrides)
    selected = combinations(overrides, variants)
    configs = [compose(combination.overrides, request.config_dirs) for combination in selected]
    choices = [without_quotes(combination.chosen) for combination in selected]
    return Planned(request, selected[0].overrides, configs, choices, variants, notes)


def _study(asked: Planned, folder: Path | None) -> Study:
    replications = asked.request.replications
    folders = folder_names([configuration_name(choices) for choices in asked.choices])
    variants = {
        name: Variant(config, choices, None if folder is None else folder / name)
        for name, config, choices in zip(folders, asked.configs, asked.choices, strict=True)
    }
    return Study(variants, replications, perturbed=replications > 1)


def cost(asked: Planned, runs: Settings) -> CostEstimate:
    """Return the estimated cost of the runs that the run store lacks."""
    return _study(asked, None).cost(runs)


def compare_all(asked: Planned, runs: Settings, folder: Path) -> Compared:
    """Simulate all configurations, each into its own folder in `folder`, and compare them with the first one.

    `folder` gets comparison.json, or variants.json for the variants of a file.
    """
    if asked.variants is not None:
        write_json(folder / VARIANTS, asked.variants.as_json())
    else:
        (folder / VARIANTS).unlink(missing_ok=True)  # from an earlier comparison in the same folder
    study = _study(asked, folder)
    settled = asked.request.settled
    if settled is None:
        settled = asked.variants is None and not sets_duration(asked.overrides)
    if settled:
        study = until_settled(study, runs)
    outcome = study.run(runs, [folder])
    members = [
        Member(name, variant.choices, outcome.repeats(name))
        for name, variant in study.variants.items()
        if outcome.finished(name)
    ]
    comparison = side_by_side(members, command_of("compare", asked.request)) if members and asked.variants is None else None
    if comparison is not None:
        comparison.write(folder / FILE)
    finished = [row for name in study.variants if (row := outcome.of(name)[0]).error is None]
    return Compared(finished, outcome.failures, comparison)


def side_by_side(members: Sequence[Member], command: str = "") -> Comparison:
    """Compare each configuration with the first one. `command`: the command that repeats it."""
    first = members[0]
    return Comparison([
        ComparedRun(
            configuration_name(one.choices) or "run", one.folder, dict(one.choices), one.repeats.seeds, one.repeats.means(),
            [] if one is first else differences(first.repeats, one.repeats), state_of(one.repeats),
        )
        for one in members
    ], command)  # fmt: skip
