"""RocksDB's options from an OPTIONS file or a LOG's header: as overrides, as data and as text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.options_file import OptionsFile, read_options
from lsmlab.models.options.scope import DATABASE_OPTIONS
from lsmlab.sim.configuration.compose import literal, override_key

_FEW: Final = 8
"""Largest number of ignored options that a note lists; RocksDB writes over a hundred that are not simulated."""
_WIDTH: Final = 120
_FAMILY_NAME: Final = re.compile(r"[\w-]+")


def options_overrides(path: Path, given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return overrides for the options of the file, except keys that `given` overrides, and notes for the user.

    Raises InputError if the file cannot be read.
    """
    found = read_options(path)
    own = {override_key(text) for text in given}
    values: dict[str, Any] = {"engine.options_file": str(path)}
    if found.version is not None:
        values["engine.version"] = str(found.version)
    values |= {f"engine.options.{name}": value for name, value in found.overrides.items()}
    overrides = [f"{key}={literal(_plain(value))}" for key, value in values.items() if key not in own]
    notes = [f"{path}: {note}" for note in _notes(found)]
    if len(found.families) > 1:
        overrides += _families(path, found)
        names = ", ".join(name for name in found.families if name != found.column_family)
        notes.append(f"{path}: column families {names} get no load unless workload.families gives them one")
    if 0 < len(found.ignored) <= _FEW:
        notes.append(f"{path}: ignored, not simulated: {', '.join(found.ignored)}")
    elif found.ignored:
        notes.append(f"{path}: {len(found.ignored)} options ignored, not simulated ('lsmlab show options' lists them)")
    return overrides, notes


def _families(path: Path, found: OptionsFile) -> list[str]:
    """Return overrides for the options in which the other column families differ from `found`."""
    overrides = []
    for name in found.families:
        if name == found.column_family:
            continue
        if not _FAMILY_NAME.fullmatch(name):
            raise InputError(f"{path}: column family {name!r}: use only letters, digits, _ and - in its name")
        own = read_options(path, name).overrides
        options = {
            option: _plain(value)
            for option, value in own.items()
            if option not in DATABASE_OPTIONS and value != found.overrides.get(option)
        }
        overrides += [f"+engine.families.{name}.options.{option}={literal(value)}" for option, value in options.items()]
        if not options:
            overrides.append(f"+engine.families.{name}={{}}")
    return overrides


def options_shown(path: Path) -> dict[str, Any]:
    """Return the content of a file as data: version, column families, simulated options and ignored options.

    Raises InputError if the file cannot be read.
    """
    found = read_options(path)
    return {
        "file": str(path),
        "version": str(found.version) if found.version else None,
        "column_family": found.column_family,
        "column_families": list(found.families),
        "options": {name: _plain(value) for name, value in sorted(found.overrides.items())},
        "ignored": sorted(found.ignored),
        "notes": _notes(found),
    }


def options_text(shown: dict[str, Any]) -> str:
    """Return the content of a file (`options_shown`) as text for a terminal."""
    taken = shown["options"]
    others = [name for name in shown["column_families"] if name != shown["column_family"]]
    width = max(map(len, taken), default=0)
    lines = [f"{shown['file']}: RocksDB {shown['version'] or 'of unknown release'}, column family {shown['column_family']}", ""]
    lines += [f"taken ({len(taken)}):", *(f"  {name:<{width}}  {literal(value)}" for name, value in taken.items()), ""]
    ignored = textwrap.wrap(", ".join(shown["ignored"]), _WIDTH - 2, break_on_hyphens=False)
    lines += [f"ignored, not simulated ({len(shown['ignored'])}):", *(f"  {line}" for line in ignored)]
    if others:
        lines += ["", f"other column families: {', '.join(others)}"]
    if shown["notes"]:
        lines += ["", *(f"note: {note}" for note in shown["notes"])]
    return "\n".join(lines) + "\n"


def _notes(found: OptionsFile) -> list[str]:
    unknown = ["the file names no version; set engine.version if the default is wrong"] if found.version is None else []
    return [*found.notes, *unknown]


def _plain(value: Any) -> Any:
    """Convert the typed value of an option to a type that YAML has."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return getattr(value, "value", value)
