"""Options of a store that are not simulated and matter: their values, compared with the defaults of the release."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.options.not_simulated import NOT_SIMULATED, Effect, not_simulated
from lsmlab.models.options.options_text import parse_struct
from lsmlab.models.options.values import option_types, plain
from lsmlab.models.version import Version

_NO_OBJECT: Final = re.compile(r"\(nil\)|null|nullptr|none|unknown|kunknown|(0x)?0+|\{?\}?", re.IGNORECASE)
"""Texts by which files say that there is no object."""
_TRUTH: Final = {"true": "1", "on": "1", "yes": "1", "false": "0", "off": "0", "no": "0"}
_ORDER: Final = (Effect.LARGE, Effect.UNKNOWN, Effect.SMALL)
_MOST_VALUE: Final = 60
"""Longest value that is shown, in characters."""


@dataclass(frozen=True, slots=True)
class IgnoredOption:
    """An option of a store that is not simulated and matters."""

    name: str
    value: str
    """As the file has it, shortened."""
    effect: Effect
    reason: str

    @property
    def assignment(self) -> str:
        """Return name=value."""
        return f"{self.name}={self.value}"

    def as_data(self) -> dict[str, str]:
        """Return the option as summary.json has it."""
        return {"name": self.name, "value": self.value, "effect": self.effect.value, "reason": self.reason}


def ignored_options(version: Version | None, texts: Mapping[str, str]) -> list[IgnoredOption]:
    """Return the options among `texts` (name to text, as a file has them) that matter; those of large effect come first.

    Options without effect, and with the default of the release, are left out. `version`: None if unknown.
    """
    flat = {part: text for name, value in texts.items() for part, text in _members(name, value.strip()).items()}
    found = [one for name, value in flat.items() if (one := _ignored(version, name, value)) is not None]
    return _sorted(found)


def _sorted(options: Iterable[IgnoredOption]) -> list[IgnoredOption]:
    return sorted(options, key=lambda one: (_ORDER.index(one.effect), one.assignment))


def merged_ignored(lists: Iterable[Sequence[IgnoredOption]]) -> list[IgnoredOption]:
    """Return the options of several column families in one list; those with equal names and values count once."""
    return _sorted({option.assignment: option for options in lists for option in options}.values())


def texts_of(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of those typed options (by flat name) that configurations may set and the model does not simulate."""
    return {name: str(plain(values[name])).lower() for name in NOT_SIMULATED.keys() & option_types().keys() & values.keys()}


def texts_in_force(options: RocksDbOptions) -> dict[str, str]:
    """Return the same of a store's options."""
    return texts_of({name: getattr(options, name) for name in NOT_SIMULATED.keys() & option_types().keys()})


def texts_given(assignments: object) -> dict[str, str]:
    """Return name to text of assignments such as "merge_operator=StringAppend" (`engine.not_simulated`).

    Raises InputError for anything else than a list of them.
    """
    if not isinstance(assignments, list | tuple):
        raise InputError(f"engine.not_simulated: {assignments!r} must be a list of texts such as merge_operator=StringAppend")
    texts: dict[str, str] = {}
    for one in assignments:
        name, equals, value = str(one).partition("=")
        if not (isinstance(one, str) and name and equals):
            raise InputError(f"engine.not_simulated: {one!r} is not of the form name=value")
        texts[name] = value
    return texts


def _members(name: str, text: str) -> dict[str, str]:
    """Return the members of a struct as `struct.member`; of `{id=X;…}` the object X, without its settings."""
    if not (text.startswith("{") and "=" in text) or "." in name:
        return {name: text}
    try:
        members = parse_struct(text)
    except InputError:
        return {name: text}
    return {name: members["id"]} if "id" in members else {f"{name}.{member}": value for member, value in members.items()}


def _ignored(version: Version | None, name: str, text: str) -> IgnoredOption | None:
    known = not_simulated(name)
    value = text if len(text) <= _MOST_VALUE else f"{text[: _MOST_VALUE - 1]}…"
    if known is None:
        return IgnoredOption(name, value, Effect.UNKNOWN, "no option that this version of LSMLab knows")
    if known.effect is Effect.NONE or any(_same(text, default) for default in known.defaults(version)):
        return None
    return IgnoredOption(name, value, known.effect, known.reason)


def _same(text: str, default: str) -> bool:
    if default == "none":
        return bool(_NO_OBJECT.fullmatch(text))
    ours, theirs = (_TRUTH.get(one, one) for one in (text.lower(), default.lower()))
    try:
        return float(ours) == float(theirs)
    except ValueError:  # a LOG writes an address after some names, and option strings the size
        return re.fullmatch(rf"{re.escape(theirs)}([ :].*)?", ours) is not None
