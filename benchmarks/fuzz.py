"""Fuzzing of all readers of foreign input: python benchmarks/fuzz.py [--inputs 5000] [--seed 1] [--kind log ...] [--keep DIR].

Small valid inputs are damaged and given to the readers, in this process. An input passes if it gives an answer, or one line
that names the error (InputError). Reported are: other exceptions; inputs that take longer than a limit; answers that no store
can have (`absurdities`); and facts that differ from those of the undamaged input, where the change must keep them (`forms`)
or may only remove some (`cuts`). The same seed gives the same inputs; the exit code is 1 if there is a find.

The LOG and its changes are those of the tests: tests/log_sample.py, log_mutations.py, log_forms.py.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice, pairwise
from pathlib import Path
from types import FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from log_forms import COLLECTORS, CONTENT, ENCODINGS, HOSTS  # noqa: E402
from log_mutations import MUTATIONS  # noqa: E402
from log_sample import Sample  # noqa: E402
from lsmlab.models.errors import InputError  # noqa: E402
from lsmlab.models.options.options import resolve_options  # noqa: E402
from lsmlab.models.options.options_file import read_options  # noqa: E402
from lsmlab.models.version import Version  # noqa: E402
from lsmlab.models.workloads.make import make_workload  # noqa: E402
from lsmlab.models.workloads.trace import TraceColumn, read_trace  # noqa: E402
from lsmlab.reports.course.grading import as_csv, as_table, grade, read_answers  # noqa: E402
from lsmlab.sim.configuration.combinations import combinations, expand, read_variants  # noqa: E402
from lsmlab.sim.configuration.compose import compose  # noqa: E402
from lsmlab.sim.configuration.messages import one_line  # noqa: E402
from lsmlab.sim.configuration.parameters import read_parameters  # noqa: E402
from lsmlab.sim.setting import Setting  # noqa: E402
from lsmlab.sim.setup import set_up  # noqa: E402
from lsmlab.sim.studies.baseline import read_baseline  # noqa: E402
from lsmlab.sim.studies.plan.plan_file import read_plan  # noqa: E402
from lsmlab.sim.yaml_text import to_yaml  # noqa: E402
from lsmlab.validation.casefiles.case import read_case  # noqa: E402
from lsmlab.validation.casefiles.curves import read_series  # noqa: E402
from lsmlab.validation.importer.importing import ImportRequest, read_store  # noqa: E402
from lsmlab.validation.importer.trace_load import read_trace_load  # noqa: E402
from lsmlab.validation.logs.bench_output import bench_output  # noqa: E402
from lsmlab.validation.logs.manifest import parse_manifest  # noqa: E402
from trace_sample import mixed, query_trace, readable  # noqa: E402

LIMIT_S: Final = 5.0
"""CPU time of one input, above which it counts as a loop without end; usual is 0.01 to 0.1 s."""
NUMBERS: Final = (
    "0", "-1", "1", "-0.0", "1e400", "-1e308", "1e308", "nan", "inf", "18446744073709551615",
    "9223372036854775808", "4294967296", "99999999999999999999999999", "0.000000000001", "true", "null", "", "1e-320", "0x10",
    "1_000", "1:30", "\u0663", "\xb2", "9" * 5000,
)  # fmt: skip
PIECES: Final = (
    " ", "a", "0a", "[", "[a", "{", '{"', "{a:", "a=", ",", ";", "Options.", "\x1b[2J", " L0 1/0 ", "Level ", "0.", "é",
    "\0", "\r", '"', "'", "\\", "${a}", "${", "\u2028", "*a ", "&a ", "- ", ": ", "#", "2023/11/14-22:13:20.000013 7001 ",
    "EVENT_LOG_v1 ", "=", "%s", "{0:>9}",
)  # fmt: skip
VALUES: Final = (
    "[]", "{}", "[[1]]", "{a: 1}", "[1, a]", "text", '"', "!!python/name:os.system", "${oc.env:HOME}", "${seed}", "???",
)  # fmt: skip
Text = str
Reader = Callable[[Path], object]


class LateError(Exception):
    """An input took longer than `LIMIT_S`."""


class WrongError(Exception):
    """An answer that no store can have, or another one than that of the undamaged input."""


@dataclass(frozen=True)
class Find:
    """An input with an answer that is none."""

    kind: str
    number: int
    what: str
    content: bytes


# Changes of any text.


def damaged(text: Text, rng: random.Random) -> bytes:
    """Damage a text in one to three ways: bytes, cuts, lines, numbers, pieces that readers know, repetitions."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(DAMAGES)(text, rng) if text else text
    raw = text.encode("utf-8", "surrogateescape")
    if rng.random() < 0.05 and raw:
        return rng.choice(MUTATIONS[:-1])(raw, rng) if raw.count(b"\n") > 30 else raw
    return raw


def _at(text: Text, rng: random.Random) -> int:
    return rng.randrange(len(text)) if text else 0


def other_number(text: Text, rng: random.Random) -> Text:
    """Replace a number by an absurd one."""
    places = [i for i, c in enumerate(text) if c.isdigit() and (i == 0 or not text[i - 1].isalnum())]
    if not places:
        return text + rng.choice(NUMBERS)
    start = end = rng.choice(places)
    while end < len(text) and (text[end].isdigit() or text[end] == "."):
        end += 1
    return text[:start] + rng.choice(NUMBERS) + text[end:]


def other_digit(text: Text, rng: random.Random) -> Text:
    """Replace a digit."""
    places = [i for i, c in enumerate(text) if c in "0123456789"]
    at = rng.choice(places) if places else 0
    return text[:at] + rng.choice("0123456789-.eE+,") + text[at + 1 :]


def more(text: Text, rng: random.Random) -> Text:
    """Insert a piece that a reader may know, once or many times."""
    at = _at(text, rng)
    return text[:at] + rng.choice(PIECES) * rng.choice((1, 1, 1, 2, 50, 5000)) + text[at:]


def less(text: Text, rng: random.Random) -> Text:
    """Remove a part."""
    at = _at(text, rng)
    return text[:at] + text[at + rng.choice((1, 3, 30, 300)) :]


def moved_line(text: Text, rng: random.Random) -> Text:
    """Move, repeat or remove a line."""
    lines = text.split("\n")
    line = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.choice((0, 1, 1, 2))):
        lines.insert(rng.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def other_value(text: Text, rng: random.Random) -> Text:
    """Replace what follows the sign of an assignment."""
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    for sign in ("=", ":", ","):
        if sign in lines[at]:
            value = rng.choice((*NUMBERS, *VALUES))
            lines[at] = f"{lines[at].partition(sign)[0]}{sign} {value}"
            break
    return "\n".join(lines)


def other_name(text: Text, rng: random.Random) -> Text:
    """Replace a word by another one of the text, or by none."""
    words = text.split(" ")
    words[rng.randrange(len(words))] = rng.choice((*words[:50], "", "5", "on", "~", "..", "__class__"))
    return " ".join(words)


DAMAGES: Final = (other_number, other_number, other_digit, more, less, moved_line, other_value, other_name)


# Checks.


def absurdities(value: object, where: str = "") -> Iterator[str]:
    """Yield what no store can have: numbers that are not finite, negative amounts and times, shares and rates beyond physics."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from absurdities(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from absurdities(inner, f"{where}[{number}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        name = where.rpartition(".")[2]
        if not math.isfinite(value):
            yield f"{where} = {value}"
        elif value < 0 and (name.startswith(_AMOUNTS) or name.endswith(("_s", "_bytes", "_count", "_per_s"))):
            yield f"{where} = {value} is negative"
        elif name in ("stall_fraction", "cpu_fraction") and value > 1.0 + 1e-9:
            yield f"{where} = {value} of the time"
        elif name.endswith("ops_per_s") and value > 1e8:
            yield f"{where} = {value:g}/s"
        elif name == "duration_s" and value > 50 * 365.25 * 86_400:
            yield f"{where} = {value:g} s"


_AMOUNTS: Final = ("flush_", "compaction_", "stall_", "live_", "operations", "files", "longest_", "write_amp", "user_")


def check_store(path: Path) -> dict[str, Any]:
    """Import a store, with tables and configuration, and check the answer; return its summary."""
    store = read_store(ImportRequest(logs=(path,)))
    summary = store.summary
    tables = store.tables[0]
    store.in_memory("fuzz")
    found = list(absurdities({k: v for k, v in summary.items() if k not in ("import", "options", "bottleneck")}))
    length, stalled = summary.get("duration_s"), summary.get("stall_seconds") or {}
    stops = sum(s or 0.0 for cause, s in stalled.items() if cause.endswith("stop"))
    if length is not None and stops > length * (1 + 1e-6) + 1e-3:
        found.append(f"stopped for {stops:g} of {length:g} s")
    if (longest := summary.get("longest_stall_s")) and length is not None and longest > length * (1 + 1e-6) + 1e-3:
        found.append(f"longest stall {longest:g} of {length:g} s")
    for schema, columns in tables:
        for name, column in columns.items():
            if column.dtype.kind == "f" and name.endswith("_s") and len(column) and column[column == column].size:
                least = float(column[column == column].min())
                if least < -3600.0 and name != "uptime_s":
                    found.append(f"{schema.name}.{name} = {least:g}")
    if found:
        raise WrongError("; ".join(found[:3]))
    return summary


def check_options(path: Path) -> None:
    """Read and resolve options, and check them."""
    found = read_options(path)
    resolved = resolve_options(found.version or Version(7, 8), "library", found.overrides)
    if wrong := [name for name, value in found.overrides.items() if isinstance(value, float) and not math.isfinite(value)]:
        raise WrongError(f"options {wrong} are not finite")
    assert resolved.options is not None


# Kinds: each makes an input of a seed, and reads it.


@cache
def sample() -> Sample:
    """Return a LOG of 150 lines with stalls, moves and statistics."""
    return Sample().run(6)


@cache
def large_sample() -> Sample:
    """Return a LOG of 400 lines."""
    return Sample().run(20)


def log_damage(folder: Path, rng: random.Random) -> Path:
    """Return a damaged LOG, some of them compressed."""
    raw = sample().text.encode()
    if rng.random() < 0.5:
        for _ in range(rng.choice((1, 1, 2))):
            raw = rng.choice(MUTATIONS)(raw, rng) if raw.count(b"\n") > 30 else raw
    else:
        raw = damaged(raw.decode(), rng)
    return written(folder, "LOG", raw)


def statistics_text() -> str:
    """Return statistics of a store, a result of db_bench and tickers."""
    rates = "W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop"
    columns = f"Read(GB) Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) {rates}"
    return "\n".join([line.replace("COLUMNS", columns) for line in _STATISTICS] + [*_TICKERS, ""])


_STATISTICS: Final = (
    "fillrandom   :       7.238 micros/op 138151 ops/sec;   14.2 MB/s", "** DB Stats **",
    "Uptime(secs): 600.0 total, 600.0 interval",
    "Cumulative writes: 1200K writes, 1200K keys, 1200K commit groups, 1.0 writes per commit group, ingest: 12.00 GB, 20.48 MB/s",
    "Cumulative WAL: 1200K writes, 0 syncs, 1200000.00 writes per sync, written: 12.00 GB, 20.48 MB/s",
    "Cumulative stall: 00:01:12.500 H:M:S, 12.1 percent",
    "Interval stall: 00:01:12.500 H:M:S, 12.1 percent",
    "", "** Compaction Stats [default] **", "Level    Files   Size     Score COLUMNS", "-" * 150,
    "  L0      3/0   12.00 MB   0.7      0.0     0.0      0.0      12.4     12.4       0.0   1.0      0.0     40.0    310.00"
    "            208.00       640    0.484       0      0",
    "  L1      9/0   80.00 MB   0.9     31.1    12.4     18.7      30.0     11.3       0.0   2.4     50.0     45.0    620.00"
    "            516.00       110    5.636   3000K   100K",
    " Sum     12/0   92.00 MB   0.0     31.1    12.4     18.7      42.4     23.7       0.0   3.4     34.0     43.0    930.00"
    "            724.00       750    1.240   3000K   100K",
    "", "** Compaction Stats [default] **", "Priority Files   Size     Score COLUMNS", "-" * 150,
    " Low      0/0    0.00 KB   0.0     31.1    12.4     18.7      30.0     11.3       0.0   0.0     50.0     45.0    620.00"
    "            516.00       110    5.636   3000K   100K",
    "High      0/0    0.00 KB   0.0      0.0     0.0      0.0      12.4     12.4       0.0   0.0      0.0     40.0    310.00"
    "            208.00       640    0.484       0      0",
    "", "Flush(GB): cumulative 12.400, interval 12.400",
    "Cumulative compaction: 42.40 GB write, 72.36 MB/s write, 31.10 GB read, 53.08 MB/s read, 930.0 seconds",
    "Stalls(count): 0 level0_slowdown, 0 level0_slowdown_with_compaction, 0 level0_numfiles, 0 level0_numfiles_with_compaction, "
    "0 stop for pending_compaction_bytes, 7 slowdown for pending_compaction_bytes, 3 memtable_compaction, 0 memtable_slowdown, "
    "interval 10 total count",
)  # fmt: skip
_TICKERS: Final = (
    "STATISTICS:", "rocksdb.block.cache.miss COUNT : 12", "rocksdb.number.keys.written COUNT : 1200000",
    "rocksdb.db.write.micros P50 : 5.0 P95 : 9.0 P99 : 12.0 P100 : 99.0 COUNT : 1200000 SUM : 9000000",
    "Microseconds per write:", "Count: 90000 Average: 7.2381  StdDev: 44.00", "Min: 1  Median: 6.2  Max: 9999",
    "Percentiles: P50: 6.20 P75: 8.20 P99: 13.11 P99.9: 30.11 P99.99: 91.11",
)  # fmt: skip
CASE: Final = (ROOT / "validation" / "demo" / "own-run" / "case.yaml").read_text(encoding="utf-8").replace(
    "../../recordings", str(ROOT / "validation" / "recordings")
)
OPTIONS_FILE: Final = (ROOT / "validation" / "demo" / "OPTIONS").read_text(encoding="utf-8")
STRINGS: Final = (
    "write_buffer_size=33554432;max_write_buffer_number=6;compression=kLZ4Compression;block_based_table_factory={block_size=4K;filter_policy="
    "bloomfilter:10:false};compaction_options_universal={size_ratio=2;min_merge_width=3};max_bytes_for_level_multiplier_additional="
    "1:1:2;level_compaction_dynamic_level_bytes=true",
    "bluestore_rocksdb_options = compression=kNoCompression,max_write_buffer_number=64,min_write_buffer_number_to_merge=32,"
    "recycle_log_file_num=4,write_buffer_size=16777216",
    "rocksdb_default_cf_options=write_buffer_size=64m;target_file_size_base=32m;level0_slowdown_writes_trigger=-1\n"
    "rocksdb-max-background-jobs = 4",
)  # fmt: skip
HOST_OPTIONS: Final = (
    "rocksdb::Options options;\noptions.write_buffer_size = 64 << 20;  // a memtable\noptions.IncreaseParallelism(16);\n"
    "options.compression = rocksdb::kZSTD;\ntable.block_cache = rocksdb::NewLRUCache(512 * 1024 * 1024);\n"
    "options.OptimizeLevelStyleCompaction();\n",
    "class Small implements RocksDBConfigSetter {\nprivate static final long SIZE = 16 * 1024L;\n"
    "options.setWriteBufferSize(SIZE);\noptions.setCompressionType(CompressionType.LZ4_COMPRESSION);\n"
    "table.setFilterPolicy(new BloomFilter(10, false));\n",
    "bind 127.0.0.1\nrocksdb.write_buffer_size 64\nrocksdb.enable_blob_files yes\nmax-io-mb 5\n",
    "[osd]\nbluestore_rocksdb_options = write_buffer_size=16777216\n"
    "bluestore_rocksdb_cfs = m(3) O(3,0-13)=block_cache={type=lru} L=min_write_buffer_number_to_merge=32\n",
    "state.backend.rocksdb.memory.fixed-per-slot: 300mb\nstate.backend.rocksdb.predefined-options: FLASH_SSD_OPTIMIZED\n"
    "state.backend.rocksdb.writebuffer.size: 128mb\n",
    "db:\n  column_families:\n    default:\n      write_buffer_size: 67108864\n    index:\n      write_buffer_size: 8388608\n",
)  # fmt: skip
"""Program code, and files of programs that have RocksDB inside."""
VARIANTS: Final = """description: two engines
overrides: [workload.num=20k, workload.duration=1s]
variants:
  A: {overrides: ["engine.description={T} of {{x}}"]}
  B: {overrides: [engine=rocksdb, "keys={{mode: sampled}}"], parents: [A]}
settings:
  s: {overrides: [device=nvme], T: 5}
  t: {overrides: [device=sata, "device.write_cap=20MiB/s"], T: 64MiB}
"""
SHEET: Final = "lesson: 1\nstudent: Eve\nanswers:\n  in_place: 1.5\n  lsm: 1e3\n  writes: 1\n"
PARAMETERS: Final = """version: 1
host: {write_op: 2us, flush_job_start: 1ms}
devices:
  nvme: {write_latency: 20us}
limits: {write_bandwidth: 120MB/s}
standard_errors:
  host: {write_op: 0.1}
"""
ENTRY: Final = """# @package _global_
description: mine
defaults:
  - override /device: sata
  - override /workload: overwrite
engine:
  options: {write_buffer_size: 4MiB, max_write_buffer_number: 3}
device: {write_cap: 20MiB/s}
workload: {num: 20k, duration: 1s, value_size: 100}
seed: 3
save: {events: false}
initial_tree: [{level: 1, size_bytes: 4kB}]
"""
PLAN: Final = (ROOT / "validation" / "demo" / "plan.yaml").read_text(encoding="utf-8")
TRACE: Final = "seconds,operations\n0,100\n1,300\n# a remark\n2,40\n5,60.5\n"
TWITTER: Final = "0,nz:u:a,b,7,100,1,get,0\n1,nz:u:c,6,250,2,set,60\n1,nz:u:a,b,7,0,1,delete,0\n3,nz:u:c,6,8,2,incr,0\n"
META: Final = "op_time,key,key_size,op,op_count,size,cache_hits,ttl\n5,7,40,GET_LEASE,2,87,1,0\n8,9,30,SET,1,65,0,7200\n"
TREE: Final = "level,size_bytes,files,smallest,largest\n0,1MB,2,0,49999\n1,20kB,3,,\n2,40kB,3,100,20000\n"
SERIES: Final = "secs_elapsed,interval_qps\n0,0\n1,1500\n2,1400\n3,1200.5\n"
OVERRIDES: Final = (
    "device=nvme,sata", "engine.options.write_buffer_size=64MiB", "initial_tree=[{level:1,size_bytes:8kB,files:2}]",
    "keys={mode:sampled}", "seed=range(1,5)", "workload.value_size=choice(1,2)", "device.write_cap='20MiB/s'",
    "engine.version=7.10", "workload@prefill=fillseq", "engine.options={write_buffer_size:4MiB,max_write_buffer_number:3}",
    "device.page_cache=1GiB", "workload.num=20k",
)  # fmt: skip
MANIFEST: Final = """VersionEdit {
  LogNumber: 9
  AddFile: 0 12 1048576 '0000000000000001' seq:1, type:1 .. '00000000000000FF' seq:9, type:1
  DeleteFile: 1 7
}
"""


def written(folder: Path, name: str, content: bytes) -> Path:
    """Write an input and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def long_runs(folder: Path, rng: random.Random) -> Path:
    """Return a LOG with a long line of one piece: hard for patterns whose time is the square of a line's length."""
    head = rng.choice(("", "2023/11/14-22:13:20.000013 7001 ", *(line[:60] for line in rng.sample(sample().lines, 3))))
    piece = rng.choice(PIECES)
    return written(folder, "LOG", f"{head}{piece * (200_000 // len(piece))}\n".encode())


def read_long(path: Path) -> None:
    """Read a text as a LOG, and as options."""
    for reader in (check_store, read_options):
        try:
            reader(path)
        except InputError:
            continue


def read_statistics(path: Path) -> None:
    """Read statistics as a store, and as db_bench's output."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if wrong := list(absurdities({"stall_s": bench_output(text).stall_s})):
        raise WrongError(wrong[0])
    check_store(path)


def read_tree(path: Path) -> None:
    """Prepare a run that begins with a tree."""
    set_up(Setting.of({**_base(), "initial_tree": str(path)}))


@cache
def _base() -> dict[str, Any]:
    return compose(["workload=overwrite", "workload.num=50k", "workload.duration=1s"])


_TRACE_CLASS: Final = "lsmlab.models.workloads.generic.Trace"


def read_trace_file(path: Path) -> None:
    """Read a schedule, and the workload with it."""
    read_trace(path, TraceColumn.OPERATIONS)
    make_trace(path)


def read_operations_file(path: Path) -> None:
    """Read a trace of operations, the load that is fitted to it, and the workload that repeats it."""
    load = read_trace_load(path)
    if load is None:
        return
    if found := list(absurdities({**load.facts(), **load.workload_keys()})):
        raise WrongError("; ".join(found[:3]))
    make_trace(path)


def query_damage(folder: Path, rng: random.Random) -> Path:
    """Return a damaged trace of RocksDB: other bytes, cuts, repetitions, or damage as of a text."""
    raw = bytearray(query_trace(mixed(60), old=rng.random() < 0.3))
    if rng.random() < 0.3:
        return written(folder, "ops", damaged(raw.decode("utf-8", "surrogateescape"), rng))
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(raw)) if raw else 0
        match rng.randrange(4) if raw else 2:
            case 0:
                raw[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 1:
                del raw[at : at + rng.choice((1, 4, 13, 200))]
            case 2:
                raw[at:at] = bytes(rng.choice((1, 4, 13, 5000)))
            case _:
                raw = raw[: max(1, at)]
    return written(folder, "ops", bytes(raw))


def make_trace(path: Path) -> None:
    """Make the workload of a file of arrivals or operations."""
    values = {**compose(["workload=constant"])["workload"], "_target_": _TRACE_CLASS, "file": str(path)}
    values.pop("rate", None)
    make_workload({k: v for k, v in values.items() if k not in ("description", "source")})


def read_entry(path: Path) -> None:
    """Compose an experiment of a foreign folder, and prepare its run."""
    set_up(Setting.of(compose(["experiment=mine"], [path.parent.parent])))


def read_overrides(path: Path) -> None:
    """Expand and compose overrides of a command line."""
    texts = [text for text in path.read_text(encoding="utf-8", errors="replace").split("\n") if text][:3]
    for overrides, _ in expand(texts)[:1]:
        set_up(Setting.of(compose(["workload.num=20k", "workload.duration=1s", *overrides])))


def read_run(path: Path) -> None:
    """Take a run's configuration, and prepare the same run with a change."""
    set_up(Setting.of(read_baseline(str(path.parent)).compose(["device=sata"])))


def read_all_variants(path: Path) -> None:
    """Read variants, and make their configurations."""
    combinations(["seed=1,2"], read_variants(str(path)))


def config_text() -> str:
    """Return the configuration of a run."""
    return to_yaml(compose(["workload.num=20k", "workload.duration=1s"]))


def read_sheet(path: Path) -> None:
    """Grade a sheet."""
    found = grade(read_answers(path))
    table = as_csv(found, key=False)
    if any(cell[:1] in "=+@" for line in table.splitlines() for cell in line.replace('"', "").split(",")[:1] if cell):
        raise WrongError("a cell of the table begins as a formula")
    as_table(found, key=True)


# Facts: what a change keeps, or only removes, must be as in the undamaged input.

TOTALS: Final = (
    "flush_count", "flush_bytes", "compaction_count", "compaction_read_bytes", "compaction_write_bytes", "trivial_move_count",
    "entries_flushed", "operations", "live_bytes", "user_bytes_written", "duration_s", "longest_stall_s",
)  # fmt: skip
"""Facts of which a part of a LOG has at most as much as the whole."""
RATES: Final = ("write_ops_per_s", "write_amplification")
"""Facts that differ between the parts of a LOG, by at most `RATE_FACTOR` in the sample."""
RATE_FACTOR: Final = 5.0
ROUNDING: Final = 0.01
"""Relative error of sums in statistics, which have one or two digits after the point."""
LOAD: Final = ("key_bytes", "value_bytes", "delete_share")
Facts = dict[str, Any]


def facts_of(path: Path) -> tuple[Facts, Counter[str]]:
    """Return the facts of a LOG or of statistics, and the counts of damage."""
    store = read_store(ImportRequest(logs=(path,)))
    summary = store.summary
    facts: Facts = {name: summary.get(name) for name in (*TOTALS, *RATES)}
    facts |= {f"stalls by {cause}": n for cause, n in summary["stall_count"].items()}
    facts |= {f"stalled by {cause}": seconds for cause, seconds in summary["stall_seconds"].items()}
    facts |= {name: summary["import"]["workload"][name] for name in LOAD}
    with suppress(InputError):
        facts |= {f"option {name}": value for name, value in read_options(path).overrides.items()}
    facts["engine_version"] = summary.get("engine_version") or None
    return facts, Counter({**store.reading.log.troubles, **store.reading.problems})


@cache
def true_facts(lines: Callable[[], Sequence[str]]) -> tuple[Facts, Counter[str]]:
    """Return the facts of undamaged lines."""
    with tempfile.TemporaryDirectory() as folder:
        return facts_of(written(Path(folder), "LOG", ("\n".join(lines()) + "\n").encode()))


def log_lines() -> list[str]:
    """Return the lines of the LOG."""
    return large_sample().lines


def statistics_lines() -> list[str]:
    """Return the lines of the statistics."""
    return statistics_text().rstrip("\n").split("\n")


OTHERS: Final = ("", "2023/11/14-22:13:20.000013 7001 [/other.cc:7] nothing to see", "mydb: ready", "# note")
"""Lines of other programs."""


def with_others(lines: list[str], rng: random.Random) -> list[str]:
    """Insert lines of other programs, before messages, not inside of tables."""
    result = []
    for line in lines:
        if "2023/" in line[:5] and rng.random() < 0.05:
            result.append(rng.choice(OTHERS))
        result.append(line)
    return result


def with_repeats(lines: list[str], rng: random.Random) -> list[str]:
    """Repeat some lines, as one does who copies a text in parts."""
    start = rng.randrange(len(lines))
    end = start + rng.choice((1, 5, 50, len(lines)))
    return [*lines[:end], *lines[start:end], *lines[end:]]


def spaced(lines: list[str], _rng: random.Random) -> list[str]:
    """Insert a blank line after each line, as mails and web pages have it."""
    return [text for line in lines for text in (line, "")]


def trailed(lines: list[str], _rng: random.Random) -> list[str]:
    """Add blanks at the ends of lines."""
    return [f"{line}  " for line in lines]


LOSSLESS: Final = (lambda lines, _rng: lines, with_repeats, spaced, trailed)


def forms(lines: Callable[[], Sequence[str]]) -> Callable[[Path, random.Random], Path]:
    """Return the maker of other forms: locale, fork, host program, collector, encoding, line ends, repeats, blank lines."""

    def make(folder: Path, rng: random.Random) -> Path:
        content, host, collector = rng.choice(CONTENT), rng.choice(HOSTS), rng.choice(COLLECTORS)
        stamps = content.name in ("whole seconds", "no thread ids")
        lossless = rng.choice(LOSSLESS)
        text = with_others(list(lines()), rng) if rng.random() < 0.2 else lines()
        changed = (HOSTS[0] if stamps else host).change(content.change(text))
        if lossless is not with_repeats or content.resolution_s < 1.0:  # whole seconds do not tell repeated lines
            changed = lossless(changed, rng)
        changed = collector.change(changed)
        ends = rng.choice(("\n", "\n", "\r\n"))
        return written(folder, "LOG", (ends.join(changed) + ends).encode(rng.choice(ENCODINGS), errors="replace"))

    return make


def cuts(lines: Callable[[], Sequence[str]]) -> Callable[[Path, random.Random], Path]:
    """Return the maker of parts of lines: those at the begin, at the end or between are left out."""

    def make(folder: Path, rng: random.Random) -> Path:
        kept = list(lines())
        for _ in range(rng.choice((1, 1, 2))):
            at, n = rng.randrange(len(kept)), rng.choice((1, 1, 2, 10, 60))
            match rng.randrange(3):
                case 0:
                    kept = kept[at:] or kept
                case 1:
                    kept = kept[: at + 1]
                case _:
                    del kept[at : at + n]
        return written(folder, "LOG", (("\n".join(kept)) + "\n").encode())

    return make


def same_facts(lines: Callable[[], Sequence[str]]) -> Reader:
    """Return a check that a form has the facts of the plain lines or fewer."""

    def check(path: Path) -> None:
        facts, true = facts_of(path)[0], true_facts(lines)[0]
        found = [(name, value, true.get(name)) for name, value in facts.items() if value is not None]
        _refuse(
            f"{name}: {value}, not {expected}" for name, value, expected in found
            if not _near(value, expected, float(name.startswith(_TIMES)), 0.1 if name in RATES else 1e-6)
        )  # fmt: skip

    return check


_TIMES: Final = ("duration_s", "longest_stall_s", "stalled by")
"""Facts that depend on the resolution of time stamps: that of `CONTENT` and `HOSTS` is at most 1 s."""


def fewer_facts(lines: Callable[[], Sequence[str]]) -> Reader:
    """Return a check that a part of lines has no more than the whole, and no other options, versions and sizes of entries.

    More is accepted only with damage that was counted.
    """

    def check(path: Path) -> None:
        (facts, damage), (true, true_damage) = facts_of(path), true_facts(lines)
        wrong, other = [], []
        for name, value in facts.items():
            whole = true.get(name)
            if value is None:
                continue
            if name in RATES:
                if whole is not None and not whole / RATE_FACTOR <= value <= whole * RATE_FACTOR:
                    wrong.append(f"{name}: {value}, beside {whole}")
            elif name in TOTALS or name.startswith("stall"):
                if whole is not None and value > whole * (1 + ROUNDING) + 1e-3:
                    wrong.append(f"{name}: {value}, above {whole}")
            elif not _near(value, whole):
                other.append(f"{name}: {value}, not {whole}")
        _refuse(wrong * (damage == true_damage) + other)

    return check


def _near(value: Any, true: Any, tolerance: float = 0.0, relative: float = 1e-6) -> bool:
    if isinstance(value, int | float) and isinstance(true, int | float):
        return abs(value - true) <= tolerance + relative * abs(true)
    return bool(value == true)


def _refuse(wrong: Iterable[str]) -> None:
    if found := list(wrong):
        raise WrongError("; ".join(found[:3]))


def options_cuts(folder: Path, rng: random.Random) -> Path:
    """Return an OPTIONS file in another form, or with lines left out: comments, blanks, order inside a section."""
    lines = OPTIONS_FILE.split("\n")
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(len(lines))
        if lines[at].lstrip().startswith("["):
            continue
        match rng.randrange(4):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, rng.choice(("", "  # a remark", "  an_option_of_a_fork=7")))
            case 2:
                lines[at] = f"\t{lines[at].strip()}  "
            case _:
                lines[at] = lines[at].replace("=", " = ", 1)
    lines = rng.choice(OPTION_FORMS)(lines)
    text = rng.choice(("\n", "\r\n")).join(lines)
    return written(folder, "OPTIONS", text.encode(rng.choice(("utf-8", "utf-8-sig", "utf-16"))))


def assignments(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return the names and values of the options of the database and of the default column family."""
    found, section = [], ""
    for line in (line.partition("#")[0].strip() for line in lines):
        section = line if line.startswith("[") else section
        name, sign, value = line.partition("=")
        if sign and section.startswith(("[DB", '[CFOptions "default"', '[TableOptions/BlockBasedTable "default"')):
            found.append((name.strip(), value.strip()))
    return found


OPTION_FORMS: Final[tuple[Callable[[list[str]], list[str]], ...]] = (
    list, list,
    lambda lines: [f"> {line}" for line in lines],
    lambda lines: [f"OPTIONS-000007:{line}" for line in lines],
    lambda lines: [text for line in lines for text in (line, "")],
    lambda lines: [";".join(f"{name}={value}" for name, value in assignments(lines)) + ";"],
    lambda lines: [f"{name.replace('_', '-')} = \"{value}\"" for name, value in assignments(lines)],
    lambda lines: [f"rocksdb_{name} : {value}" for name, value in assignments(lines) if "=" not in value],
    lambda lines: ["--db_options=" + json.dumps(dict(assignments(lines)))],
    lambda lines: json.dumps(dict(assignments(lines)), indent=2).split("\n"),
    lambda lines: ["[rocksdb.defaultcf]", *(f"{n} = {v}" for n, v in assignments(lines)), "[raftdb.defaultcf]", "num-levels = 3"],
)  # fmt: skip
"""Forms in which programs and people write options."""


@cache
def true_options() -> dict[str, Any]:
    """Return the options of the undamaged file."""
    return read_options(OPTIONS_FILE).overrides


def same_options(path: Path) -> None:
    """Check that a changed file has no other options, and at least one."""
    found, true = read_options(path).overrides, true_options()
    _refuse(f"{name}={value}, not {true.get(name)}" for name, value in found.items() if value != true.get(name))
    if len(found) < len(true) // 2:
        raise WrongError(f"{len(found)} options of {len(true)}")


@dataclass(frozen=True)
class Kind:
    """A kind of inputs."""

    share: int
    """Share of all inputs."""
    read: Reader
    """Reader, which raises what it finds."""
    make: Callable[[Path, random.Random], Path]
    """Function that writes an input into a folder and returns its path."""


def of_text(share: int, read: Reader, name: str, *texts: str) -> Kind:
    """Return the kind of damaged texts, in a file of this name; `UNDAMAGED` has the texts."""
    UNDAMAGED.extend((read, name, text) for text in texts)
    return Kind(share, read, lambda folder, rng: written(folder, name, damaged(rng.choice(texts), rng)))


UNDAMAGED: Final[list[tuple[Reader, str, str]]] = []
"""Reader, file name and text of the inputs that are damaged: each is read without an error."""
KINDS: Final[dict[str, Kind]] = {
    "log": Kind(6, check_store, log_damage),
    "log forms": Kind(3, same_facts(log_lines), forms(log_lines)),
    "log cuts": Kind(4, fewer_facts(log_lines), cuts(log_lines)),
    "statistics forms": Kind(2, same_facts(statistics_lines), forms(statistics_lines)),
    "statistics cuts": Kind(2, fewer_facts(statistics_lines), cuts(statistics_lines)),
    "long runs": Kind(1, read_long, long_runs),
    "statistics": of_text(3, read_statistics, "stats.txt", statistics_text()),
    "options": of_text(3, check_options, "OPTIONS", OPTIONS_FILE),
    "options forms": Kind(2, same_options, options_cuts),
    "option strings": of_text(3, check_options, "options.txt", *STRINGS),
    "host options": of_text(3, check_options, "options.txt", *HOST_OPTIONS),
    "trace": of_text(2, read_trace_file, "trace.csv", TRACE),
    "query trace": Kind(3, read_operations_file, query_damage),
    "operations": of_text(2, read_operations_file, "ops", readable(mixed(60)), TWITTER, META),
    "tree": of_text(2, read_tree, "tree.csv", TREE),
    "series": of_text(1, read_series, "report.csv", SERIES),
    "variants": of_text(2, read_all_variants, "variants.yaml", VARIANTS),
    "sheet": of_text(1, read_sheet, "sheet.yaml", SHEET),
    "parameters": of_text(1, lambda path: read_parameters(str(path)), "mine.yaml", PARAMETERS),
    "entry": of_text(3, read_entry, "experiment/mine.yaml", ENTRY),
    "run": of_text(1, read_run, "config.yaml", config_text()),
    "plan": of_text(1, read_plan, "plan.yaml", PLAN),
    "case": of_text(1, lambda path: read_case(path.parent), "case.yaml", CASE),
    "overrides": of_text(2, read_overrides, "overrides", *map("\n".join, pairwise(OVERRIDES))),
    "manifest": of_text(1, lambda path: parse_manifest(path.read_text(errors="replace")), "MANIFEST.txt", MANIFEST),
}


def tried(kind: str, number: int, seed: int, folder: Path) -> Find | None:
    """Make and read one input; return what was found."""
    path = KINDS[kind].make(folder, random.Random(f"{seed} {kind} {number}"))
    before_s = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        KINDS[kind].read(path)
    except InputError as error:
        what = "" if one_line(error) else "an error without text"
    except LateError:
        what = f"longer than {LIMIT_S:g} s: {_place()}"
    except WrongError as error:
        what = str(error)
    except Exception as error:
        what = "" if one_line(error) else f"{type(error).__name__}: {str(error)[:100]}: {_place()}"
    else:
        what = ""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if not what and time.process_time() - before_s > LIMIT_S:
        what = f"took {time.process_time() - before_s:.1f} s"
    return Find(kind, number, what, path.read_bytes()) if what else None


def _place() -> str:
    """Return the innermost place of the present exception in LSMLab."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    own = [f for f in frames if f.filename.startswith(str(ROOT)) and f.filename != __file__ and ".venv" not in f.filename]
    last = (own or frames)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def _late(_signal: int, _frame: FrameType | None) -> None:
    raise LateError


def fuzz(
    inputs: int, seed: int, kinds: Sequence[str] = tuple(KINDS), keep: Path | None = None,
    said: Callable[[Find], None] = lambda _find: None,
) -> list[Find]:  # fmt: skip
    """Try inputs, by turns of all kinds, and return the finds, each also to `said`. `keep`: folder for the inputs of finds."""
    turns = [kind for kind in kinds for _ in range(KINDS[kind].share)]
    random.Random(seed).shuffle(turns)
    finds = []
    before = signal.signal(signal.SIGPROF, _late)
    warnings.simplefilter("error", RuntimeWarning)  # NumPy's, of numbers that are none
    try:
        for number, kind in enumerate(islice(cycle(turns), inputs)):
            with tempfile.TemporaryDirectory() as folder:
                found = tried(kind, number, seed, Path(folder))
            if found is None:
                continue
            finds.append(found)
            said(found)
            if keep is not None:
                written(keep, f"{kind.replace(' ', '-')}-{number}", found.content)
    finally:
        signal.signal(signal.SIGPROF, before)
    return finds


def main() -> int:
    """Run the fuzzer; return 1 if there is a find."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only this kind; may be repeated")
    parser.add_argument("--keep", type=Path, help="folder for the inputs of finds")
    given = parser.parse_args()
    begun_s = time.monotonic()
    finds = fuzz(
        given.inputs, given.seed, given.kind or tuple(KINDS), given.keep,
        lambda find: print(f"{find.kind} {find.number}: {find.what}", flush=True),
    )  # fmt: skip
    took = f"{time.monotonic() - begun_s:.0f} s"
    print(f"{given.inputs:,} inputs of {len(given.kind or KINDS)} kinds, seed {given.seed}: {len(finds)} finds, {took}")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
