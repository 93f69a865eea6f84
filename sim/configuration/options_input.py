"""RocksDB's options from an OPTIONS file or a LOG's header: as overrides, as data and as text."""

from __future__ import annotations

import itertools
import re
import shlex
import textwrap
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.models.options.ignored import IgnoredOption, merged_ignored
from lsmlab.models.options.options_file import OptionsFile, differing_options, read_options
from lsmlab.models.options.values import plain
from lsmlab.sim.configuration.overrides import literal, override_key

_FEW: Final = 8
"""Largest number of options that a note lists."""
_WIDTH: Final = 120
_NO_KEY: Final = re.compile(r"[^A-Za-z0-9_-]+")
"""Characters that a key of a configuration cannot have; names of column families may have any."""


def with_options_file(path: Path | None, overrides: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the overrides of an options file, if any, followed by `overrides`; and notes for the user.

    Raises InputError if the file cannot be read.
    """
    if path is None:
        return list(overrides), []
    from_file, notes = options_overrides(path, overrides)
    return [*from_file, *overrides], notes


def options_overrides(path: Path, given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return overrides for the options of the file, except keys that `given` overrides, and notes for the user.

    Raises InputError if the file cannot be read.
    """
    options_file = read_options(path)
    overridden = {override_key(text) for text in given}
    values: dict[str, Any] = {"engine.options_file": str(path)}
    if options_file.version is not None:
        values["engine.version"] = str(options_file.version)
    values |= {f"engine.options.{name}": value for name, value in options_file.overrides.items()}
    overrides = [f"{key}={literal(plain(value))}" for key, value in values.items() if key not in overridden]
    notes = [f"{path}: {note}" for note in _notes(options_file, overridden)]
    if len(options_file.families) > 1:
        keys = family_keys(options_file.families)
        overrides += _families(path, options_file, keys)
        names = ", ".join(name for name in options_file.families if name != options_file.column_family)
        notes.append(f"{path}: column families {names} get no load unless workload.families gives them one")
        if renamed := [f"{key} ({name})" for name, key in keys.items() if key != name]:
            notes.append(f"{path}: keys of column families whose names no key can have: {', '.join(renamed)}")
    if ignored := not_simulated(path, options_file):
        overrides.append(f"engine.not_simulated={literal([option.assignment for option in ignored])}")
        command = shlex.join(["lsmlab", "show", "options", str(path)])
        names = ", ".join(f"{option.name} ({option.effect} effect)" for option in ignored[:_FEW])
        more = f" and {len(ignored) - _FEW} more" if len(ignored) > _FEW else ""
        notes.append(f"{path}: not simulated: {names}{more}; this says why: {command}")
    return overrides, notes


def not_simulated(path: Path, options_file: OptionsFile) -> list[IgnoredOption]:
    """Return the options of all column families of a file that matter and are not simulated, each value of a name once.

    Raises InputError if the file cannot be read.
    """
    others = [read_options(path, name) for name in options_file.families if name != options_file.column_family]
    return merged_ignored(file.not_simulated for file in (options_file, *others))


def family_keys(names: Sequence[str]) -> dict[str, str]:
    """Return a key of the configuration for each name of a column family: the name itself if it can be one.

    >>> family_keys(["default", "Shop.Data.User", "Shop_Data_User"])
    {'default': 'default', 'Shop.Data.User': 'Shop_Data_User_2', 'Shop_Data_User': 'Shop_Data_User'}
    """
    keys = {name: name for name in names if name and not _NO_KEY.search(name)}
    taken = set(keys)
    for name in names:
        if name in keys:
            continue
        key = base = _NO_KEY.sub("_", name) or "_"
        for number in itertools.count(2):
            if key not in taken:
                break
            key = f"{base}_{number}"
        keys[name] = key
        taken.add(key)
    return {name: keys[name] for name in names}


def _families(path: Path, options_file: OptionsFile, keys: Mapping[str, str]) -> list[str]:
    """Return overrides for the options in which the other column families differ from `options_file`."""
    overrides = []
    for name, key in keys.items():
        if name == options_file.column_family:
            continue
        options = differing_options(options_file, read_options(path, name))
        overrides += [f"+engine.families.{key}.options.{option}={literal(value)}" for option, value in options.items()]
        if key != name:
            overrides.append(f"+engine.families.{key}.name={literal(name)}")
        elif not options:
            overrides.append(f"+engine.families.{key}={{}}")
    return overrides


def options_shown(path: Path) -> dict[str, Any]:
    """Return the content of a file as data: version, column families, simulated options and ignored options.

    Raises InputError if the file cannot be read.
    """
    options_file = read_options(path)
    return {
        "file": str(path),
        "version": str(options_file.version) if options_file.version else None,
        "column_family": options_file.column_family,
        "column_families": list(options_file.families),
        "options": {name: plain(value) for name, value in sorted(options_file.overrides.items())},
        "not_simulated": [option.as_data() for option in not_simulated(path, options_file)],
        "ignored": sorted(options_file.ignored),
        "notes": _notes(options_file, ()),
    }


def options_text(content: dict[str, Any]) -> str:
    """Return the content of a file (`options_shown`) as text for a terminal."""
    taken = content["options"]
    others = [name for name in content["column_families"] if name != content["column_family"]]
    width = max(map(len, taken), default=0)
    version = content["version"] or "of unknown release"
    lines = [f"{content['file']}: RocksDB {version}, column family {content['column_family']}", ""]
    lines += [f"taken ({len(taken)}):", *(f"  {name:<{width}}  {literal(value)}" for name, value in taken.items()), ""]
    matter = content["not_simulated"]
    lines += [f"not simulated, and different from the default ({len(matter)}):"]
    for text in (f"{one['effect']}: {one['name']}={one['value']}: {one['reason']}" for one in matter):
        lines += textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    silent = sorted(set(content["ignored"]) - {one["name"] for one in matter})
    ignored = textwrap.wrap(", ".join(silent), _WIDTH - 2, break_on_hyphens=False)
    lines += ["", f"ignored, with the default or without effect ({len(silent)}):", *(f"  {line}" for line in ignored)]
    if others:
        lines += ["", f"other column families: {', '.join(others)}"]
    if content["notes"]:
        lines += ["", *(f"note: {note}" for note in content["notes"])]
    return "\n".join(lines) + "\n"


def _notes(options_file: OptionsFile, overridden: Collection[str]) -> list[str]:
    """Return the notes of a reader, without those on values that an override of these keys gives."""
    untold = [note for name, note in options_file.untold.items() if f"engine.options.{name}" not in overridden]
    if options_file.version is None and "engine.version" not in overridden:
        untold.append("the file names no version; set engine.version if the default is wrong")
    return [*options_file.notes, *untold]
