"""OPTIONS file of a decision: the user's own file with changed options, or a new one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.engines.make import DEFAULT_FAMILY, family_names
from lsmlab.models.options.fields import DATABASE_OPTIONS
from lsmlab.models.options.options_file import read_options
from lsmlab.models.options.options_text import Form, form_of
from lsmlab.models.options.options_writer import WrittenOptions, edited_options, new_options
from lsmlab.models.options.values import flatten, plain, read_value
from lsmlab.models.text.files import read_text
from lsmlab.models.version import Version
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.studies.baseline import Baseline
from lsmlab.sim.studies.present import Present

FILE = "OPTIONS"
_OPTION: Final = re.compile(r"\+*engine\.(?:families\.(?P<key>[^.]+)\.)?options\.(?P<name>[^=]+)=(?P<value>.*)")
"""Override of an option of RocksDB, of the engine or of one column family."""


@dataclass(frozen=True)
class OptionsAdvice:
    """OPTIONS file that was written."""

    file: str
    changes: list[tuple[str, Any, Any]]
    """Name, value before and value after."""
    in_code: dict[str, str]
    """Changes that only code can make: where to set them, by name."""


def write_options(
    baseline: Baseline, overrides: Sequence[str], summary: Mapping[str, Any], directory: Path
) -> OptionsAdvice | None:
    """Write DIR/OPTIONS with the options that `overrides` change; None if they change no option.

    `summary`: a run of the present state. An option of a column family is named with the family before it.
    """
    config = baseline.compose()
    names = family_names(config["engine"])
    changed: dict[str, dict[str, str]] = {}
    changes = []
    for found in filter(None, map(_OPTION.fullmatch, overrides)):
        key, name, value = found["key"] or "", found["name"], found["value"]
        state = Present.of(summary, config).of_family(names.get(key, DEFAULT_FAMILY))
        before, after = state.options.get(name) if state else None, plain(read_value(name, value))
        if before != after:
            changed.setdefault(key, {})[name] = value
            changes.append((f"{key}.{name}" if key else name, before, after))
    if not changed:
        return None
    written = _written(config, changed, summary)
    (directory / FILE).write_text(written.text, encoding="utf-8")
    return OptionsAdvice(display_path(directory / FILE), changes, dict(written.in_code))


def _written(
    config: Mapping[str, Any], changed: Mapping[str, Mapping[str, str]], summary: Mapping[str, Any]
) -> WrittenOptions:
    """Return the user's OPTIONS file with the changes; without such a file, one with the options of the configuration.

    `changed`: new values by option, by the key of their column family.
    """
    engine = config["engine"]
    options, own = flatten(engine["options"]), _own_options(engine)
    by_family = _by_family(changed, own)
    own_file = engine.get("options_file")
    if own_file and Path(own_file).is_file() and not Path(own_file).suffix:
        text = read_text(Path(own_file))
        if form_of(text.splitlines()[:200]) is Form.INI:
            read_options(own_file)  # names the line of an error
            in_code: dict[str, str] = {}
            for family, values in by_family.items():
                edited = edited_options(text, values, family)
                text = edited.text
                in_code |= edited.in_code
            return WrittenOptions(text, in_code)
    changes = by_family.pop(DEFAULT_FAMILY, {})
    families = {name: {**options, **given, **by_family.get(name, {})} for name, given in own.values() if name != DEFAULT_FAMILY}
    written = new_options(Version.parse(str(summary["engine_version"])), {**options, **changes}, families)
    return WrittenOptions(written.text, {k: v for k, v in written.in_code.items() if k in changes})


def _own_options(engine: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return name and own options of each column family by its key; those of the engine's group have the key ""."""
    specs = {key: engine["families"][key] or {} for key in family_names(engine)}
    own = {key: (name, flatten(specs[key].get("options") or {})) for key, name in family_names(engine).items()}
    return {"": (DEFAULT_FAMILY, {}), **own}


def _by_family(
    changed: Mapping[str, Mapping[str, str]], own: Mapping[str, tuple[str, Mapping[str, Any]]]
) -> dict[str, dict[str, str]]:
    """Return the changes of each family by its name: a family without a value of its own follows the engine's group."""
    found: dict[str, dict[str, str]] = {}
    for key, (name, given) in own.items():
        follows = {k: v for k, v in changed.get("", {}).items() if not key or (k not in given and k not in DATABASE_OPTIONS)}
        if changes := {**follows, **changed.get(key, {})}:
            found[name] = {**found.get(name, {}), **changes}
    return found
