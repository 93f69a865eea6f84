"""Options of a real store, read from its OPTIONS-NNNNNN file or from the header of its LOG."""

from __future__ import annotations

import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import DATABASE_OPTIONS
from lsmlab.models.options.ignored import IgnoredOption, ignored_options, texts_of
from lsmlab.models.options.options_text import OptionEntry, is_log, parse_struct, read_ini, read_log
from lsmlab.models.options.values import STRUCTS, WHERE, option_types, plain, read_value
from lsmlab.models.version import Version

_NO_POINTER: Final = re.compile(r"\(nil\)|nullptr|None|(0x)?0+|", re.IGNORECASE)
_RELEASE: Final = re.compile(r"[0-9]{1,6}\.[0-9]{1,6}(?![0-9])")
_INDEXED: Final = re.compile(r"(\w+)\[([0-9]{1,4})\]")
_SUFFIXED: Final = re.compile(r"(-?[0-9]{1,20})([kKmMgGtT])")
_POWER: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_FILTER_BITS: Final = re.compile(r"(?:bloom|ribbon)filter:([0-9]+(?:\.[0-9]+)?)(?::|$)")
_USUAL_BITS: Final = 10.0
"""Bits per key of a filter whose size the file does not give: the value of RocksDB's examples and ADOC's runs."""
_FIRST_LINES: Final = 200
"""Lines in which a text must show that it is a LOG."""
_MAX_LINE: Final = 1 << 20
_MAX_VALUE: Final = 1 << 10


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
    """Read an OPTIONS file or the header of a LOG, plain or compressed (gzip, xz).

    An argument of several lines is the content itself. Reads the options of `column_family` only. Keeps unknown
    options in `ignored`, as RocksDB skips them with ignore_unknown_options. Raises InputError with file and line for
    text that it cannot read. Source: (behaviour/options.md, OPTIONS files).
    """
    if isinstance(path_or_text, str) and "\n" in path_or_text:
        return _read(io.StringIO(path_or_text), "options text", column_family)
    path = Path(path_or_text)
    try:
        with _open(path) as stream:
            return _read(stream, str(path), column_family)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path}: cannot be read: {reason}; give an OPTIONS file or a LOG") from None


def _open(path: Path) -> IO[str]:
    with path.open("rb") as probe:
        magic = probe.read(2)
    opener: Any = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open}.get(magic, open)
    stream: IO[str] = opener(path, "rt", encoding="utf-8", errors="replace", newline="\n")
    return stream


def _read(stream: IO[str], source: str, column_family: str) -> OptionsFile:
    lines = _lines(stream, source)
    first = list(islice(lines, _FIRST_LINES))
    rest = chain(first, lines)
    reader = _Reader(source, column_family)
    reader.take(read_log(rest) if is_log(first) else read_ini(rest, source))
    return reader.finish()


def _lines(stream: IO[str], source: str) -> Iterator[str]:
    number = 0
    while line := stream.readline(_MAX_LINE):
        number += 1
        if len(line) == _MAX_LINE:
            raise InputError(f"{source}:{number}: line is longer than 1 MiB; give an OPTIONS file or a LOG")
        yield line


def points(text: str) -> bool:
    """Whether the text of an option with an object, such as rate_limiter, shows one: a LOG prints its address."""
    return not _NO_POINTER.fullmatch(text)


@dataclass(slots=True)
class _Reader:
    """Collector of entries for one `OptionsFile`."""

    source: str
    column_family: str
    version: Version | None = None
    values: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, dict[int, Any]] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    families: dict[str, None] = field(default_factory=dict)
    rate_limited: bool = False
    no_block_cache: bool = False

    def take(self, entries: Iterable[OptionEntry]) -> None:
        for entry in entries:
            if entry.section in ("CF", "Table"):
                self.families[entry.family] = None
                if entry.family != self.column_family:
                    continue
            try:
                self._take(entry)
            except InputError as error:
                text = str(error).removeprefix(f"{WHERE}.")
                raise InputError(f"{self.source}:{entry.line}: {text}") from None

    def finish(self) -> OptionsFile:
        if not self.families and not self.values:
            raise InputError(f"{self.source}: no options found; give an OPTIONS file, or a LOG from its first line on")
        if self.column_family not in self.families:
            names = ", ".join(self.families) or "none"
            raise InputError(f"{self.source}: no options of column family {self.column_family!r}; the file has {names}")
        for name, items in self.lists.items():
            self.values[name] = tuple(items[i] for i in sorted(items))
        if self.no_block_cache:
            self.values["cache_size"] = 0
        if self.rate_limited:
            self.notes.append("the store has a rate limiter of unknown rate; set rate_limiter_bytes_per_sec")
        family, ignored, families = self.column_family, self.ignored, tuple(self.families)
        return OptionsFile(self.source, self.version, self.values, ignored, self.notes, family, families, self.rate_limited)

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

    def _set(self, name: str, text: str) -> None:
        special = _SPECIAL.get(name)
        if special is not None:
            special(self, text)
            return
        if name not in option_types() or name in _NEVER_IN_FILES:
            self.ignored[name] = text
            return
        if len(text) > _MAX_VALUE:
            raise InputError(f"{name}: a value of {len(text)} characters is too long; the limit is {_MAX_VALUE}")
        if match := _SUFFIXED.fullmatch(text):
            text = str(int(match.group(1)) * _POWER[match.group(2).lower()])
        self.values[name] = read_value(name, text)

    def _set_item(self, name: str, index: int, text: str) -> None:
        self.lists.setdefault(name, {})[index] = read_value(name, text or "?")[0]

    def _cache_capacity(self, text: str) -> None:
        if "cache_size" not in self.values:  # a tiered cache prints the capacity of its inner caches after its own
            self.values["cache_size"] = read_value("cache_size", text)

    def _filter(self, text: str) -> None:
        if not points(text):
            self.values["bloom_bits"] = 0.0
        elif match := _FILTER_BITS.search(text):
            self.values["bloom_bits"] = read_value("bloom_bits", match.group(1))
        else:
            self.values["bloom_bits"] = _USUAL_BITS
            self.notes.append(f"filter_policy {text!r} does not give its size: {_USUAL_BITS:g} bits per key assumed")

    def _rate_limiter(self, text: str) -> None:
        self.rate_limited = points(text)

    def _statistics(self, text: str) -> None:
        self.values["statistics"] = points(text)

    def _no_cache(self, text: str) -> None:
        self.no_block_cache = text.strip().lower() in ("1", "true")

    def _fifo_ttl(self, text: str) -> None:
        """Read FIFO's ttl, which was a member of compaction_options_fifo before 6.0."""
        if text.strip() != "0":
            self.values["ttl"] = read_value("ttl", text)


_SPECIAL: Final = {
    "filter_policy": _Reader._filter,
    "capacity": _Reader._cache_capacity,
    "no_block_cache": _Reader._no_cache,
    "rate_limiter": _Reader._rate_limiter,
    "statistics": _Reader._statistics,
    "compaction_options_fifo.ttl": _Reader._fifo_ttl,
}
_LISTS: Final = {
    "compression": "compression_per_level",
    "max_bytes_for_level_multiplier_addtl": "max_bytes_for_level_multiplier_additional",
}
_NEVER_IN_FILES: Final = frozenset({"bloom_bits", "cache_size", "disable_wal", "sync"})
"""Options of the model that are db_bench flags or write options: the reader ignores these names in files."""


def differing_options(first: OptionsFile, family: OptionsFile) -> dict[str, Any]:
    """Return the options of a column family that differ from those of the first one, by flat name, as YAML has values.

    These are the options of `engine.families.<name>.options`. Options of the whole database are left out.
    """
    return {
        option: plain(value)
        for option, value in family.overrides.items()
        if option not in DATABASE_OPTIONS and value != first.overrides.get(option)
    }
