"""Baseline of a study: the store in question, from an imported LOG, a finished run, or overrides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.catalogue import IN_MEMORY, ConfigFolder
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.results.reading import SUMMARY, read_summary
from lsmlab.sim.studies.request import Request, argument, option
from lsmlab.sim.studies.stored_configuration import changed, read_config


@dataclass(frozen=True, kw_only=True)
class StoreRequest(Request):
    """Question about one store, which runs with several seeds."""

    store: str = argument(
        "RUN", "folder of 'lsmlab import', folder of a run, or an override such as experiment=NAME"
    )
    set: tuple[str, ...] = option((), "override for all runs", metavar="KEY=VALUE")
    replications: int = option(5, "seeds per configuration (default: 5)", metavar="N", low=1)


@dataclass(frozen=True)
class Baseline:
    """Store whose present state and alternatives are simulated."""

    name: str
    """Folder or override by which the user named it."""
    overrides: tuple[str, ...] = ()
    """Overrides of the present state; without `stored` they choose its entries too."""
    folders: tuple[ConfigFolder, ...] = ()
    """Folders of configuration groups."""
    stored: Mapping[str, Any] | None = None
    """Configuration of a finished run; None: the overrides give it."""
    recorded: Mapping[str, Any] | None = None
    """Summary of the LOG or of the run; None if the store was named by an override."""
    from_a_log: bool = False
    """Whether the constants of the machine come from one LOG."""

    def compose_all(self, changes: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """Return one configuration for each sequence of overrides, on top of the present state."""
        if self.stored is None:
            return [compose([*self.overrides, *own], self.folders) for own in changes]
        return [changed(self.stored, [*self.overrides, *own], self.folders) for own in changes]

    def compose(self, changes: Sequence[str] = ()) -> dict[str, Any]:
        """Return the configuration with these overrides on top of the present state."""
        return self.compose_all([changes])[0]


def read_baseline(name: str, overrides: Sequence[str] = (), folders: Sequence[Path] = ()) -> Baseline:
    """Return the store that `name` means: a folder of `lsmlab import`, on disk or in memory, that of a run, or an override.

    `overrides` apply to the present state and to all alternatives. Raises InputError for any other folder.
    """
    if (in_memory := IN_MEMORY.get(name)) is not None:
        return _imported(name, in_memory, in_memory.summary, overrides, folders)
    folder = Path(name)
    if not folder.exists() and "=" in name:
        return Baseline(name, (name, *overrides), tuple(folders))
    if not folder.is_dir():
        raise InputError(f"{name}: no such folder; name a folder of 'lsmlab import', a run's folder, or experiment=NAME")
    if (folder / "experiment").is_dir():
        return _imported(name, folder, read_summary(folder), overrides, folders)
    first = folder if (folder / "config.yaml").is_file() else folder / "seed_1"
    if not (first / "config.yaml").is_file():
        raise InputError(f"{name}: contains no experiment/ of an import and no config.yaml of a run; choose such a folder")
    summary = read_summary(first) if (first / SUMMARY).is_file() else None
    return Baseline(name, tuple(overrides), tuple(folders), stored=read_config(first / "config.yaml"), recorded=summary)


def _imported(
    name: str, folder: ConfigFolder, recorded: Mapping[str, Any], overrides: Sequence[str], folders: Sequence[Path]
) -> Baseline:
    """Return the store of a LOG with the load that repeats the real one."""
    experiment = (recorded.get("import") or {}).get("experiment", "imported")
    return Baseline(
        name, (f"experiment={experiment}", *overrides), (folder, *folders), recorded=recorded, from_a_log=True
    )
