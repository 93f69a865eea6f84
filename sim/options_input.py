"""RocksDB's options from an OPTIONS file or a LOG's header, as overrides of the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsmlab.models.engines.options_file import read_options
from lsmlab.sim.compose import literal, override_key


def options_overrides(path: Path, given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Overrides for what the file says, without those that `given` sets itself, and notes for the reader.

    Raises InputError if the file cannot be read.
    """
    found = read_options(path)
    own = {override_key(text) for text in given}
    values: dict[str, Any] = {"engine.options_file": str(path)}
    if found.version is not None:
        values["engine.version"] = str(found.version)
    values |= {f"engine.options.{name}": value for name, value in found.overrides.items()}
    overrides = [f"{key}={literal(_plain(value))}" for key, value in values.items() if key not in own]
    notes = [f"{path}: {note}" for note in found.notes]
    if found.version is None:
        notes.append(f"{path}: it does not name a version; set engine.version if the default is not right")
    if found.ignored:
        notes.append(f"{path}: {len(found.ignored)} options ignored: {', '.join(found.ignored)}")
    return overrides, notes


def _plain(value: Any) -> Any:
    """A typed option value as YAML knows it."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return getattr(value, "value", value)
