"""Options of a real store: from its OPTIONS-NNNNNN file, the header of its LOG, or option strings of its host program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from textwrap import shorten
from typing import Any, Final

from lsmlab.models import since
from lsmlab.models.errors import InputError
from lsmlab.models.options.code_text import read_code
from lsmlab.models.options.fields import DATABASE_OPTIONS, CompactionStyle
from lsmlab.models.options.host_text import read_kvrocks, read_strings
from lsmlab.models.options.ignored import IgnoredOption, ignored_options, texts_of
from lsmlab.models.options.not_simulated import NOT_SIMULATED
from lsmlab.models.options.options_text import (
    LONGEST_LINE,
    Form,
    NumberedLines,
    OptionEntry,
    form_of,
    parse_struct,
    read_ini,
    read_log,
)
from lsmlab.models.options.presets import PRESETS, flink_memory
from lsmlab.models.options.values import STRUCTS, WHERE, option_types, plain, read_value
from lsmlab.models.text.files import TextLines
from lsmlab.models.text.plain_lines import PlainLines
from lsmlab.models.units import parse_quantity
from lsmlab.models.version import Version

_NO_POINTER: Final = re.compile(r"\(nil\)|nullptr|None|false|off|no|(0x)?0+|", re.IGNORECASE)
_RELEASE: Final = re.compile(r"[0-9]{1,6}\.[0-9]{1,6}(?![0-9])")
_INDEXED: Final = re.compile(r"(\w+)\[([0-9]{1,4})\]")
_SUFFIXED: Final = re.compile(r"(-?[0-9]{1,20}(?:\.[0-9]{1,9})?) ?([kKmMgGtT])i?[bB]?")
_PRODUCT: Final = re.compile(r"\d{1,19}(?:\s*\*\s*\d{1,19}){1,4}")
"""Number as program code has it: 64 * 1024 * 1024."""
_POWER: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_FILTER_BITS: Final = re.compile(r"(?:bloom|ribbon)filter:([0-9]+(?:\.[0-9]+)?)(?::|$)")
_USUAL_BITS: Final = 10.0
"""Bits per key of a filter whose size the file does not give: the value of RocksDB's examples and ADOC's runs."""
_FIRST_LINES: Final = 2000
"""Lines in which a text must show its form. RocksDB's first message may come late in the log of a host program."""
_MOST_LINES: Final = 5_000_000
"""Lines of a file that is read for its options: a LOG of 500 MB, or an OPTIONS file of 20,000 column families."""
_MAX_VALUE: Final = 1 << 10
_FEW: Final = 8
"""Largest number of sections or options that a note lists."""
_MOST_CODE: Final = 80
"""Characters of program code in a note."""
_LAST: Final = 3
"""Largest number of values of one option that a note lists."""
_SWITCHES: Final = {"on": "true", "yes": "true", "off": "false", "no": "false"}
"""Truth values of MySQL and Kvrocks."""
_OTHER_KEYS: Final = {"block_cache_size": "cache_size", "filter_policy": "bloom_bits", "filter_bits": "bloom_bits"}
"""Names in texts by which options are set that have other names here."""


@dataclass(frozen=True, slots=True)
class OptionsFile:
    """Options of one column family, as read from a file."""

    source: str
    version: Version | None
    """None if the file does not give the version."""
    overrides: dict[str, Any]
    """Typed values by flat name, for `resolve_options`."""
    ignored: dict[str, str]
    """Text of each option in the file that the simulator does not have, in the file's order."""
    notes: list[str]
    """Assumptions of the reader, in words."""
    untold: dict[str, str]
    """Options of which this form of text never gives the value, by flat name, with what is assumed."""
    column_family: str
    families: tuple[str, ...]
    """All column families of the file, in its order."""
    rate_limited: bool
    """Whether the file shows a rate limiter; neither format gives its rate."""

    @property
    def not_simulated(self) -> list[IgnoredOption]:
        """Options whose values matter and are not simulated, those of large effect first."""
        return ignored_options(self.version, self.ignored | texts_of(self.overrides))


def read_options(path_or_text: str | Path, column_family: str = "default") -> OptionsFile:
    """Read an OPTIONS file, the header of a LOG, or option strings, plain or compressed (gzip, xz, bzip2).

    An argument of several lines is the content itself. Reads the options of `column_family` only. Keeps unknown
    options in `ignored`, as RocksDB skips them with ignore_unknown_options. Raises InputError with file and line for
    text that it cannot read. Source: (behaviour/options.md, OPTIONS files).
    """
    if isinstance(path_or_text, str) and "\n" in path_or_text:
        return _read(path_or_text.split("\n"), "options text", column_family)
    lines = TextLines(Path(path_or_text), _MOST_LINES)
    found = _read(lines, str(path_or_text), column_family)
    if lines.damaged:
        raise InputError(f"{path_or_text}: cannot be read: its compressed data are damaged or incomplete; copy the file again")
    return found


def _read(source_lines: Iterable[str], source: str, column_family: str) -> OptionsFile:
    lines = iter(PlainLines(source_lines))
    first = list(islice(lines, _FIRST_LINES))
    form = form_of(text for _, text in first)
    reader = _Reader(source, column_family, form)
    reader.take(_entries(chain(first, lines), form, source))
    if form is Form.STRINGS:
        reader.families = {"default": None, **reader.families}  # each store has it, also where a file sets others alone
    if form is Form.STRINGS and not reader.values and len(reader.families) == 1:
        raise InputError(f"{source}: no options found; give an OPTIONS file, an option string, or a LOG from its first line on")
    return reader.finish()


def _entries(lines: NumberedLines, form: Form, source: str) -> Iterator[OptionEntry]:
    """Yield the entries of a text of this form. Raises InputError with the line for text that RocksDB refuses too.

    Longer lines than `LONGEST_LINE` are refused, and skipped in a LOG, where they are messages of other kinds.
    """
    usual = _of_usual_length(lines, form, source)
    if form in _READERS:
        return _READERS[form](usual)
    return read_strings(usual, source) if form is Form.STRINGS else read_ini(usual, source)


_READERS: Final = {Form.LOG: read_log, Form.KVROCKS: read_kvrocks, Form.CODE: read_code}
_OF_HOSTS: Final = frozenset({Form.STRINGS, Form.KVROCKS})


def _of_usual_length(lines: NumberedLines, form: Form, source: str) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        if len(line) <= LONGEST_LINE:
            yield number, line
        elif form is not Form.LOG:
            raise InputError(f"{source}:{number}: line is longer than {LONGEST_LINE >> 10} KiB; write one option per line")


def points(text: str) -> bool:
    """Whether the text of an option with an object, such as rate_limiter, shows one: a LOG prints its address."""
    return not _NO_POINTER.fullmatch(text)


def _without_unit(text: str) -> str:
    """Return a size of program code or of a host program, such as 64 * 1024 and 64mb, as a number; other texts as they are."""
    if _PRODUCT.fullmatch(text):
        return str(math.prod(int(factor) for factor in text.split("*")))
    match = _SUFFIXED.fullmatch(text)
    return str(int(Decimal(match.group(1)) * _POWER[match.group(2).lower()])) if match else text


@dataclass(slots=True)
class _Reader:
    """Collector of entries for one `OptionsFile`."""

    source: str
    column_family: str
    form: Form
    version: Version | None = None
    values: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, dict[int, Any]] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    families: dict[str, None] = field(default_factory=dict)
    settings: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)
    """Values of each option with their lines, in the order in which they were set; equal ones in a row count once."""
    unread: dict[str, str] = field(default_factory=dict)
    """Notes on options whose last value in the text is not readable."""
    line: int = 0
    left_out: dict[str, None] = field(default_factory=dict)
    """Titles of the sections of a host program's file that are not about this database."""
    rate_limited: bool = False
    no_block_cache: bool = False
    fifo_ttl: int = 0
    """compaction_options_fifo.ttl in s; 0 if it is not set."""
    preset: str = ""
    flink_memory: dict[str, float] = field(default_factory=dict)
    """Size and ratio of Flink's memory for a slot, by the names of the arguments of `presets.flink_memory`."""

    def take(self, entries: Iterable[OptionEntry]) -> None:
        for entry in entries:
            self.line = entry.line
            if entry.section == "Other":
                self.left_out[entry.name] = None
                continue
            if entry.section == "Unread":
                self._not_read(entry)
                continue
            if entry.section in ("CF", "Table", "Family"):
                self.families[entry.family] = None
                if entry.family != self.column_family or entry.section == "Family":
                    continue
            try:
                self._take(entry)
            except InputError as error:
                text = str(error).removeprefix(f"{WHERE}.")
                raise InputError(f"{self.source}:{entry.line}: {text}") from None

    def finish(self) -> OptionsFile:
        if not self.families and not self.values:
            raise InputError(f"{self.source}: no options found; give an OPTIONS file, or a LOG from its first line on")
        if not self.families:  # a part of a LOG without the line that begins the options of a column family
            self.families["default"] = None
        if self.column_family not in self.families:
            names = ", ".join(self.families) or "none"
            raise InputError(f"{self.source}: no options of column family {self.column_family!r}; the file has {names}")
        for name, items in self.lists.items():
            self.values[name] = self._whole_list(name, items)
        self._take_presets()
        self._take_fifo_ttl()
        if self.no_block_cache:
            self.values["cache_size"] = 0
        untold = {}
        if self.rate_limited:
            untold["rate_limiter_bytes_per_sec"] = "the store has a rate limiter of unknown rate; set rate_limiter_bytes_per_sec"
        if self.form is Form.INI and "cache_size" not in self.values:
            untold["cache_size"] = "an OPTIONS file has no size of the block cache: the release's default is used; set cache_size"
        self.notes += self.unread.values()
        if self.left_out:
            titles = _few([f"[{title}]" for title in self.left_out])
            self.notes.append(f"sections left out, as they are not about this database: {titles}")
        if repeated := [_values_of(name, found) for name, found in self.settings.items() if len(found) > 1]:
            self.notes.append(f"set more than once, of which the last value here counts: {_few(repeated, '; ')}")
        return OptionsFile(
            self.source, self.version, self.values, self.ignored, self.notes, untold, self.column_family, tuple(self.families),
            self.rate_limited,
        )  # fmt: skip

    def _take(self, entry: OptionEntry) -> None:
        if entry.section == "Version":
            if entry.name == "rocksdb_version":
                if not _RELEASE.match(entry.value):
                    raise InputError(f"rocksdb_version: {entry.value!r} is not of the form major.minor.patch")
                self.version = Version.parse(entry.value)
            return
        if entry.name in STRUCTS:
            for member, value in parse_struct(entry.value).items():
                self._set(f"{entry.name}.{member}", value)
        elif (match := _INDEXED.fullmatch(entry.name)) and match.group(1) in _LISTS:
            self._set_item(_LISTS[match.group(1)], int(match.group(2)), entry.value)
        else:
            self._set(entry.name, entry.value)

    def _not_read(self, entry: OptionEntry) -> None:
        """Name a setting whose value is not readable; an earlier value of its option does not count any more."""
        name = _OTHER_KEYS.get(entry.name, entry.name)
        self.values.pop(name, None)
        before = self.settings.pop(name, None)
        lost = f"; the value of line {before[-1][0]} does not count any more" if before else ""
        code = shorten(entry.value, _MOST_CODE, placeholder="…")
        self.unread[name] = f"line {entry.line}: {entry.name}: {code} is not read; set its value{lost}"

    def _put(self, name: str, value: Any) -> None:
        """Set an option by its flat name; of several values, the last one counts."""
        self._remember(name, value)
        self.unread.pop(name, None)
        self.values[name] = value

    def _remember(self, name: str, value: Any) -> None:
        if self.form is not Form.LOG:  # its header may have the lines of an option several times
            found = self.settings.setdefault(name, [])
            if not found or found[-1][1] != value:
                found.append((self.line, value))

    def _set(self, name: str, text: str) -> None:
        special = _SPECIAL.get(name)
        if special is not None:
            special(self, text)
            return
        if name not in option_types() or name in _NEVER.get(self.form, _NEVER_IN_FILES):
            if name in NOT_SIMULATED:
                self._remember(name, text)
            self.ignored[name] = text
            return
        self._value(name, text)

    def _value(self, name: str, text: str) -> None:
        if len(text) > _MAX_VALUE:
            raise InputError(f"{name}: a value of {len(text)} characters is too long; the limit is {_MAX_VALUE}")
        if self.form in _OF_HOSTS and option_types()[name] is bool:
            text = _SWITCHES.get(text.lower(), text)
        self._put(name, read_value(name, _without_unit(text)))

    def _whole_list(self, name: str, items: dict[int, Any]) -> tuple[Any, ...]:
        """Return a list of which a text has some items: a missing one is as the one before it, or as the first one."""
        if missing := sorted(set(range(max(items))) - items.keys()):
            more = " and others" if len(missing) > 1 else ""
            self.notes.append(f"{name}: the text lacks item {missing[0]}{more}; those of the levels beside are assumed")
        known = sorted(items)
        return tuple(items[max((k for k in known if k <= i), default=known[0])] for i in range(max(items) + 1))

    def _set_item(self, name: str, index: int, text: str) -> None:
        self.lists.setdefault(name, {})[index] = read_value(name, text or "?")[0]

    def _cache_capacity(self, text: str) -> None:
        if self.form is not Form.LOG or "cache_size" not in self.values:
            self._value("cache_size", text)  # in a LOG, a tiered cache prints the capacity of its inner caches after its own

    def _take_presets(self) -> None:
        """Set what the text sets as a whole where it does not set an option itself."""
        together = dict(PRESETS[self.preset]) if self.preset else {}
        if "total_bytes" in self.flink_memory:
            together |= flink_memory(**self.flink_memory)
        if together := {name: text for name, text in together.items() if name not in self.values.keys() | self.unread.keys()}:
            self.values |= {name: read_value(name, text) for name, text in together.items()}
            self.notes.append(f"set by {self.preset or 'the memory of a slot'}: {', '.join(together)}")

    def _preset(self, text: str) -> None:
        if text in PRESETS:
            self.preset = text
        else:
            self.ignored["predefined_options"] = text

    def _flink_memory(self, text: str) -> None:
        self.flink_memory["total_bytes"] = _quantity(_without_unit(text), "memory.fixed-per-slot", "bytes")

    def _flink_memory_ratio(self, text: str) -> None:
        self.flink_memory["ratio"] = _quantity(text, "memory.write-buffer-ratio", "ratio")

    def _flink_bloom_filter(self, text: str) -> None:
        if _true(text):
            self.values.setdefault("bloom_bits", _USUAL_BITS)

    def _filter_bits(self, text: str) -> None:
        self._put("bloom_bits", read_value("bloom_bits", text))

    def _filter(self, text: str) -> None:
        if not points(text):
            self._put("bloom_bits", 0.0)
        elif match := _FILTER_BITS.search(text):
            self._put("bloom_bits", read_value("bloom_bits", match.group(1)))
        else:
            self._put("bloom_bits", _USUAL_BITS)
            self.notes.append(f"filter_policy {text!r} does not give its size: {_USUAL_BITS:g} bits per key assumed")

    def _rate_limiter(self, text: str) -> None:
        self.rate_limited = points(text)

    def _statistics(self, text: str) -> None:
        self._put("statistics", points(text))

    def _no_cache(self, text: str) -> None:
        self.no_block_cache = _true(text)

    def _write_buffer_manager(self, text: str) -> None:
        """Read the size to which a write buffer manager limits memtables. A LOG prints its address, limited or not."""
        size = parse_struct(text).get("buffer_size", "") if text.startswith("{") else text
        if self.form is Form.LOG or not points(text):
            self.ignored["write_buffer_manager"] = text
        elif _without_unit(size).isdecimal():
            self._value("db_write_buffer_size", size)
        elif not self.values.get("db_write_buffer_size"):
            self.unread["db_write_buffer_size"] = (
                f"line {self.line}: write_buffer_manager: {text} limits memtables to a size that the text does not show; "
                "set db_write_buffer_size"
            )

    def _fifo_ttl(self, text: str) -> None:
        self.fifo_ttl = read_value("ttl", _without_unit(text))

    def _take_fifo_ttl(self) -> None:
        """Set ttl to FIFO's own, a member of compaction_options_fifo before 6.0, in a store of such a release."""
        if self.fifo_ttl and self.values.get("compaction_style") is not CompactionStyle.FIFO:
            self.ignored["compaction_options_fifo.ttl"] = str(self.fifo_ttl)
            return
        if not self.fifo_ttl:
            return
        setting, own = f"compaction_options_fifo.ttl={self.fifo_ttl}", self.values.get("ttl", 0)
        if self.version is not None and self.version >= since.FIFO_TTL_IS_TTL:
            self.notes.append(f"{setting} is without effect from RocksDB {since.FIFO_TTL_IS_TTL} on; ttl counts")
        elif self.version is None and own not in (0, self.fifo_ttl):
            self.notes.append(f"{setting} is not taken, as ttl={own} is set; before {since.FIFO_TTL_IS_TTL}, FIFO has the former")
        else:
            self.values["ttl"] = self.fifo_ttl
            if self.version is None:
                self.notes.append(f"ttl: {setting} is taken, which counts before RocksDB {since.FIFO_TTL_IS_TTL}")

    def _bottommost_temperature(self, text: str) -> None:
        """Read the former name of `last_level_temperature`; later releases ignore it."""
        if self.version is None or self.version < since.LAST_LEVEL_TEMPERATURE:
            self._value("last_level_temperature", text)

    def _write_buffer(self, text: str) -> None:
        """Read the buffer of a file writer; Ceph sets 0, which makes each append a write of its own."""
        if text.strip() == "0":
            self.notes.append("writable_file_max_buffer_size=0 (no buffer) is simulated with the default buffer")
        else:
            self._value("writable_file_max_buffer_size", text)


def _true(text: str) -> bool:
    return _SWITCHES.get(text.strip().lower(), text.strip().lower()) in ("1", "true")


def _few(items: Sequence[str], separator: str = ", ") -> str:
    more = f" and {len(items) - _FEW} more" if len(items) > _FEW else ""
    return separator.join(items[:_FEW]) + more


def _values_of(name: str, found: Sequence[tuple[int, Any]]) -> str:
    """Return the last values of an option with their lines: `num_levels 7 (line 1), 5 (line 9)`."""
    return f"{name} " + ", ".join(f"{plain(value)} (line {line})" for line, value in found[-_LAST:])


def _quantity(text: str, name: str, kind: str) -> float:
    try:
        return parse_quantity(text, kind)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


_SPECIAL: Final = {
    "filter_policy": _Reader._filter,
    "capacity": _Reader._cache_capacity,
    "block_cache_size": _Reader._cache_capacity,
    "predefined_options": _Reader._preset,
    "flink_memory": _Reader._flink_memory,
    "flink_memory_ratio": _Reader._flink_memory_ratio,
    "flink_bloom_filter": _Reader._flink_bloom_filter,
    "filter_bits": _Reader._filter_bits,
    "no_block_cache": _Reader._no_cache,
    "rate_limiter": _Reader._rate_limiter,
    "write_buffer_manager": _Reader._write_buffer_manager,
    "statistics": _Reader._statistics,
    "compaction_options_fifo.ttl": _Reader._fifo_ttl,
    "writable_file_max_buffer_size": _Reader._write_buffer,
    "bottommost_temperature": _Reader._bottommost_temperature,
}
_LISTS: Final = {
    "compression": "compression_per_level",
    "max_bytes_for_level_multiplier_addtl": "max_bytes_for_level_multiplier_additional",
}
_NEVER_IN_STRINGS: Final = frozenset({"cache_size", "cf_paths", "db_paths", "sync"})
_NEVER_IN_FILES: Final = _NEVER_IN_STRINGS | {"blob_cache_size", "bloom_bits", "disable_wal", "use_blob_cache"}
_NEVER: Final[Mapping[Form, frozenset[str]]] = {Form.CODE: frozenset(), Form.STRINGS: _NEVER_IN_STRINGS}
"""Options of the model that are flags of db_bench, write options or objects: the reader ignores these names in a form of text,
`_NEVER_IN_FILES` in other ones. Host programs have settings of the first four names that are about something else."""


def differing_options(first: OptionsFile, family: OptionsFile) -> dict[str, Any]:
    """Return the options of a column family that differ from those of the first one, by flat name, as YAML has values.

    These are the options of `engine.families.<name>.options`. Options of the whole database are left out.
    """
    return {
        option: plain(value)
        for option, value in family.overrides.items()
        if option not in DATABASE_OPTIONS and value != first.overrides.get(option)
    }
