"""Requests: dataclasses whose fields say what a study is asked. The command line makes its arguments from them."""

from __future__ import annotations

import dataclasses
import shlex
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.studies.document import Document


@dataclass(frozen=True)
class Argument:
    """How a field is given on the command line."""

    help: str
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    """Names of the option; empty: --FIELD, or no option for a positional argument."""
    positional: bool = False
    low: float | None = None
    """Smallest number."""
    choices: tuple[str, ...] = ()
    least: int = 0
    """Fewest values of a positional argument that takes several."""


ARGUMENT = "argument"
"""Key of the metadata of a field."""


def argument(metavar: str, text: str, *, least: int = 1, several: bool = False, optional: bool = False) -> Any:
    """Return a field that is a positional argument: one value, which may be `optional`, or `several`, at least `least`."""
    about = {ARGUMENT: Argument(text, metavar, positional=True, least=least)}
    return field(metadata=about, **({"default": ()} if several else {"default": None} if optional else {}))


def option(
    default: Any, text: str, *flags: str, metavar: str | None = None, low: float | None = None, choices: tuple[str, ...] = ()
) -> Any:
    """Return a field that is an option. `flags`: its names, if not --FIELD; `low`: smallest number."""
    return field(default=default, metadata={ARGUMENT: Argument(text, metavar, flags, low=low, choices=choices)})


@dataclass(frozen=True, kw_only=True)
class Request(Document):
    """What a study is asked. Raises InputError for a number that is too small."""

    config_dirs: tuple[Path, ...] = option(
        (), "a folder with configuration groups of your own", "--config-dir", "-cd", metavar="DIR"
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            about, value = one.metadata.get(ARGUMENT), getattr(self, one.name)
            if about is not None and about.low is not None and value is not None and value < about.low:
                raise InputError(f"{one.name} {value}: must be at least {about.low:g}")


def command_of(verb: str, request: Request) -> str:
    """Return the command line that asks a request: its arguments, then the options that differ from their defaults."""
    words, options = [], []
    for one in fields(request):
        about, value = one.metadata[ARGUMENT], getattr(request, one.name)
        values = [str(part) for part in value] if isinstance(value, tuple) else [str(value)]
        if value is None or value == one.default:
            continue
        flag = about.flags[0] if about.flags else f"--{one.name.replace('_', '-')}"
        if about.positional:
            words += values
        elif isinstance(value, bool):
            options.append(flag if value else f"--no-{flag.removeprefix('--')}")
        else:
            options += [word for part in values for word in (flag, part)]
    return shlex.join(["lsmlab", verb, *words, *options])


@dataclass(frozen=True, kw_only=True)
class SettledRequest(Request):
    """Question whose runs may be as long as their stores need to settle."""

    settled: bool | None = option(
        None, "lengthen all runs until their stores have settled, at most to 8 times (default: where neither "
        "workload.duration nor an experiment sets the duration)"
    )  # fmt: skip


def is_required(one: dataclasses.Field[Any]) -> bool:
    """Return whether a field has no default."""
    return one.default is MISSING and one.default_factory is MISSING
