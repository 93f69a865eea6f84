"""Settings in which the runs of a page differ: those that the user changed first, those that follow from them folded away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lsmlab.reports.comparison.members import ShownRun
from lsmlab.reports.parts import Part, Section, Table, folded, paragraph, preformatted
from lsmlab.sim.yaml_text import parse_yaml

Row = tuple[str, list[str]]
"""Key, and its value in each run."""
_MISSING = "not set"


def settings_section(shown: Sequence[ShownRun]) -> Section:
    """Return the section with the differing settings, and each whole config.yaml."""
    changed, following = differing([flat(one.run.config_text) for one in shown], [one.choices for one in shown])
    names = [one.name for one in shown]
    parts: list[Part] = [_table(changed, names) if changed else paragraph("The configurations do not differ.")]
    if following:
        parts.append(folded(f"{len(following)} values that follow from them", _table(following, names)))
    parts += [folded(f"config.yaml of {one.name}", preformatted(one.run.config_text)) for one in shown]
    return Section("configuration", "Differences of the settings", parts)


def differing(configs: Sequence[Mapping[str, str]], choices: Sequence[Mapping[str, str]]) -> tuple[list[Row], list[Row]]:
    """Return the settings that the user changed, and the other settings in which the configurations differ.

    Without `choices`, an entry stands for its group: if the names of two drives differ, so do their constants.

    >>> one = {"device.name": "a", "device.bandwidth": "1", "seed": "1"}
    >>> differing([one, {"device.name": "b", "device.bandwidth": "2", "seed": "2"}], [{}, {}])
    ([('device', ['a', 'b']), ('seed', ['1', '2'])], [('device.bandwidth', ['1', '2'])])
    """
    keys = dict.fromkeys(key for values in configs for key in values)
    rows = [(key, [values.get(key, _MISSING) for values in configs]) for key in keys]
    rows = [(key, values) for key, values in rows if len(set(values)) > 1]
    chosen = dict.fromkeys(key for one in choices for key in one)
    if chosen:
        first = [(key, [one.get(key, _MISSING) for one in choices]) for key in chosen]
        first = [(key, values) for key, values in first if len(set(values)) > 1]
        return first, [(key, values) for key, values in rows if key not in chosen]
    entries = {key.removesuffix(".name"): values for key, values in rows if key.endswith(".name") and key.count(".") == 1}
    own = [row for row in rows if row[0].partition(".")[0] not in entries]
    following = [row for row in rows if row not in own and row[0].removesuffix(".name") not in entries]
    return [*entries.items(), *own], following


def flat(config: str) -> dict[str, str]:
    """Return the values of a configuration as text by dotted key."""
    result: dict[str, str] = {}

    def walk(prefix: str, value: object) -> None:
        if isinstance(value, dict) and value:
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else str(key), inner)
        else:
            result[prefix] = "null" if value is None else str(value)

    walk("", parse_yaml(config, "config.yaml") if config else {})
    return result


def _table(rows: Sequence[Row], names: Sequence[str]) -> Table:
    body = [(key.removeprefix("engine.options."), *values) for key, values in rows]
    return Table(["setting", *names], body, texts=range(len(names) + 1))
