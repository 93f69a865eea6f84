"""OPTIONS files with changed options: lines of the user's own file are replaced, or a new file is written.

RocksDB writes the options of the database before those of each column family, and those of a family's tables last
(`PersistRocksDBOptions` in options/options_parser.cc). Its reader takes the default for an option that is not in the
file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsmlab.models.options.fields import DATABASE_OPTIONS
from lsmlab.models.options.options_text import parse_struct, read_ini
from lsmlab.models.options.values import STRUCTS, option_types, plain, read_value
from lsmlab.models.version import Version

_TABLES: Final = frozenset({
    "block_size", "block_size_deviation", "block_restart_interval", "format_version",
    "cache_index_and_filter_blocks",
})  # fmt: skip
_IN_CODE: Final[Mapping[str, str]] = {
    "rate_limiter_bytes_per_sec": "DBOptions::rate_limiter = NewGenericRateLimiter(...)",
    "rate_limiter_auto_tuned": "DBOptions::rate_limiter = NewGenericRateLimiter(...)",
    "rate_limiter_refill_period_us": "DBOptions::rate_limiter = NewGenericRateLimiter(...)",
    "rate_limiter_fairness": "DBOptions::rate_limiter = NewGenericRateLimiter(...)",
    "rate_limiter_mode": "DBOptions::rate_limiter = NewGenericRateLimiter(...)",
    "cache_size": "BlockBasedTableOptions::block_cache",
    "db_paths": "DBOptions::db_paths",
    "cf_paths": "ColumnFamilyOptions::cf_paths",
    "use_blob_cache": "ColumnFamilyOptions::blob_cache",
    "blob_cache_size": "ColumnFamilyOptions::blob_cache",
    "statistics": "DBOptions::statistics",
    "disable_wal": "WriteOptions::disableWAL",
    "sync": "WriteOptions::sync",
}
"""Options that no OPTIONS file can set, with the place in code."""
_DEFAULT: Final = "default"
_HEAD: Final = "# This is a RocksDB option file."


@dataclass(frozen=True, slots=True)
class WrittenOptions:
    """Text of an OPTIONS file, and the options that it cannot contain."""

    text: str
    in_code: Mapping[str, str]
    """Changed options that the application must set in code: value and place, by name."""


def edited_options(text: str, changes: Mapping[str, Any], family: str = _DEFAULT) -> WrittenOptions:
    """Return an OPTIONS file with other values of some options of the database and one column family; all other lines stay.

    `changes` maps flat option names to values as a configuration has them. A changed option that the file does not contain
    is added at the head of its section, and a family that it does not contain at the end. Raises InputError for text that is
    no OPTIONS file, and for unknown options.
    """
    flat, in_code = _split(changes)
    lines = text.splitlines()
    if not any(_opens(line, "CF", family) for line in lines):
        lines += ["", *_family_lines(family, {"CF": {}, "Table": {}})]
    values = {_place(name): _value(name, value) for name, value in flat.items()}
    structs = {name.partition(".")[0] for name in flat if "." in name}
    left = dict(values)
    for entry in read_ini(enumerate(text.splitlines(), 1), "OPTIONS"):
        here = (entry.section, entry.name)
        if entry.section != "DB" and entry.family != family:
            continue
        if here in values:
            lines[entry.line - 1] = f"  {entry.name}={left.pop(here, values[here])}"
        elif entry.name in structs:
            lines[entry.line - 1] = f"  {entry.name}={_struct(entry.value, entry.name, flat)}"
            left = {k: v for k, v in left.items() if not k[1].startswith(f"{entry.name}.")}
    for (section, name), value in left.items():
        at = next(i for i, line in enumerate(lines) if _opens(line, section, family)) + 1
        lines.insert(at, f"  {name}={value}")
    return WrittenOptions("\n".join(lines) + "\n", in_code)


def new_options(
    version: Version, options: Mapping[str, Any], families: Mapping[str, Mapping[str, Any]] | None = None
) -> WrittenOptions:
    """Return an OPTIONS file with these options of a database and its default column family.

    `families`: options of each other family by its name.
    """
    flat, in_code = _split(options)
    default = by_section(flat)
    lines = [_HEAD, "", "[Version]", f"  rocksdb_version={version}.0", "  options_file_version=1.1", "", "[DBOptions]"]
    lines += [*_assigned(default["DB"]), "", *_family_lines(_DEFAULT, default)]
    for name, own in (families or {}).items():
        lines += ["", *_family_lines(name, by_section(own))]
    return WrittenOptions("\n".join(lines) + "\n", in_code)


def _family_lines(name: str, sections: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the lines of a column family: its options, and those of its tables."""
    table = f'[TableOptions/BlockBasedTable "{name}"]'
    return [f'[CFOptions "{name}"]', *_assigned(sections["CF"]), "", table, *_assigned(sections["Table"])]


def _assigned(values: Mapping[str, str]) -> list[str]:
    return [f"  {name}={value}" for name, value in values.items()]


def by_section(options: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return flat options by section of an OPTIONS file (DB, CF, Table), with names and values as RocksDB writes them.

    Leaves out options that no OPTIONS file can set.
    """
    sections: dict[str, dict[str, str]] = {"DB": {}, "CF": {}, "Table": {}}
    structs: dict[str, dict[str, str]] = {}
    for name, value in _split(options)[0].items():
        struct, _, member = name.partition(".")
        if struct in STRUCTS:
            structs.setdefault(struct, {})[member] = _value(name, value)
        else:
            section, own = _place(name)
            sections[section][own] = _value(name, value)
    sections["CF"] |= {struct: braced(members) for struct, members in structs.items()}
    return sections


def braced(members: Mapping[str, str]) -> str:
    """Return a struct as RocksDB writes it: {size_ratio=1;min_merge_width=2;}."""
    return "{" + "".join(f"{member}={value};" for member, value in members.items()) + "}"


def _split(changes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Separate the options of a file from those that only code can set."""
    in_file = {name: value for name, value in changes.items() if name not in _IN_CODE}
    return in_file, {name: f"{changes[name]} in {_IN_CODE[name]}" for name in changes if name in _IN_CODE}


def _place(name: str) -> tuple[str, str]:
    """Return the section of an option, and its name there."""
    if name == "bloom_bits":
        return "Table", "filter_policy"
    return ("DB" if name in DATABASE_OPTIONS else "Table" if name in _TABLES else "CF"), name


def _value(name: str, value: Any) -> str:
    """Return a value as RocksDB writes it: sizes in bytes, booleans in words, lists with colons."""
    read = plain(read_value(name, value))
    if name == "bloom_bits":
        return f"bloomfilter:{read:g}:false" if read else "nullptr"
    if isinstance(read, bool):
        return str(read).lower()
    if isinstance(read, Sequence) and not isinstance(read, str):
        return ":".join(map(str, read))
    if option_types()[name] is float:
        return f"{read:f}"
    return str(read)


def _struct(text: str, name: str, flat: Mapping[str, Any]) -> str:
    """Return the value of a struct with some members changed."""
    members = parse_struct(text)
    for key, value in flat.items():
        struct, _, member = key.partition(".")
        if struct == name:
            members[member] = _value(key, value)
    return braced(members)


def _opens(line: str, section: str, family: str) -> bool:
    text = line.strip()
    if section == "DB":
        return text.startswith("[DBOptions]")
    title = "[CFOptions" if section == "CF" else "[TableOptions/"
    return text.startswith(title) and f'"{family}"' in text
