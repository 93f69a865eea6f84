"""Readers of option strings and of the files of programs that have RocksDB inside: TiKV, Ceph, MyRocks, Flink, Pika, Kvrocks.

See (../../docs/how-to/use-an-options-file.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.not_simulated import NOT_SIMULATED
from lsmlab.models.options.options_text import (
    KVROCKS,
    NAME,
    NumberedLines,
    OptionEntry,
    excerpt,
    flags_of,
    parse_struct,
    setting_of_row,
    split_parts,
    strip_comment,
)
from lsmlab.models.options.sections import Nesting, Placed, of_one_database, placed, snake_case
from lsmlab.models.text.wrappers import json_members

_CONTAINER: Final = re.compile(rf"(?P<name>[\w .-]+?)[\"']?\s*[=:]\s*[\"']?(?P<rest>{NAME}\s*=.*|{{\s*\".*)")
"""Setting of a host program whose value is an option string, such as bluestore_rocksdb_options = name=value,name=value, or an
object of JSON."""
_TITLE: Final = re.compile(r"\[+([^\[\]]*)\]+")
"""Begin of a section in the file of a host program."""
_FAMILY_TITLE: Final = re.compile(r"rocksdb\.(\w+)cf")
"""Title of the section of a column family in TiKV's file."""
_GROUP: Final = re.compile(r"global|osd|mon|mgr|client|server|(?:mysqld|mariadb)[.\d-]*")
"""Title of a section that others add to, in the files of Ceph and MySQL."""
_SHARED_TITLE: Final = "storage.block-cache"
"""Title of a section of TiKV's file that holds for all column families."""
_TITAN_TITLE: Final = re.compile(r"rocksdb\.(?:(\w+)cf\.)?titan")
"""Title of a section of TiKV's file about Titan, its store of values in blob files."""
_OTHER_SETTING: Final = re.compile(
    r"(taskmanager|jobmanager|parallelism|execution|restart-strategy|high-availability|state(?!\.backend\.rocksdb\.))(?=[.:]).*"
)
"""Setting of Flink about something else than its databases, with its group."""
_BARE: Final = re.compile(r"[\w-]*[\"']?(?:\s*:)?\s*[{}]*")
"""Setting of a host program without a value, or whose members follow in further lines."""
_SEPARATOR: Final = re.compile(rf"\s*;\s*|\s*,\s*(?={NAME}\s*=|$)|\s+(?=--[a-z])")
_OF_FAMILIES: Final = re.compile(
    r"[\w .-]*(?:override|update)[-_]cf[-_]options[\"']?\s*[=:]\s*[\"']?(?P<rest>[^\"'\s].*)"
)
"""Setting of MyRocks that has options by column family: name={name=value;...};... Names of families may have any signs: rev:cf1
is in reverse order."""
_ANNEX: Final = "_annex"
"""End of the name of Ceph's setting with options that are added to another's."""
_MOST_NESTED: Final = 100_000
"""Largest number of settings inside of maps and option strings in one text."""
_CEPH_FAMILIES: Final = re.compile(r"bluestore[ _]rocksdb[ _]cfs[\"']?\s*[=:]\s*[\"']?(.*)")
_CEPH_FAMILY: Final = re.compile(r"(\w+)(?:\((\d+)(?:,[\d-]*)?\))?(?:=(.*))?")
"""Name, number and options of column families in this setting (RocksDBStore::parse_sharding_def)."""
_TABLE_FACTORIES: Final = ("block_based_table_factory", "table_factory")
_OUTER_NAMES: Final = re.compile(
    r"(?:loose_)?(?:(?:x?plugin_)?rocksdb_(?!block_cache$)|(?:state\.backend\.)?rocksdb\.|block_based_table_factory\.|\w*?opt(?:ion)?s?\.)"
)
"""What host programs put before the name of an option. Nebula's rocksdb_block_cache is a number of MiB."""
_OF_FLINK: Final = {
    "writebuffer.size": "write_buffer_size", "writebuffer.count": "max_write_buffer_number",
    "writebuffer.number_to_merge": "min_write_buffer_number_to_merge", "thread.num": "max_background_jobs",
    "compaction.style": "compaction_style", "compaction.level.use_dynamic_size": "level_compaction_dynamic_level_bytes",
    "compaction.level.target_file_size_base": "target_file_size_base",
    "compaction.level.max_size_level_base": "max_bytes_for_level_base", "block.blocksize": "block_size",
    "block.cache_size": "block_cache_size", "use_bloom_filter": "flink_bloom_filter", "bloom_filter.bits_per_key": "filter_bits",
    "memory.fixed_per_slot": "flink_memory", "memory.write_buffer_ratio": "flink_memory_ratio",
}  # fmt: skip
"""Options by their names in Flink's configuration, after its prefix (RocksDBConfigurableOptions)."""
_OF_TIKV: Final = {
    "rate_bytes_per_sec": "rate_limiter_bytes_per_sec", "auto_tuned": "rate_limiter_auto_tuned",
    "max_sub_compactions": "max_subcompactions", "dynamic_level_bytes": "level_compaction_dynamic_level_bytes",
    "bloom_filter_bits_per_key": "filter_bits",
    "disable_block_cache": "no_block_cache", "shared": "shared_block_cache",
    "pin_l0_filter_and_index_blocks": "pin_l0_filter_and_index_blocks_in_cache",
}  # fmt: skip
"""Options by their names in TiKV's file (src/config/mod.rs, DbConfig and cf_config)."""
_TIKV_MODES: Final = {"1": "kReadsOnly", "2": "kWritesOnly", "3": "kAllIo"}
"""Values of TiKV's rate-limiter-mode, one more than RocksDB's (rust-rocksdb, DBRateLimiterMode)."""
_OF_PIKA: Final = {
    "max_write_buffer_num": "max_write_buffer_number", "max_write_buffer_size": "db_write_buffer_size",
    "max_cache_files": "max_open_files", "rate_limiter_bandwidth": "rate_limiter_bytes_per_sec",
}  # fmt: skip
"""Options by their names in Pika's file (conf/pika.conf)."""
_OF_ARANGODB: Final = {
    "level0_compaction_trigger": "level0_file_num_compaction_trigger", "level0_stop_trigger": "level0_stop_writes_trigger",
    "level0_slowdown_trigger": "level0_slowdown_writes_trigger", "total_write_buffer_size": "db_write_buffer_size",
    "pending_compactions_slowdown_trigger": "soft_pending_compaction_bytes_limit",
    "pending_compactions_stop_trigger": "hard_pending_compaction_bytes_limit",
}  # fmt: skip
"""Options by their names in ArangoDB's section rocksdb (RocksDBOptionFeature)."""
_OF_OTHERS: Final = {"compression_type": "compression", "cache_capacity": "block_cache_size"}
"""Options by their names in db_bench's flags and in Besu's."""
_OF_KVROCKS: Final = {
    "max-io-mb": "rate_limiter_bytes_per_sec", "subkey_block_cache_size": "block_cache_size",
    "metadata_block_cache_size": "block_cache_size",
}  # fmt: skip
_MIB_OF_KVROCKS: Final = frozenset({
    "rate_limiter_bytes_per_sec", "write_buffer_size", "target_file_size_base", "block_cache_size", "max_total_wal_size",
})  # fmt: skip
"""Options whose numbers are MiB there."""
_WITH_CAPITALS: Final = {name.lower(): name for name in NOT_SIMULATED if not name.islower()}
_OTHER_NAMES: Final = {**_OF_FLINK, **_OF_TIKV, **_OF_PIKA, **_OF_ARANGODB, **_OF_OTHERS, **_WITH_CAPITALS}


def read_kvrocks(lines: NumberedLines) -> Iterator[OptionEntry]:
    """Yield RocksDB's settings in a file of Kvrocks, where some sizes are in MiB."""
    for number, line in lines:
        if found := KVROCKS.fullmatch(strip_comment(line).strip()):
            name, value = (found[1] or found[2]).lower(), found[3]
            name = _OF_KVROCKS.get(name, name)
            unit = "M" if name in _MIB_OF_KVROCKS and value[-1] in "0123456789" else ""
            yield OptionEntry(number, "CF", "default", _WITH_CAPITALS.get(name, name), f"{value}{unit}")


def read_strings(lines: NumberedLines, source: str) -> Iterator[OptionEntry]:
    """Yield the entries of option strings: name=value pairs, separated by semicolons, commas or line ends.

    A line of a host program's file may have name: value, or an object of JSON. Of the titles and maps in such a file and the
    settings with a string (bluestore_rocksdb_options), those of one database are read, of which outer ones come first. Titles
    of TiKV's file tell the column family, and its shared cache comes last. Raises InputError with the line for other text.
    """
    section: str | None = "default"
    prefix = ""
    nesting, is_shared = Nesting(), False
    around: tuple[str, ...] = ()
    nested: list[Placed] = []
    shared: list[OptionEntry] = []
    for number, raw in lines:
        text = flags_of(strip_comment(raw).removesuffix("\\").strip("\"'`, "))
        text = text if (setting := setting_of_row(text)) is None else setting
        if title := _TITLE.fullmatch(text):
            section, prefix = _family_of(title[1]), "titan." if _TITAN_TITLE.fullmatch(title[1]) else ""
            adds = _GROUP.fullmatch(title[1]) or title[1].startswith(("rocksdb.", "storage."))
            around = () if adds else (title[1],)
            nesting, is_shared = Nesting(), title[1] == _SHARED_TITLE
            if section is None:
                yield OptionEntry(number, "Other", "", title[1], "")
            continue
        if section is None:
            continue
        if other := _OTHER_SETTING.fullmatch(text):
            yield OptionEntry(number, "Other", "", other[1], "")
            continue
        if nesting.begins(len(raw) - len(raw.lstrip()), text):
            continue
        try:
            for one in _line_entries(number, section, text, around + nesting.path, prefix):
                if one.path:
                    nested.append(one)
                elif is_shared:
                    shared.append(one.entry)
                else:
                    yield one.entry
        except InputError as error:
            raise InputError(f"{source}:{number}: {error}") from None
        if len(nested) > _MOST_NESTED:
            raise InputError(f"{source}:{number}: more than {_MOST_NESTED} settings in maps; give the part about one database")
    yield from of_one_database(nested)
    apart = any((one.name, one.value) == ("shared_block_cache", "false") for one in shared)
    yield from (one for one in shared if not (apart and one.name == "capacity"))


def _line_entries(number: int, section: str, text: str, path: tuple[str, ...], prefix: str) -> Iterator[Placed]:
    """Yield the entries of a line with the keys around them: those of maps, and the setting whose value is an option string."""
    if found := _CEPH_FAMILIES.fullmatch(text):
        yield from (Placed((), entry) for entry in _ceph_families(number, found[1]))
        return
    if found := _OF_FAMILIES.fullmatch(text):
        for _, family, options in _settings(found["rest"].rstrip("\"'` ")):
            yield from (Placed((), one) for one in _string_entries(number, family, parse_struct(options).items()))
        return
    string = 0
    if found := _CONTAINER.fullmatch(text):
        key, text = found["name"].strip(), found["rest"].rstrip("\"'` ")
        path, string = (*path, key.removesuffix(_ANNEX)), 0 if key.endswith(_ANNEX) else number
    for inner, name, value in _settings(text):
        keys = (*path, *inner)
        if name == "value" and keys:  # the environment of a container: - name: ROCKSDB_MAX_OPEN_FILES, value: -1
            *outer, name = keys
            keys = tuple(outer)
        yield from (placed(keys, entry, string) for entry in _string_entries(number, section, [(name, value)], prefix))


def _ceph_families(number: int, text: str) -> Iterator[OptionEntry]:
    """Yield the column families of Ceph's `m(3) p(3,0-12) L=name=value;name=value`; of several alike ones, the first."""
    for part in text.split():
        if found := _CEPH_FAMILY.fullmatch(part):
            family = found[1] if found[2] in (None, "1") else f"{found[1]}-0"
            yield OptionEntry(number, "Family", family, "", "")
            for _, name, value in _settings((found[3] or "").replace(",", ";")):
                yield from _string_entries(number, family, [(name, value)])


def _family_of(title: str) -> str | None:
    """Return the column family of a section in a host program's file; None for a section about something else.

    >>> [_family_of(title) for title in ("osd", "rocksdb", "rocksdb.defaultcf", "rocksdb.writecf", "raftdb.defaultcf")]
    ['default', 'default', 'default', 'write', None]
    >>> [_family_of(title) for title in ("rocksdb.titan", "rocksdb.writecf.titan", "raftdb.titan")]
    ['default', 'write', None]
    """
    if found := _FAMILY_TITLE.fullmatch(title) or _TITAN_TITLE.fullmatch(title):
        return found[1] or "default"
    if title in ("rocksdb", _SHARED_TITLE) or _GROUP.fullmatch(title):
        return "default"
    return None if "." in title or title.endswith("db") else "default"


def _settings(text: str) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield the names and values of an option string or a JSON object, with the keys of the objects around them.

    Raises InputError for a part of another form.
    """
    if text.startswith("{") and text.endswith("}"):
        if (members := json_members(text)) is not None:
            yield from ((path, name, _without_quotes(value)) for path, name, value in members)
            return
        text = text[1:-1].strip("\"'` ")
    if _BARE.fullmatch(text):
        return
    sign = "=" if "=" in text else ":"
    for part in split_parts(text, _SEPARATOR):
        name, found, value = (piece.strip() for piece in part.partition(sign))
        if not found or not name:
            raise InputError(f"{excerpt(part)} is not of the form name=value; correct it")
        yield (), name.strip("\"'"), _without_quotes(value)


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
        if outer_name == "--cache_size":  # db_bench's block cache; other programs have a cache_size of something else
            name = "block_cache_size"
        if outer_name == "rate-limiter-mode":  # TiKV's spelling
            value = _TIKV_MODES.get(value, value)
        if name in _TABLE_FACTORIES and value.startswith("{"):
            yield from _string_entries(number, family, parse_struct(value).items())
        elif name == "block_cache":  # its capacity, alone or with the cache's other options
            capacity = parse_struct(value).get("capacity") if value.startswith("{") else value
            if capacity is not None:
                yield OptionEntry(number, "Table", family, "capacity", capacity)
        else:
            yield OptionEntry(number, "CF", family, name, value)


def _option_name(text: str) -> str:
    """Return the name of an option without what the settings and flags of host programs have before it.

    >>> [_option_name(text) for text in ("--write_buffer_size", "loose-rocksdb_max_background_jobs", "rocksdb-bytes-per-sync")]
    ['write_buffer_size', 'max_background_jobs', 'bytes_per_sync']
    >>> [_option_name(text) for text in ("rocksdb.options.num_levels", "state.backend.rocksdb.thread.num", "maxOpenFiles")]
    ['num_levels', 'max_background_jobs', 'max_open_files']
    """
    name = snake_case(text.strip("\"' ").lstrip("-"))
    while found := _OUTER_NAMES.match(name):
        name = name[found.end() :]
    return _OTHER_NAMES.get(name, name)
