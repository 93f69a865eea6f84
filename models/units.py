"""Quantities with units in configurations ("64MiB", "80us"), read into plain numbers in bytes, seconds and so on."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lsmlab.models.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_T = TypeVar("_T")

_SIZE: Final = {
    "": 1.0, "B": 1.0,
    "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "PiB": 2.0**50,
}  # fmt: skip
_TIME: Final = {"": 1.0, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_COUNT: Final = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9}
_UNITS: Final[dict[str, dict[str, float]]] = {
    "bytes": _SIZE,
    "seconds": _TIME,
    "bytes_per_s": {"": 1.0} | {f"{u}/s": f for u, f in _SIZE.items() if u} | {f"{u}ps": f for u, f in _SIZE.items() if u},
    "per_s": {f"{u}{s}": f for u, f in _COUNT.items() for s in ("", "/s", "IOPS", "op/s")},
    "count": _COUNT,
    "ratio": {"": 1.0, "%": 0.01},
}
_EXAMPLE: Final = {
    "bytes": "64MiB", "seconds": "80us", "bytes_per_s": "2GB/s", "per_s": "20k/s", "count": "50M", "ratio": "0.5 or 50%",
}  # fmt: skip
_LARGEST: Final = sys.float_info.max
_SHOWN: Final = 60
"""Largest number of characters of a value in a message."""
_NUMBER: Final = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")


def parse_quantity(text: str | float, kind: str) -> float:
    """Read "64MiB" (kind "bytes"), "80us" ("seconds"), "2GB/s" ("bytes_per_s"), "20k" ("count"), "50%" ("ratio").

    A plain number is in the base unit. KB, MB … are powers of ten, KiB, MiB … powers of two. Raises InputError for
    any other text or type, infinities and NaN included.
    """
    units = _UNITS[kind]
    if isinstance(text, bool):
        raise InputError(f"{text} is not a quantity; write it like {_EXAMPLE[kind]}")
    if isinstance(text, int | float):
        try:
            value = float(text)
        except OverflowError:  # a whole number of more than 308 digits
            value = math.inf
    else:
        match = _NUMBER.fullmatch(text)
        if match is None:
            raise InputError(f"{_shown(repr(text))} is not a quantity; write it like {_EXAMPLE[kind]}")
        unit = match.group(2)
        if unit not in units:
            names = ", ".join(u for u in units if u)
            raise InputError(f"{_shown(repr(text))}: unit {unit!r} is not one of {names}; write it like {_EXAMPLE[kind]}")
        value = float(match.group(1).replace("_", "")) * units[unit]
    if not math.isfinite(value):
        raise InputError(f"{_shown(repr(text))} is not a finite number; write it like {_EXAMPLE[kind]}")
    return value


def _shown(text: str) -> str:
    """Return the text of a value for a message, at most its first characters."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def format_bytes(size_bytes: float) -> str:
    """Format bytes in a short binary form, such as 64.0 MiB."""
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def format_digits(number: float, digits: int) -> str:
    """Format a number with significant digits, or with all digits before its point if these are more, never with an exponent.

    >>> [format_digits(number, 4) for number in (16.0, 99.876, 9_999.7, 102_400.0)]
    ['16', '99.88', '10,000', '102,400']
    """
    return f"{number:,.0f}" if abs(number) >= 10**digits - 0.5 else f"{number:,.{digits}g}"


def format_seconds(duration_s: float) -> str:
    """Format seconds with three significant digits, such as 2.15 us, 4.1 ms, 12.3 s."""
    magnitude = abs(duration_s)
    if magnitude == 0:
        return "0 s"
    for unit, factor in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if magnitude < 999.5 * factor:
            return f"{duration_s / factor:.3g} {unit}"
    return f"{duration_s:.3g} s" if magnitude < 999.5 else f"{duration_s:,.0f} s"


_SUBMODEL: Final = "submodel"


@dataclass(frozen=True, slots=True)
class Quantity:
    """Kind of a configuration field, and its range in base units, both ends included."""

    kind: str
    low: float = 0.0
    high: float = math.inf


def quantity(
    kind: str, default: Any = MISSING, *, low: float = 0.0, high: float = math.inf, submodel: str = "", **about: Any
) -> Any:
    """Declare a dataclass field that accepts a human quantity of `kind`, in [low, high] (base units).

    Kinds: bytes, seconds, bytes_per_s, per_s, count, ratio. `submodel`: name of the sub-model to which the field belongs
    (`submodels_of`). `about`: further metadata of the field.
    """
    return field(default=default, metadata={"quantity": Quantity(kind, low, high), _SUBMODEL: submodel, **about})


def of_submodel(submodel: str, default: Any) -> Any:
    """Declare a field of a sub-model that is not a quantity."""
    return field(default=default, metadata={_SUBMODEL: submodel})


def submodels_of(cls: type[DataclassInstance]) -> dict[str, tuple[str, ...]]:
    """Return the sub-models of `cls` with their fields, in the order of the fields.

    A sub-model describes what some machines, drives or builds have and others lack.
    """
    found: dict[str, tuple[str, ...]] = {}
    for f in dataclasses.fields(cls):
        if name := f.metadata.get(_SUBMODEL):
            found[name] = (*found.get(name, ()), f.name)
    return found


def build(cls: type[_T], values: Mapping[str, Any], where: str) -> _T:
    """Build a frozen dataclass from a configuration mapping.

    `where` names the mapping in messages ("device"). Reads quantities with their units and enums by value; booleans
    and strings stay as they are, None too where the annotation allows it. Skips keys that begin with "_".

    Raises InputError for an unknown key (and names the nearest valid key), a missing value, a wrong type or a value
    out of range. Errors of the class's own `__post_init__` get `where` in front.
    """
    if not isinstance(values, Mapping):
        raise InputError(f"{where}: {_shown(repr(values))} must be a mapping of keys to values")
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]
    hints: dict[str, Any] = _hints(cls)  # type: ignore[arg-type]
    arguments: dict[str, Any] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise InputError(f"{where}.{key}: keys must be text")
        if key.startswith("_"):
            continue
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1)
            hint = f"did you mean {where}.{near[0]}?" if near else f"valid keys: {', '.join(sorted(fields))}"
            raise InputError(f"{where}.{key}: no such key; {hint}")
        arguments[key] = _convert(value, fields[key], hints[key], f"{where}.{key}")
    missing = [
        n for n, f in fields.items() if n not in arguments and f.default is MISSING and f.default_factory is MISSING
    ]
    if missing:
        raise InputError(f"{where}.{missing[0]}: a value is required")
    try:
        return cls(**arguments)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(where) else f"{where}: {text}") from None


def field_values(item: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, without a copy of their values."""
    return {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _convert(value: Any, declared: Field[Any], hint: Any, where: str) -> Any:
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value is None:
        if type(None) in options or hint is Any:
            return None
        raise InputError(f"{where}: a value is required")
    rule: Quantity | None = declared.metadata.get("quantity")
    if rule is not None:
        return _read_quantity(value, rule, int in options and float not in options, where)
    for option in options:
        if isinstance(option, type) and issubclass(option, Enum):
            try:
                return option(value)
            except ValueError:
                raise InputError(f"{where}: {value!r} is not one of {', '.join(str(e.value) for e in option)}") from None
    return _plain(value, options, where)


def _read_quantity(value: Any, rule: Quantity, whole: bool, where: str) -> float | int:
    if not isinstance(value, str | int | float):
        raise InputError(f"{where}: {value!r} is not a quantity; write it like {_EXAMPLE[rule.kind]}")
    try:
        number = parse_quantity(value, rule.kind)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    if not rule.low <= number <= rule.high:
        bound = f"at least {rule.low:g}" if number < rule.low else f"at most {rule.high:g}"
        raise InputError(f"{where}: {_shown(str(value))} is out of range; it must be {bound}")
    if whole:
        if number != int(number) and rule.kind.startswith("bytes") and number >= 1024:
            return round(number)  # 1.8MiB is not a whole number of bytes
        if number != int(number):
            raise InputError(f"{where}: {value} must be a whole number")
        return int(number)
    return number


def _plain(value: Any, options: tuple[Any, ...], where: str) -> Any:
    if bool in options:
        if isinstance(value, bool):
            return value
        raise InputError(f"{where}: {value!r} must be true or false")
    if int in options and isinstance(value, int) and not isinstance(value, bool):
        return value
    if float in options and isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) <= _LARGEST:
            raise InputError(f"{where}: {_shown(str(value))} is not a finite number")
        return float(value)
    if str in options and isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    for option in options:
        origin = typing.get_origin(option) or option
        if isinstance(origin, type) and issubclass(origin, Mapping) and not isinstance(value, Mapping) and len(options) == 1:
            raise InputError(f"{where}: {_shown(repr(value))} must be a mapping of keys to values")
    simple = {bool, int, float, str}
    if all(o in simple or o is type(None) for o in options):
        wanted = " or ".join(o.__name__ for o in options if o is not type(None))
        raise InputError(f"{where}: {value!r} is not a valid {wanted}")
    return value
