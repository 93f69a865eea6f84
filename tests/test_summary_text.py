"""Printed summaries and comparisons, from synthetic values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lsmlab.sim.explain.summary_text import summary_text
from lsmlab.sim.results.comparison_text import comparison_text
from lsmlab.sim.studies.statistics import interval
from lsmlab.sim.studies.summary_intervals import combine
from running import SMALL
from running import simulate as simulated

ROW = {
    "Level": "L0", "Files": "2/0", "Size": 13610516, "Score": 0.8, "Read(GB)": 0.0, "Rn(GB)": 0.0, "Rnp1(GB)": 0.0,
    "Write(GB)": 0.02, "Wnew(GB)": 0.02, "Moved(GB)": 0.0, "W-Amp": 1.0, "Rd(MB/s)": 0.0, "Wr(MB/s)": 13.0,
    "Comp(sec)": 2.24, "CompMergeCPU(sec)": 0.18, "Comp(cnt)": 6, "Avg(sec)": 0.374, "KeyIn": 139_000, "KeyDrop": 1405,
}  # fmt: skip
SUMMARY: dict[str, Any] = {
    "engine": "rocksdb", "engine_version": "7.8", "workload": "fillrandom", "duration_s": 600.0, "seed": 3,
    "ops_per_s": 24606.3, "write_ops_per_s": 24606.3, "read_ops_per_s": 0.0, "user_bytes_written": 15e9,
    "write_latency_s": {"p50": 2.1e-6, "p99": 1.07e-3, "max": 0.477}, "read_latency_s": None,
    "stall_fraction": 0.25, "stall_seconds": {"l0_slowdown": 140.0, "memtable_stop": 10.0, "l0_stop": 0.0},
    "stall_count": {"l0_slowdown": 1200, "memtable_stop": 7, "l0_stop": 0}, "longest_stall_s": 0.477,
    "write_amplification": 5.294, "read_amplification": None, "space_amplification": 1.02,
    "device": {"name": "sata", "utilisation": 0.93, "read_bytes_per_s": 2e8, "write_bytes_per_s": 3e8},
    "compaction_stats": [ROW], "notes": ["a note " * 30],
}  # fmt: skip


def test_summary_has_the_main_numbers() -> None:
    """The summary has engine, device, throughput, percentiles, stalls by cause (longest first) and amplification."""
    lines = summary_text(SUMMARY).splitlines()

    assert "rocksdb 7.8 on sata, fillrandom, 600 s simulated, seed 3" == lines[0]
    assert "throughput      24,606 ops/s (24,606 writes/s, 25.0 MB/s of keys and values written)" == lines[1]
    assert "write latency   P50 2.1 us  P99 1.07 ms  max 477 ms" == lines[2]
    assert "write stalls    25.0 % of the time, longest 477 ms" == lines[3]
    assert "                L0 files, slowed: 140 s (RocksDB's counter: 1,200)" == lines[4]
    assert "                memtables full, stopped: 10 s (RocksDB's counter: 7)" == lines[5]
    assert "amplification   write 5.29, space 1.02" == lines[6]
    assert "device          93 % busy, read 200.0 MB/s, write 300.0 MB/s" == lines[7]


def test_compaction_stats_have_rocksdbs_format() -> None:
    """The Compaction Stats table has RocksDB's columns, units and rounding."""
    text = summary_text(SUMMARY)
    header, _, row = text[text.index("Level") :].splitlines()[:3]

    assert list(ROW) == header.split()
    assert "L0 2/0 12.98 MB 0.8 0.0 0.0 0.0 0.0 0.0 0.0 1.0 0.0 13.0 2.24 0.18 6 0.374 139K 1405" == " ".join(
        row.split()
    )


def test_lines_fit_a_terminal() -> None:
    """All lines except the table have at most 120 columns."""
    text = summary_text(SUMMARY)
    before, after = text[: text.index("** Compaction")], text[text.index("note:") :]

    assert max(len(line) for line in (before + after).splitlines()) <= 120


@pytest.mark.parametrize("key", sorted(SUMMARY))
def test_any_part_may_be_missing(key: str) -> None:
    """A summary without one of its keys still becomes text."""
    assert summary_text({k: v for k, v in SUMMARY.items() if k != key}).endswith("\n")


def test_comparison_has_a_column_per_run() -> None:
    """Few runs are columns; a metric that no run has is left out, one that a run lacks is "-"."""
    other = {**SUMMARY, "ops_per_s": 100.0, "stall_fraction": 0.0, "stall_seconds": {}}
    text = comparison_text([("nvme", SUMMARY), ("sata", other)])

    assert ["nvme", "sata"] == text.splitlines()[0].split()
    assert "ops/s 24,606 100" in " ".join(text.split())
    assert "main cause l0_slowdown -" in " ".join(text.split())
    assert "read P50" not in text


def test_many_runs_become_rows() -> None:
    """Runs that do not fit as columns are rows, within 120 columns of text."""
    text = comparison_text([(f"device {i}", SUMMARY) for i in range(30)])

    assert 32 == len(text.splitlines())
    assert max(len(line) for line in text.splitlines()) <= 120


def test_interval_is_students_t() -> None:
    """For 9, 10 and 11 the mean is 10 and the half width 2.92 · 1/√3 (t of two degrees of freedom)."""
    found = interval([9.0, 10.0, 11.0])

    assert 10.0 == found["mean"]
    assert pytest.approx(10.0 + 2.9199856 / 3**0.5) == found["high"]
    assert pytest.approx(20.0) == (found["low"] or 0.0) + (found["high"] or 0.0)


def test_replications_keep_the_first_seed_and_add_intervals() -> None:
    """Values are those of the first seed; every nested number has an interval, texts and missing values have none."""
    other = {**SUMMARY, "ops_per_s": 24600.3, "seed": 4, "write_latency_s": {"p50": 2.3e-6, "p99": 1e-3, "max": 0.5}}
    combined = combine({}, [SUMMARY, other])

    assert SUMMARY["ops_per_s"] == combined["ops_per_s"]
    assert 24603.3 == pytest.approx(combined["interval"]["ops_per_s"]["mean"])
    assert 2.2e-6 == pytest.approx(combined["interval"]["write_latency_s"]["p50"]["mean"])
    assert {"engine", "seed", "read_latency_s"}.isdisjoint(combined["interval"])


def names(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield keys of all levels, but not those that are data themselves: options, reasons, causes, counts, jobs."""
    for key, value in summary.items():
        yield key
        if key == "stall_waits_s":
            yield from value
        elif isinstance(value, Mapping) and key not in ("options", "job_reasons", "distribution"):
            yield from names(value)


def test_the_reference_defines_every_number() -> None:
    """docs/reference/summary.md contains each key of summary.json, on every level."""
    page = (Path(__file__).parents[1] / "docs" / "reference" / "summary.md").read_text(encoding="utf-8")
    summary = simulated(
        *SMALL, "workload=readwhilewriting", "workload.duration=1s", "prefill=fillrandom", "prefill.num=100k"
    ).summary

    assert [] == sorted(name for name in set(names(summary)) if not re.search(rf"\b{name}\b", page))


def test_families_have_a_row_each() -> None:
    """A run with several column families shows flushes, compactions, W-Amp, size and stalls of each; other runs do not."""
    family = {
        "write_share": 0.25, "flush_count": 63, "flush_bytes": 64 << 20, "compaction_count": 4, "compaction_write_bytes": 1 << 20,
        "write_amplification": 3.55, "live_bytes": 3 << 20, "stall_count": {"l0_stop": 2, "memtable_stop": 1},
    }  # fmt: skip
    idle = {**family, "write_share": 0.0, "flush_count": 0, "flush_bytes": 0, "compaction_count": 0, "write_amplification": None}
    text = summary_text({**SUMMARY, "column_families": {"default": family, "raft": idle}})
    header, default, raft = text[text.index("Family") :].splitlines()[:3]

    assert ["Family", "Writes", "Flushes", "Flushed", "Compactions", "Compacted", "W-Amp", "Live", "Stalls"] == header.split()
    assert "default 25.0 % 63 64.0 MiB 4 1.0 MiB 3.55 3.0 MiB 3" == " ".join(default.split())
    assert "raft 0.0 % 0 0 B 0 1.0 MiB - 3.0 MiB 3" == " ".join(raft.split())
    assert "** Compaction Stats all column families **" in text
    assert "Family" not in summary_text(SUMMARY)
