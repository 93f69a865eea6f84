"""Options in program code, and in the files of programs that have RocksDB inside."""

from __future__ import annotations

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.options.options_file import OptionsFile, read_options
from lsmlab.models.options.values import plain

CPP = """
rocksdb::Options options;
options.write_buffer_size = 64 << 20;  // a memtable
options.IncreaseParallelism(16);
options.compression = rocksdb::kZSTD;
options.compaction_options_universal.size_ratio = 10;
rocksdb::BlockBasedTableOptions table_options;
table_options.block_cache = rocksdb::NewLRUCache(512 * 1024 * 1024);
table_options.filter_policy.reset(rocksdb::NewBloomFilterPolicy(12, false));
options.max_bytes_for_level_base = 1ull * 1024 * 1024 * 1024;
options.rate_limiter.reset(rocksdb::NewGenericRateLimiter(100 << 20));
"""
JAVA = """
private static final long MEMTABLE = 64 * 1024 * 1024L;
options.setWriteBufferSize(MEMTABLE);
options.setIncreaseParallelism(16);
options.setCompressionType(CompressionType.ZSTD_COMPRESSION);
universal.setSizeRatio(10);
tableConfig.setBlockCache(new LRUCache(512 * 1024L * 1024L));
tableConfig.setFilterPolicy(new BloomFilter(12, false));
options.setMaxBytesForLevelBase(1L << 30);
options.setRateLimiter(new RateLimiter(100 * 1024 * 1024));
"""
RUST = """
opts.set_write_buffer_size(0x400_0000);
opts.increase_parallelism(16);
opts.set_compression_type(DBCompressionType::Zstd);
universal.set_size_ratio(10);
block_opts.set_block_cache(&Cache::new_lru_cache(512 << 20));
block_opts.set_bloom_filter(12.0, false);
opts.set_max_bytes_for_level_base(1024 * 1024 * 1024u64);
opts.set_ratelimiter(100 * 1024 * 1024, 100_000, 10);
"""
GO = """
opts.SetWriteBufferSize(64 * 1024 * 1024)
opts.IncreaseParallelism(16)
opts.SetCompression(grocksdb.ZSTDCompression)
universal.SetSizeRatio(10)
bbto.SetBlockCache(grocksdb.NewLRUCache(512 << 20))
bbto.SetFilterPolicy(grocksdb.NewBloomFilter(12))
opts.SetMaxBytesForLevelBase(uint64(1 << 30))
opts.SetRateLimiter(grocksdb.NewRateLimiter(100<<20, 100000, 10))
"""
WANTED = {
    "write_buffer_size": 64 << 20, "max_background_jobs": 16, "compression": "kZSTD", "cache_size": 512 << 20, "bloom_bits": 12.0,
    "max_bytes_for_level_base": 1 << 30, "compaction_options_universal.size_ratio": 10, "rate_limiter_bytes_per_sec": 100 << 20,
}  # fmt: skip
KAFKA = """
public class Small implements RocksDBConfigSetter {
  public void setConfig(final String storeName, final Options options, final Map<String, Object> configs) {
    options.setMaxWriteBufferNumber(2);
"""
KVROCKS = "bind 127.0.0.1\nrocksdb.write_buffer_size 64\nrocksdb.max_open_files 8096\nrocksdb.enable_blob_files yes\nmax-io-mb 5"
PIKA = "port : 9221\nwrite-buffer-size : 256M\nmax-write-buffer-num : 3\nmax-cache-files : 500\nrate-limiter-bandwidth : 1048576"
CEPH = (
    "[osd]\nbluestore_rocksdb_options = write_buffer_size=16777216,max_background_jobs=4\n"
    "bluestore_rocksdb_cfs = m(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru} L=min_write_buffer_number_to_merge=32,ttl=5\n"
)
FLINK = """
state.backend: rocksdb
state.backend.rocksdb.memory.fixed-per-slot: 300mb
state.backend.rocksdb.predefined-options: SPINNING_DISK_OPTIMIZED_HIGH_MEM
state.backend.rocksdb.writebuffer.size: 128mb
taskmanager.memory.managed.size: 4gb
"""


def values(text: str) -> dict[str, object]:
    """Return the options of a text as plain values."""
    return {name: plain(value) for name, value in read_options(text).overrides.items()}


def notes(found: OptionsFile) -> str:
    """Return the notes as one text."""
    return "\n".join(found.notes)


@pytest.mark.parametrize("text", [CPP, JAVA, RUST, GO], ids=["C++", "Java", "Rust", "Go"])
def test_code_sets_options(text: str) -> None:
    """The same settings in the APIs of four languages are the same options."""
    assert values(text) == WANTED
    assert read_options(text).not_simulated == []


def test_kafka_streams_has_settings_of_its_own() -> None:
    """A RocksDBConfigSetter changes the options that Kafka Streams has set before; a note names those."""
    found = values(KAFKA)
    assert (found["max_write_buffer_number"], found["write_buffer_size"], found["cache_size"]) == (2, 16 << 20, 50 << 20)
    assert (found["compaction_style"], found["disable_wal"]) == ("kCompactionStyleUniversal", True)
    assert "set by KAFKA_STREAMS: write_buffer_size" in notes(read_options(KAFKA))


def test_code_that_sets_several_options() -> None:
    """OptimizeLevelStyleCompaction sets options, as later lines may do; other such functions are named."""
    text = "options.OptimizeLevelStyleCompaction();\noptions.max_write_buffer_number = 9;\noptions.OptimizeForSmallDb();\n"
    found = values(text)
    assert (found["write_buffer_size"], found["max_write_buffer_number"]) == (128 << 20, 9)
    assert found["compression_per_level"] == ["kNoCompression"] * 2 + ["kLZ4Compression"] * 5
    assert "line 3: OptimizeForSmallDb: OptimizeForSmallDb() is not read" in notes(read_options(text))


def test_values_that_code_computes_are_named() -> None:
    """A value that the text does not show is a note, and an object of the application is named with its effect."""
    read = read_options("options.setWriteBufferSize(config.size());\noptions.setMergeOperator(new StringAppendOperator());\n")
    assert "line 1: write_buffer_size: config.size() is not read" in notes(read)
    assert ["merge_operator"] == [option.name for option in read.not_simulated]
    assert read.overrides == {}


def test_kvrocks_has_sizes_in_mib() -> None:
    """Lines of a name and a value, of which some sizes are MiB; other settings of the server are not options."""
    assert values(KVROCKS) == {
        "write_buffer_size": 64 << 20, "max_open_files": 8096, "enable_blob_files": True, "rate_limiter_bytes_per_sec": 5 << 20,
    }  # fmt: skip


def test_pika_has_names_of_its_own() -> None:
    """They are RocksDB's options, and its port stays unknown."""
    assert values(PIKA) == {
        "write_buffer_size": 256 << 20, "max_write_buffer_number": 3, "max_open_files": 500,
        "rate_limiter_bytes_per_sec": 1 << 20,
    }  # fmt: skip
    assert ["port"] == [option.name for option in read_options(PIKA).not_simulated]


def test_ceph_shards_into_column_families() -> None:
    """The sharding of BlueStore names column families with options of their own."""
    found = read_options(CEPH)
    assert found.families == ("default", "m-0", "p-0", "O-0", "L")
    assert read_options(CEPH, "L").overrides == {"min_write_buffer_number_to_merge": 32, "ttl": 5}
    assert found.not_simulated == []


def test_flink_sets_options_together() -> None:
    """Predefined options hold where the file sets no others; the memory of a slot bounds memtables and cache."""
    found, read = values(FLINK), read_options(FLINK)
    assert (found["write_buffer_size"], found["max_write_buffer_number"], found["bloom_bits"]) == (128 << 20, 4, 10.0)
    assert (found["db_write_buffer_size"], found["cache_size"]) == (100 << 20, 250 << 20)
    assert read.not_simulated == []
    assert "sections left out, as they are not about this database: [state], [taskmanager]" in notes(read)


@pytest.mark.parametrize(("old", "new"), [("300mb", "some"), ("HIGH_MEM", "NO_SUCH")])
def test_flink_settings_that_cannot_be_read(old: str, new: str) -> None:
    """A size is refused with its line; unknown predefined options are named."""
    text = FLINK.replace(old, new)
    if new == "some":
        with pytest.raises(InputError, match=r":3: memory\.fixed-per-slot: 'some'"):
            read_options(text)
    else:
        assert ["predefined_options"] == [option.name for option in read_options(text).not_simulated]


@pytest.mark.parametrize(
    ("text", "values", "note"),
    [
        ("block_cache_size=1GB\nblock_size=1\nblock_cache_size=8GB\n", {"cache_size": 8 << 30, "block_size": 1},
         "cache_size 1073741824 (line 1), 8589934592 (line 3)"),
        ("num_levels=5;num_levels=6;num_levels=7\nrow_cache=1;row_cache=2\n", {"num_levels": 7},
         "num_levels 5 (line 1), 6 (line 1), 7 (line 1); row_cache 1 (line 2), 2 (line 2)"),
        ("options.num_levels = 4;\noptions.num_levels = 3;\n", {"num_levels": 3}, "num_levels 4 (line 1), 3 (line 2)"),
        ('[CFOptions "default"]\n  num_levels=4\n  num_levels=3\n', {"num_levels": 3}, "num_levels 4 (line 2), 3 (line 3)"),
    ],
    ids=["cache", "string", "code", "OPTIONS"],
)  # fmt: skip
def test_an_option_that_a_text_sets_to_several_values(text: str, values: dict[str, object], note: str) -> None:
    """The last value counts, and a note has all of them with their lines."""
    found = read_options(text)
    assert found.overrides == values
    assert found.notes == [f"set more than once, of which the last value here counts: {note}"]


@pytest.mark.parametrize(
    "text",
    [
        "write_buffer_size=64MB\nwrite_buffer_size=67108864\nname=a\nname=b\n",
        "rocksdb_default_cf_options=num_levels=4\nrocksdb_override_cf_options=a={num_levels=5};b={num_levels=6}\n",
        "RocksDB version: 7.8.3\n  Options.num_levels: 4\n  Options.num_levels: 5\n",
    ],
    ids=["equal", "families", "LOG"],
)
def test_an_option_that_a_text_sets_to_one_value(text: str) -> None:
    """Equal values, those of several column families and the lines of a LOG's header are no contradiction."""
    assert read_options(text).notes == []


FIFO = "compaction_style=kCompactionStyleFIFO\ncompaction_options_fifo={ttl=3600;allow_compaction=true;}\n"


@pytest.mark.parametrize(
    ("release", "own", "ttl", "note"),
    [
        ("", "", 3600, "compaction_options_fifo.ttl=3600 is taken"),
        ("", "ttl=0", 3600, "compaction_options_fifo.ttl=3600 is taken"),
        ("", "ttl=60", 60, "compaction_options_fifo.ttl=3600 is not taken, as ttl=60 is set"),
        ("5.18.3", "ttl=0", 3600, ""),
        ("5.18.3", "ttl=60", 3600, ""),
        ("6.0.1", "ttl=60", 60, "compaction_options_fifo.ttl=3600 is without effect from RocksDB 6.0 on"),
        ("6.0.1", "", None, "compaction_options_fifo.ttl=3600 is without effect from RocksDB 6.0 on"),
    ],
)
def test_the_former_ttl_of_fifo(release: str, own: str, ttl: int | None, note: str) -> None:
    """It was a member of compaction_options_fifo before 6.0; where it is not the one in force, a note says so."""
    head = f"[Version]\nrocksdb_version={release}\n[CFOptions \"default\"]\n" if release else ""
    found = read_options(f"{head}{FIFO}{own}\n")
    assert found.overrides.get("ttl") == ttl
    assert note in notes(found)
    assert bool(note) == bool(found.notes)


def test_the_former_ttl_of_fifo_in_a_levelled_store() -> None:
    """There it has no effect in any release."""
    found = read_options("compaction_options_fifo={ttl=3600;};ttl=60;num_levels=4\n")
    assert (found.overrides, found.ignored) == ({"ttl": 60, "num_levels": 4}, {"compaction_options_fifo.ttl": "3600"})


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("o.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(256 << 20, cache);", 256 << 20),
        ("auto wbm = std::make_shared<WriteBufferManager>(256 << 20);\no.write_buffer_manager = wbm;", 256 << 20),
        ("o.setWriteBufferManager(new WriteBufferManager(1024, cache));", 1024),
        ("o.num_levels = 4;\no.write_buffer_manager = wbm;", None),
        ("num_levels=4\nwrite_buffer_manager=256MB", 256 << 20),
        ("num_levels=4\nwrite_buffer_manager={buffer_size=1k;allow_stall=true}", 1024),
        ("num_levels=4\nwrite_buffer_manager={allow_stall=true}", None),
    ],
)
def test_a_write_buffer_manager_limits_memtables(text: str, size: int | None) -> None:
    """Its size is db_write_buffer_size; a note asks for one that the text does not show."""
    found = read_options(f"{text}\n")
    assert found.overrides.get("db_write_buffer_size") == size
    assert ("set db_write_buffer_size" in notes(found)) == (size is None)
    assert "write_buffer_manager" not in found.ignored


def test_code_whose_last_value_is_not_readable() -> None:
    """The value before does not count any more, and one after it does."""
    text = "o.set_max_background_jobs(6);\no.increase_parallelism(num_cpus::get() as i32);\n"
    found = read_options(f"o.set_num_levels(n);\no.set_num_levels(5);\n{text}")
    assert found.overrides == {"num_levels": 5}
    assert found.notes == [
        "line 4: max_background_jobs: num_cpus::get() as i32 is not read; set its value; "
        "the value of line 3 does not count any more"
    ]
    assert values("o.num_levels = 4;\no.IncreaseParallelism();\n") == {"num_levels": 4, "max_background_jobs": 16}
    assert "write_buffer_size" not in values(f"{KAFKA}    options.setWriteBufferSize(config.size());\n")


def test_truth_values_of_host_programs() -> None:
    """MySQL has ON and OFF, Kvrocks yes and no; a compression of the name "no" is none of these."""
    mysql = "rocksdb_use_direct_reads=ON\nrocksdb_enable_blob_files = off\nrocksdb_advise_random_on_open=ON\ncompression=no\n"
    found = read_options(mysql)
    assert values(mysql) == {"use_direct_reads": True, "enable_blob_files": False, "compression": "kNoCompression"}
    assert found.not_simulated == []
    assert values("rocksdb.compression no\nrocksdb.use_direct_reads yes\n") == {
        "compression": "kNoCompression", "use_direct_reads": True,
    }  # fmt: skip


FIRST = "rocksdb:\n  hot:\n    num_levels: 4\n    bytes_per_sync: 1\n"
FAMILIES = "rocksdb:\n  max_open_files: 8\n  {}:\n    default:\n      num_levels: 4\n    index:\n      num_levels: 5\n"


@pytest.mark.parametrize(
    ("text", "wanted", "left_out"),
    [
        (f"{FIRST}  cold:\n    num_levels: 5\n    max_open_files: 8\n", {"num_levels": 4, "bytes_per_sync": 1}, "[cold]"),
        (f"{FIRST}  cold:\n    max_open_files: 8\n", {"num_levels": 4, "bytes_per_sync": 1, "max_open_files": 8}, ""),
        (f"{FIRST}  cold:\n    num_levels: 5\n  warm:\n    max_open_files: 8\n", {"num_levels": 4, "bytes_per_sync": 1},
         "[cold], [warm]"),
        (f"{FIRST}  default:\n    num_levels: 5\n", {"num_levels": 5}, "[hot]"),
        ('{"a": {"db": {"max_open_files": 8}, "cf": {"num_levels": 4}}, "b": {"db": {"max_open_files": 9}}}\n',
         {"max_open_files": 8, "num_levels": 4}, "[b]"),
        ('{\n  "a": {\n    "num_levels": 4\n  },\n  "b": {\n    "num_levels": 5\n  }\n}\n', {"num_levels": 4}, "[b]"),
        ("[mon]\nmon_rocksdb_options = num_levels=4,max_open_files=8\n[osd]\nbluestore_rocksdb_options = num_levels=5\n"
         "bluestore_rocksdb_options_annex = ttl=9\n", {"num_levels": 5}, "[mon_rocksdb_options]"),
        ("mon_rocksdb_options = num_levels=4\n", {"num_levels": 4}, ""),
        ("[global]\nbluestore_rocksdb_options = num_levels=4,max_open_files=8\n[osd]\nbluestore_rocksdb_options = num_levels=5\n",
         {"num_levels": 5}, "[bluestore_rocksdb_options of line 2]"),
        ("[mysqld]\nrocksdb_max_open_files = 8\n[mysqld-8.0]\nrocksdb_default_cf_options = num_levels=4\n",
         {"max_open_files": 8, "num_levels": 4}, ""),
        ("[hot]\nnum_levels = 4\nmax_open_files = 8\n[cold]\nnum_levels = 5\nttl = 9\n", {"num_levels": 4, "max_open_files": 8},
         "[cold]"),
        ("[cache]\nttl = 9\n[rocksdb]\nnum_levels = 4\nttl = 8\n[backup]\nmax_open_files = 8\n", {"num_levels": 4},
         "[cache], [backup]"),
        ('{\n  "Db": {\n    "AdditionalRocksDbOptions": "max_open_files=8;",\n'
         '    "StateDbAdditionalRocksDbOptions": "num_levels=4;"\n  }\n}\n', {"max_open_files": 8},
         "[StateDbAdditionalRocksDbOptions]"),
        ("rocksdb:\n  num_levels: 4\n  columnFamilyOptions:\n    numLevels: 4\n  maxOpenFiles: 8\n",
         {"num_levels": 4, "max_open_files": 8}, ""),
        ("a:\n  compaction_options_universal:\n    size_ratio: 3\n  table_factory:\n    block_size: 9\n",
         {"compaction_options_universal.size_ratio": 3, "block_size": 9}, ""),
        ("http:\n  ttl: 7\nrocksdb:\n  num_levels: 4\n", {"num_levels": 4}, ""),
        ("http:\n  ttl: 7\n  env: a\nrocksdb:\n  num_levels: 4\n  env: b\n", {"num_levels": 4}, "[http]"),
        ('env:\n- name: ROCKSDB_NUM_LEVELS\n  value: "4"\n- name: ROCKSDB_MAX_OPEN_FILES\n  value: "8"\n',
         {"num_levels": 4, "max_open_files": 8}, ""),
    ],
    ids=["several", "disjoint", "one disjoint", "default", "JSON", "indented JSON", "Ceph", "Ceph's monitor", "Ceph's groups",
         "MySQL's groups", "titles", "other titles", "Nethermind",
         "Zeebe", "parts", "other parts", "other sections", "environment"],
)  # fmt: skip
def test_sections_of_several_databases(text: str, wanted: dict[str, object], left_out: str) -> None:
    """Of maps and option strings beside each other that are about different databases, one is read and the others are named."""
    found = read_options(text)
    assert {name: value for name, value in values(text).items() if name != "ttl"} == wanted
    assert [note.partition(": ")[2] for note in found.notes] == ([left_out] if left_out else [])
    assert found.families == ("default",)


def test_maps_without_end() -> None:
    """Many settings in maps are refused, with the line; maps in maps are no more than some."""
    with pytest.raises(InputError, match="options text:100002: more than 100000 settings in maps"):
        read_options("a:\n" + "  num_levels: 4\n" * 100_001)
    deep = "".join(f"{' ' * depth}a{depth}:\n" for depth in range(1000))
    assert values(f"{deep}{' ' * 1000}num_levels: 4\n") == {"num_levels": 4}


@pytest.mark.parametrize("key", ["column_families", "families", "cf_options", "columnFamilies"])
def test_maps_of_column_families(key: str) -> None:
    """A map of families has the options of one family each."""
    found = read_options(FAMILIES.format(key))
    assert (found.families, found.notes) == (("default", "index"), [])
    assert found.overrides == {"max_open_files": 8, "num_levels": 4}
    assert read_options(FAMILIES.format(key), "index").overrides == {"num_levels": 5}


SHARED = '[storage.block-cache]\ncapacity = "30GB"\n'
FAMILY = '[rocksdb.defaultcf]\nblock-cache-size = "8GB"\n'


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (SHARED + FAMILY, 30), (FAMILY + SHARED, 30), (FAMILY, 8), (f"{FAMILY}{SHARED}shared = true\n", 30),
        (f"{FAMILY}{SHARED}shared = false\n", 8),
    ],
)  # fmt: skip
def test_the_shared_cache_of_tikv(text: str, size: int) -> None:
    """It counts wherever it stands, unless each family has a cache of its own."""
    found = read_options(text)
    assert found.overrides == {"cache_size": size << 30}
    assert ("set more than once" in notes(found)) == ("GB" in text and size == 30)
    assert [one.name for one in found.not_simulated] == (["shared_block_cache"] if "false" in text else [])


@pytest.mark.parametrize(
    "text",
    [
        "[Version]\n  pebble_version=0.1\n[Options]\n  bytes_per_sync=524288\n",
        "[Options]\n  bytes_per_sync=524288\n[Level \"0\"]\n  block_size=32768\n",
    ],
)
def test_options_files_of_pebble_are_refused(text: str) -> None:
    """Pebble has some names of RocksDB, and is another store."""
    with pytest.raises(InputError, match=r"options text:\d: .* Pebble, .*: give an OPTIONS file of RocksDB"):
        read_options(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("./db_bench --benchmarks=fillrandom,stats --num_levels=4 --compression_type=none --cache_size=8GB --disable_wal=1\n",
         {"num_levels": 4, "compression": "kNoCompression", "cache_size": 8 << 30, "disable_wal": True}),
        ("sudo numactl -N 0 ./db_bench \\\n  --benchmarks=fillrandom \\\n  --num_levels=4\n", {"num_levels": 4}),
        ("WHO     MASK  LEVEL     OPTION   VALUE   RO\n"
         "osd           advanced  bluestore_rocksdb_options num_levels=4,max_open_files=8   *\n"
         "osd     class:ssd  advanced  osd_memory_target         4294967296\n", {"num_levels": 4, "max_open_files": 8}),
        ("[rocksdb]\nnum-levels = 4\nlevel0-compaction-trigger = 5\npending-compactions-stop-trigger = 9\n"
         "total-write-buffer-size = 8\n", {"num_levels": 4, "level0_file_num_compaction_trigger": 5,
         "hard_pending_compaction_bytes_limit": 9, "db_write_buffer_size": 8}),
        ("--Xplugin-rocksdb-cache-capacity=9\n--Xplugin-rocksdb-max-open-files=8\n", {"cache_size": 9, "max_open_files": 8}),
        ("rocksdb.options.num_levels = 4\nrocksdb.options.write_buffer_size = 0.5GB\n",
         {"num_levels": 4, "write_buffer_size": 1 << 29}),
        ("rocksdb:\n  disableWal: true\n  maxOpenFiles: 8\n", {"disable_wal": True, "max_open_files": 8}),
    ],
    ids=["db_bench", "shell", "Ceph's table", "ArangoDB", "Besu", "two prefixes", "Zeebe"],
)  # fmt: skip
def test_names_of_other_hosts(text: str, wanted: dict[str, object]) -> None:
    """Commands of db_bench, `ceph config dump`, ArangoDB's and Besu's settings are RocksDB's options."""
    assert values(text) == wanted


@pytest.mark.parametrize("value", ["1.5 << 2", "9" * 400 + " * 2", "1 / 0", "(" * 9000, "1if 2else 3"])
def test_expressions_without_a_value_are_named_in_short(value: str, recwarn: pytest.WarningsRecorder) -> None:
    """What is no number ends in a note of one line, and in no traceback."""
    read = read_options(f"options.write_buffer_size = {value};\noptions.num_levels = 3;\n")
    assert read.overrides == {"num_levels": 3}
    assert "line 1: write_buffer_size: " in notes(read)
    assert len(notes(read)) < 150
    assert not recwarn.list


@pytest.mark.parametrize("value", ["9" * 5000, "\xb2", "-"])
def test_sizes_of_kvrocks_that_are_none_are_refused(value: str) -> None:
    """A number of 5,000 digits, or a sign that is a digit of no number, has its line."""
    with pytest.raises(InputError, match=r":2: write_buffer_size: "):
        read_options(f"rocksdb.max_open_files 7\nrocksdb.write_buffer_size {value}\n")
