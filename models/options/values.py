"""Conversion of option names and values from configurations and files to typed values of `RocksDbOptions`."""

from __future__ import annotations

import dataclasses
import difflib
import re
import typing
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache, lru_cache
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import (
    CompactionPri,
    CompactionStyle,
    Compression,
    FifoOptions,
    RateLimiterMode,
    RocksDbOptions,
    StopStyle,
    Temperature,
    UniversalOptions,
)
from lsmlab.models.options.not_simulated import reason_text
from lsmlab.models.options.options_text import parse_struct
from lsmlab.models.units import build

WHERE: Final = "engine.options"
"""Name of the mapping of options in messages."""
STRUCTS: Final[Mapping[str, type[Any]]] = {
    "compaction_options_universal": UniversalOptions,
    "compaction_options_fifo": FifoOptions,
}

# Other spellings: the LOG's, those of db_bench's flags, and the numbers of RocksDB's enums. Case does not matter.
_ALIASES: Final[Mapping[type[Enum], Mapping[str, Enum]]] = {
    CompactionStyle: {
        "0": CompactionStyle.LEVEL, "level": CompactionStyle.LEVEL, "leveled": CompactionStyle.LEVEL,
        "1": CompactionStyle.UNIVERSAL, "universal": CompactionStyle.UNIVERSAL, "tiered": CompactionStyle.UNIVERSAL,
        "2": CompactionStyle.FIFO, "fifo": CompactionStyle.FIFO, "3": CompactionStyle.NONE,
    },
    CompactionPri: {str(i): pri for i, pri in enumerate(CompactionPri)},
    Compression: {
        "nocompression": Compression.NONE, "no": Compression.NONE, **{c.name.lower().replace("_", ""): c for c in Compression},
    },
    StopStyle: {"0": StopStyle.SIMILAR_SIZE, "1": StopStyle.TOTAL_SIZE},
    RateLimiterMode: {"0": RateLimiterMode.READS, "1": RateLimiterMode.WRITES, "2": RateLimiterMode.ALL},
    Temperature: dict(zip(("0", "4", "8", "10", "12", "16"), Temperature, strict=True)),
}  # fmt: skip
_OUTER: Final = re.compile(r"^\{(\{.*\});?\}$")
"""Braces around a list of structs."""
_TRUTH: Final = {"true": True, "1": True, "false": False, "0": False}


@cache
def option_types() -> Mapping[str, Any]:
    """Type of every option by its name; members of a struct are `struct.member`."""
    types: dict[str, Any] = {}
    for name, kind in typing.get_type_hints(RocksDbOptions).items():
        if name in STRUCTS:
            types |= {f"{name}.{member}": t for member, t in typing.get_type_hints(STRUCTS[name]).items()}
        else:
            types[name] = kind
    return types


def flatten(overrides: Mapping[str, Any], where: str = WHERE) -> dict[str, Any]:
    """Flatten a mapping that may nest the two structs to names such as `compaction_options_universal.size_ratio`.

    Leaves out None ("not set"). Raises InputError for a name that is no option.
    """
    flat: dict[str, Any] = {}
    for name, value in overrides.items():
        if not isinstance(name, str):
            raise InputError(f"{where}.{name}: keys must be text")
        if value is None or name.startswith("_"):
            continue
        if name in STRUCTS:
            if not isinstance(value, Mapping):
                raise InputError(f"{where}.{name}: {value!r} must be a mapping of its members")
            flat |= flatten({f"{name}.{member}": v for member, v in value.items()}, where)
        elif name in option_types():
            flat[name] = value
        else:
            raise InputError(f"{where}.{name}: no such option; {_nearest(name)}")
    return flat


def read_value(name: str, value: Any) -> Any:
    """Convert a value to the type of option `name`. Raises InputError that begins with `WHERE` for a bad value."""
    try:
        return _read_text(name, value) if isinstance(value, str) else _read(name, value)
    except InputError as error:
        raise InputError(f"{WHERE}{error}") from None


def compose(values: Mapping[str, Any]) -> RocksDbOptions:
    """Build `RocksDbOptions` from typed values by flat name; other options keep the defaults of the class."""
    plain = {n: v for n, v in values.items() if "." not in n}
    for struct, cls in STRUCTS.items():
        members = {n.partition(".")[2]: v for n, v in values.items() if n.startswith(f"{struct}.")}
        plain[struct] = cls(**members)
    return RocksDbOptions(**plain)


def _nearest(name: str) -> str:
    if reason := reason_text(name):
        return reason
    near = difflib.get_close_matches(name, option_types(), n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else "see the names in configs/engine/options/rocksdb.yaml"


@lru_cache(maxsize=4096)
def _read_text(name: str, value: str) -> Any:
    return _read(name, value)


def _read(name: str, value: Any) -> Any:
    kind = option_types()[name]
    struct, _, member = name.rpartition(".")
    if typing.get_origin(kind) is tuple:
        element = typing.get_args(kind)[0]
        return tuple(_element(name, element, item) for item in _items(value))
    cls: type[Any] = STRUCTS.get(struct, RocksDbOptions)
    built = build(cls, {member: _respell(kind, value)}, f".{struct}" if struct else "")
    return getattr(built, member)


def _element(name: str, kind: type[Any], item: Any) -> Any:
    if issubclass(kind, Enum):
        try:
            return kind(_respell(kind, item))
        except ValueError:
            raise InputError(f".{name}: {item!r} is not one of {', '.join(e.value for e in kind)}") from None
    if dataclasses.is_dataclass(kind):
        try:
            members = parse_struct(item) if isinstance(item, str) else item
        except InputError as error:
            raise InputError(f".{name}: {error}") from None
        return build(kind, members, f".{name}")
    try:
        return int(item)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f".{name}: {item!r} must be a whole number") from None


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, str):
        return [item for item in _OUTER.sub(r"\1", value).split(":") if item.strip() not in ("", "{}")]
    return value if isinstance(value, Iterable) and not isinstance(value, Mapping) else (value,)


def _respell(kind: Any, value: Any) -> Any:
    if kind is bool and not isinstance(value, bool):
        return _TRUTH.get(str(value).strip().lower(), value)
    if isinstance(kind, type) and issubclass(kind, Enum) and not isinstance(value, Enum):
        text = str(value).strip()
        return next((e for e in kind if e.value.lower() == text.lower()), _ALIASES[kind].get(text.lower(), text))
    return value


def plain(value: Any) -> Any:
    """Return the value of an option as YAML and JSON have it: enums by value, tuples as lists."""
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(dataclasses.asdict(value))
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value
