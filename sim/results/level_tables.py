"""Tables with one row per level: `levels` of summary.json, and RocksDB's "Compaction Stats"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from lsmlab.sim.results.job_sums import JobSums
from lsmlab.sim.store.column_family import ColumnFamily

_GIB: Final = 2.0**30
_MIB: Final = 2.0**20


def level_rows(families: Sequence[ColumnFamily], jobs: JobSums) -> list[dict[str, Any]]:
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


def _level_row(level: int, families: Sequence[ColumnFamily], jobs: JobSums) -> dict[str, Any]:
    families = _with_level(families, level)
    outputs = jobs.where("output_level", level)
    into = outputs.where("kind", "compaction", "flush")
    merges = into.where("kind", "compaction")
    flushes = into.where("kind", "flush")
    flushed, flushed_blobs = flushes.whole("write_bytes"), flushes.blob_bytes("write")
    within = merges.where("start_level", level)
    read_within = within.whole("read_bytes")
    read_output = merges.whole("read_bytes_output_level") - within.whole("read_bytes_output_level")
    read_above = merges.whole("read_bytes") - read_within - read_output
    read_same = read_output + read_within
    written = into.whole("write_bytes")
    blobs = _blob_columns(families, into)
    base = flushed + flushed_blobs if level == 0 else read_above + blobs.get("blob_read_bytes", 0)
    target = sum(float(s.latest_options.picker.level_targets(s.tree)[level]) for s in families) if level else math.inf
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
        "moved_bytes": outputs.where("kind", "trivial_move").whole("moved_bytes"),
        **blobs,
        "w_amp": (written + blobs.get("blob_write_bytes", 0)) / base if base else 0.0,
        "jobs": len(into),
        "busy_s": into.real("merged_s", minus="start_s"),
        "cpu_s": into.real("cpu_s"),
        "entries_in": merges.real("entries_in"),
        "entries_dropped": merges.real("entries_in", minus="entries_out"),
        "files_busy": sum(int(f.busy) for s in families for f in s.tree.files_of(level)),
    }


def _blob_columns(families: Sequence[ColumnFamily], into: JobSums) -> dict[str, int]:
    """Return the blob bytes of jobs whose output level is a row's; nothing in a store without blob files."""
    if not any(family.tree.blobs.stamp for family in families):
        return {}
    return {"blob_read_bytes": into.blob_bytes("read"), "blob_write_bytes": into.blob_bytes("write")}


def _score(family: ColumnFamily, level: int) -> float:
    scores = family.latest_options.picker.scores(family.tree)
    return float(scores[level]) if level < len(scores) else 0.0  # the last level has no score


def compaction_stats(families: Sequence[ColumnFamily], jobs: JobSums) -> list[dict[str, Any]]:
    """Return the rows of RocksDB's "Compaction Stats" table with RocksDB's column names; the last row is Sum.

    See (behaviour/log-and-statistics.md, Compaction Stats table).
    """
    levels = level_rows(families, jobs)
    rows = [_stats_row(f"L{r['level']}", r, r["w_amp"]) for r in levels]
    total: dict[str, Any] = {key: sum(r[key] or 0 for r in levels) for key in levels[0] if key != "level"}
    total["score"] = 0.0
    came_in = jobs.where("kind", "flush").moved("write") + sum(family.ingested_bytes for family in families)
    written = total["write_bytes"] + total.get("blob_write_bytes", 0)
    rows.append(_stats_row("Sum", total, written / came_in if came_in else 0.0))
    return rows


def _stats_row(name: str, r: dict[str, Any], w_amp: float) -> dict[str, Any]:
    """Return a row; as in RocksDB, Read and the two rates include blobs, Write does not."""
    busy = r["busy_s"]
    read, written = (r[f"{name}_bytes"] + r.get(f"blob_{name}_bytes", 0) for name in ("read", "write"))
    names = {"Rblob(GB)": "blob_read_bytes", "Wblob(GB)": "blob_write_bytes"}
    blobs = {column: r[name] / _GIB for column, name in names.items() if name in r}
    return {
        "Level": name,
        "Files": f"{r['files']}/{r['files_busy']}",
        "Size": r["bytes"],
        "Score": r["score"],
        "Read(GB)": read / _GIB,
        "Rn(GB)": r["read_upper_bytes"] / _GIB,
        "Rnp1(GB)": r["read_output_bytes"] / _GIB,
        "Write(GB)": r["write_bytes"] / _GIB,
        "Wnew(GB)": (r["write_bytes"] - r["read_output_bytes"]) / _GIB,
        "Moved(GB)": r["moved_bytes"] / _GIB,
        "W-Amp": w_amp,
        "Rd(MB/s)": read / _MIB / busy if busy else 0.0,
        "Wr(MB/s)": written / _MIB / busy if busy else 0.0,
        "Comp(sec)": busy,
        "CompMergeCPU(sec)": r["cpu_s"],
        "Comp(cnt)": r["jobs"],
        "Avg(sec)": busy / r["jobs"] if r["jobs"] else 0.0,
        "KeyIn": r["entries_in"],
        "KeyDrop": r["entries_dropped"],
        **blobs,
    }
