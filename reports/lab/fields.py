"""Fields of the laboratory's form, derived from a configuration and from the classes that read it.

The classes of the model declare kind, limits and choices of each setting (`lsmlab.models.units.quantity`); the composed
configuration gives the defaults. Docstrings of the classes' fields, and comments in the files of entries, describe them.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Final

from lsmlab.models.costs.host import Host
from lsmlab.models.devices.make import METADATA, DeviceCaps, DeviceSettings
from lsmlab.models.engines.make import make_engine
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.options.values import STRUCTS, plain
from lsmlab.models.targets import load_class
from lsmlab.models.units import Quantity, parse_quantity
from lsmlab.reports.lab.slider_steps import positions, quantity_text
from lsmlab.sim.configuration.catalogue import entries, inherited, numbers
from lsmlab.sim.setting import KeySettings

KIND_NAMES: Final = {
    "bytes": "size", "seconds": "time", "bytes_per_s": "bandwidth", "per_s": "rate per second", "count": "number",
    "ratio": "ratio",
}  # fmt: skip
EXAMPLES: Final = {"bytes": "64MiB", "seconds": "90s", "bytes_per_s": "200MB/s", "per_s": "20k/s"}
"""Example of a value by kind, for kinds with units."""
_ABOUT: Final = (*METADATA, "citation", "name", "families", "options_file", "not_simulated", "parameters")
"""Keys that describe an entry, or whose values a single field cannot hold."""
_UNBOUNDED: Final = 2.0**31
"""Limits from here on are those of RocksDB's integers: a form does not show them."""


@dataclass(frozen=True, slots=True)
class Field:
    """One setting of the form."""

    key: str
    """Dotted key, as on the command line."""
    default: str
    """Value of the chosen entries as text; empty if the setting is left out."""
    kind: str | None = None
    """Kind of a quantity (`lsmlab.models.units`); None: text or a choice."""
    limits: str = ""
    choices: tuple[str, ...] = ()
    """Valid values of a switch or an enum; empty: any text."""
    steps: tuple[str, ...] = ()
    """Values of the slider; empty: no slider."""
    description: str = ""

    @property
    def name(self) -> str:
        """Last part of the key."""
        return self.key.rpartition(".")[2]

    @property
    def group(self) -> str:
        """First part of the key."""
        return self.key.partition(".")[0]


def fields_of(config: Mapping[str, Any], chosen: Mapping[str, str], folders: tuple[Path, ...] = ()) -> list[Field]:
    """Return the fields of a configuration, whose entries are `chosen` by group. `folders`: the user's folders of groups."""
    return [*_option_fields(config), *_group_fields(config, chosen, folders), *_top_fields(config)]


def _option_fields(config: Mapping[str, Any]) -> Iterator[Field]:
    """Yield RocksDB's options; the default of an option without a value is that of release and preset."""
    given = config["engine"].get("options") or {}
    in_force = make_engine({k: v for k, v in config["engine"].items() if k != "families"}).options
    for name in given:
        if name in STRUCTS:
            for member in given[name] or {}:
                value = getattr(getattr(in_force, name), member)
                yield _field(f"engine.options.{name}.{member}", STRUCTS[name], member, value)
        elif hasattr(in_force, name):
            yield _field(f"engine.options.{name}", RocksDbOptions, name, getattr(in_force, name))


def _group_fields(
    config: Mapping[str, Any], chosen: Mapping[str, str], folders: tuple[Path, ...]
) -> Iterator[Field]:
    for group, classes in (
        ("workload", (_target(config, "workload"),)), ("device", (_target(config, "device"), DeviceSettings)),
        ("host", (Host,)), ("limits", (DeviceCaps,)), ("keys", (KeySettings,)),
    ):  # fmt: skip
        texts = _comments(group, chosen.get(group, ""), folders)
        for name, value in config[group].items():
            if name.startswith("_") or name in _ABOUT or isinstance(value, Mapping | list):
                continue
            cls = next((c for c in classes if name in _declared(c)), None)
            yield _field(f"{group}.{name}", cls, name, value, texts.get(name, ""))


def _top_fields(config: Mapping[str, Any]) -> Iterator[Field]:
    from lsmlab.models.engines.engine import EngineSettings

    for name in ("version", "preset", "compression_ratio"):
        if name in config["engine"]:
            yield _field(f"engine.{name}", EngineSettings, name, config["engine"][name])
    yield Field("seed", str(config["seed"]), "count", "0 or more", description="seed of all random numbers")


def _target(config: Mapping[str, Any], group: str) -> type[Any]:
    return load_class(config[group].get("_target_"), ("lsmlab",), group, "a class")


def _declared(cls: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    return {f.name: f for f in dataclasses.fields(cls) if f.init}


def _field(key: str, cls: type[Any] | None, name: str, value: Any, comment: str = "") -> Field:
    if cls is None:
        return Field(key, _text(value, None), description=comment)
    declared = _declared(cls).get(name)
    rule: Quantity | None = declared.metadata.get("quantity") if declared is not None else None
    hint = typing.get_type_hints(cls).get(name)
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    description = comment or _docstring(cls, name)
    if rule is None:
        return Field(key, _text(value, None), choices=_choices(options), description=description)
    number = None if value is None else parse_quantity(value, rule.kind)
    whole = int in options and float not in options
    steps = [quantity_text(v, rule.kind) for v in positions(rule, number, whole=whole)]
    return Field(
        key, _text(number, rule.kind), rule.kind, _limits(rule), steps=(*([""] if number is None else []), *steps),
        description=description,
    )  # fmt: skip


def _choices(options: tuple[Any, ...]) -> tuple[str, ...]:
    if bool in options:
        return ("true", "false")
    return tuple(str(e.value) for o in options if isinstance(o, type) and issubclass(o, Enum) for e in o)


def _text(value: Any, kind: str | None) -> str:
    if value is None:
        return ""
    if kind is not None:
        return quantity_text(value, kind)
    shown = plain(value)
    if isinstance(shown, bool):
        return str(shown).lower()
    return ":".join(map(str, shown)) if isinstance(shown, list) else str(shown)


def _limits(rule: Quantity) -> str:
    """Return the limits in words.

    >>> _limits(Quantity("bytes", 1, 2.0**64)), _limits(Quantity("count", 1, 1000)), _limits(Quantity("ratio", 0, 1))
    ('1 or more', '1 to 1k', '0 to 1')
    """
    low = quantity_text(rule.low, rule.kind)
    if rule.high >= _UNBOUNDED:
        return f"{low} or more" if rule.low > -_UNBOUNDED else ""
    return f"{low} to {quantity_text(rule.high, rule.kind)}"


def _docstring(cls: Any, field: str) -> str:
    """Return the docstring below a field of a class; empty if it has none."""
    return _docstrings(cls).get(field, "")


@cache
def _docstrings(cls: Any) -> dict[str, str]:
    """Return the docstring below each field of a class, by name of the field; those of its bases too."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            body = ast.parse(inspect.cleandoc(inspect.getsource(base))).body[0]
        except (OSError, TypeError, SyntaxError):  # a class without source, such as one of an extension module
            continue
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, text in itertools.pairwise(statements):
            if (
                isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            ):  # fmt: skip
                found[field.target.id] = " ".join(str(text.value.value).split())
    return found


@cache
def _comments(group: str, entry: str, folders: tuple[Path, ...] = ()) -> dict[str, str]:
    """Return the comment on the line of each key of an entry and of the entries that it includes."""
    by_name = {e.name: e for e in entries(group, folders)}
    if entry not in by_name:
        return {}
    found: dict[str, str] = {}
    for layer in reversed(inherited(by_name[entry], folders)):
        found |= {n.key: _without_source(n.comment) for n in numbers(layer.text) if n.depth == 0 and n.comment}
    return {key: text for key, text in found.items() if text}


def _without_source(comment: str) -> str:
    """Return a comment without the source or assumption at its end, which `lsmlab show` prints."""
    for mark in ("source:", "assumption:"):
        comment = comment.partition(mark)[0]
    return comment.strip().rstrip(";,")
