"""Subcommands `list` (entries of the configuration groups) and `show` (values of one entry, with their sources)."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import parser_of, read
from lsmlab.sim.configuration.catalogue import GROUPS, PARTS, GroupEntry, KeyLine, entries, inherited, numbers
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.studies.request import Request, argument, option
from lsmlab.sim.yaml_text import parse_yaml

_WIDTH: Final = 120


@dataclass(frozen=True, kw_only=True)
class ListRequest(Request):
    """List the entries of a configuration group; without one, of all groups."""

    group: str | None = argument("GROUP", "engines, pickers, cutters, throttles, schedulers, tuners, devices, …", optional=True)
    json: bool = option(False, "print only one JSON document")


@dataclass(frozen=True, kw_only=True)
class ShowRequest(Request):
    """Print the values of an entry with their sources, or the options that a file sets."""

    group: str = argument("GROUP", "engine, device, workload, host, parameters, keys, experiment, or options")
    entry: str = argument("ENTRY", "name of the entry, as in 'lsmlab list'; for options: an OPTIONS file or a LOG")
    json: bool = option(False, "print only one JSON document")


def list_verb(argv: list[str]) -> int:
    """Run `lsmlab list engines|devices|workloads|hosts|parameters|keys|experiments [--json] [--config-dir DIR]`."""
    arguments = read(parser_of("list", ListRequest).parse_args(argv), ListRequest)
    groups = [_group(arguments.group)] if arguments.group else list(GROUPS)
    members_by_group = {group: entries(group, arguments.config_dirs) for group in groups}
    if arguments.json:
        listed = {
            g: [{"name": e.name, "description": e.description()} for e in es] for g, es in members_by_group.items()
        }
        sys.stdout.write(to_json(listed[groups[0]] if arguments.group else listed))
        return 0
    for group, members in members_by_group.items():
        if not arguments.group:
            sys.stdout.write(f"{group}\n")
        width = max((len(e.name) for e in members), default=0)
        for entry in members:
            indent = "" if arguments.group else "  "
            line = f"{indent}{entry.name:<{width}}  {entry.description()}".rstrip()
            sys.stdout.write((line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…") + "\n")
    return 0


def show_verb(argv: list[str]) -> int:
    """Run `lsmlab show GROUP ENTRY`: print the values and sources of an entry, or the options that a file sets."""
    arguments = read(parser_of("show", ShowRequest).parse_args(argv), ShowRequest)
    if arguments.group == "options":
        from lsmlab.sim.configuration.options_input import options_shown, options_text

        content = options_shown(Path(arguments.entry))
        sys.stdout.write(to_json(content) if arguments.json else options_text(content))
        return 0
    group = _group(arguments.group)
    by_name = {e.name: e for e in entries(group, arguments.config_dirs)}
    if arguments.entry not in by_name:
        near = difflib.get_close_matches(arguments.entry, by_name, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"known: {', '.join(by_name)}"
        raise InputError(f"{group}={arguments.entry}: no such entry; {remedy}")
    entry = by_name[arguments.entry]
    layers = inherited(entry, arguments.config_dirs)
    if arguments.json:
        sys.stdout.write(to_json(_as_data(entry, layers, arguments.config_dirs)))
        return 0
    sys.stdout.write(f"{entry.group}={entry.name}: {entry.description()}\n({entry.path})\n")
    for layer in layers:
        if layer is not entry:
            sys.stdout.write(f"\nfrom {layer.group}={layer.name}:\n")
        sys.stdout.write("\n" + "\n".join(_table(layer)) + "\n")
    return 0


def _table(entry: GroupEntry) -> list[str]:
    rows = _without_defaults(numbers(entry.text))
    keys = [f"{'  ' * r.depth}{r.key}" for r in rows]
    key_width = max(map(len, keys), default=0)
    value_width = max((len(r.value) for r in rows if len(r.value) <= 24), default=0)
    lines = [c for c in (_opening_comment(entry.text),) if c]
    for key, row in zip(keys, rows, strict=True):
        lines.append(f"  {key:<{key_width}}  {row.value:<{value_width}}  {row.comment}".rstrip())
    return lines


def _opening_comment(text: str) -> str:
    opening = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# @package"):
            opening.append("  " + line.removeprefix("#").strip())
    return "\n".join([*opening, ""]) if opening else ""


def _without_defaults(rows: list[KeyLine]) -> list[KeyLine]:
    kept, skipping = [], False
    for row in rows:
        if row.depth == 0 and not row.key.startswith("-"):
            skipping = row.key == "defaults"
        if not skipping:
            kept.append(row)
    return [r for r in kept if r.key != "description"]


def _as_data(entry: GroupEntry, layers: Sequence[GroupEntry], config_dirs: Sequence[Path]) -> dict[str, Any]:
    from lsmlab.sim.configuration.compose import compose

    comments: dict[str, str] = {}
    for layer in reversed(layers):
        comments |= {n.key: n.comment for n in numbers(layer.text) if n.comment}
    values: Any
    if entry.group == "parameters":  # Hydra cannot compose a parameter set: host.parameters names it
        values = parse_yaml(entry.text, entry.path)
    else:
        config = compose([f"{entry.group}={entry.name}"], config_dirs)
        values = config
        for name in () if entry.group == "experiment" else entry.group.split("/"):
            values = values[name]
    about = {"group": entry.group, "name": entry.name, "description": entry.description(), "file": str(entry.path)}
    return {**about, "values": values, "comments": comments}


def _group(name: str) -> str:
    singular = name.removesuffix("s") if name not in GROUPS else name
    singular = f"engine/{singular}" if singular in PARTS else singular
    if singular in GROUPS:
        return singular
    near = difflib.get_close_matches(name, [*GROUPS, *PARTS, *(f"{g}s" for g in (*GROUPS, *PARTS))], n=1)
    remedy = f"did you mean {near[0]}?" if near else f"known: {', '.join(GROUPS)}"
    raise InputError(f"{name}: no such group; {remedy}")
