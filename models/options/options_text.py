"""Readers of RocksDB's own text formats for options, the OPTIONS file and the header of a LOG, and the form of other texts.

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
_OF_PEBBLE: Final = frozenset({"Options", "Level"})
"""Sections of Pebble's OPTIONS files, which do not have those of RocksDB."""
_PEBBLE: Final = "the options of Pebble, CockroachDB's store, are not simulated: give an OPTIONS file of RocksDB"
NAME: Final = r"[A-Za-z_][\w.]*"
_ASSIGNMENT: Final = re.compile(rf"(?:--)?{NAME}(?:[ -]\w+)*[\"']?\s*[=:]\s*\S")
KVROCKS: Final = re.compile(r"(?:rocksdb\.([\w.]{1,80})|(max-io-mb))\s+(\S+)")
"""Setting in the file of Kvrocks (kvrocks.conf)."""
_DB_BENCH: Final = "db_bench"
_LEVELS_OF_CEPH: Final = frozenset({"basic", "advanced", "dev", "unknown"})
"""Third or second cell of a row that `ceph config dump` prints."""
_CODE: Final = re.compile(
    r"(?:\.|->)\s*[sS]et_?[A-Za-z]\w*\s*\(|\w(?:\.|->)[a-z]\w*\s+=\s+[^=].*;\s*(?://.*)?$|\bnew (?:LRUCache|BloomFilter)\("
)
"""Statement of program code that sets an option."""
_HEADER_GAP_LINES: Final = 2000
"""Lines without an option that end the header of a LOG (RocksDB may log its recovery in between)."""
LONGEST_LINE: Final = 16 << 10
"""Largest length of a line with options in characters; the patterns take time that grows with its square."""


@dataclass(frozen=True, slots=True)
class OptionEntry:
    """One `name = value` as text, with its line and section."""

    line: int
    section: str
    """Version, DB, CF or Table; Family for the name of one that may have no options; Other for a section of the file about
    something else, which `name` names; Unread for a setting whose value is not readable."""
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
    KVROCKS = auto()
    """File of Kvrocks: a name and a value per line."""
    CODE = auto()
    """Program code that sets options, which `code_text` reads."""
    OTHER = auto()


def form_of(lines: Iterable[str]) -> Form:
    """Return the form of a text that begins with these plain lines."""
    found = Form.OTHER
    for whole in lines:
        line = whole[:LONGEST_LINE]
        if _STAMPED.match(line) or _RELEASE.search(line) or _OPTION.search(line):
            return Form.LOG
        if found is Form.OTHER and KVROCKS.fullmatch(line.strip()):
            return Form.KVROCKS
        if found is not Form.INI and _CODE.search(line):
            return Form.CODE
        text = line.strip()
        if (match := _SECTION.fullmatch(text)) and _is_of_options_file(match):
            found = Form.INI
        elif found is Form.OTHER and (setting_of_row(text) is not None or _ASSIGNMENT.match(flags_of(text).lstrip("{\"' "))):
            found = Form.STRINGS
    return found


def flags_of(text: str) -> str:
    """Return the flags of a command of db_bench; another text as it is.

    >>> flags_of("numactl ./db_bench --num=7"), flags_of("num=7")
    ('--num=7', 'num=7')
    """
    _, found, flags = text.rpartition(_DB_BENCH)
    return flags.lstrip() if found and flags[:1].isspace() else "" if text.endswith(_DB_BENCH) else text


def setting_of_row(text: str) -> str | None:
    """Return the setting in a row that `ceph config dump` prints, "" for the row of titles; None for another text.

    >>> [setting_of_row(text) for text in ("osd  advanced  osd_memory_target  4294967296  *", "WHO MASK LEVEL", "a b")]
    ['osd_memory_target = 4294967296', '', None]
    """
    cells = text.split()
    if cells[:2] == ["WHO", "MASK"]:
        return ""
    for at in (1, 2):  # without and with a mask
        if len(cells) > at and cells[at] in _LEVELS_OF_CEPH and cells[at + 3 :] in ([], ["*"]) and len(cells) >= at + 3:
            return f"{cells[at + 1]} = {cells[at + 2]}"
    return None


def _is_of_options_file(section: re.Match[str]) -> bool:
    """Whether a section is of an OPTIONS file, also of Pebble's, whose sections [Level "0"] no host program has."""
    title, argument = section.groups()
    return title in _SECTIONS or title.startswith("TableOptions/") or (title == "Level" and bool(argument))


def read_ini(lines: NumberedLines, source: str) -> Iterator[OptionEntry]:
    """Yield the entries of an OPTIONS file. Raises InputError with the line for text that RocksDB refuses too."""
    section, family = "", ""
    for number, raw in lines:
        text = strip_comment(raw)
        if not text:
            continue
        if text.startswith("["):
            section, family = _section(text, source, number)
            continue
        if not section:
            raise InputError(
                f"{source}:{number}: {excerpt(text)} comes before the first section, such as [DBOptions]; "
                "give an OPTIONS file, an option string (name=value;name=value) or a LOG of RocksDB"
            )
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise InputError(f"{source}:{number}: {excerpt(text)} is not of the form name=value; correct the line")
        if name == "pebble_version":
            raise InputError(f"{source}:{number}: pebble_version is no option of RocksDB; {_PEBBLE}")
        yield OptionEntry(number, section, family, name, _unescape(value))


def read_log(lines: NumberedLines) -> Iterator[OptionEntry]:
    """Yield the entries of the first options header in a LOG; skip all other lines."""
    family, in_table, gap, releases = "", False, 0, 0
    for number, raw in lines:
        line = raw.rstrip()
        if not line:  # a web page or a mail may have one after each line
            continue
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
                yield OptionEntry(number, "Table", family or "default", member.group(1), member.group(2).strip())
        elif option := _OPTION.search(line):
            in_table, gap = False, 0
            yield OptionEntry(number, "CF" if family else "DB", family, option.group(1), option.group(2).strip())
        elif in_table and (member := _MEMBER.match(line)):
            gap = 0
            yield OptionEntry(number, "Table", family or "default", member.group(1), member.group(2).strip())
        else:
            in_table = False
            if family and gap > _HEADER_GAP_LINES:
                return


def parse_struct(text: str) -> dict[str, str]:
    """Split `{a=1;b={c=2;};}` into members. Raises InputError for unmatched braces and members without a name."""
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        raise InputError(f"{excerpt(text)} is not of the form {{name=value;…}}")
    members: dict[str, str] = {}
    for part in split_parts(body[1:-1], _SEMICOLON):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise InputError(f"{excerpt(part)} is not of the form name=value")
        members[name] = value
    return members


def split_parts(body: str, separator: re.Pattern[str]) -> Iterator[str]:
    """Yield the parts that are not blank between the separators outside of inner braces."""
    depth, start, at = 0, 0, 0
    while at < len(body):
        depth += (body[at] == "{") - (body[at] == "}")
        if depth < 0:
            break
        inside = body[at - 1 : at + 1].isspace() and at > start  # of a run of spaces, which was tried at its begin
        found = separator.match(body, at) if depth == 0 and not inside else None
        if found:
            if body[start:at].strip():
                yield body[start:at]
            start = found.end()
        at = max(at + 1, found.end() if found else 0)
    if depth != 0:
        raise InputError(f"braces do not match in {excerpt(body)}")
    if body[start:].strip():
        yield body[start:]


def _section(text: str, source: str, number: int) -> tuple[str, str]:
    match = _SECTION.fullmatch(text)
    if match is None:
        raise InputError(f'{source}:{number}: {excerpt(text)} is not a section such as [CFOptions "default"]')
    title, argument = match.group(1), match.group(2) or ""
    if title.startswith("TableOptions/"):
        return "Table", argument
    if title not in _SECTIONS:
        remedy = _PEBBLE if title in _OF_PEBBLE else "remove it"
        raise InputError(f"{source}:{number}: section [{title}] is not one that RocksDB writes; {remedy}")
    return {"Version": "Version", "DBOptions": "DB", "CFOptions": "CF"}[title], argument


def strip_comment(line: str) -> str:
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


def excerpt(text: str) -> str:
    """Shorten text for a message: one printable line of at most 60 characters."""
    flat = text.strip().encode("unicode_escape").decode("ascii")
    return repr(text.strip()) if len(flat) <= 60 and flat == text.strip() else f"'{flat[:57]}...'"
