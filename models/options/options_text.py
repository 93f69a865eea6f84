"""Readers of RocksDB's two text formats for options: the OPTIONS file and the header of a LOG.

Both readers turn text into `OptionEntry` records; `options_file` interprets the names and values.
See (behaviour/options.md, OPTIONS files).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from lsmlab.models.errors import InputError

_SECTION: Final = re.compile(r'\[\s*([\w/.\-]+)\s*(?:"([^"]*)")?\s*\]')
_OPTION: Final = re.compile(r"Options\.([A-Za-z_][\w.]*(?:\[\d+\])?)\s*: ?(.*)$")
_FAMILY: Final = re.compile(r"Options for column family \[(.*)\]:?$")
_RELEASE: Final = re.compile(r"RocksDB version:\s*(\S+)")
_TABLE: Final = "table_factory options:"
_MEMBER: Final = re.compile(r"\s+([a-z][\w.]*)\s*: ?(.*)$")
_SECTIONS: Final = frozenset({"Version", "DBOptions", "CFOptions"})
_HEADER_GAP_LINES: Final = 2000
"""Lines without an option that end the header of a LOG (RocksDB may log its recovery in between)."""


@dataclass(frozen=True, slots=True)
class OptionEntry:
    """One `name = value` as text, with its line and section."""

    line: int
    section: str
    """Version, DB, CF or Table."""
    family: str
    """Column family; empty in the sections Version and DB."""
    name: str
    value: str


def read_ini(lines: Iterable[str], source: str) -> Iterator[OptionEntry]:
    """Yield the entries of an OPTIONS file. Raises InputError with the line for text that RocksDB refuses too."""
    section, family = "", ""
    for number, raw in enumerate(lines, 1):
        text = _strip_comment(raw)
        if not text:
            continue
        if text.startswith("["):
            section, family = _section(text, source, number)
            continue
        if not section:
            raise InputError(
                f"{source}:{number}: {_excerpt(text)} comes before the first section, such as [DBOptions]; "
                "give an OPTIONS file or a LOG of RocksDB"
            )
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise InputError(f"{source}:{number}: {_excerpt(text)} is not of the form name=value; correct the line")
        yield OptionEntry(number, section, family, name, _unescape(value))


def read_log(lines: Iterable[str]) -> Iterator[OptionEntry]:
    """Yield the entries of the first options header in a LOG; skip all other lines."""
    family, in_table, gap, releases = "", False, 0, 0
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip().removesuffix('"]')  # some applications wrap a message as ["…"]
        gap += 1
        if release := _RELEASE.search(line):
            releases += 1
            if releases > 1:
                return
            yield OptionEntry(number, "Version", "", "rocksdb_version", release.group(1))
        elif named := _FAMILY.search(line):
            family, in_table, gap = named.group(1), False, 0
        elif _TABLE in line:
            in_table = True
            if member := _MEMBER.search(" " + line.partition(_TABLE)[2]):
                yield OptionEntry(number, "Table", family, member.group(1), member.group(2).strip())
        elif option := _OPTION.search(line):
            in_table, gap = False, 0
            yield OptionEntry(number, "CF" if family else "DB", family, option.group(1), option.group(2).strip())
        elif in_table and (member := _MEMBER.match(line)):
            gap = 0
            yield OptionEntry(number, "Table", family, member.group(1), member.group(2).strip())
        else:
            in_table = False
            if family and gap > _HEADER_GAP_LINES:
                return


def is_log(lines: Iterable[str]) -> bool:
    """Return whether text that begins with `lines` is a LOG and not an OPTIONS file."""
    return any(_RELEASE.search(line) or _OPTION.search(line) for line in lines)


def parse_struct(text: str) -> dict[str, str]:
    """Split `{a=1;b={c=2;};}` into members. Raises InputError for unmatched braces and members without a name."""
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        raise InputError(f"{_excerpt(text)} is not of the form {{name=value;…}}")
    members: dict[str, str] = {}
    for part in _split(body[1:-1]):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise InputError(f"{_excerpt(part)} is not of the form name=value")
        members[name] = value
    return members


def _split(body: str) -> Iterator[str]:
    """Yield the parts between the semicolons outside of inner braces."""
    depth, start = 0, 0
    for i, char in enumerate(body):
        depth += (char == "{") - (char == "}")
        if depth < 0:
            break
        if char == ";" and depth == 0:
            if body[start:i].strip():
                yield body[start:i]
            start = i + 1
    if depth != 0:
        raise InputError(f"braces do not match in {_excerpt(body)}")
    if body[start:].strip():
        yield body[start:]


def _section(text: str, source: str, number: int) -> tuple[str, str]:
    match = _SECTION.fullmatch(text)
    if match is None:
        raise InputError(f'{source}:{number}: {_excerpt(text)} is not a section such as [CFOptions "default"]')
    title, argument = match.group(1), match.group(2) or ""
    if title.startswith("TableOptions/"):
        return "Table", argument
    if title not in _SECTIONS:
        raise InputError(f"{source}:{number}: section [{title}] is not one that RocksDB writes; remove it")
    return {"Version": "Version", "DBOptions": "DB", "CFOptions": "CF"}[title], argument


def _strip_comment(line: str) -> str:
    """Remove a comment (`#` not after a backslash) and the blanks at both ends."""
    start = 0
    while (at := line.find("#", start)) >= 0:
        if at == 0 or line[at - 1] != "\\":
            return line[:at].strip()
        start = at + 1
    return line.strip()


def _unescape(value: str) -> str:
    if "\\" not in value:
        return value
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m.group(1), m.group(1)), value)


def _excerpt(text: str) -> str:
    """Shorten text for a message: one printable line of at most 60 characters."""
    flat = text.strip().encode("unicode_escape").decode("ascii")
    return repr(text.strip()) if len(flat) <= 60 and flat == text.strip() else f"'{flat[:57]}...'"
