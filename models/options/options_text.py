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
from lsmlab.models.text.wrappers import json_members

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
_CONTAINER: Final = re.compile(rf"(?P<name>[\w .-]+?)[\"']?\s*[=:]\s*[\"']?(?P<rest>{_NAME}\s*=.*|{{\s*\".*)")
"""Setting of a host program whose value is an option string, such as bluestore_rocksdb_options = name=value,name=value, or an
object of JSON."""
_TITLE: Final = re.compile(r"\[+([^\[\]]*)\]+")
"""Begin of a section in the file of a host program."""
_FAMILY_TITLE: Final = re.compile(r"rocksdb\.(\w+)cf")
"""Title of the section of a column family in TiKV's file."""
_SHARED_TITLE: Final = "storage.block-cache"
"""Title of a section of TiKV's file that holds for all column families."""
_TITAN_TITLE: Final = re.compile(r"rocksdb\.(?:(\w+)cf\.)?titan")
"""Title of a section of TiKV's file about Titan, its store of values in blob files."""
_BARE: Final = re.compile(r"[\w-]*[\"']?(?:\s*:)?\s*[{}]*")
"""Setting of a host program without a value, or whose members follow in further lines."""
_SEPARATOR: Final = re.compile(rf"\s*;\s*|\s*,\s*(?={_NAME}\s*=|$)|\s+(?=--[a-z])")
_FAMILIES: Final = ("override_cf_options", "update_cf_options")
"""Ends of the names of MyRocks' settings that have options by column family: name={name=value;...};..."""
_OF_FAMILIES: Final = re.compile(
    r"(?P<name>[\w .-]*(?:override|update)[-_]cf[-_]options)[\"']?\s*[=:]\s*[\"']?(?P<rest>[^\"'\s].*)"
)
"""Such a setting with its value. Names of families may have any signs: rev:cf1 is in reverse order (MyRocks)."""
_TABLE_FACTORIES: Final = ("block_based_table_factory", "table_factory")
_OUTER_NAMES: Final = re.compile(
    r"(?:loose_)?(?:rocksdb_(?!block_cache$)|(?:state\.backend\.)?rocksdb\.|block_based_table_factory\.|\w*?opt(?:ion)?s?\.)"
)
"""What host programs put before the name of an option. Nebula's rocksdb_block_cache is a number of MiB."""
_OF_FLINK: Final = {
    "writebuffer.size": "write_buffer_size", "writebuffer.count": "max_write_buffer_number",
    "writebuffer.number_to_merge": "min_write_buffer_number_to_merge", "thread.num": "max_background_jobs",
    "compaction.style": "compaction_style", "compaction.level.use_dynamic_size": "level_compaction_dynamic_level_bytes",
    "compaction.level.target_file_size_base": "target_file_size_base",
    "compaction.level.max_size_level_base": "max_bytes_for_level_base", "block.blocksize": "block_size",
    "block.cache_size": "block_cache_size",
}  # fmt: skip
"""Options by their names in Flink's configuration, after its prefix (RocksDBConfigurableOptions)."""
_OF_TIKV: Final = {
    "rate_bytes_per_sec": "rate_limiter_bytes_per_sec", "auto_tuned": "rate_limiter_auto_tuned",
    "max_sub_compactions": "max_subcompactions", "dynamic_level_bytes": "level_compaction_dynamic_level_bytes",
    "disable_block_cache": "no_block_cache", "pin_l0_filter_and_index_blocks": "pin_l0_filter_and_index_blocks_in_cache",
}  # fmt: skip
"""Options by their names in TiKV's file (src/config/mod.rs, DbConfig and cf_config)."""
_TIKV_MODES: Final = {"1": "kReadsOnly", "2": "kWritesOnly", "3": "kAllIo"}
"""Values of TiKV's rate-limiter-mode, one more than RocksDB's (rust-rocksdb, DBRateLimiterMode)."""
_OTHER_NAMES: Final = {**_OF_FLINK, **_OF_TIKV}
_HEADER_GAP_LINES: Final = 2000
"""Lines without an option that end the header of a LOG (RocksDB may log its recovery in between)."""
_LONGEST_LINE: Final = 16 << 10
"""Largest length of a line with options in characters; the patterns take time that grows with its square."""


@dataclass(frozen=True, slots=True)
class OptionEntry:
    """One `name = value` as text, with its line and section."""

    line: int
    section: str
    """Version, DB, CF or Table; Other for a section of the file that is about something else, which `name` names."""
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

    A line of a host program's file may have name: value, or an object of JSON. A setting around a string
    (bluestore_rocksdb_options, rocksdb_default_cf_options) and the sections of such a file (ceph.conf, my.cnf) do not matter;
    sections of TiKV's file tell the column family. Raises InputError with the line for text of another form.
    """
    section: str | None = "default"
    prefix = ""
    for number, raw in lines:
        text = _strip_comment(raw).removesuffix("\\").strip("\"'`, ")
        if title := _TITLE.fullmatch(text):
            section, prefix = _family_of(title[1]), "titan." if _TITAN_TITLE.fullmatch(title[1]) else ""
            if section is None:
                yield OptionEntry(number, "Other", "", title[1], "")
            continue
        if section is None:
            continue
        name = ""
        if found := _OF_FAMILIES.fullmatch(text) or _CONTAINER.fullmatch(text):
            name, text = _option_name(found["name"]), found["rest"].rstrip("\"'` ")
        try:
            if name.endswith(_FAMILIES):
                for family, options in _pairs(text):
                    yield from _string_entries(number, family, parse_struct(options).items())
            else:
                yield from _string_entries(number, section, _pairs(text), prefix)
        except InputError as error:
            raise InputError(f"{source}:{number}: {error}") from None


def _family_of(title: str) -> str | None:
    """Return the column family of a section in a host program's file; None for a section about something else.

    >>> [_family_of(title) for title in ("osd", "rocksdb", "rocksdb.defaultcf", "rocksdb.writecf", "raftdb.defaultcf")]
    ['default', 'default', 'default', 'write', None]
    >>> [_family_of(title) for title in ("rocksdb.titan", "rocksdb.writecf.titan", "raftdb.titan")]
    ['default', 'write', None]
    """
    if found := _FAMILY_TITLE.fullmatch(title) or _TITAN_TITLE.fullmatch(title):
        return found[1] or "default"
    if title in ("rocksdb", _SHARED_TITLE):
        return "default"
    return None if "." in title or title.endswith("db") else "default"


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of an option string or a JSON object. Raises InputError for a part of another form."""
    if text.startswith("{") and text.endswith("}"):
        if (members := json_members(text)) is not None:
            yield from ((name, _without_quotes(value)) for name, value in members.items())
            return
        text = text[1:-1].strip("\"'` ")
    if _BARE.fullmatch(text):
        return
    sign = "=" if "=" in text else ":"
    for part in _split(text, _SEPARATOR):
        name, found, value = (piece.strip() for piece in part.partition(sign))
        if not found or not name:
            raise InputError(f"{_excerpt(part)} is not of the form name=value; correct it")
        yield name.strip("\"'"), _without_quotes(value)


def _without_quotes(value: str) -> str:
    """Return a value without quotes; a list with them as RocksDB writes it.

    >>> _without_quotes('"64MB"'), _without_quotes('["no", "lz4"]')
    ('64MB', 'no:lz4')
    """
    listed = value.startswith("[") and value.endswith("]")
    return ":".join(item.strip("\"' ") for item in value[1:-1].split(",")) if listed else value.strip("\"'")


def _string_entries(number: int, family: str, pairs: Iterable[tuple[str, str]], prefix: str = "") -> Iterator[OptionEntry]:
    for outer_name, value in pairs:
        name = prefix + _option_name(outer_name)
        if outer_name == "rate-limiter-mode":  # TiKV's spelling
            value = _TIKV_MODES.get(value, value)
        if name in _TABLE_FACTORIES and value.startswith("{"):
            yield from _string_entries(number, family, parse_struct(value).items())
        elif name == "block_cache":  # its capacity, alone or with the cache's other options
            capacity = parse_struct(value).get("capacity", "") if value.startswith("{") else value
            yield OptionEntry(number, "Table", family, "capacity", capacity)
        else:
            yield OptionEntry(number, "CF", family, name, value)


def _option_name(text: str) -> str:
    """Return the name of an option without what the settings and flags of host programs have before it.

    >>> [_option_name(text) for text in ("--write_buffer_size", "loose-rocksdb_max_background_jobs", "rocksdb-bytes-per-sync")]
    ['write_buffer_size', 'max_background_jobs', 'bytes_per_sync']
    >>> [_option_name(text) for text in ("rocksdb.num_levels", "state.backend.rocksdb.thread.num", "Compaction Style")]
    ['num_levels', 'max_background_jobs', 'compaction_style']
    """
    name = re.sub(r"[\s-]+", "_", text.strip("\"' ").lstrip("-")).lower()
    name = _OUTER_NAMES.sub("", name, count=1) if _OUTER_NAMES.match(name) else name
    return _OTHER_NAMES.get(name, name)


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
