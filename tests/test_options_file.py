"""Reading OPTIONS files and LOG headers (behaviour/options.md, OPTIONS files)."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import Compression, StopStyle
from lsmlab.models.options.options import resolve_options
from lsmlab.models.options.options_file import read_options
from lsmlab.models.version import Version
from lsmlab.sim.configuration.options_input import options_overrides

DATA = Path(__file__).parents[1] / ".." / "shared" / "data"
REAL_FILES = sorted(
    [
        *DATA.glob("options/*"),
        *DATA.glob("real_engines/*/*/OPTIONS"),
        *DATA.glob("real_engines/adoc/*/LOG.gz"),
        *DATA.glob("real_engines/silk/*/LOG.gz"),
        *DATA.glob("public_runs/logs/*_LOG_*.gz"),
        *DATA.glob("parser_samples/*.gz"),
    ]
)

OPTIONS = """# This is a RocksDB option file.

[Version]
  rocksdb_version=8.8.1
  options_file_version=1.1

[DBOptions]
  max_background_jobs=6   # trailing comment
  wal_dir=/data/a\\#b
  delayed_write_rate=16M

[CFOptions "default"]
  write_buffer_size=134217728
  ttl=18446744073709551614
  compression=kNoCompression
  compression_per_level=kNoCompression:kNoCompression:kZSTD
  max_bytes_for_level_multiplier_additional=1:1:2
  compaction_options_universal={allow_trivial_move=true;stop_style=kCompactionStopStyleSimilarSize;size_ratio=7;}
  compaction_options_fifo={ttl=0;max_table_files_size=1;of_a_fork={{a=1;b=2;};};}
  memtable_factory={id=SkipListFactory;lookahead=0;}

[TableOptions/BlockBasedTable "default"]
  block_size=8192
  filter_policy=bloomfilter:12.5:false
  metadata_cache_options={unpartitioned_pinning=kFallback;}

[CFOptions "other"]
  write_buffer_size=1048576

[TableOptions/BlockBasedTable "other"]
  no_block_cache=true
"""

LOG = """2020/11/27-21:19:20.453423 4ccc RocksDB version: 6.11.4
2020/11/27-21:19:20.454126 4ccc   SST files in C:\\data dir, Total Num: 0, files:
2020/11/27-21:19:20.454126 4ccc                     Options.use_direct_reads: 1
2020/11/27-21:19:20.454277 4ccc                         Options.rate_limiter: 000001475B577640
2020/11/27-21:19:20.454310 4ccc                           Options.statistics: 0x5583c66e9a30
2020/11/27-21:19:20.454381 4ccc             Options.delayed_write_rate : 8388608
2020/11/27-21:19:20.454421 4ccc \tkZSTD supported: 1
2020/11/27-21:19:20.456120 4ccc [db\\column_family.cc:482] --------------- Options for column family [default]:
2020/11/27-21:19:20.456195 4ccc            table_factory options:   flush_block_policy_factory: X (000001475B3A5470)
  cache_index_and_filter_blocks: 1
  no_block_cache: 0
  block_cache: 000001475B576CE0
  block_cache_options:
    capacity : 33554432
    num_shard_bits : 4
  block_size: 65536
  filter_policy: rocksdb.BuiltinBloomFilter
2020/11/27-21:19:20.456221 4ccc        Options.write_buffer_size: 8388608
2020/11/27-21:19:20.456231 4ccc        Options.compression[0]: NoCompression
2020/11/27-21:19:20.456234 4ccc        Options.compression[1]: Snappy
2020/11/27-21:19:20.456256 4ccc        Options.bottommost_compression: Disabled
2020/11/27-21:19:20.456256 4ccc Options.max_bytes_for_level_multiplier_addtl[0]: 1
2020/11/27-21:19:20.456256 4ccc Options.compaction_options_universal.size_ratio: 3
2020/11/27-21:19:20.456256 4ccc Options.ttl: 18446744073709551614
2020/11/27-21:20:00.000000 4ccc EVENT_LOG_v1 {"time_micros": 1, "job": 1, "event": "flush_started"}
2020/11/28-00:00:00.000000 4ccc RocksDB version: 7.8.3
2020/11/28-00:00:00.000000 4ccc                     Options.use_direct_reads: 0
"""


def test_options_file() -> None:
    """All kinds of values are read: numbers with suffix, 64-bit sentinels, lists, nested structs, bloom filter bits."""
    read = read_options(OPTIONS)
    assert Version(8, 8) == read.version
    expected = {
        "max_background_jobs": 6,
        "delayed_write_rate": 16 << 20,
        "write_buffer_size": 128 << 20,
        "compression": Compression.NONE,
        "compression_per_level": (Compression.NONE, Compression.NONE, Compression.ZSTD),
        "max_bytes_for_level_multiplier_additional": (1, 1, 2),
        "compaction_options_universal.allow_trivial_move": True,
        "compaction_options_universal.stop_style": StopStyle.SIMILAR_SIZE,
        "compaction_options_universal.size_ratio": 7,
        "compaction_options_fifo.max_table_files_size": 1,
        "block_size": 8192,
        "bloom_bits": 12.5,
    }
    assert expected == {name: read.overrides.get(name) for name in expected}
    unknown = ["wal_dir", "compaction_options_fifo.of_a_fork", "metadata_cache_options"]
    unknown.insert(2, "memtable_factory")
    assert unknown == list(read.ignored)
    small = "compaction_options_fifo.of_a_fork"
    assert [(small, "{{a=1;b=2;};}")] == [(option.name, option.value) for option in read.not_simulated]
    assert read.notes == []
    assert resolve_options(Version(8, 8), "library", read.overrides).options.ttl == 30 * 86_400


def test_other_column_family() -> None:
    """A named column family is read with the options of the database; a missing one is an error."""
    read = read_options(OPTIONS, column_family="other")
    wanted = ("max_background_jobs", "write_buffer_size", "cache_size", "block_size")
    assert [read.overrides.get(n) for n in wanted] == [6, 1 << 20, 0, None]
    with pytest.raises(InputError, match="no options of column family 'third'; the file has default, other"):
        read_options(OPTIONS, column_family="third")


def test_log_header(tmp_path: Path) -> None:
    """A LOG's header gives the same names and the cache capacity; only the first open in the file counts."""
    path = tmp_path / "LOG.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    read = read_options(path)
    expected = {
        "use_direct_reads": True,
        "delayed_write_rate": 8 << 20,
        "statistics": True,
        "cache_index_and_filter_blocks": True,
        "cache_size": 32 << 20,
        "block_size": 65536,
        "bloom_bits": 10.0,
        "write_buffer_size": 8 << 20,
        "compression_per_level": (Compression.NONE, Compression.SNAPPY),
        "bottommost_compression": Compression.DISABLED,
        "max_bytes_for_level_multiplier_additional": (1,),
        "compaction_options_universal.size_ratio": 3,
    }
    assert expected == {name: read.overrides.get(name) for name in expected}
    assert (Version(6, 11), True) == (read.version, read.rate_limited)
    assert ["filter_policy"] == [note.split()[0] for note in read.notes]
    assert ["rate_limiter_bytes_per_sec"] == list(read.untold)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_background_jobs=6 ", "max_background_jobs=six ", "options text:8: max_background_jobs: 'six' is not"),
        ("block_size=8192", "block_size=-1", "options text:23: block_size: -1 is out of range"),
        ("size_ratio=7;}", "size_ratio=7;", "options text:18: "),
        ("[DBOptions]", "[DBOptions", "options text:7: '[DBOptions' is not a section"),
        ("[DBOptions]", "[Options]", "options text:7: section [Options] is not one"),
        ("write_buffer_size=134217728", "write_buffer_size", "options text:13: 'write_buffer_size' is not of the form"),
        ("kNoCompression:kZSTD", "kNoCompression:kBest", "options text:16: compression_per_level: 'kBest' is not one"),
        ("rocksdb_version=8.8.1", "rocksdb_version=8", "options text:4: rocksdb_version: '8' is not"),
        ("=16M", "=" + "9" * 5000, "options text:10: delayed_write_rate: a value of 5000 characters"),
    ],
)
def test_bad_lines_are_named(old: str, new: str, message: str) -> None:
    """A line that cannot be parsed raises InputError with file, line number and option."""
    with pytest.raises(InputError) as caught:
        read_options(OPTIONS.replace(old, new, 1))
    assert message == str(caught.value)[: len(message)]


def test_other_files_are_refused(tmp_path: Path) -> None:
    """A missing file, a folder, other text, an empty file and a truncated gzip give one line that names the file."""
    texts = {
        "text": b"hello\nworld\n",
        "empty": b"",
        "cut.gz": gzip.compress(LOG.encode())[:200],
        "bin": bytes(range(256)),
    }
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
    for name in (*texts, "absent", "."):
        with pytest.raises(InputError) as caught:
            read_options(tmp_path / name)
        message = str(caught.value)
        assert (message.startswith(str(tmp_path / name)), len(message.splitlines())) == (True, 1)


@pytest.mark.skipif(not REAL_FILES, reason="needs ../shared/data")
@pytest.mark.parametrize("path", REAL_FILES, ids=lambda p: f"{p.parent.name}/{p.name}"[-70:])
def test_real_files_resolve(path: Path) -> None:
    """Every real file is read; RocksDB has sanitised its options already, so resolving changes none."""
    read = read_options(path)
    assert read.version is not None
    resolved = resolve_options(read.version, "library", read.overrides)
    assert [note for note in resolved.notes if " changed from " in note] == []
    assert len(read.overrides) >= 45
    assert read.overrides["write_buffer_size"] == resolved.options.write_buffer_size


def test_a_note_on_a_value_that_the_file_does_not_give_ends_with_the_value() -> None:
    """The block cache has no size in an OPTIONS file: the user is told so, unless an override has it."""
    text = Path("validation/demo/OPTIONS")
    assert ["cache_size"] == list(read_options(text).untold)
    notes = {given: " ".join(options_overrides(text, given)[1]) for given in ((), ("engine.options.cache_size=1GiB",))}

    assert ["block cache" in note for note in notes.values()] == [True, False]
