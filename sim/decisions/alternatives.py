"""Alternatives of a command line: each argument is one, with one or several overrides; comma lists make a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.combinations import expand


@dataclass(frozen=True, slots=True)
class Alternative:
    """Changes to the present state."""

    name: str
    overrides: tuple[str, ...]


def alternatives(arguments: Sequence[str]) -> list[Alternative]:
    """Return the alternatives in order, each once.

    >>> [a.name for a in alternatives(["device=sata", "engine=vlsm,silk workload.scale=2"])]
    ['device=sata', 'engine=vlsm workload.scale=2', 'engine=silk workload.scale=2']
    """
    found: dict[str, Alternative] = {}
    for argument in arguments:
        texts = argument.split()
        bad = next((text for text in texts if "=" not in text.lstrip("~") and not text.startswith("~")), None)
        if bad is not None or not texts:
            raise InputError(f"{argument!r}: an alternative is key=value, several of them in quotes: 'device=sata host.cores=8'")
        for overrides, chosen in expand(texts):
            name = " ".join(_named(text, chosen) for text in texts)
            found.setdefault(name, Alternative(name, tuple(overrides)))
    return list(found.values())


def _named(text: str, chosen: dict[str, str]) -> str:
    key = text.partition("=")[0]
    return f"{key}={chosen[key]}" if key in chosen else text
