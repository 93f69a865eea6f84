"""Readers of the text formats for options: the OPTIONS file, the header of a LOG, and option strings.

The readers turn plain lines (`models.text.plain_lines`) with their numbers into `OptionEntry` records; `options_file`
interprets the names and values. See (behaviour/options.md, OPTIONS files).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.text.stamps import OWN_STAMP

NumberedLines = Iterable[tuple[int, str]]
"""Plain lines with the numbers of their lines in the source."""

_SECTION: Final = re.compile(r'\[\s*([\w/.\-]+)\s*(?:"([^"]*)")?\s*\]')
_OPTION: Final = re.compile(r"Options\.([A-Za-z_][\w.]*(?:\[\d+\])?)\s*: ?(.*)$")
_FAMILY: Final = re.compile(r"Options for column family \[(.*)\]:?$")
_RELEASE: Final = re.compile(r"RocksDB version:\s*(\S+)")
_TABLE: Final = "table_factory options:"
_MEMBER: Final = re.compile(r"\s*([a-z][\w.]{0,79})\s*: ?(.*)$")
_STAMPED: Final = re.compile(rf"{OWN_STAMP}\S* ")
_SEMICOLON: Final = re.compile(";")
_SECTIONS: Final = frozenset({"Version", "DBOptions", "CFOptions"})
_NAME: Final = r"[A-Za-z_][\w.]*"
_ASSIGNMENT: Final = re.compile(rf"(?:--)?{_NAME}(?:[ -]\w+)*[\"']?\s*[=:]\s*\S")
_CONTAINER: Final = re.compile(rf"(?P<name>[\w .-]+?)[\"']?\s*[=:]\s*[\"']?(?P<rest>{_NAME}\s*=.*)")
"""Setting of a host program whose value is an option string, such as bluestore_rocksdb_options = name=value,name=value."""
_SEPARATOR: Final = re.compile(rf"\s*;\s*|\s*,\s*(?={_NAME}\s*=|$)|\s+(?=--[a-z])")
_FAMILIES: Final = ("override_cf_options", "update_cf_options")
"""Ends of the names of MyRocks' settings that have options by column family: name={name=value;...};..."""
_TABLE_FACTORIES: Final = ("block_based_table_factory", "table_factory")
_HEADER_GAP_LINES: Final = 2000
"""Lines without an option that end the header of a LOG (RocksDB may log its recovery in between)."""
_LONGEST_LINE: Final = 16 << 10
"""Largest length of a line with options in characters; the patterns take time that grows with its square."""


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


class Form(Enum):
    """Form of a text with options."""

    LOG = auto()
    INI = auto()
    """OPTIONS file."""
    STRINGS = auto()
    """Option strings, as `GetColumnFamilyOptionsFromString` reads them, or one name=value per line."""
    OTHER = auto()


def form_of(lines: Iterable[str]) -> Form:
    """Return the form of a text that begins with these plain lines."""
    found = Form.OTHER
    for whole in lines:
        line = whole[:_LONGEST_LINE]
        if _STAMPED.match(line) or _RELEASE.search(line) or _OPTION.search(line):
            return Form.LOG
        text = line.strip()
        if (match := _SECTION.fullmatch(text)) and (match[1] in _SECTIONS or match[1].startswith("TableOptions/")):
            found = Form.INI
        elif found is Form.OTHER and _ASSIGNMENT.match(text.lstrip("{\"' ")):
            found = Form.STRINGS
    return found


def read_entries(lines: NumberedLines, form: Form, source: str) -> Iterator[OptionEntry]:
    """Yield the entries of a text of this form. Raises InputError with the line for text that RocksDB refuses too.

    Longer lines than `_LONGEST_LINE` are refused, and skipped in a LOG, where they are messages of other kinds.
    """
    lines = _of_usual_length(lines, form, source)
    if form is Form.LOG:
        return read_log(lines)
    return read_strings(lines, source) if form is Form.STRINGS else read_ini(lines, source)


def _of_usual_length(lines: NumberedLines, form: Form, source: str) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        if len(line) <= _LONGEST_LINE:
            yield number, line
        elif form is not Form.LOG:
            raise InputError(f"{source}:{number}: line is longer than {_LONGEST_LINE >> 10} KiB; write one option per line")


def read_ini(lines: NumberedLines, source: str) -> Iterator[OptionEntry]:
    """Yield the entries of an OPTIONS file. Raises InputError with the line for text that RocksDB refuses too."""
    section, family = "", ""
    for number, raw in lines:
        text = _strip_comment(raw)
        if not text:
            continue
        if text.startswith("["):
            section, family = _section(text, source, number)
            continue
        if not section:
            raise InputError(
                f"{source}:{number}: {_excerpt(text)} comes before the first section, such as [DBOptions]; "
                "give an OPTIONS file, an option string (name=value;name=value) or a LOG of RocksDB"
            )
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise InputError(f"{source}:{number}: {_excerpt(text)} is not of the form name=value; correct the line")
        yield OptionEntry(number, section, family, name, _unescape(value))


def read_strings(lines: NumberedLines, source: str) -> Iterator[OptionEntry]:
    """Yield the entries of option strings: name=value pairs, separated by semicolons, commas or line ends.

    A setting of a host program around a string (bluestore_rocksdb_options, rocksdb_default_cf_options) and the sections of
    its file (ceph.conf, my.cnf) do not matter. Raises InputError with the line for text of another form.
    """
    for number, raw in lines:
        text = _strip_comment(raw).removesuffix("\\").strip("\"'`, ")
        if text.startswith("{") and text.endswith("}"):
            text = text[1:-1].strip("\"'` ")
        if not text or text in "{}" or (text.startswith("[") and text.endswith("]")):
            continue
        family, by_family = "default", False
        if found := _CONTAINER.fullmatch(text):
            name, text = _option_name(found["name"]), found["rest"].rstrip("\"'` ")
            by_family = name.endswith(_FAMILIES)
        try:
            for name, value in _pairs(text):
                if by_family:
                    yield from _string_entries(number, name, parse_struct(value).items())
                else:
                    yield from _string_entries(number, family, ((name, value),))
        except InputError as error:
            raise InputError(f"{source}:{number}: {error}") from None


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of an option string. Raises InputError for a part that is not of the form name=value."""
    for part in _split(text, _SEPARATOR):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise InputError(f"{_excerpt(part)} is not of the form name=value; correct it")
        yield _option_name(name), value.strip("\"'")


def _string_entries(number: int, family: str, pairs: Iterable[tuple[str, str]]) -> Iterator[OptionEntry]:
    for name, value in pairs:
        if name in _TABLE_FACTORIES and value.startswith("{"):
            yield from _string_entries(number, family, parse_struct(value).items())
        elif name == "block_cache":  # its capacity, alone or with the cache's other options
            capacity = parse_struct(value).get("capacity", "") if value.startswith("{") else value
            yield OptionEntry(number, "Table", family, "capacity", capacity)
        else:
            yield OptionEntry(number, "CF", family, name, value)


def _option_name(text: str) -> str:
    """Return the name of an option without what MyRocks' settings and flags have before it.

    >>> [_option_name(text) for text in ("--write_buffer_size", "loose-rocksdb_max_background_jobs", "rocksdb-bytes-per-sync")]
    ['write_buffer_size', 'max_background_jobs', 'bytes_per_sync']
    """
    name = re.sub(r"[\s-]+", "_", text.strip("\"' ").lstrip("-"))
    return name.removeprefix("loose_").removeprefix("rocksdb_")


def read_log(lines: NumberedLines) -> Iterator[OptionEntry]:
    """Yield the entries of the first options header in a LOG; skip all other lines."""
    family, in_table, gap, releases = "", False, 0, 0
    for number, raw in lines:
        line = raw.rstrip()
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


def parse_struct(text: str) -> dict[str, str]:
    """Split `{a=1;b={c=2;};}` into members. Raises InputError for unmatched braces and members without a name."""
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        raise InputError(f"{_excerpt(text)} is not of the form {{name=value;…}}")
    members: dict[str, str] = {}
    for part in _split(body[1:-1], _SEMICOLON):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise InputError(f"{_excerpt(part)} is not of the form name=value")
        members[name] = value
    return members


def _split(body: str, separator: re.Pattern[str]) -> Iterator[str]:
    """Yield the parts that are not blank between the separators outside of inner braces."""
    depth, start, at = 0, 0, 0
    while at < len(body):
        depth += (body[at] == "{") - (body[at] == "}")
        if depth < 0:
            break
        found = separator.match(body, at) if depth == 0 else None
        if found:
            if body[start:at].strip():
                yield body[start:at]
            start = found.end()
        at = max(at + 1, found.end() if found else 0)
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
