"""Sections of a host program's file: the nested maps and named option strings that are about one database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from lsmlab.models.options.not_simulated import NOT_SIMULATED
from lsmlab.models.options.options_text import OptionEntry
from lsmlab.models.options.values import STRUCTS, option_types

_KEY: Final = re.compile(r"(?P<list>-\s+name\s*:\s*)?[\"']?(?P<key>[\w.$ /-]{1,120}?)[\"']?\s*(?P<sign>:\s*\{?|=?\s*\{)?")
"""Line that begins a map in YAML or JSON, or a member `- name: key` of a list."""
_OF_A_TABLE: Final = frozenset({"block_based_table_factory", "table_factory"})
_FAMILY_MAP: Final = re.compile(r"(?:(?:column_?)?famil(?:y|ies)|cfs?)(?:_?opt(?:ion)?s)?")
"""Key of a map with a map for each column family."""
_NO_FAMILY: Final = re.compile(r".*(?:opt(?:ion)?s|table|factory|cache)")
_OF_A_DATABASE: Final = re.compile(r".*rocks_?db_?options")
"""Name of an option string that is about all of a database, such as Ceph's mon_rocksdb_options."""
_MAIN: Final = ("default", "bluestore_rocksdb_options")
"""Sections that are taken before others."""

_DEEPEST: Final = 16
"""Largest number of maps around a line."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An entry with the keys of the maps and option strings around it, from the outermost on."""

    path: tuple[str, ...]
    entry: OptionEntry
    string: int = 0
    """Line of the option string that has the entry, which a later string of its name replaces; 0 if none does."""


class Nesting:
    """Maps around the lines of an indented text."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def begins(self, indent: int, text: str) -> bool:
        """Take the next line, without its indent; return whether it begins a map."""
        found = _KEY.fullmatch(text)
        if found and found["list"]:
            indent += 1  # YAML need not indent the members of a list
        while self._open and self._open[-1][0] >= indent:
            self._open.pop()
        if not (found and (found["list"] or found["sign"])):
            return False
        if len(self._open) < _DEEPEST:
            self._open.append((indent, found["key"]))
        return True

    @property
    def path(self) -> tuple[str, ...]:
        """Keys of the maps around the last line, from the outermost on."""
        return tuple(key for _, key in self._open)


def snake_case(key: str) -> str:
    """Return a name as RocksDB writes it.

    >>> [snake_case(key) for key in ("maxOpenFiles", "Compaction Style", "StateDbOptions", "write-buffer-size")]
    ['max_open_files', 'compaction_style', 'state_db_options', 'write_buffer_size']
    """
    return re.sub(r"[\s-]+|(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()


def placed(path: Sequence[str], entry: OptionEntry, string: int = 0) -> Placed:
    """Return an entry with the family and the struct that its path names, without these keys.

    >>> own = OptionEntry(1, "CF", "default", "num_levels", "4")
    >>> (found := placed(("rocksdb", "column_families", "index"), own)).path, found.entry.family
    (('rocksdb', 'column_families'), 'index')
    """
    keys, family, name = [key for key in path if snake_case(key) not in _OF_A_TABLE], entry.family, entry.name
    if keys and snake_case(keys[-1]) in STRUCTS:
        name = f"{snake_case(keys.pop())}.{name}"
    for at, (outer, inner) in enumerate(pairwise(keys)):
        if _FAMILY_MAP.fullmatch(snake_case(outer)) and not _NO_FAMILY.fullmatch(snake_case(inner)):
            family = keys.pop(at + 1)
            break
    return Placed(tuple(keys), OptionEntry(entry.line, entry.section, family, name, entry.value), string)


def of_one_database(settings: Sequence[Placed], depth: int = 0) -> Iterator[OptionEntry]:
    """Yield the entries of one database, those of outer maps first; others as sections that are left out.

    Sections beside each other that set an option of the same family are different databases: the default one, one
    that has the name of RocksDB, or else the first is taken. Others, such as db_options beside cf_options, are parts of one.
    """
    last = max((one.string for one in settings if len(one.path) == depth), default=0)
    sections: dict[str, list[Placed]] = {}
    for one in settings:
        if len(one.path) > depth:
            sections.setdefault(one.path[depth], []).append(one)
        elif one.string in (0, last):
            yield one.entry
        else:
            yield OptionEntry(one.string, "Other", "", f"{one.path[-1]} of line {one.string}", "")
    if _several_databases(sections):
        main = min(sections, key=_rank)
        yield from (OptionEntry(own[0].entry.line, "Other", "", key, "") for key, own in sections.items() if key != main)
        sections = {main: sections[main]}
    for own in sections.values():
        yield from of_one_database(own, depth + 1)


def _several_databases(sections: Mapping[str, Sequence[Placed]]) -> bool:
    set_before: set[tuple[str, str]] = set()
    for own in sections.values():
        names = {(one.entry.family, one.entry.name) for one in own if _is_option(one.entry.name)}
        if names & set_before:
            return True
        set_before |= names
    return len({snake_case(key) for key in sections if _OF_A_DATABASE.fullmatch(snake_case(key))}) > 1


def _rank(key: str) -> int:
    return 0 if snake_case(key) in _MAIN else 1 if "rocks" in key.lower() else 2


def _is_option(name: str) -> bool:
    return name in option_types() or name in NOT_SIMULATED or name in ("block_cache_size", "filter_policy")
