"""Choice of a user: entries, changed values and loaded files, as overrides, command, YAML entry, name and configuration."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import lsmlab
from lsmlab.models.errors import InputError
from lsmlab.reports.lab.fields import Field, fields_of
from lsmlab.sim.configuration.names import configuration_name
from lsmlab.sim.configuration.overrides import quote
from lsmlab.sim.yaml_text import to_yaml

GROUPS: Final = ("engine", "device", "workload")
"""Groups whose entries the form chooses."""
IMPORTED: Final = "imported"
"""Name of the experiment and of the entries that `lsmlab import` writes."""
_PLAIN: Final = re.compile(r"[\w.%+:/-]+")
_SETTINGS: Final = (*GROUPS, "host", "limits", "keys", "seed")
"""First parts of the keys that the form may set."""
_NESTED: Final = ("[", "{")
_KEY: Final = re.compile(r"[A-Za-z_][\w.-]*")
_MOST_TEXT: Final = 10_000
"""Largest length of a value in characters."""


@dataclass(frozen=True, slots=True)
class FormChoice:
    """Configuration that a user chose in the form."""

    entries: Mapping[str, str] = field(default_factory=dict)
    """Entry by group, for all of `GROUPS`."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Changed values by key, as text."""
    options_file: str = ""
    """Path of an OPTIONS file or a LOG whose options the store has; empty: none."""
    imported: str = ""
    """Folder of `lsmlab import`; empty: none."""

    @classmethod
    def of(cls, content: Any) -> FormChoice:
        """Return the choice that `as_json` wrote. Raises InputError for other content, and for settings of Hydra."""
        if not isinstance(content, Mapping) or not set(content) <= {"entries", "values", "options_file", "imported"}:
            raise InputError("settings: not those of the laboratory; reload the page")
        maps = [{} if content.get(name) is None else content[name] for name in ("entries", "values")]
        files = [content.get(name) or "" for name in ("options_file", "imported")]
        if not all(isinstance(m, Mapping) for m in maps) or not all(isinstance(f, str) for f in files):
            raise InputError("settings: not those of the laboratory; reload the page")
        for key, value in (*maps[0].items(), *maps[1].items()):
            if not _KEY.fullmatch(str(key)) or str(key).partition(".")[0] not in _SETTINGS or not isinstance(value, str):
                raise InputError(f"{str(key)[:60]}: not a setting of the laboratory; choose one from the search field")
            if len(value) > _MOST_TEXT:
                raise InputError(f"{key}: longer than {_MOST_TEXT:,} characters; write a shorter value")
        for group, entry in maps[0].items():
            if group not in GROUPS or not re.fullmatch(r"\w[\w-]*", entry):
                raise InputError(f"{group}={entry[:60]}: no such entry; choose one from the list")
        return cls(maps[0], maps[1], *files)

    def as_json(self) -> dict[str, Any]:
        """Return the choice as plain data."""
        return asdict(self)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders of configuration groups."""
        return (Path(self.imported),) if self.imported else ()

    def base(self) -> FormChoice:
        """Return the choice without changed values."""
        return replace(self, values={})

    def overrides(self) -> list[str]:
        """Return the overrides of a command line, without those of the OPTIONS file."""
        chosen = {group: entry for group, entry in self.entries.items() if not self.imported or entry != IMPORTED}
        start = [f"experiment={IMPORTED}"] if self.imported else []
        return [*start, *(f"{g}={e}" for g, e in chosen.items()), *(_override(k, v) for k, v in self.values.items())]

    def configuration(self) -> dict[str, Any]:
        """Return the composed configuration. Raises InputError for a bad value; the message names its key."""
        return lsmlab.configure(self.overrides(), options=self.options_file or None, config_dirs=self.folders)

    def command(self) -> str:
        """Return the command that simulates this choice."""
        files = ["--config-dir", self.imported] if self.imported else []
        files += ["--options", self.options_file] if self.options_file else []
        return shlex.join(["lsmlab", "run", *files, *self.overrides()])

    def name(self, start: FormChoice) -> str:
        """Return a name: the entries, the values that differ from those of `start`, and the loaded file."""
        before = {} if self.imported else start.values
        head = "{engine} on {device}, {workload}".format(**self.entries)
        texts = {key: text for key, text in self.values.items() if before.get(key) != text}
        if left_out := before.keys() - self.values.keys():
            known = {f.key for f in fields(self.base())}
            texts |= dict.fromkeys((key for key in before if key in left_out & known), "default")
        source = Path(self.options_file or self.imported).name
        return ", ".join(part for part in (head, configuration_name(texts), source) if part)

    def yaml(self) -> str:
        """Return an entry of the group `experiment` for a folder of `--config-dir`; with an import, the whole configuration."""
        config = self.configuration()
        if self.imported:
            return f"# Configuration of: {self.command()}\n{to_yaml(config)}"
        changes = _changes(_of_entries(tuple(self.entries.items())), config)
        chosen = "".join(f"  - override /{group}: {entry}\n" for group, entry in self.entries.items())
        about = "# Save as FOLDER/experiment/mine.yaml, then: lsmlab run --config-dir FOLDER experiment=mine\n"
        return f"# @package _global_\n{about}defaults:\n{chosen}{to_yaml(changes) if changes else ''}"


@lru_cache(maxsize=16)
def _of_entries(entries: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """Return the configuration of entries alone."""
    return FormChoice(dict(entries)).configuration()


def fields(base: FormChoice) -> list[Field]:
    """Return the fields of the form for a choice without changed values. Raises InputError if it does not compose."""
    return _fields(tuple(base.entries.items()), base.options_file, base.imported)


@lru_cache(maxsize=64)
def _fields(entries: tuple[tuple[str, str], ...], options_file: str, imported: str) -> list[Field]:
    choice = FormChoice(dict(entries), {}, options_file, imported)
    return fields_of(choice.configuration(), dict(entries), choice.folders)


def changed_values(texts: Mapping[str, str | None], known: Mapping[str, Field]) -> dict[str, str]:
    """Return the texts of fields that differ from the defaults; an empty text means the default."""
    return {
        key: text.strip() for key, text in texts.items()
        if key in known and text is not None and text.strip() not in ("", known[key].default)
    }  # fmt: skip


def _override(key: str, value: str) -> str:
    """Return the override that sets a key; text with special characters is quoted, so that it stays one value.

    >>> _override("workload.num", "20M"), _override("workload.file", "my file.csv"), _override("device.name", "a,b")
    ('workload.num=20M', "workload.file='my file.csv'", "device.name='a,b'")
    """
    plain = _PLAIN.fullmatch(value) or value.startswith(_NESTED)
    return f"{key}={value if plain else quote(value)}"


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `after` that differ from those of `before`, in the same nesting.

    >>> _changes({"host": {"cores": 8, "memory": "64GiB"}}, {"host": {"cores": 4, "memory": "64GiB"}})
    {'host': {'cores': 4}}
    """
    found: dict[str, Any] = {}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            found |= {key: inner} if (inner := _changes(old, value)) else {}
        elif key not in before or value != old:
            found[key] = value
    return found
