"""Arguments of verbs: parsers made from the fields of requests, and the options on how to run and how to answer."""

from __future__ import annotations

import argparse
import types
import typing
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from lsmlab.models.errors import InputError
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.executor import Executor
from lsmlab.sim.runs.places import PLACES
from lsmlab.sim.runs.store import default_store
from lsmlab.sim.studies.request import ARGUMENT, Argument, is_required, option

T = TypeVar("T")


class LineParser(argparse.ArgumentParser):
    """Argument parser that raises InputError instead of printing its usage and exiting."""

    def error(self, message: str) -> NoReturn:
        """Raise argparse's message as InputError."""
        words = message.removeprefix("argument ").replace("unrecognized arguments", "unknown")
        raise InputError(f"{words}; see '{self.prog} --help'")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where and how to run."""

    jobs: int | None = option(
        None, "number of processes, or of workers (default: one per core)", "--jobs", "-j", metavar="N", low=1
    )
    on: str | None = option(
        None, f"do the runs on -j N workers of a cluster: {PLACES}; default: this machine", metavar="PLACE"
    )
    budget: str | None = option(
        None, "refuse, or ask on a terminal, if the runs take longer, such as 10min; plan instead ends its search then",
        metavar="TIME",
    )
    fresh: bool = option(False, "simulate again the runs that the run store (outputs/runs) holds")

    def settings(self, executor: Executor, *, quiet: bool) -> Settings:
        """Return the settings of a batch of runs."""
        return Settings(default_store(), executor, self.fresh, quiet)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """How to give the answer."""

    out: Path | None = option(None, "folder for the results (default: outputs/<date>/<time>)", metavar="DIR")
    json: bool = option(False, "print one JSON document and nothing else; draws no page")
    no_report: bool = option(False, "draw no page")


@dataclass(frozen=True, kw_only=True)
class TrustOptions:
    """What configurations of others may do."""

    allow_package: tuple[str, ...] = option((), "let _target_ entries name classes of this package", metavar="NAME")
    trust: bool = option(False, "let files of others set everything, also Hydra's settings, which can run code")


def parser_of(
    verb: str, *groups: type[Any], epilog: str = "", usage: str | None = None, add_help: bool = True
) -> LineParser:
    """Return the parser of a verb with the fields of these classes as arguments. The first class describes the verb."""
    parser = LineParser(
        prog=f"lsmlab {verb}", allow_abbrev=False, usage=usage, epilog=epilog, add_help=add_help,
        description=(groups[0].__doc__ or "").partition("\n\n")[0].replace("%", "%%"),
    )  # fmt: skip
    for group in groups:
        hints = typing.get_type_hints(group)
        for field in sorted(fields(group), key=lambda f: f.metadata[ARGUMENT].positional is False):
            _add(parser, field, hints[field.name])
    return parser


def read(given: argparse.Namespace, group: type[T]) -> T:
    """Return an object of a class from the values of its fields. Raises InputError for a value that is not possible."""
    values = {f.name: getattr(given, f.name) for f in fields(group)}  # type: ignore[arg-type]
    for field in fields(group):  # type: ignore[arg-type]
        about, value = field.metadata[ARGUMENT], values[field.name]
        if about.low is not None and value is not None and value < about.low:
            raise InputError(f"{(about.flags or (_flag(field.name),))[0]} {value}: must be at least {about.low:g}")
    return group(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _add(parser: LineParser, field: Field[Any], hint: Any) -> None:
    about: Argument = field.metadata[ARGUMENT]
    kind, several = _kind(hint)
    more: dict[str, Any] = {"help": about.help, "metavar": about.metavar}
    if kind is not str and kind is not bool:
        more["type"] = kind
    if about.choices:
        more |= {"choices": about.choices, "metavar": None}
    if about.positional:
        count = "+" if about.least else "*"
        parser.add_argument(field.name, **more, nargs=count if several else None if is_required(field) else "?")
        return
    if kind is bool:
        unset = argparse.BooleanOptionalAction if field.default is None else "store_true"
        more = {"help": about.help, "action": unset}
    elif several:
        more |= {"action": "append", "default": []}
    else:
        more |= {"required": True} if is_required(field) else {"default": field.default}
    parser.add_argument(*(about.flags or (_flag(field.name),)), dest=field.name, **more)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _kind(hint: Any) -> tuple[Any, bool]:
    """Return the type of one value of a field, and whether the field takes several."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        (hint,) = (part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is tuple:
        return typing.get_args(hint)[0], True
    return hint, False
