"""Tables with one row per level: `levels` of summary.json, and RocksDB's "Compaction Stats"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from lsmlab.models.sums import float_sum
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.records import JobRecord

_GIB: Final = 2.0**30
_MIB: Final = 2.0**20


def level_rows(families: Sequence[ColumnFamily], jobs: Sequence[JobRecord]) -> list[dict[str, Any]]:
    """Return one row per level that contains files or received bytes; L0 always has a row."""
    rows = []
    for level in range(most_levels(families)):
        row = _level_row(level, families, jobs)
        if row["files"] or row["write_bytes"] or row["moved_bytes"] or level == 0:
            rows.append(row)
    return rows


def most_levels(families: Sequence[ColumnFamily]) -> int:
    """Return the number of levels of the tree with the most levels."""
    return max(f.tree.num_levels for f in families)


def files_per_level(families: Sequence[ColumnFamily]) -> list[int]:
    """Return the number of files per level, summed over column families."""
    return [sum(f.tree.file_count(i) for f in _with_level(families, i)) for i in range(most_levels(families))]


def _with_level(families: Sequence[ColumnFamily], level: int) -> list[ColumnFamily]:
    return [f for f in families if level < f.tree.num_levels]


def _level_row(level: int, families: Sequence[ColumnFamily], jobs: Sequence[JobRecord]) -> dict[str, Any]:
    families = _with_level(families, level)
    into = [j for j in jobs if j.output_level == level and j.kind in ("compaction", "flush")]
    merges = [j for j in into if j.kind == "compaction"]
    flushed = sum(j.write_bytes for j in into if j.kind == "flush")
    read_above = sum(j.read_bytes - j.read_bytes_output_level for j in merges if j.start_level != level)
    read_same = sum(j.read_bytes_output_level if j.start_level != level else j.read_bytes for j in merges)
    written = sum(j.write_bytes for j in into)
    base = flushed if level == 0 else read_above
    target = float_sum(float(s.latest_options.picker.level_targets(s.tree)[level]) for s in families) if level else math.inf
    return {
        "level": level,
        "files": sum(s.tree.file_count(level) for s in families),
        "bytes": sum(s.tree.size_bytes(level) for s in families),
        "target_bytes": target if math.isfinite(target) else None,
        "score": max(_score(s, level) for s in families),
        "read_bytes": read_above + read_same,
        "read_upper_bytes": read_above,
        "read_output_bytes": read_same,
        "write_bytes": written,
        "moved_bytes": sum(j.moved_bytes for j in jobs if j.kind == "trivial_move" and j.output_level == level),
        "w_amp": written / base if base else 0.0,
        "jobs": len(into),
        "busy_s": float_sum(j.merged_s - j.start_s for j in into),
        "cpu_s": float_sum(j.cpu_s for j in into),
        "entries_in": float_sum(j.entries_in for j in merges),
        "entries_dropped": float_sum(j.entries_in - j.entries_out for j in merges),
        "files_busy": sum(int(f.busy) for s in families for f in s.tree.files_of(level)),
    }


def _score(family: ColumnFamily, level: int) -> float:
    scores = family.latest_options.picker.scores(family.tree)
    return float(scores[level]) if level < len(scores) else 0.0  # the last level has no score


def compaction_stats(families: Sequence[ColumnFamily], jobs: Sequence[JobRecord]) -> list[dict[str, Any]]:
    """Return the rows of RocksDB's "Compaction Stats" table with RocksDB's column names; the last row is Sum.

    See (behaviour/log-and-statistics.md, Compaction Stats table).
    """
    levels = level_rows(families, jobs)
    rows = [_stats_row(f"L{r['level']}", r, r["w_amp"]) for r in levels]
    total: dict[str, Any] = {key: float_sum(r[key] or 0 for r in levels) for key in levels[0] if key != "level"}
    total["score"] = 0.0
    flushed = sum(j.write_bytes for j in jobs if j.kind == "flush")
    rows.append(_stats_row("Sum", total, total["write_bytes"] / flushed if flushed else 0.0))
    return rows


def _stats_row(name: str, r: dict[str, Any], w_amp: float) -> dict[str, Any]:
    busy = r["busy_s"]
    return {
        "Level": name,
        "Files": f"{r['files']}/{r['files_busy']}",
        "Size": r["bytes"],
        "Score": r["score"],
        "Read(GB)": r["read_bytes"] / _GIB,
        "Rn(GB)": r["read_upper_bytes"] / _GIB,
        "Rnp1(GB)": r["read_output_bytes"] / _GIB,
        "Write(GB)": r["write_bytes"] / _GIB,
        "Wnew(GB)": (r["write_bytes"] - r["read_output_bytes"]) / _GIB,
        "Moved(GB)": r["moved_bytes"] / _GIB,
        "W-Amp": w_amp,
        "Rd(MB/s)": r["read_bytes"] / _MIB / busy if busy else 0.0,
        "Wr(MB/s)": r["write_bytes"] / _MIB / busy if busy else 0.0,
        "Comp(sec)": busy,
        "CompMergeCPU(sec)": r["cpu_s"],
        "Comp(cnt)": r["jobs"],
        "Avg(sec)": busy / r["jobs"] if r["jobs"] else 0.0,
        "KeyIn": r["entries_in"],
        "KeyDrop": r["entries_dropped"],
    }
