"""Two tables of the public runs that have no LOG: tree shapes of 6.17, and overwrites of 6.29 to 10.2 on one small PC."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lsmlab.validation.casefiles.public.rows import rows

_UNITS: Final = {"KB": 2**10, "MB": 2**20, "GB": 2**30}
_SIZE: Final = re.compile(r"([0-9.]+)\s*([KMG]B)")
_WRITING_S: Final = 1800.0
"""Length of the overwrite itself: its runs wait for all compactions afterwards, which their uptime includes."""
_WRITES_BEFORE: Final = 2_000_000 + round(3 * 1800 * 2 * 2**20 / 420)
"""benchmark_compare.sh loads the keys in order, overwrites a tenth of them, and reads three times for half an hour beside
a writer of 2 MiB/s."""
_OVERWRITE_ENTRY: Final = 20 + 400 + 8 + 2.5
"""Bytes of an entry in a table file: key, value, sequence number; Bloom filter (10 bits) and its share of the index."""


def tree_shape(data: Path) -> Iterator[dict[str, Any]]:
    """Fillrandom of 6.17 with dynamic levels, then waited until all is compacted: bytes per level.

    The three phases of a size repeat one load; what follows it reads only, so a few reads stand for it here. The real
    runs also compacted what was left in L0, fewer files than its trigger, so totals are not scored. Nothing is known of
    the machine, so neither throughput nor stalls are scored.
    """
    tables: dict[tuple[str, str, str], list[Mapping[str, str]]] = defaultdict(list)
    for row in rows(data / "tree_shape.csv"):
        tables[row["variant"], row["num_keys"], row["phase_file"]].append(row)
    for (variant, keys, phase), levels in tables.items():
        yield {
            "name": f"tree-shape/{variant}-{int(keys) // 10**6}M" + ("-nobloom" if "nobloom" in phase else ""),
            "source": f"mdcallag/mytools tree_shape {variant} {phase}: RocksDB 6.17, dynamic levels, level table after load",
            "store": {
                "version": "6.17",
                "preset": "db_bench",
                "options": {
                    "write_buffer_size": "8MiB", "target_file_size_base": "8MiB", "max_bytes_for_level_base": "64MiB",
                    "level0_file_num_compaction_trigger": 8, "level0_slowdown_writes_trigger": 32,
                    "level0_stop_writes_trigger": 40, "max_background_jobs": 4,
                    "level_compaction_dynamic_level_bytes": True, "bloom_bits": 0 if "nobloom" in phase else 10,
                },
            },
            "host": {"parameters": "small_pc"},
            "device": {"base": "nvme", "page_cache": "8GiB"},
            "prefill": {"base": "fillrandom", "key_size": 8, "value_size": 128, "num": int(keys)},
            "workload": {"base": "readrandom", "key_size": 8, "value_size": 128, "num": int(keys), "reads": 1000},
            "measured": {
                f"levels.{r['level'][1:]}.bytes": _size(r["size"]) for r in levels if r["level"] not in ("L0", "Sum")
            },
        }  # fmt: skip


def overwrite(data: Path) -> Iterator[dict[str, Any]]:
    """Overwrite for 30 minutes, one thread, 20 M keys of 20 + 400 bytes that fit into memory, a Samsung 990 PRO.

    Options: mdcallag/mytools bench/rx2, the scripts that made the runs: x.sh for 8 cores and 16 GB (c8r16: memtable,
    levels, jobs), benchmark_compare.sh (bytes_per_sync) and benchmark.sh. The tables' c_wsecs agree with its 4 jobs: 2.2
    to 2.8 were at work at a time; with 8 a simulated store has 4.5. Of the 16 GB, 14 are taken to be left for files.
    """
    for row in rows(data / "overwrite_one_machine.csv"):
        latencies = {k: float(row[c]) / 1e6 for k, c in _LATENCIES.items()}
        yield {
            "name": f"overwrite/{'.'.join(row['version'].split('.')[:2])}",
            "source": f"mdcallag/mytools {row['file']}: RocksDB {row['version']}, overwriteandwait",
            "store": {
                "version": ".".join(row["version"].split(".")[:2]),
                "preset": "db_bench",
                "options": {
                    "write_buffer_size": "16MiB", "max_write_buffer_number": 8, "target_file_size_base": "16MiB",
                    "max_bytes_for_level_base": "64MiB", "max_bytes_for_level_multiplier": 8, "num_levels": 8,
                    "level_compaction_dynamic_level_bytes": True, "level0_file_num_compaction_trigger": 4,
                    "level0_slowdown_writes_trigger": 20, "level0_stop_writes_trigger": 30, "max_background_jobs": 4,
                    "compression": None, "block_size": "8KiB", "bytes_per_sync": "1MiB", "bloom_bits": 10,
                },
            },
            "host": {"parameters": "small_pc"},
            "device": {"base": "samsung_990_pro_2tb", "page_cache": "14GiB"},
            "prefill": {"base": "overwrite", "writes": _WRITES_BEFORE},
            "workload": {
                "base": "overwrite", "key_size": 20, "value_size": 400, "num": 20_000_000, "writes": 10**10,
                "duration": f"{_WRITING_S:.0f}s",
            },
            "measured": {
                "ops_per_s": float(row["ops_sec"]),
                "duration_s": _WRITING_S,
                "write_amplification": _overwrite_w_amp(row),
                "stall_fraction": float(row["stall_pct"]) / 100.0 * float(row["uptime"]) / _WRITING_S,
            }
            | {f"write_latency_s.{k}": v for k, v in latencies.items()},
        }  # fmt: skip


def _overwrite_w_amp(row: Mapping[str, str]) -> float:
    """Bytes that flushes and compactions wrote by bytes that flushes wrote.

    The table's w_amp is that of RocksDB's tools/benchmark.sh, which counts the log too: 1 + c_wgb / ingest gives the
    printed value of all 25 rows within 0.07, with an ingest of 436 bytes per write batch (header of 12, record of 424).

    c_wgb includes what the wait for compactions writes after the overwrite, at about the same rate: simulated drains
    of 23 and 67 s write at 0.95 and 0.77 of it. So the overwrite's part is that of its time.
    """
    flushed = float(row["ops_sec"]) * _WRITING_S * _OVERWRITE_ENTRY
    return float(row["c_wgb"]) * 2**30 * _WRITING_S / float(row["uptime"]) / flushed


_LATENCIES: Final = {"p50": "p50", "p99": "p99", "p999": "p99.9", "p9999": "p99.99", "max": "pmax"}


def _size(text: str) -> float:
    found = _SIZE.match(text)
    return float(found[1]) * _UNITS[found[2]] if found else 0.0
