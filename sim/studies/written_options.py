"""OPTIONS file of a decision: the user's own file with changed options, or a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsmlab.models.options.options_file import read_options
from lsmlab.models.options.options_text import Form, form_of
from lsmlab.models.options.options_writer import WrittenOptions, edited_options, new_options
from lsmlab.models.options.values import flatten, plain, read_value
from lsmlab.models.text.files import read_text
from lsmlab.models.version import Version
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.studies.baseline import Baseline
from lsmlab.sim.studies.present import OPTIONS

FILE = "OPTIONS"


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

    `summary`: a run of the present state.
    """
    before = flatten(summary["options"])
    pairs = [text.partition("=") for text in overrides if text.startswith(f"{OPTIONS}.")]
    named = {key.removeprefix(f"{OPTIONS}."): value for key, _, value in pairs}
    changed = {name: v for name, v in named.items() if plain(read_value(name, v)) != before.get(name)}
    if not changed:
        return None
    written = _written(baseline.compose(), changed, summary)
    (directory / FILE).write_text(written.text, encoding="utf-8")
    changes = [(name, before.get(name), plain(read_value(name, value))) for name, value in changed.items()]
    return OptionsAdvice(display_path(directory / FILE), changes, dict(written.in_code))


def _written(config: Mapping[str, Any], changed: Mapping[str, str], summary: Mapping[str, Any]) -> WrittenOptions:
    """Return the user's OPTIONS file with the changes; without such a file, one with the options of the configuration."""
    engine = config["engine"]
    own = engine.get("options_file")
    if own and Path(own).is_file() and not Path(own).suffix:
        text = read_text(Path(own))
        if form_of(text.splitlines()[:200]) is Form.INI:
            read_options(own)  # names the line of an error
            return edited_options(text, changed)
    options = {**flatten(engine["options"]), **changed}
    written = new_options(Version.parse(str(summary["engine_version"])), options)
    return WrittenOptions(written.text, {k: v for k, v in written.in_code.items() if k in changed})
