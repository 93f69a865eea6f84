"""Ask for advice on twelve public reports whose threads tell the cure, and print the rank of the first advice with the cure.

usage: python benchmarks/cures.py [FOLDER] [REPORT ...]        (some minutes on one core; no RocksDB needed)

Each store has the options, load and drive that its report tells, with RocksDB's defaults for what it does not; lines marked
"assumed" were chosen so that the store has the reported bottleneck. The list of reports and cures was fixed before the first run.
The first rank is that of the text: the best changes, the cheap kinds first, then those that help less, by their gain; a pair
counts that contains the cure. The second one is that of the cure alone among single changes, by their gain.
FOLDER keeps the advice, and a later call goes on there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.options.values import read_value

TARGET: Final = 8
"""Reports out of ten whose cure must be among the first three advices."""
FIRST: Final = 3
_GITHUB: Final = "https://github.com/"

Holds = Callable[[Any], bool]


@dataclass(frozen=True)
class Report:
    """Problem report of a store, with the change that cured it."""

    link: str
    """Path of the thread at GitHub."""
    bottleneck: str
    cure: Mapping[str, Holds]
    """Options of which one new value is the cure."""
    store: Sequence[str]
    """Overrides."""
    goal: str | None = None
    """What the report complains of; None: throughput or latency, as the load has it."""


def above(present: float) -> Holds:
    """Return whether a value is larger than the present one."""
    return lambda value: value > present


def below(present: float) -> Holds:
    """Return whether a value is smaller than the present one."""
    return lambda value: value < present


def _families(count: int, options: str) -> list[str]:
    """Return the overrides of a store with further column families that share the load evenly."""
    names = [f"cf{i}" for i in range(1, count)]
    loads = ",".join(f"{name}: {{writes: 1}}" for name in ("default", *names))
    return [f"+engine.families={{{','.join(f'{name}: {{options: {options}}}' for name in names)}}}",
            f"+workload.families={{{loads}}}"]  # fmt: skip


REPORTS: Final[Mapping[str, Report]] = {
    "lix": Report(
        "opral/lix/pull/1383", "memtables", {"max_write_buffer_number": above(2)},
        ("workload=on_off", "workload.on_rate=60k", "workload.on_mean=500ms", "workload.on_sigma=0.2", "workload.off_rate=100",
         "workload.off_mean=3s", "workload.read=0", "workload.update=1", "workload.num=80k", "workload.value_size=10000",
         "workload.duration=30s", "device=sata"),  # assumed: bursts of 300 MB, drive
    ),
    "aptos": Report(
        "aptos-labs/aptos-core/pull/2087", "jobs", {"max_background_jobs": above(2)},
        ("workload=full_speed", "workload.read=0", "workload.update=1", "workload.num=100M", "workload.value_size=500",
         "workload.threads=4", "workload.duration=60s", "engine.version='6.29'"),
    ),
    "blaze": Report(
        "samply/blaze/issues/4115", "one thread per L0 compaction", {"max_subcompactions": above(1)},
        ("workload=overwrite", "workload.num=20M", "workload.value_size=1000", "workload.threads=8", "workload.duration=60s",
         "engine.options.compression=kZSTD",  # assumed: one entry stands for a batch of small ones; codec
         "host.cores=128", "engine.options.max_background_jobs=32", "engine.options.level_compaction_dynamic_level_bytes=true",
         "engine.options.max_write_buffer_number=4", *_families(2, "{}")),
    ),
    "sui": Report(
        "MystenLabs/sui/pull/18872", "L0 triggers",
        {"level0_slowdown_writes_trigger": above(24), "level0_stop_writes_trigger": above(32),
         "level0_file_num_compaction_trigger": below(6)},
        ("workload=full_speed", "workload.read=0", "workload.update=0", "workload.insert=1", "workload.num=10M",
         "workload.preload=0.1", "workload.value_size=10000", "workload.threads=4", "workload.duration=60s",
         "engine.options.write_buffer_size=256MiB", "engine.options.max_write_buffer_number=6",
         "engine.options.max_background_jobs=8", "engine.options.level0_file_num_compaction_trigger=6",
         "engine.options.level0_slowdown_writes_trigger=24", "engine.options.level0_stop_writes_trigger=32",
         "engine.options.max_bytes_for_level_base=1536MiB", "engine.options.target_file_size_base=128MiB"),
    ),  # assumed: sizes, number of jobs, triggers beside the slowdown at 24 files, full speed
    "rocksdb-js": Report(
        "HarperFast/rocksdb-js/pull/788", "shared budget of memtables",
        {"db_write_buffer_size": lambda v: v == 0 or v > 32 << 20},
        ("workload=fillrandom", "workload.num=256k", "workload.value_size=1024", "workload.duration=4s", "engine.version='9.8'",
         "engine.options.write_buffer_size=16MiB", "engine.options.max_write_buffer_number=16",
         "engine.options.db_write_buffer_size=32MiB", "engine.options.atomic_flush=true",
         *_families(16, "{write_buffer_size: 16MiB}")),
    ),
    "tikv": Report(
        "tikv/tikv/pull/9649", "flush threads", {"max_background_flushes": above(2), "max_background_jobs": above(8)},
        ("experiment=tikv_transactions", "workload.benchmark_write_rate_limit=0", "workload.threads=16", "workload.duration=60s",
         "limits.write_cap=50MB/s", "workload.families.default.writes=0.3",
         "+workload.families.default.value_size=500", "workload.families.write.value_size=160",
         "workload.families.lock.value_size=200",  # assumed: a slow volume; short values are in locks and records
         "engine.options.max_background_jobs=8", "engine.options.max_background_flushes=2",
         "engine.options.max_background_compactions=6"),
    ),
    "cockroach": Report(
        "cockroachdb/cockroach/pull/16929", "write amplification",
        {"write_buffer_size": above(8 << 20), "level0_file_num_compaction_trigger": above(1)},
        ("workload=full_speed", "workload.read=0", "workload.update=0", "workload.insert=1", "workload.num=10M",
         "workload.preload=0.5", "workload.value_size=1000", "workload.duration=20s", "engine.version='5.7'",
         "engine.options.write_buffer_size=8MiB", "engine.options.max_write_buffer_number=4",
         "engine.options.level0_file_num_compaction_trigger=1", "engine.options.max_bytes_for_level_base=16MiB",
         "engine.options.target_file_size_base=4MiB", "engine.options.level_compaction_dynamic_level_bytes=true",
         "engine.options.max_background_jobs=4"),
        "write_amp",
    ),
    "ceph": Report(
        "ceph/ceph/pull/14932", "small reads of compactions", {"compaction_readahead_size": above(4 << 10)},
        ("workload=full_speed", "workload.read=0", "workload.update=1", "workload.num=20M", "workload.value_size=500",
         "workload.threads=4", "workload.duration=60s", "engine.version='5.7'", "device.page_cache=0",
         "engine.options.compaction_readahead_size=4KiB", "engine.options.write_buffer_size=256MiB",  # BlueFS reads blocks
         "engine.options.max_write_buffer_number=4", "engine.options.max_background_jobs=2"),
    ),
    "reth": Report(
        "paradigmxyz/reth/issues/26801", "open tables", {"max_open_files": lambda v: v == -1 or v > 51},
        ("workload=readrandom", "workload.num=30M", "workload.value_size=1000", "workload.threads=16", "workload.duration=5s",
         "engine.options.max_open_files=51",  # a tenth of files and limit
         "engine.options.target_file_size_base=32MiB",
         "engine.options.compression=kZSTD", "engine.options.bloom_bits=10"),
    ),
    "redb": Report(
        "cberner/redb/pull/839", "block cache", {"cache_size": above(32 << 20)},
        ("workload=readrandom", "workload.num=5M", "workload.key_size=24", "workload.value_size=150", "workload.threads=4",
         "workload.duration=10s", "engine.options.cache_size=32MiB", "device.page_cache=16GiB"),
    ),
    "ethrex": Report(
        "lambdaclass/ethrex/pull/6940", "bytes per read", {"block_size": below(16 << 10)},
        ("workload=readrandom", "workload.num=100M", "workload.key_size=64", "workload.value_size=32", "workload.threads=16",
         "workload.duration=10s", "engine.options.block_size=16KiB", "engine.options.bloom_bits=10",
         "engine.options.cache_size=512MiB", "device.page_cache=1GiB"),  # assumed: caches, number of keys
    ),
    "restate": Report(
        "restatedev/restate/pull/3000", "bytes written to the drive", {"compression_per_level": lambda v: v[0].compresses},
        ("workload=constant", "workload.rate=40k", "workload.read=0", "workload.update=1", "workload.num=10M",
         "workload.duration=30s", "engine.options.compression_per_level=[kNoCompression,kNoCompression,kZSTD]"),
        "device_writes",
    ),
}  # fmt: skip


def main(folder: Path, names: Sequence[str]) -> int:
    """Print the rank of each cure; return 1 if fewer than the target are among the first three."""
    print(f"{'report':12s} {'bottleneck':30s} rank alone  first advices", flush=True)
    held = 0
    for name in names:
        report = REPORTS[name]
        advice = _advise(folder / name, report)
        listed = shown(advice)
        rank = _place(listed, report)
        alone = _place([one for one in advice["tried"] if one["helps"] and not _is_pair(one)], report)
        held += rank is not None and rank <= FIRST
        first = "; ".join(one["name"] for one in listed[:FIRST])
        line = f"{name:12s} {report.bottleneck:30s} {rank or '-':>4} {alone or '-':>5}  {first}  {_GITHUB}{report.link}"
        print(line, flush=True)
    print(f"among the first {FIRST}: {held} of {len(names)}")
    return 0 if held * 10 >= TARGET * len(names) else 1


def shown(advice: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the changes that help, in the order of the text."""
    best = list(advice["best"])
    names = {one["name"] for one in best}
    return best + [one for one in advice["tried"] if one["helps"] and one["name"] not in names and not _is_pair(one)]


def _is_pair(change: Mapping[str, Any]) -> bool:
    return " + " in change["name"]


def _place(changes: Sequence[Mapping[str, Any]], report: Report) -> int | None:
    return next((place for place, one in enumerate(changes, 1) if has_cure(one, report.cure)), None)


def has_cure(change: Mapping[str, Any], cure: Mapping[str, Holds]) -> bool:
    """Return whether a change sets an option to a value that is the cure."""
    for text in change["overrides"]:
        key, _, value = text.partition("=")
        option = key.rpartition(".")[2]
        if option in cure and cure[option](read_value(option, value)):
            return True
    return False


def _advise(folder: Path, report: Report) -> dict[str, Any]:
    """Return the advice for a report's store."""
    answer = folder / "advice.json"
    if not answer.exists():
        store, *others = report.store
        goal = ["--goal", report.goal] if report.goal else []
        sets = [part for text in others for part in ("--set", text)]
        done = subprocess.run(
            [sys.executable, "-m", "lsmlab", "advise", store, *sets, *goal, "-j", "1", "--no-report",
             "--no-settled", "--out", str(folder)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"{report.link}\n{done.stderr}")
    found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(main(Path(arguments[0] if arguments else tempfile.mkdtemp()), arguments[1:] or list(REPORTS)))
